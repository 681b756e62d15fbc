#include "compiler/route/relay_bound.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

constexpr int64_t kGb = 1'000'000'000;

TEST_CASE("one class: what holders and needers together have to send (Kumar and Ross)") {
  // k * b / (u_S + sum of u_A), here with needers that send slowly.
  CHECK(RelayBoundNs({{{0}, {1, 2, 3}, 6 * kGb}}, {2 * kGb, kGb, 2 * kGb, kGb}) == 3 * kGb);
  // b / u_S, when the holder is the slowest.
  CHECK(RelayBoundNs({{{0}, {1, 2}, 6 * kGb}}, {kGb, 10 * kGb, 10 * kGb}) == 6 * kGb);
}

TEST_CASE("holders that need bytes of each other, and send some to others as well") {
  // Each of three domains sends what it holds to the two others, 2 GB in all at 1 GB/s; and half of
  // a GB more to a fourth.
  std::vector<RelayDemand> demands;
  for (uint32_t domain = 0; domain < 3; ++domain) {
    std::vector<uint32_t> others;
    for (uint32_t other = 0; other < 3; ++other) {
      if (other != domain) others.push_back(other);
    }
    demands.push_back({{domain}, others, kGb / 2});
    demands.push_back({{domain}, {3}, kGb / 2});
  }
  CHECK(RelayBoundNs(demands, {kGb, kGb, kGb, 2 * kGb}) == 3 * kGb / 2);
}

TEST_CASE("nothing to send, nobody to send it") {
  CHECK(RelayBoundNs({}, {kGb}) == 0);
  CHECK(RelayBoundNs({{{0}, {}, kGb}}, {kGb}) == 0);
  CHECK(RelayBoundNs({{{0}, {1}, kGb}}, {0, 0}) == 0);
}

}  // namespace
}  // namespace reshard
