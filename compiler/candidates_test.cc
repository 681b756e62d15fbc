#include "compiler/candidates.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "compiler/route/testing/job.h"
#include "compiler/schedule/predict.h"
#include "compiler/schedule/testing/check_schedule.h"

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

Found Find(const Job& job, const RouteOptions& route) {
  Found found;
  Diagnostics diags;
  const CandidateInputs inputs{&job.table, &job.transfers, &job.topology, ScheduleOptions{}};
  const bool routed =
      BuildRouting(job.table, job.transfers, job.topology, route, &diags, &found.routing);
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
  const Found found = Find(job, {Strategy::kChains, 1});
  REQUIRE(found.tried.size() >= 2);
  CHECK(found.tried[0].heads == 1);
  CHECK(found.tried[0].depth == 64);
  CHECK_FALSE(found.tried[0].kept);
  const auto kept = std::find_if(found.tried.begin(), found.tried.end(),
                                 [](const Candidate& candidate) { return candidate.kept; });
  REQUIRE(kept != found.tried.end());
  CHECK(kept->depth < 64);
  CHECK(kept->predicted_ns == PredictNs(job.topology, found.schedule));
  CHECK(kept->simulated_ns > kept->bound_ns);
  CHECK(kept->rounds == found.schedule.round_count);
  for (const Candidate& candidate : found.tried) {
    CHECK(kept->simulated_ns <= candidate.simulated_ns + candidate.simulated_ns / 400);
    CHECK((&candidate == &*kept) == candidate.kept);
  }
  size_t most_trees = 0;
  for (const RoutedStream& stream : found.routing.streams) {
    most_trees = std::max(most_trees, stream.trees.size());
  }
  CHECK(most_trees == kept->heads);
}

TEST_CASE("streams to many domains begin with two trees, chains are for ports that are not even") {
  const Found even = Find(MoeJob(MoeShape{}), {});
  REQUIRE(!even.tried.empty());
  CHECK(even.tried[0].kind == CandidateKind::kTwoTrees);
  CHECK(even.tried[0].depth == 5);
  CHECK(even.tried[0].heads == 1);
  CHECK(even.tried[0].kept);
  MoeShape shape;
  Job job = MoeJob(shape);
  job.topology.nics[19 * 8 + 3].bytes_per_s /= 4;
  const Found uneven = Find(job, {});
  REQUIRE(uneven.tried.size() >= 2);
  CHECK(uneven.tried[0].kind == CandidateKind::kTwoTrees);
  const auto kept = std::find_if(uneven.tried.begin(), uneven.tried.end(),
                                 [](const Candidate& candidate) { return candidate.kept; });
  REQUIRE(kept != uneven.tried.end());
  CHECK(kept->kind != CandidateKind::kTwoTrees);
  for (const PlanTree& tree : uneven.schedule.trees) CHECK(tree.kind == PlanTreeKind::kChain);
}

TEST_CASE("a schedule close to the bound stays as it is") {
  const Found found = Find(MoeJob(MoeShape{}), {Strategy::kChains, 1});
  REQUIRE(found.tried.size() == 1);
  CHECK(found.tried[0].kept);
}

TEST_CASE("a slow lander gets a chain of its own") {
  MoeShape shape;
  shape.model_bytes /= 4;
  Job job = MoeJob(shape);
  job.topology.nics[16 * 8 + 5 * 8 + 3].bytes_per_s /= 4;
  const Found found = Find(job, {Strategy::kChains, 1});
  REQUIRE(found.tried.size() >= 2);
  CHECK(found.tried[1].kind == CandidateKind::kSlowApart);
  CHECK(found.tried[1].simulated_ns < found.tried[0].simulated_ns);
  const Rank slow = 16 * 8 + 5 * 8 + 3;
  for (const RoutedStream& stream : found.routing.streams) {
    for (const RoutedTree& tree : stream.trees) {
      const bool has_slow =
          std::find(tree.landers.begin(), tree.landers.end(), slow) != tree.landers.end();
      if (has_slow) CHECK(tree.landers.size() == 1);
    }
  }
}

TEST_CASE("what a round's cost decides is sent directly, in one round") {
  MoeShape shape;
  shape.pp = 2;
  shape.ep = 8;
  shape.edp = 1;
  shape.replicas = 2;
  shape.model_bytes = 4'000'000;
  const Job job = MoeJob(shape);
  const Found found = Find(job, {Strategy::kChains, 1});
  REQUIRE(found.tried.size() == 2);
  CHECK(found.tried[1].kind == CandidateKind::kDirect);
  CHECK(found.tried[1].kept);
  CHECK(found.tried[0].rounds > 1);
  CHECK(found.schedule.round_count == 1);
  CHECK(testing::CheckSchedule(job, {}, found.schedule) == "");
  // One message from each source to each lander.
  std::set<std::pair<Rank, Rank>> pairs;
  for (const PlanInject& inject : found.schedule.injects) {
    const PlanTree& tree = found.schedule.trees[inject.tree];
    CHECK(tree.member_count == 1);
    CHECK(pairs.insert({inject.source, found.schedule.tree_members[tree.first_member]}).second);
  }
}

