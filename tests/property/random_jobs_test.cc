#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "doctest/doctest.h"
#include "tests/property/random_job.h"
#include "tests/property/run_job.h"

namespace reshard {
namespace {

constexpr uint64_t kFirstSeed = 20261130;

// Runs seeds in turn; says how to see the first failure again.
void RunSeeds(uint64_t first, uint64_t count, const RandomJobLimits& limits) {
  std::printf("seeds %llu to %llu, ranks_per_side %u, extent %lld\n",
              static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1), limits.ranks_per_side,
              static_cast<long long>(limits.extent));
  int64_t network_bytes = 0;
  uint32_t most_rounds = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Job job = RandomJob(seed, limits);
    const JobResult result = RunJob(job, 2);
    INFO("seed ", seed);
    CAPTURE(job.train);
    CAPTURE(job.infer);
    CAPTURE(job.topo);
    REQUIRE(result.problem == "");
    network_bytes += result.network_bytes;
    most_rounds = std::max(most_rounds, result.rounds);
  }
  // The jobs are no trivial ones.
  CHECK(network_bytes > 0);
  CHECK(most_rounds > 1);
}

TEST_CASE("small random jobs") { RunSeeds(kFirstSeed, 1000, {3, 4}); }

TEST_CASE("random jobs") { RunSeeds(kFirstSeed + 1000, 1000, {8, 8}); }

TEST_CASE("jobs of many ranks") { RunSeeds(kFirstSeed + 2000, 40, {40, 24}); }

}  // namespace
}  // namespace reshard
