// reshard.hpp, alone: its names are those of the library's own headers.
#include <cstdint>
#include <cstring>

#include "doctest/doctest.h"
#include "reshard/reshard.hpp"

namespace {

using reshard::Backend;
using reshard::Error;

TEST_CASE("a TCP backend is made, and an error is thrown with what the C interface says") {
  reshard_control control = RESHARD_CONTROL_INIT;
  control.all_gather = [](void*, const uint32_t*, size_t, const void* mine, size_t bytes, void* all,
                          int64_t) -> int32_t {
    std::memcpy(all, mine, bytes);
    return RESHARD_OK;
  };
  control.member_count = 1;
  reshard_tcp_options options = RESHARD_TCP_OPTIONS_INIT;
  options.control = &control;
  CHECK(Backend::Tcp(options).get() != nullptr);
  options.address = "somewhere";
  CHECK_THROWS_WITH_AS(Backend::Tcp(options),
                       "'somewhere' is no numeric address of IPv4 or IPv6 [invalid-argument]",
                       Error);
}

}  // namespace
