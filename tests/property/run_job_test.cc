// RunJob sees what is wrong: a check of the checker.
#include "tests/property/run_job.h"

#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "tests/property/mesh_job.h"

namespace reshard {
namespace {

Job SmallJob() {
  return MakeMeshJob({"small", {8, 8}, 4, {{2}, {"S(0)"}, {0, 1}}, {{4}, {"S(1)"}, {2, 3, 4, 5}}},
                     2);
}

TEST_CASE("a right job has no problem") { CHECK(RunJob(SmallJob(), 2).problem == ""); }

TEST_CASE("two destination ranks exchanged: wrong bytes") {
  Job job = SmallJob();
  REQUIRE(job.params.size() == 6);
  std::swap(job.params[2].elements, job.params[3].elements);
  CHECK(RunJob(job, 1).problem.find("element 0 of 16 is wrong") != std::string::npos);
}

TEST_CASE("an element that is expected to stay, or to be zero") {
  for (const int32_t fill : {ElementArray::kKeep, ElementArray::kZero}) {
    Job job = SmallJob();
    job.params[5].elements = [right = job.params[5].elements, fill] {
      ElementArray array = right();
      array.ids[15] = fill;
      return array;
    };
    CHECK(RunJob(job, 1).problem.find("element 15 of 16 is wrong") != std::string::npos);
  }
}

TEST_CASE("params of other sizes, too many and too few") {
  Job job = SmallJob();
  job.params[3].element_bytes = 2;
  CHECK(RunJob(job, 1).problem.find("has 64 bytes") != std::string::npos);
  job = SmallJob();
  job.params.pop_back();
  CHECK(RunJob(job, 1).problem.find("is not expected") != std::string::npos);
  job = SmallJob();
  job.params.push_back(job.params[0]);
  job.params.back().name += "2";
  CHECK(RunJob(job, 1).problem == "the plan has 6 params, expected 7");
}

TEST_CASE("inputs that do not compile") {
  Job job = SmallJob();
  job.infer = job.train;
  CHECK(RunJob(job, 1).problem.find("wrong-side") != std::string::npos);
}

}  // namespace
}  // namespace reshard