TEST_CASE("streams of one source and lander become one where nothing is passed on") {
  // A fast source, and domains of one and of three NICs: each of these has a stream of its own,
  // that also lands in the other domain.
  constexpr int64_t kRate = 1'000'000'000;
  Job job;
  job.AddDomain(1, 8 * kRate);
  job.AddDomain(1, 4 * kRate);
  job.AddDomain(3, kRate);
  job.AddClass({0}, {1, 2}, {int64_t{30'000'000'000}});
  const Found found = Find(job, {Strategy::kChains, 2});
  REQUIRE(found.tried.size() >= 2);
  CHECK(found.tried[0].depth == 1);
  const Candidate& merged = found.tried.back();
  CHECK(merged.kind == CandidateKind::kDirect);
  CHECK(merged.kept);
  CHECK(merged.simulated_ns < merged.bound_ns + merged.bound_ns / 20);
  CHECK(found.tried[0].simulated_ns > merged.simulated_ns + merged.simulated_ns / 3);
  CHECK(testing::CheckSchedule(job, {}, found.schedule) == "");
}

// One rank holds everything: its own NIC takes as many times the bound as its domain has NICs.
TEST_CASE("all NICs of the sources' domains send where the holders' own are too few") {
  for (const bool colocated : {false, true}) {
    Job job;
    for (int i = 0; i < 3; ++i) job.AddDomain(8, 50'000'000'000);
    const Rank first = colocated ? 0 : 8;
    job.AddClass({0}, testing::Strided(first, 24 - first, 1), {int64_t{16} << 30});
    const Found found = Find(job, {});
    CAPTURE(colocated);
    const auto kept = std::find_if(found.tried.begin(), found.tried.end(),
                                   [](const Candidate& candidate) { return candidate.kept; });
    REQUIRE(kept != found.tried.end());
    CHECK(found.tried[0].busiest_port_ns > 7 * found.tried[0].bound_ns);
    CHECK(kept->busiest_port_ns <= kept->bound_ns + kept->bound_ns / 100);
    // Rank 0 alone hands over seven eighths and is copied from by its domain, too.
    CHECK(kept->simulated_ns <= kept->bound_ns + kept->bound_ns / (colocated ? 1 : 8));
    CHECK(testing::CheckSchedule(job, {}, found.schedule) == "");
  }
}

TEST_CASE("slow carriers are no slow landers: chains of their own would gain nothing") {
  Job job;
  for (int i = 0; i < 4; ++i) job.AddDomain(8, 50'000'000'000);
  job.topology.nics[3].bytes_per_s /= 4;
  job.AddClass({0}, testing::Strided(8, 24, 1), {int64_t{16} << 30});
  const Found found = Find(job, {});
  bool pooled = false;
  for (const Candidate& candidate : found.tried) {
    pooled = pooled || candidate.kind == CandidateKind::kPooled;
    CHECK(candidate.kind != CandidateKind::kSlowApart);
  }
  CHECK(pooled);
}

// Rank 0 sends to four domains, and they, and it, send as much to others as they can. Domain 10
// needs and holds nothing.
TEST_CASE("an idle domain relays where holders and needers have no more to send") {
  constexpr int64_t kGb = 1'000'000'000;
  Job job;
  for (Rank rank = 0; rank < 10; ++rank) job.AddDomain(1, kGb);
  job.AddDomain(1, 4 * kGb);
  const int64_t bytes = kGb / 10;
  job.AddClass({0}, {1, 2, 3, 4}, {bytes});
  job.AddClass({0}, {5}, {bytes});
  for (Rank rank = 1; rank < 5; ++rank) job.AddClass({rank}, {5 + rank}, {2 * bytes});
  const Found found = Find(job, {});
  const auto kept = std::find_if(found.tried.begin(), found.tried.end(),
                                 [](const Candidate& candidate) { return candidate.kept; });
  REQUIRE(kept != found.tried.end());
  CHECK(kept->bound_ns == 200'000'000);
  CHECK(kept->busiest_port_ns < 201'000'000);
  CHECK(kept->simulated_ns < 210'000'000);
  for (const Candidate& candidate : found.tried) {
    // Small slices are made of the best so far.
    const bool relays =
        candidate.kind == CandidateKind::kRelays || candidate.kind == CandidateKind::kSmallSlices;
    CHECK((candidate.busiest_port_ns < 201'000'000) == relays);
    if (!relays) CHECK(candidate.simulated_ns > 260'000'000);
  }
  CHECK(std::count(found.schedule.tree_members.begin(), found.schedule.tree_members.end(), 10) ==
        1);
  CHECK(testing::CheckSchedule(job, {}, found.schedule) == "");
}

TEST_CASE("hubs: each lander gets an equal part from the sources and sends it to the others") {
  Job job;
  for (int i = 0; i < 5; ++i) job.AddDomain(1, 50'000'000'000);
  job.AddClass({0}, {1, 2, 3, 4}, {1 << 28});
  Routing routing;
  Diagnostics diags;
  RouteOptions options;
  options.strategy = Strategy::kHubs;
  REQUIRE(BuildRouting(job.table, job.transfers, job.topology, options, &diags, &routing));
  REQUIRE(routing.streams.size() == 4);
  std::set<Rank> hubs;
  for (const RoutedStream& stream : routing.streams) {
    REQUIRE(stream.trees.size() == 1);
    CHECK(stream.trees[0].kind == PlanTreeKind::kStar);
    CHECK(stream.trees[0].landers.size() == 4);
    CHECK(hubs.insert(stream.trees[0].landers[0]).second);
  }
  for (NicId nic = 1; nic < 5; ++nic) {
    CHECK(routing.loads[nic].send_bytes == 3 << 26);
    CHECK(routing.loads[nic].receive_bytes == 1 << 28);
  }
  CHECK(routing.loads[0].send_bytes == 1 << 28);
  Schedule schedule;
  REQUIRE(BuildSchedule(job.transfers, job.topology, routing, {}, &diags, &schedule));
  CHECK(testing::CheckSchedule(job, {}, schedule) == "");
}

TEST_CASE("peers are counted in both directions, each once") {
  Job job;
  for (int i = 0; i < 4; ++i) job.AddDomain(1, 50'000'000'000);
  job.AddClass({0}, {2}, {1 << 20});
  job.AddClass({0}, {3}, {1 << 20});
  job.AddClass({1}, {2}, {1 << 20});
  job.AddClass({2}, {0}, {1 << 20});
  CHECK(Find(job, {Strategy::kChains, 1}).tried[0].peers == 2);
}

TEST_CASE("a limit of peers is kept, and the smallest feasible one is exact") {
  MoeShape shape;
  shape.replicas = 8;
  shape.model_bytes = int64_t{4} << 30;
  const Job job = MoeJob(shape);
  const auto named = [&](uint32_t limit) {  // 0: feasible
    Routing routing;
    Schedule schedule;
    Diagnostics diags;
    CandidateInputs inputs{&job.table, &job.transfers, &job.topology, ScheduleOptions{}};
    inputs.max_peers = limit;
    REQUIRE(BuildRouting(job.table, job.transfers, job.topology, {}, &diags, &routing));
    REQUIRE(BuildSchedule(job.transfers, job.topology, routing, {}, &diags, &schedule));
    const std::vector<Candidate> tried = KeepBestCandidate(inputs, &routing, &schedule);
    if (CheckPeers(tried, limit, &diags)) {
      const auto kept = std::find_if(tried.begin(), tried.end(),
                                     [](const Candidate& candidate) { return candidate.kept; });
      CHECK(kept->peers <= limit);
      return 0;
    }
    CHECK(diags.entries().back().code == DiagnosticCode::kPeersInfeasible);
    const std::string& text = diags.entries().back().text;
    return std::stoi(text.substr(text.rfind(' ') + 1));
  };
  const int smallest = named(1);
  REQUIRE(smallest > 1);
  CHECK(named(static_cast<uint32_t>(smallest)) == 0);
  CHECK(named(static_cast<uint32_t>(smallest - 1)) == smallest);
  CHECK(named(static_cast<uint32_t>(2 * smallest)) == 0);
}

TEST_CASE("a limit of peers leaves the fastest of all kinds that keep it") {
  Job job;
  for (int i = 0; i < 3; ++i) job.AddDomain(4, 1'000'000'000);
  job.AddClass({0}, testing::Strided(4, 8, 1), {1'000'000'000});
  job.AddClass({1}, {4}, {1'000'000'000});
  for (uint32_t limit = 4; limit <= 6; ++limit) {
    Diagnostics diags;
    Routing routing;
    Schedule schedule;
    CandidateInputs inputs{&job.table, &job.transfers, &job.topology, ScheduleOptions{}};
    inputs.max_peers = limit;
    REQUIRE(BuildRouting(job.table, job.transfers, job.topology, {}, &diags, &routing));
    REQUIRE(BuildSchedule(job.transfers, job.topology, routing, {}, &diags, &schedule));
    const std::vector<Candidate> tried = KeepBestCandidate(inputs, &routing, &schedule);
    CAPTURE(limit);
    const auto kept = std::find_if(tried.begin(), tried.end(),
                                   [](const Candidate& candidate) { return candidate.kept; });
    REQUIRE(kept != tried.end());
    CHECK(kept->peers <= limit);
    for (const Candidate& candidate : tried) {
      const int64_t worth = candidate.simulated_ns / 400;
      CHECK((candidate.peers > limit || kept->simulated_ns <= candidate.simulated_ns + worth));
    }
    // The fastest plan of all has five.
    CHECK((kept->kind == CandidateKind::kPooled) == (limit >= 5));
    CHECK(testing::CheckSchedule(job, {}, schedule) == "");
  }
}

TEST_CASE("jobs that send nothing have one candidate") {
  Job job;
  job.AddDomain(2, 50'000'000'000);
  job.AddClass({0}, {1}, {64});
  CHECK(Find(job, {}).tried.size() == 1);
}

}  // namespace
}  // namespace reshard
