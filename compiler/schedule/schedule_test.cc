#include "compiler/schedule/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compiler/route/routing.h"
#include "compiler/route/testing/job.h"
#include "compiler/route/witnesses.h"
#include "compiler/schedule/predict.h"
#include "compiler/schedule/testing/check_schedule.h"

namespace reshard {
namespace {

using testing::CheckSchedule;
using testing::CountMessages;
using testing::Job;
using testing::MoeJob;
using testing::MoeShape;
using testing::Strided;

constexpr int64_t kRate = 50'000'000'000;

struct Built {
  Routing routing;
  Schedule schedule;
};

Built Build(const Job& job, const RouteOptions& route, const ScheduleOptions& options) {
  Diagnostics diags;
  Built built;
  const bool routed =
      BuildRouting(job.table, job.transfers, job.topology, route, &diags, &built.routing);
  REQUIRE(routed);
  const bool scheduled =
      BuildSchedule(job.transfers, job.topology, built.routing, options, &diags, &built.schedule);
  REQUIRE(scheduled);
  return built;
}

TEST_CASE("the toy is eight messages of 32 bytes in one round") {
  Job job;
  job.AddDomain(2, kRate);
  job.AddDomain(4, kRate);
  for (Rank source = 0; source < 2; ++source) {
    for (Rank destination = 2; destination < 6; ++destination) {
      job.AddClass({source}, {destination}, {32});
    }
  }
  const Built built = Build(job, {}, {});
  CHECK(CheckSchedule(job, {}, built.schedule) == "");
  CHECK(CountMessages(built.schedule) == 8);
  REQUIRE(built.schedule.injects.size() == 8);
  for (const PlanInject& inject : built.schedule.injects) {
    CHECK(inject.extent == 32);
    CHECK(inject.round == 0);
  }
  CHECK(built.schedule.round_count == 1);
  // The sources' ports are the busiest: 128 bytes at 50 GB/s, and one round.
  CHECK(PredictNs(job.topology, built.schedule) == 20'002);
}

TEST_CASE("a slow NIC between few gets a little from every source in every round") {
  Job job;
  for (int domain = 0; domain < 3; ++domain) job.AddDomain(4, kRate / 2000);
  job.topology.nics[5].bytes_per_s /= 4;
  for (Rank source = 0; source < 4; ++source) {
    job.AddClass({source}, {4, 6, 8, 10}, {int64_t{8} << 20});
    job.AddClass({source}, {5, 7, 9, 11}, {int64_t{8} << 20});
  }
  RouteOptions chains;
  chains.strategy = Strategy::kChains;
  chains.heads = 1;
  ScheduleOptions options;
  options.slice_bytes = int64_t{1} << 20;
  const Built built = Build(job, chains, options);
  CHECK(CheckSchedule(job, options, built.schedule) == "");
  const int64_t bound_ns = WitnessNs(built.routing.witnesses[0]);
  CHECK(PredictNs(job.topology, built.schedule) < bound_ns + bound_ns / 20);
}

TEST_CASE("where nothing is passed on, ports have their share of work in every round") {
  RouteOptions direct;
  direct.strategy = Strategy::kDirect;
  SUBCASE("a fast sender feeds eight receivers in each") {
    Job job;
    job.AddDomain(1, 8 * kRate);
    for (Rank rank = 1; rank <= 8; ++rank) {
      job.AddDomain(1, kRate);
      job.AddClass({0}, {rank}, {int64_t{1'000'000'000}});
    }
    const Built built = Build(job, direct, {});
    CHECK(CheckSchedule(job, {}, built.schedule) == "");
    const int64_t bound_ns = WitnessNs(built.routing.witnesses[0]);
    CHECK(PredictNs(job.topology, built.schedule) < bound_ns + bound_ns / 10);
  }
  SUBCASE("each of six sends to all others") {
    Job job;
    for (Rank rank = 0; rank < 6; ++rank) job.AddDomain(1, kRate);
    for (Rank source = 0; source < 6; ++source) {
      for (Rank rank = 0; rank < 6; ++rank) {
        if (rank != source) job.AddClass({source}, {rank}, {int64_t{1'000'000'000}});
      }
    }
    const Built built = Build(job, direct, {});
    CHECK(CheckSchedule(job, {}, built.schedule) == "");
    const int64_t bound_ns = WitnessNs(built.routing.witnesses[0]);
    CHECK(PredictNs(job.topology, built.schedule) < bound_ns + bound_ns / 16);
  }
}

// As where sources hold rows and destinations need columns of some tensors and rows of others:
// everybody has a little for each of eight roles, and a few have a lot.
TEST_CASE("in a domain that copies decide, no needer gets much more in a round than in others") {
  const int64_t bytes = int64_t{1} << 30;
  Job job;
  job.AddDomain(8, kRate);
  for (Rank a = 0; a < 8; ++a) {
    for (Rank b = 0; b < 8; ++b) job.AddClass({a}, {b}, {bytes});
  }
  const Built built = Build(job, {}, {});
  CHECK(CheckSchedule(job, {}, built.schedule) == "");
  std::vector<std::vector<int64_t>> received(8);  // per rank and round
  for (std::vector<int64_t>& rounds : received) rounds.resize(built.schedule.round_count, 0);
  for (const PlanInject& inject : built.schedule.injects) {
    const PlanStream& stream = built.schedule.streams[built.schedule.trees[inject.tree].stream];
    int64_t begin = 0;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      const PlanPiece& piece = built.schedule.pieces[p];
      const int64_t from = std::max(begin, inject.begin);
      const int64_t to = std::min(begin + piece.extent, inject.begin + inject.extent);
      const Rank needer = job.transfers.rank_sets[job.transfers.classes[piece.cls].needers][0];
      received[needer][inject.round] += std::max<int64_t>(0, to - from);
      begin += piece.extent;
    }
  }
  for (const std::vector<int64_t>& rounds : received) {
    for (const int64_t in_round : rounds) {
      CHECK(in_round < 8 * bytes / built.schedule.round_count * 3 / 2);
    }
  }
}

TEST_CASE("a slice is of several NICs where a head takes what these send together") {
  for (const Rank domains : {3U, 6U}) {
    CAPTURE(domains);
    Job job;
    for (Rank d = 0; d < domains; ++d) job.AddDomain(2, kRate / 2, 2);
    job.AddDomain(1, kRate);
    for (const Rank i : {0U, 1U}) {
      for (Rank d = 0; d < domains; ++d) {
        job.AddClass({2 * d + i}, {2 * domains}, {int64_t{256} << 20});
      }
    }
    const Built built = Build(job, {}, {});
    const int64_t bound_ns = WitnessNs(built.routing.witnesses[0]);
    CHECK(PredictNs(job.topology, built.schedule) <= bound_ns + bound_ns / 16);
    CHECK(CheckSchedule(job, {}, built.schedule) == "");
  }
}

TEST_CASE("small parts of many sources move beside large ones") {
  Job job;
  constexpr Rank kSources = 512;
  for (Rank rank = 0; rank < kSources + 16; rank += 8) job.AddDomain(8, kRate);
  for (Rank role = 0; role < 8; ++role) {
    for (Rank source = 0; source < kSources; ++source) {
      const int64_t bytes = source / 16 == role ? 20'000'000 : 200'000;
      job.AddClass({source}, {kSources + role, kSources + 8 + role}, {bytes});
    }
  }
  const Built built = Build(job, {}, {});
  CHECK(CheckSchedule(job, {}, built.schedule) == "");
  const int64_t bound_ns = WitnessNs(built.routing.witnesses[0]);
  CHECK(PredictNs(job.topology, built.schedule) < bound_ns + bound_ns / 5);
}

TEST_CASE("all small jobs of two sources and three destinations obey the rules") {
  // Every class of up to 5 ranks: holders among 0-2, needers among 1-4 (1 and 2 may be both).
  int cases = 0;
  for (uint32_t domains = 0; domains < 4; ++domains) {
    for (uint32_t holder_bits = 1; holder_bits < 8; ++holder_bits) {
      for (uint32_t needer_bits = 1; needer_bits < 16; ++needer_bits) {
        Job job;
        if (domains == 0) job.AddDomain(5, kRate);
        if (domains == 1) {
          job.AddDomain(2, kRate);
          job.AddDomain(3, kRate / 2);
        }
        if (domains == 2) {
          job.AddDomain(2, kRate, 2);
          job.AddDomain(1, kRate);
          job.AddDomain(2, kRate);
        }
        if (domains == 3)
          for (int i = 0; i < 5; ++i) job.AddDomain(1, kRate);
        RankList holders, needers;
        for (Rank r = 0; r < 3; ++r)
          if (holder_bits >> r & 1) holders.push_back(r);
        for (Rank r = 0; r < 4; ++r)
          if (needer_bits >> r & 1) needers.push_back(r + 1);
        job.AddClass(holders, needers, {300'000, 10, 70'000});
        job.AddClass({0}, needers, {100'002});
        for (const int64_t limit : {int64_t{1} << 28, int64_t{400'000}}) {
          ScheduleOptions options;
          options.max_staging_bytes = limit;
          const Built built = Build(job, {}, options);
          const std::string problem = CheckSchedule(job, options, built.schedule);
          CAPTURE(domains);
          CAPTURE(holder_bits);
          CAPTURE(needer_bits);
          CAPTURE(limit);
          REQUIRE(problem == "");
          ++cases;
        }
      }
    }
  }
  CHECK(cases == 4 * 7 * 15 * 2);
}

// Domains, NIC rates and rank sets at random, from one seed.
Job RandomJob(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  Job job;
  const uint32_t domain_count = 1 + below(8);
  for (uint32_t i = 0; i < domain_count; ++i) {
    job.AddDomain(1 + below(6), kRate / (1 + below(4)), 1 + below(3));
  }
  const auto rank_count = static_cast<uint32_t>(job.topology.sites.size());
  const auto random_set = [&](uint32_t one_in) {
    RankList ranks;
    for (Rank rank = 0; rank < rank_count; ++rank) {
      if (below(one_in) == 0) ranks.push_back(rank);
    }
    if (ranks.empty()) ranks.push_back(below(rank_count));
    return ranks;
  };
  const uint32_t class_count = 1 + below(30);
  std::set<std::pair<RankList, RankList>> seen;
  for (uint32_t i = 0; i < class_count; ++i) {
    const RankList holders = random_set(1 + below(10)), needers = random_set(1 + below(10));
    if (!seen.insert({holders, needers}).second) continue;
    std::vector<int64_t> cells;
    for (uint32_t c = 0; c <= below(4); ++c) cells.push_back(1 + below(1U << (1 + below(22))));
    job.AddClass(holders, needers, cells);
  }
  return job;
}

TEST_CASE("random jobs obey the rules") {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Job job = RandomJob(seed);
    ScheduleOptions options;
    options.max_staging_bytes = int64_t{1} << (22 + seed % 7);
    options.slice_bytes = int64_t{1} << (16 + seed % 11);
    RouteOptions route;
    route.strategy = static_cast<Strategy>(seed % kStrategyTexts.size());
    const bool chains = route.strategy == Strategy::kAuto || route.strategy == Strategy::kChains;
    if (chains) route.heads = seed / 4 % 5;
    const Built built = Build(job, route, options);
    const std::string problem = CheckSchedule(job, options, built.schedule);
    REQUIRE(problem == "");
  }
}

TEST_CASE("a mixture of experts comes within a few per cent of the bound") {
  MoeShape base, few_sources, four_nodes;
  few_sources.pp = 2;
  few_sources.ep = 8;
  few_sources.edp = 1;
  four_nodes.pp = 16;
  four_nodes.edp = 1;
  four_nodes.tp = 32;
  four_nodes.replicas = 8;
  MoeShape slow_sources;  // two have to send at once to keep a head busy
  slow_sources.source_rate /= 2;
  std::vector<Job> jobs = {MoeJob(base), MoeJob(few_sources), MoeJob(four_nodes), MoeJob(base),
                           MoeJob(slow_sources)};
  jobs[3].topology.nics[3].bytes_per_s /= 4;  // of a source whose bytes another one holds, too
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Built built = Build(jobs[i], {}, {});
    const double ratio = static_cast<double>(PredictNs(jobs[i].topology, built.schedule)) /
                         static_cast<double>(WitnessNs(built.routing.witnesses[0]));
    CAPTURE(i);
    CHECK(ratio >= 1.0);
    CHECK(ratio <= 1.035);
  }
}

TEST_CASE("a large schedule obeys the rules, too") {
  MoeShape shape;
  shape.tp = 32;
  shape.replicas = 4;
  shape.model_bytes = int64_t{40} << 30;
  const Job job = MoeJob(shape);
  const Built built = Build(job, {}, {});
  CHECK(CheckSchedule(job, {}, built.schedule) == "");
}

TEST_CASE("ranks in very many streams, slow sources, ranks on both sides") {
  std::mt19937 random(7);
  Job irregular;  // every replica places its experts in its own way
  for (int i = 0; i < 12; ++i) irregular.AddDomain(8, kRate);
  for (Rank expert = 0; expert < 160; ++expert) {
    RankList needers;
    for (Rank replica = 0; replica < 8; ++replica) {
      needers.push_back(32 + replica * 8 + static_cast<Rank>(random() % 8));
    }
    irregular.AddClass({expert % 32}, needers, {int64_t{100} << 20});
  }
  CHECK(CheckSchedule(irregular, {}, Build(irregular, {}, {}).schedule) == "");

  MoeShape shape;
  shape.model_bytes = int64_t{20} << 30;
  shape.source_rate /= 3;
  const Job slow = MoeJob(shape);
  CHECK(CheckSchedule(slow, {}, Build(slow, {}, {}).schedule) == "");

  Job colocated;
  for (int i = 0; i < 4; ++i) colocated.AddDomain(8, kRate);
  for (Rank expert = 0; expert < 32; ++expert) {
    for (Rank t = 0; t < 8; ++t) {
      colocated.AddClass({expert}, Strided(t, 4, 8), {int64_t{40} << 20});
    }
  }
  CHECK(CheckSchedule(colocated, {}, Build(colocated, {}, {}).schedule) == "");
}

// The limit that the error names, 0 when the job fits `limit`.
int64_t SmallestFeasible(const Job& job, const Routing& routing, int64_t limit) {
  Diagnostics diags;
  ScheduleOptions options;
  options.max_staging_bytes = limit;
  Schedule schedule;
  if (BuildSchedule(job.transfers, job.topology, routing, options, &diags, &schedule)) {
    CHECK(CheckSchedule(job, options, schedule) == "");
    return 0;
  }
  REQUIRE(diags.entries().size() == 1);
  CHECK(diags.entries()[0].code == DiagnosticCode::kStagingInfeasible);
  const std::string& text = diags.entries()[0].text;
  const std::string before = "smallest feasible limit is ";
  const size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return std::stoll(text.substr(at + before.size()));
}

TEST_CASE("an infeasible staging limit names the smallest feasible one") {
  int named = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Job job = RandomJob(seed);
    Diagnostics diags;
    Routing routing;
    REQUIRE(BuildRouting(job.table, job.transfers, job.topology, {}, &diags, &routing));
    const int64_t smallest = SmallestFeasible(job, routing, 1);
    CHECK(smallest > 1);
    CHECK(SmallestFeasible(job, routing, smallest - 1) == smallest);
    CHECK(SmallestFeasible(job, routing, smallest / 2) == smallest);
    for (const int64_t more : {int64_t{0}, int64_t{1}, smallest / 5, smallest, 20 * smallest}) {
      CHECK(SmallestFeasible(job, routing, smallest + more) == 0);
    }
    ++named;
  }
  CHECK(named == 60);
}

}  // namespace
}  // namespace reshard
