#include "tests/c_api/c_job.h"

#include <cstring>
#include <thread>

#include "compiler/emit/serialize_plan.h"
#include "doctest/doctest.h"

namespace reshard::testing {

reshard_plan* LoadCPlan(const Plan& plan, const reshard_plan_options* options) {
  const StatusOr<std::vector<uint8_t>> bytes = SerializePlan(plan);
  REQUIRE(bytes.ok());
  reshard_plan* loaded = nullptr;
  const reshard_result result =
      reshard_plan_load_memory((*bytes).data(), (*bytes).size(), options, &loaded);
  INFO(reshard_last_error());
  REQUIRE(result == RESHARD_OK);
  return loaded;
}

CJob::CJob(const Plan& plan, const reshard_executor_options* options,
           std::vector<reshard_backend*> backends)
    : plan_(LoadCPlan(plan)) {
  size_t count = 0;
  REQUIRE(reshard_plan_get_ranks(plan_, nullptr, 0, &count) == RESHARD_OK);
  std::vector<uint32_t> numbers(count);
  REQUIRE(reshard_plan_get_ranks(plan_, numbers.data(), count, &count) == RESHARD_OK);
  if (backends.empty()) {
    backends.resize(count);
    REQUIRE(reshard_backend_loopback_create(static_cast<uint32_t>(count), nullptr,
                                            backends.data()) == RESHARD_OK);
  }
  REQUIRE(backends.size() == count);
  ranks_.resize(count);
  for (size_t r = 0; r < count; ++r) {
    Rank& rank = ranks_[r];
    rank.rank = numbers[r];
    rank.backend = backends[r];
    REQUIRE(reshard_executor_create(plan_, rank.rank, rank.backend, options, &rank.executor) ==
            RESHARD_OK);
    reshard_rank_info about{};
    about.struct_size = sizeof(about);
    REQUIRE(reshard_plan_get_rank_info(plan_, rank.rank, &about) == RESHARD_OK);
    rank.buffers.resize(about.param_count);
    for (size_t p = 0; p < about.param_count; ++p) {
      Buffer& buffer = rank.buffers[p];
      buffer.info.struct_size = sizeof(buffer.info);
      REQUIRE(reshard_plan_get_param(plan_, rank.rank, p, &buffer.info) == RESHARD_OK);
      buffer.block.resize(static_cast<size_t>(buffer.info.bytes) / 8 + 1, 0xEEEEEEEEEEEEEEEEU);
      reshard_buffer bound = RESHARD_BUFFER_INIT;
      bound.name = buffer.info.name;
      bound.side = buffer.info.side;
      bound.data = buffer.data();
      bound.bytes = buffer.info.bytes;
      bound.dtype = buffer.info.dtype;
      bound.shape = buffer.info.shape;
      bound.strides = buffer.info.strides;
      bound.dim_count = buffer.info.dim_count;
      REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
    }
  }
}

CJob::~CJob() {
  for (Rank& rank : ranks_) {
    if (rank.executor != nullptr) reshard_executor_destroy(rank.executor);
    reshard_backend_destroy(rank.backend);
  }
  reshard_plan_free(plan_);
}

CJob::Buffer& CJob::buffer(size_t rank, const std::string& name, reshard_side side) {
  for (Buffer& buffer : ranks_[rank].buffers) {
    if (name == buffer.info.name && side == buffer.info.side) return buffer;
  }
  REQUIRE_MESSAGE(false, "no such buffer");
  return ranks_[rank].buffers[0];
}

std::vector<CJob::Outcome> CJob::OnAll(const std::function<reshard_result(Rank&)>& call) {
  std::vector<Outcome> outcomes(ranks_.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    threads.emplace_back([&, r] {
      outcomes[r].result = call(ranks_[r]);
      if (outcomes[r].result < 0) outcomes[r].error = reshard_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<CJob::Outcome> CJob::Prepare() {
  return OnAll([](Rank& rank) { return reshard_executor_prepare(rank.executor, 0); });
}

std::vector<CJob::Outcome> CJob::Execute(uint64_t generation) {
  return OnAll([generation](Rank& rank) {
    const reshard_result started = reshard_executor_start(rank.executor, nullptr, generation);
    return started == RESHARD_OK ? reshard_executor_wait(rank.executor, RESHARD_FOREVER) : started;
  });
}

std::string ErrorOf(reshard_result result, reshard_result expected) {
  CHECK(std::string(reshard_result_name(result)) == reshard_result_name(expected));
  return result < 0 ? reshard_last_error() : "";
}

}  // namespace reshard::testing
