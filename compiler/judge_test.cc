#include "compiler/judge.h"

#include <doctest/doctest.h>

#include "compiler/moves_plan.h"
#include "compiler/route/routing.h"
#include "compiler/route/testing/job.h"
#include "compiler/schedule/predict.h"
#include "compiler/simulate/simulate.h"

namespace reshard {
namespace {

using testing::Job;
using testing::MoeJob;
using testing::MoeShape;

Schedule Build(const Job& job) {
  Diagnostics diags;
  Routing routing;
  Schedule schedule;
  REQUIRE(BuildRouting(job.table, job.transfers, job.topology, RouteOptions{Strategy::kChains, 1},
                       &diags, &routing));
  REQUIRE(BuildSchedule(job.transfers, job.topology, routing, {}, &diags, &schedule));
  return schedule;
}

int64_t WholeNs(const Job& job, const Schedule& schedule) {
  const SimResult result = Simulate(MovesPlan(job.transfers, job.topology, schedule), {});
  REQUIRE(result.failure == "");
  return result.total_ns;
}

TEST_CASE("a small schedule is simulated as a whole") {
  MoeShape shape;
  shape.model_bytes = int64_t{10} << 30;
  const Job job = MoeJob(shape);
  const Schedule schedule = Build(job);
  const Judgement judgement = JudgeSchedule(job.transfers, job.topology, schedule);
  CHECK(judgement.whole);
  CHECK(judgement.predicted_ns == PredictNs(job.topology, schedule));
  CHECK(judgement.simulated_ns == WholeNs(job, schedule));
}

TEST_CASE("copies inside domains that take longer than the network are part of the prediction") {
  MoeShape shape;
  shape.model_bytes = int64_t{10} << 30;
  Job job = MoeJob(shape);
  for (Domain& domain : job.topology.domains) domain.bytes_per_s = 500'000'000;
  const Schedule schedule = Build(job);
  const Judgement judgement = JudgeSchedule(job.transfers, job.topology, schedule);
  CHECK(judgement.predicted_ns > PredictNs(job.topology, schedule));
}

TEST_CASE("the cost of a round is part of both times") {
  MoeShape shape;
  shape.model_bytes = int64_t{10} << 30;
  Job job = MoeJob(shape);
  const Schedule schedule = Build(job);
  const Judgement cheap = JudgeSchedule(job.transfers, job.topology, schedule);
  job.topology.round_ns += 1'000'000;
  const Judgement dear = JudgeSchedule(job.transfers, job.topology, schedule);
  CHECK(dear.predicted_ns == cheap.predicted_ns + int64_t{schedule.round_count} * 1'000'000);
  CHECK(dear.simulated_ns > cheap.simulated_ns + int64_t{schedule.round_count} * 900'000);
}

TEST_CASE("stretches of a large schedule tell nearly what the whole would") {
  const Job even = MoeJob(MoeShape{});
  const Schedule schedule = Build(even);
  const Judgement judgement = JudgeSchedule(even.transfers, even.topology, schedule);
  CHECK_FALSE(judgement.whole);
  const int64_t whole_ns = WholeNs(even, schedule);
  CHECK(judgement.simulated_ns > whole_ns - whole_ns / 100);
  CHECK(judgement.simulated_ns < whole_ns + whole_ns / 100);
}

TEST_CASE("how a schedule begins and ends is simulated: the last copies take most of a round") {
  Job job;
  for (int domain = 0; domain < 3; ++domain) job.AddDomain(8, 50'000'000'000);
  RankList needers;
  for (Rank rank = 8; rank < 24; ++rank) needers.push_back(rank);
  for (Rank source = 0; source < 8; ++source) {
    job.AddClass({source}, needers, {int64_t{40'000'000'000}});
  }
  for (Domain& domain : job.topology.domains) domain.bytes_per_s = 400'000'000'000;
  const Schedule schedule = Build(job);
  const Judgement judgement = JudgeSchedule(job.transfers, job.topology, schedule);
  CHECK_FALSE(judgement.whole);
  const int64_t whole_ns = WholeNs(job, schedule);
  CHECK(whole_ns > judgement.predicted_ns + judgement.predicted_ns / 1000);
  CHECK(judgement.simulated_ns > whole_ns - whole_ns / 2000);
  CHECK(judgement.simulated_ns < whole_ns + whole_ns / 2000);
}

TEST_CASE("stretches show what the prediction does not know: ranks that wait for a slow lander") {
  Job slow = MoeJob(MoeShape{});
  slow.topology.nics[16 * 8 + 5 * 8 + 3].bytes_per_s /= 4;
  const Schedule schedule = Build(slow);
  const Judgement judgement = JudgeSchedule(slow.transfers, slow.topology, schedule);
  CHECK_FALSE(judgement.whole);
  const int64_t whole_ns = WholeNs(slow, schedule);
  CHECK(whole_ns > judgement.predicted_ns + judgement.predicted_ns / 10);
  CHECK(judgement.simulated_ns > whole_ns - whole_ns / 25);
  CHECK(judgement.simulated_ns < whole_ns + whole_ns / 25);
}

}  // namespace
}  // namespace reshard
