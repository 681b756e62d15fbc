#include "compiler/candidates.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/route/testing/job.h"
#include "compiler/schedule/predict.h"

namespace reshard {
namespace {

using testing::Job;
using testing::MoeJob;
using testing::MoeShape;

struct Found {
  Routing routing;
  Schedule schedule;
  std::vector<Candidate> tried;
};

Found Find(const Job& job, uint32_t first_heads) {
  Found found;
  Diagnostics diags;
  const CandidateInputs inputs{&job.table, &job.transfers, &job.topology, ScheduleOptions{}};
  const bool routed =
      BuildRouting(job.table, job.transfers, job.topology, {first_heads}, &diags, &found.routing);
  REQUIRE(routed);
  const bool scheduled = BuildSchedule(job.transfers, job.topology, found.routing, inputs.options,
                                       &diags, &found.schedule);
  REQUIRE(scheduled);
  found.tried = KeepBestCandidate(inputs, &found.routing, &found.schedule);
  return found;
}

TEST_CASE(
    "one chain over many domains gives way to shorter ones; what is kept is what is returned") {
  MoeShape shape;
  shape.replicas = 64;
  shape.model_bytes = int64_t{20'000'000'000};
  const Job job = MoeJob(shape);
  const Found found = Find(job, 1);
  REQUIRE(found.tried.size() >= 2);
  CHECK(found.tried[0].heads == 1);
  CHECK(found.tried[0].depth == 64);
  CHECK_FALSE(found.tried[0].kept);
  const auto kept = std::find_if(found.tried.begin(), found.tried.end(),
                                 [](const Candidate& candidate) { return candidate.kept; });
  REQUIRE(kept != found.tried.end());
  CHECK(kept->heads > 1);
  CHECK(kept->predicted_ns == PredictNs(job.topology, found.schedule));
  CHECK(kept->rounds == found.schedule.round_count);
  for (const Candidate& candidate : found.tried) {
    CHECK(kept->predicted_ns <= candidate.predicted_ns + candidate.predicted_ns / 400);
    CHECK((&candidate == &*kept) == candidate.kept);
  }
  size_t most_trees = 0;
  for (const RoutedStream& stream : found.routing.streams) {
    most_trees = std::max(most_trees, stream.trees.size());
  }
  CHECK(most_trees == kept->heads);
}

TEST_CASE("a schedule close to the bound stays as it is") {
  const Found found = Find(MoeJob(MoeShape{}), 1);
  REQUIRE(found.tried.size() == 1);
  CHECK(found.tried[0].kept);
}

TEST_CASE("jobs that send nothing have one candidate") {
  Job job;
  job.AddDomain(2, 50'000'000'000);
  job.AddClass({0}, {1}, {64});
  CHECK(Find(job, 0).tried.size() == 1);
}

}  // namespace
}  // namespace reshard
