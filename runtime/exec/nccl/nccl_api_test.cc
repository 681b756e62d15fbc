// The C interface of the NCCL backend, as far as it goes without a GPU.
#include <cstdint>
#include <cstdio>
#include <string>

#include "doctest/doctest.h"
#include "reshard/reshard.h"
#include "reshard/reshard_nccl.h"
#include "runtime/exec/nccl/open_gpu.h"
#include "runtime/exec/nccl/tuning.h"

namespace {

std::string ErrorOf(reshard_result result, reshard_result expected) {
  CHECK(std::string(reshard_result_name(result)) == reshard_result_name(expected));
  return reshard_last_error();
}

int32_t NoGather(void*, const uint32_t*, size_t, const void*, size_t, void*, int64_t) {
  return RESHARD_ERROR_IO;
}

TEST_CASE("options that cannot be used are refused before any device is touched") {
  reshard_backend* backend = nullptr;
  CHECK(ErrorOf(reshard_backend_nccl_create(nullptr, &backend), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "options is NULL");
  reshard_nccl_options options = RESHARD_NCCL_OPTIONS_INIT;
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, nullptr), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "backend is NULL");
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "neither a communicator nor an id is given");
  const reshard_nccl_id id{};
  options.id = &id;
  options.rank = 2;
  options.rank_count = 2;
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "rank 2 of 2 does not exist");
  options.rank = 1;
  options.path = static_cast<reshard_nccl_path>(3);
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "options.path is no reshard_nccl_path");
  options.path = RESHARD_NCCL_PATH_AUTO;
  reshard_control control = RESHARD_CONTROL_INIT;
  control.all_gather = NoGather;
  control.member = control.member_count = 2;
  options.control = &control;
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "a control channel needs a function and a member below member_count");
  options.struct_size = 8;
  CHECK(ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_INVALID_ARGUMENT)
            .find("reshard_nccl_options has a struct_size of 8") == 0);
  CHECK(backend == nullptr);
}

TEST_CASE("a NIC is filled by as many channels as it needs") {
  using reshard::nccl::ChannelsPerPeer;
  constexpr int64_t kGiga = 1'000'000'000;
  CHECK(ChannelsPerPeer(0) == 1);
  CHECK(ChannelsPerPeer(14 * kGiga) == 1);
  CHECK(ChannelsPerPeer(25 * kGiga) == 2);
  CHECK(ChannelsPerPeer(50 * kGiga) == 4);
  CHECK(ChannelsPerPeer(100 * kGiga) == 8);
  CHECK(ChannelsPerPeer(INT64_MAX) == 32);
}

TEST_CASE("only NCCL backends shrink") {
  reshard_backend* loopback = nullptr;
  REQUIRE(reshard_backend_loopback_create(1, nullptr, &loopback) == RESHARD_OK);
  reshard_backend* shrunk = nullptr;
  CHECK(ErrorOf(reshard_backend_nccl_shrink(loopback, nullptr, 0, nullptr, 0, &shrunk),
                RESHARD_ERROR_INVALID_ARGUMENT) == "the backend is loopback, expected nccl");
  CHECK(ErrorOf(reshard_backend_nccl_shrink(loopback, nullptr, 1, nullptr, 0, &shrunk),
                RESHARD_ERROR_INVALID_ARGUMENT) == "excluded is NULL");
  REQUIRE(reshard_backend_destroy(loopback) == RESHARD_OK);
  ErrorOf(reshard_backend_nccl_shrink(loopback, nullptr, 0, nullptr, 0, &shrunk),
          RESHARD_ERROR_BAD_HANDLE);
}

TEST_CASE("without a GPU a backend is unavailable, and the error says why") {
  if (reshard::nccl::OpenGpu(0).ok()) {
    std::puts("SKIPPED: runtime/exec/nccl: unavailable: there is a GPU");
    return;
  }
  const reshard_nccl_id id{};
  reshard_nccl_options options = RESHARD_NCCL_OPTIONS_INIT;
  options.id = &id;
  options.rank_count = 1;
  reshard_backend* backend = nullptr;
  const std::string why =
      ErrorOf(reshard_backend_nccl_create(&options, &backend), RESHARD_ERROR_UNAVAILABLE);
  const char* const expected = reshard::nccl::IsBuiltIn() ? "no GPU" : "not built in";
  CHECK(why.find(expected) != std::string::npos);
}

}  // namespace
