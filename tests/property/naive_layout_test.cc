// The naive interpreter against arrays that the operations were carried out on: it judges the
// compiler in `verify --inputs` and in the tests of real layouts, so it is judged here.
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "tests/property/naive_arrays.h"
#include "tests/property/random_job.h"

namespace reshard {
namespace {

constexpr uint64_t kFirstSeed = 4711;

TEST_CASE("random layouts: every element of every param") {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 400; ++seed) {
    const Job job = RandomJob(seed, {6, 7});
    INFO("seed ", seed);
    CAPTURE(job.train);
    CAPTURE(job.infer);
    std::vector<JobParam> naive;
    std::string error;
    REQUIRE(NaiveJobParams(job.train, job.infer, &naive, &error));
    std::map<std::tuple<uint32_t, bool, std::string>, const JobParam*> expected;
    for (const JobParam& param : job.params) {
      expected[{param.rank, param.destination, param.name}] = &param;
    }
    REQUIRE(naive.size() == expected.size());
    for (const JobParam& param : naive) {
      const auto found = expected.find({param.rank, param.destination, param.name});
      CAPTURE(param.rank);
      CAPTURE(param.name);
      REQUIRE(found != expected.end());
      const ElementArray wanted = found->second->elements();
      const ElementArray got = param.elements();
      REQUIRE(got.shape == wanted.shape);
      REQUIRE(got.ids == wanted.ids);
      REQUIRE(param.element_bytes == found->second->element_bytes);
    }
  }
}

}  // namespace
}  // namespace reshard
