#include "compiler/route/routing.h"

#include <doctest/doctest.h>

#include <map>
#include <tuple>
#include <utility>

#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/testing/job.h"
#include "compiler/route/witnesses.h"

namespace reshard {
namespace {

using testing::Job;
using testing::MoeJob;
using testing::MoeShape;
using testing::Strided;

constexpr int64_t kRate = 50'000'000'000;

Routing Route(const Job& job, uint32_t heads = 0) {
  Diagnostics diags;
  Routing routing;
  const bool ok = BuildRouting(job.table, job.transfers, job.topology,
                               RouteOptions{Strategy::kAuto, heads}, &diags, &routing);
  REQUIRE(ok);
  return routing;
}

DiagnosticCode CodeOf(const Job& job, std::string* text) {
  Diagnostics diags;
  Routing routing;
  const bool ok =
      BuildRouting(job.table, job.transfers, job.topology, RouteOptions{}, &diags, &routing);
  REQUIRE_FALSE(ok);
  REQUIRE(diags.entries().size() == 1);
  *text = diags.entries()[0].text;
  return diags.entries()[0].code;
}

// Two sources with half the rows each, four destinations with a quarter of the columns each.
Job Toy() {
  Job job;
  job.AddDomain(2, kRate);
  job.AddDomain(4, kRate);
  for (Rank source = 0; source < 2; ++source) {
    for (Rank destination = 2; destination < 6; ++destination) {
      job.AddClass({source}, {destination}, {32});
    }
  }
  return job;
}

TEST_CASE("the toy routes each class once, from its holder to its needer") {
  const Routing routing = Route(Toy());
  REQUIRE(routing.streams.size() == 4);
  for (size_t s = 0; s < 4; ++s) {
    const RoutedStream& stream = routing.streams[s];
    CHECK_FALSE(stream.local);
    REQUIRE(stream.trees.size() == 1);
    CHECK(stream.trees[0].landers == std::vector<Rank>{static_cast<Rank>(2 + s)});
    REQUIRE(stream.trees[0].sources.size() == 2);
    CHECK(stream.trees[0].sources[0].source == 0);
    CHECK(stream.trees[0].sources[1].source == 1);
    CHECK(stream.trees[0].sources[1].range.extent == 32);
  }
  CHECK(routing.loads[0].send_bytes == 128);
  CHECK(routing.loads[0].receive_bytes == 0);
  CHECK(routing.loads[5].receive_bytes == 64);
}

TEST_CASE("witnesses count ingress per domain and injection of sole holders") {
  Job job = Toy();
  job.topology.nics[2].bytes_per_s = 10'000'000'000;  // a slow NIC of the destination
  const Routing routing = Route(job);
  REQUIRE(routing.witnesses.size() >= 2);
  const CutWitness& injection = routing.witnesses[0];
  CHECK(injection.kind == PlanCutKind::kInjection);
  CHECK(injection.members == std::vector<uint32_t>{0});
  CHECK(injection.bytes == 256);
  CHECK(injection.bytes_per_s == 2 * kRate);
  const CutWitness& ingress = routing.witnesses[1];
  CHECK(ingress.kind == PlanCutKind::kIngress);
  CHECK(ingress.members == std::vector<uint32_t>{1});
  CHECK(ingress.bytes == 256);
  CHECK(ingress.bytes_per_s == 160'000'000'000);
  CHECK(WitnessNs(injection) == 2);
}

TEST_CASE("domains that share a NIC have a witness together") {
  Job job;
  job.AddDomain(1, kRate);
  for (int i = 0; i < 3; ++i) job.AddDomain(1, kRate);
  job.topology.sites[2].nics = job.topology.sites[1].nics;
  job.topology.domains[2].nics = job.topology.domains[1].nics;
  job.AddClass({0}, {1, 2}, {64});
  job.AddClass({0}, {2, 3}, {32});
  const Routing routing = Route(job);
  REQUIRE(!routing.witnesses.empty());
  const CutWitness& binding = routing.witnesses[0];
  CHECK(binding.kind == PlanCutKind::kIngress);
  CHECK(binding.members == std::vector<uint32_t>{1, 2});
  CHECK(binding.bytes == 64 + 64 + 32);
  CHECK(binding.bytes_per_s == kRate);
}

TEST_CASE("replicated needers share the landing, holders the sending") {
  Job job;
  job.AddDomain(4, kRate);
  job.AddDomain(8, kRate);
  job.AddDomain(8, kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass(Strided(0, 4, 1), Strided(4, 16, 1), {bytes});
  const Routing routing = Route(job);
  CHECK(routing.streams.size() == 8);
  for (const PortLoad& load : routing.loads) {
    if (load.nic < 4) {
      CHECK(load.send_bytes == bytes / 4 * (routing.streams[0].trees.size() == 2 ? 2 : 1));
    } else {
      CHECK(load.receive_bytes == bytes / 8);
    }
  }
}

TEST_CASE("landing follows the NICs: shared ones count once, slow ones get less") {
  Job job;
  job.AddDomain(1, kRate);
  job.AddDomain(4, kRate, 2);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, Strided(1, 4, 1), {bytes});
  job.topology.nics[2].bytes_per_s = kRate / 3;
  const Routing routing = Route(job);
  const double fast = static_cast<double>(routing.loads[1].receive_bytes);
  const double slow = static_cast<double>(routing.loads[2].receive_bytes);
  CHECK(fast + slow == static_cast<double>(bytes));
  CHECK(fast / slow == doctest::Approx(3).epsilon(0.02));
}

// Four ranks in each of two domains need a class each; any of eight sources can send it.
Job SingleNeeders(int64_t bytes) {
  Job job;
  job.AddDomain(8, kRate);
  job.AddDomain(4, kRate);
  job.AddDomain(4, kRate);
  for (Rank i = 0; i < 4; ++i) job.AddClass(Strided(0, 8, 1), {8 + i, 12 + i}, {bytes});
  return job;
}

TEST_CASE("needers land their own bytes where their NICs are equal") {
  const Routing routing = Route(SingleNeeders(int64_t{1} << 30));
  REQUIRE(routing.streams.size() == 4);
  for (Rank i = 0; i < 4; ++i) {
    for (const RoutedTree& tree : routing.streams[i].trees) {
      for (const Rank lander : tree.landers) CHECK(lander % 4 == i);
    }
  }
}

TEST_CASE("bytes that a slow NIC is too slow for land on others of its domain") {
  const int64_t bytes = int64_t{1} << 30;
  Job job = SingleNeeders(bytes);
  job.topology.nics[9].bytes_per_s = kRate / 4;
  const Routing routing = Route(job);
  int64_t landed = 0;
  for (NicId nic = 8; nic < 12; ++nic) {
    const int64_t received = routing.loads[nic].receive_bytes;
    const int64_t rate = job.topology.nics[nic].bytes_per_s;
    landed += received;
    // All are busy for as long as 4 GiB need on NICs of 3.25 times the rate.
    const double share = 4.0 * static_cast<double>(rate) / (3.25 * static_cast<double>(kRate));
    CHECK(static_cast<double>(received) == doctest::Approx(share * 1073741824.0).epsilon(0.005));
  }
  CHECK(landed == 4 * bytes);
  // In the other domain the needers still land what is theirs.
  for (NicId nic = 12; nic < 16; ++nic) CHECK(routing.loads[nic].receive_bytes == bytes);
}

TEST_CASE("loads stay within half a per cent of the binding cut") {
  for (const auto& sizes : {std::pair{4U, 2U}, {2U, 1U}, {3U, 2U}}) {
    MoeShape shape;
    std::tie(shape.pp, shape.edp) = sizes;
    const Job job = MoeJob(shape);
    const Routing routing = Route(job);
    const double bound = static_cast<double>(WitnessNs(routing.witnesses[0])) / 1e9;
    double busiest = 0;
    for (const PortLoad& load : routing.loads) {
      const double most = static_cast<double>(std::max(load.send_bytes, load.receive_bytes));
      busiest = std::max(busiest, most / static_cast<double>(kRate));
    }
    CAPTURE(shape.pp);
    CHECK(busiest <= 1.005 * bound);
    CHECK(busiest >= 0.9999 * bound);
  }
}

TEST_CASE("a domain with a holder is served by it, a needer that holds by itself") {
  Job job;
  job.AddDomain(4, kRate);
  job.AddDomain(4, kRate);
  const int64_t bytes = int64_t{8} << 20;
  job.AddClass({0, 1}, {1, 2, 5}, {bytes});  // 1 holds and needs
  job.AddClass({0, 1}, {3}, {bytes});
  const Routing routing = Route(job);
  std::map<Rank, int64_t> local;
  int64_t over_network = 0;
  for (const RoutedStream& stream : routing.streams) {
    for (const ClassRange& range : stream.bytes) {
      if (stream.local) {
        local[stream.trees[0].landers[0]] += range.extent;
        CHECK(stream.domains == std::vector<DomainId>{0});
      } else {
        over_network += range.extent;
        CHECK(stream.domains == std::vector<DomainId>{1});
      }
    }
  }
  CHECK(over_network == bytes);
  CHECK(local[1] == bytes + bytes / 2);
  CHECK(local[0] == bytes / 2);
}

// What each rank of a domain sends to others of it: copies by needers, and what it hands over.
std::map<Rank, int64_t> SentInside(const Job& job, const Routing& routing) {
  std::map<Rank, int64_t> sent;
  for (const RoutedStream& stream : routing.streams) {
    REQUIRE(stream.local);
    const Rank lander = stream.trees[0].landers[0];
    for (const SourceRange& source : stream.trees[0].sources) {
      if (source.source != lander) sent[source.source] += source.range.extent;
    }
    for (const ClassRange& range : stream.bytes) {
      for (const Rank needer : job.transfers.rank_sets[job.transfers.classes[range.cls].needers]) {
        if (needer != lander) sent[lander] += range.extent;
      }
    }
  }
  return sent;
}

TEST_CASE("a holder of what many of its domain need sends it once, and they pass it on") {
  const int64_t bytes = int64_t{7} << 30;
  Job job;
  job.AddDomain(8, kRate);
  job.AddClass({0}, Strided(1, 7, 1), {bytes});
  const std::map<Rank, int64_t> sent = SentInside(job, Route(job));
  REQUIRE(sent.size() == 8);
  for (const auto& [rank, sent_bytes] : sent) {
    const auto least = static_cast<double>(rank == 0 ? bytes : bytes * 6 / 7);
    CHECK(static_cast<double>(sent_bytes) == doctest::Approx(least).epsilon(0.03));
  }
}

TEST_CASE("a little that a holder sends to many is not worth another stage") {
  Job job;
  job.AddDomain(8, kRate);
  job.AddClass({0}, Strided(1, 7, 1), {1 << 20});  // 20 us at 370 GB/s, to all of them
  const Routing routing = Route(job);
  REQUIRE(routing.streams.size() == 1);
  CHECK(IsInsideRank(routing.streams[0]));
}

TEST_CASE("holders share what they send to their domain by what else they have to send to it") {
  const int64_t bytes = int64_t{8} << 30;
  Job job;
  job.AddDomain(4, kRate);
  job.AddClass({0}, {1}, {bytes});
  job.AddClass({0, 2}, {3}, {bytes});
  const std::map<Rank, int64_t> sent = SentInside(job, Route(job));
  CHECK(sent.at(0) == bytes);
  CHECK(sent.at(2) == bytes);
}

TEST_CASE("trees: as many as asked for, of nearly equal length, slow landers last") {
  Job job;
  job.AddDomain(1, kRate);
  for (int i = 0; i < 7; ++i) job.AddDomain(1, i == 2 ? kRate / 2 : kRate);
  job.AddClass({0}, Strided(1, 7, 1), {1 << 20});
  const Routing routing = Route(job, 3);
  REQUIRE(routing.streams.size() == 1);
  const std::vector<RoutedTree>& trees = routing.streams[0].trees;
  REQUIRE(trees.size() == 3);
  size_t landers = 0, last = 0;
  for (const RoutedTree& tree : trees) {
    CHECK(tree.landers.size() >= 2);
    CHECK(tree.landers.size() <= 3);
    landers += tree.landers.size();
    last += tree.landers.back() == 3 ? 1 : 0;
  }
  CHECK(landers == 7);
  CHECK(last == 1);
}

TEST_CASE("chains of different streams do not repeat an edge") {
  MoeShape shape;
  shape.pp = 2;
  shape.ep = 8;
  shape.edp = 1;
  shape.tp = 32;
  shape.replicas = 8;
  const Routing routing = Route(MoeJob(shape), 2);
  std::map<std::pair<Rank, Rank>, int> edges;
  for (const RoutedStream& stream : routing.streams) {
    for (const RoutedTree& tree : stream.trees) {
      for (size_t i = 1; i < tree.landers.size(); ++i) {
        ++edges[{tree.landers[i - 1], tree.landers[i]}];
      }
    }
  }
  CHECK(edges.size() > 32);
  for (const auto& [edge, count] : edges) CHECK(count == 1);
}

int64_t HandedOver(const Job& job, const Routing& routing) {
  const Ports ports(job.topology);
  int64_t bytes = 0;
  for (const RoutedStream& stream : routing.streams) {
    for (const RoutedTree& tree : stream.trees) {
      for (const SourceRange& source : tree.sources) {
        const bool near = ports.SameDomain(source.source, tree.landers[0]);
        if (near && !stream.local) bytes += source.range.extent;
      }
    }
  }
  return bytes;
}

Routing Pooled(const Job& job) {
  Diagnostics diags;
  Routing routing;
  RouteOptions options;
  options.pool = true;
  REQUIRE(BuildRouting(job.table, job.transfers, job.topology, options, &diags, &routing));
  return routing;
}

TEST_CASE("pooling: ranks that hold nothing carry what a holder hands to them") {
  Job job;
  job.AddDomain(4, kRate);
  job.AddDomain(4, kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, Strided(4, 4, 1), {bytes});
  CHECK(HandedOver(job, Route(job)) == 0);
  CHECK(Route(job).loads[0].send_bytes == bytes);
  const Routing routing = Pooled(job);
  CHECK(HandedOver(job, routing) ==
        doctest::Approx(0.75 * static_cast<double>(bytes)).epsilon(0.01));
  for (NicId nic = 0; nic < 4; ++nic) {
    CHECK(static_cast<double>(routing.loads[nic].send_bytes) ==
          doctest::Approx(static_cast<double>(bytes) / 4).epsilon(0.01));
    CHECK(routing.loads[nic].receive_bytes == 0);
  }
}

TEST_CASE("holders whose NICs suffice hand nothing over, pooled or not") {
  const Job job = SingleNeeders(int64_t{1} << 28);
  CHECK(HandedOver(job, Pooled(job)) == 0);
}

TEST_CASE("a holder without a NIC uses those around it") {
  Job job;
  job.AddDomain(4, kRate);
  job.AddDomain(1, 4 * kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, {4}, {bytes});
  job.site(0).nics.clear();
  RemoveRanks({3}, &job.topology);
  const Routing routing = Route(job);
  CHECK(HandedOver(job, routing) == bytes);
  CHECK(routing.loads[1].send_bytes + routing.loads[2].send_bytes == bytes);
  CHECK(routing.loads[3].send_bytes == 0);
  RemoveRanks({1, 2}, &job.topology);
  std::string text;
  CHECK(CodeOf(job, &text) == DiagnosticCode::kNoNic);
}

TEST_CASE("a carrier lands what its own domain needs") {
  Job job;
  job.AddDomain(4, kRate);
  job.AddDomain(4, kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, Strided(0, 8, 1), {bytes});
  const Routing routing = Pooled(job);
  // Per domain what it gets: a domain that holds it, too, each byte once.
  std::map<DomainId, int64_t> delivered;
  for (const RoutedStream& stream : routing.streams) {
    for (const RoutedTree& tree : stream.trees) {
      for (const Rank lander : tree.landers) {
        for (const ClassRange& range : stream.bytes) {
          delivered[job.site(lander).domain] += range.extent;
        }
      }
    }
  }
  CHECK(delivered == std::map<DomainId, int64_t>{{0, bytes}, {1, bytes}});
}

TEST_CASE("ranks that hold and need nothing land what keeps their neighbours' NICs busy") {
  Job job;
  job.AddDomain(1, 8 * kRate);
  job.AddDomain(8, kRate);
  job.AddDomain(1, 8 * kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, {1}, {bytes});
  const auto received = [&](NicId nic) {
    return static_cast<double>(Route(job).loads[nic].receive_bytes) / static_cast<double>(bytes);
  };
  for (NicId nic = 1; nic < 9; ++nic) CHECK(received(nic) == doctest::Approx(1. / 8).epsilon(0.02));
  RemoveRanks({2}, &job.topology);
  CHECK(received(2) == 0);
  CHECK(received(3) == doctest::Approx(1. / 7).epsilon(0.02));
  job.topology.nics[0].bytes_per_s = kRate;  // the source alone takes as long as the needer's NIC
  CHECK(received(1) == 1);
  job.site(1).nics.clear();
  CHECK(received(3) > 0);
}

TEST_CASE("ranks that hold or need something land for others before those that do neither") {
  Job job;
  job.AddDomain(1, 8 * kRate);
  job.AddDomain(4, kRate);
  job.AddDomain(4, kRate);
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, {1}, {2 * bytes});
  job.AddClass({0}, {5, 6, 7, 8}, {8 * bytes});
  job.AddClass({2}, {5}, {1});
  // All NICs of the second domain take as long as that of rank 1 ...
  const Routing routing = Route(job);
  CHECK(routing.loads[2].receive_bytes == 0);
  CHECK(routing.loads[3].receive_bytes + routing.loads[4].receive_bytes == 0);
  job.AddClass({0}, {1}, {2 * bytes});  // ... and now as long as those of ranks 1 and 2.
  const Routing more = Route(job);
  CHECK(more.loads[2].receive_bytes > bytes);
  CHECK(more.loads[3].receive_bytes + more.loads[4].receive_bytes == 0);
}

TEST_CASE("each domain lands by its own NICs, whatever place the fast ones have in others") {
  Job job;
  job.AddDomain(1, 16 * kRate);
  job.AddDomain(2, kRate);
  job.AddDomain(2, kRate);
  job.AddDomain(3, kRate);
  job.topology.nics[1].bytes_per_s = 4 * kRate;
  job.topology.nics[4].bytes_per_s = 4 * kRate;
  job.topology.nics[6].bytes_per_s = 3 * kRate;
  const int64_t bytes = int64_t{64} << 20;
  job.AddClass({0}, {1, 2, 3, 4, 5, 6, 7}, {bytes});
  const Routing routing = Route(job);
  const double parts[] = {0, 4. / 5, 1. / 5, 1. / 5, 4. / 5, 1. / 5, 3. / 5, 1. / 5};
  for (NicId nic = 1; nic < 8; ++nic) {
    CHECK(static_cast<double>(routing.loads[nic].receive_bytes) ==
          doctest::Approx(parts[nic] * static_cast<double>(bytes)).epsilon(0.01));
  }
}

TEST_CASE("errors name the tensor and the ranks") {
  std::string text;
  {
    Job job = Toy();
    job.site(0).nics.clear();
    job.site(1).nics.clear();
    Diagnostics diags;
    Routing routing;
    CHECK_FALSE(
        BuildRouting(job.table, job.transfers, job.topology, RouteOptions{}, &diags, &routing));
    REQUIRE(diags.entries().size() == 2);  // rank 0 and rank 1 hold one half each
    CHECK(diags.entries()[0].code == DiagnosticCode::kNoNic);
    CHECK(diags.entries()[0].text.find("'t.{0..3}'") != std::string::npos);
    CHECK(diags.entries()[0].text.find("only on rank 0,") != std::string::npos);
  }
  {
    Job job = Toy();
    for (Rank rank = 2; rank < 6; ++rank) job.site(rank).nics.clear();
    CHECK(CodeOf(job, &text) == DiagnosticCode::kNoNic);
    CHECK(text.find("'domain1'") != std::string::npos);
  }
  {
    Job job = Toy();
    job.topology.sites.pop_back();
    job.topology.site_index.erase(5);
    CHECK(CodeOf(job, &text) == DiagnosticCode::kNoPlace);
    CHECK(text.find("for rank 5,") != std::string::npos);
  }
}

TEST_CASE("on rails sources send to landers of their own rail") {
  Job job;
  for (int i = 0; i < 4; ++i) job.AddDomain(4, kRate);
  for (NicId nic = 0; nic < 16; ++nic) job.topology.nics[nic].rail = static_cast<int32_t>(nic % 4);
  // Every destination rank needs bytes of its own, which all sources of one or of both domains
  // hold.
  const int64_t bytes = int64_t{64} << 20;
  for (Rank i = 0; i < 4; ++i) {
    job.AddClass(Strided(0, 8, 1), {8 + i, 12 + i}, {bytes});
    job.AddClass(Strided(0, 4, 1), {8 + 3 - i, 12 + 3 - i}, {bytes});
  }
  const auto crossing = [&](bool rails) {
    job.topology.rails = rails;
    const Routing routing = Route(job);
    int64_t bytes_between_rails = 0;
    for (const RoutedStream& stream : routing.streams) {
      for (const RoutedTree& tree : stream.trees) {
        for (const SourceRange& source : tree.sources) {
          if (source.source % 4 != tree.landers[0] % 4) bytes_between_rails += source.range.extent;
        }
      }
    }
    int64_t busiest = 0;
    for (const PortLoad& load : routing.loads) busiest = std::max(busiest, load.send_bytes);
    return std::pair(bytes_between_rails, busiest);
  };
  const auto [without, busiest_without] = crossing(false);
  const auto [aligned, busiest] = crossing(true);
  CHECK(without > bytes);
  CHECK(aligned == 0);
  CHECK(busiest == busiest_without);
}

TEST_CASE("cuts are cell boundaries or multiples of 16 bytes from a cell's start") {
  Job job;
  job.AddClass({0}, {1}, {10, 40, 16});
  const ClassCuts cuts(job.transfers);
  const std::pair<int64_t, int64_t> floors[] = {{0, 0},   {9, 0},   {10, 10}, {25, 10}, {26, 26},
                                                {49, 42}, {50, 50}, {65, 50}, {66, 66}};
  for (const auto& [at, floor] : floors) CHECK(cuts.Floor(0, at) == floor);
  const std::pair<int64_t, int64_t> ceils[] = {{0, 0}, {1, 10}, {11, 26}, {43, 50}, {51, 66}};
  for (const auto& [at, ceil] : ceils) CHECK(cuts.Ceil(0, at) == ceil);
}

// Ranks in hosts of these groups, whose uplinks carry this much.
void PutInGroups(const std::vector<GroupId>& groups, const std::vector<int64_t>& uplinks,
                 Job* job) {
  for (const int64_t rate : uplinks) job->topology.groups.push_back({"group", rate});
  for (Rank rank = 0; rank < groups.size(); ++rank) job->site(rank).group = groups[rank];
}

Routing RouteByGroup(const Job& job, Strategy strategy, bool pool) {
  RouteOptions options;
  options.strategy = strategy;
  options.pool = pool;
  options.by_group = true;
  Diagnostics diags;
  Routing routing;
  REQUIRE(BuildRouting(job.table, job.transfers, job.topology, options, &diags, &routing));
  return routing;
}

// Bytes that trees bring to each lander.
std::map<Rank, int64_t> LandedBytes(const Routing& routing) {
  std::map<Rank, int64_t> landed;
  for (const RoutedStream& stream : routing.streams) {
    if (stream.local) continue;
    for (const RoutedTree& tree : stream.trees) {
      for (const SourceRange& source : tree.sources) {
        for (const Rank lander : tree.landers) landed[lander] += source.range.extent;
      }
    }
  }
  return landed;
}

constexpr int64_t kGb = 1'000'000'000;

TEST_CASE("by group, each group has stars of its own") {
  Job job;
  for (int i = 0; i < 5; ++i) job.AddDomain(1, kRate);
  job.AddClass({0}, {1, 2, 3, 4}, {kGb});
  PutInGroups({0, 0, 0, 1, 1}, {kRate, kRate}, &job);
  const Routing routing = RouteByGroup(job, Strategy::kHubs, false);
  for (const RoutedStream& stream : routing.streams) {
    REQUIRE(stream.trees.size() == 2);
    for (const RoutedTree& tree : stream.trees) {
      REQUIRE(tree.landers.size() == 2);
      CHECK(job.site(tree.landers[0]).group == job.site(tree.landers[1]).group);
    }
  }
  const std::map<Rank, int64_t> landed = LandedBytes(routing);
  for (Rank rank = 1; rank < 5; ++rank) CHECK(landed.at(rank) == kGb);
}

TEST_CASE("by group, a rank whose uplinks have room lands for its domain") {
  Job job;
  job.AddDomain(1, kRate);
  job.AddDomain(2, kRate);
  job.AddClass({0}, {1}, {kGb});
  PutInGroups({1, 0, 1}, {kRate / 9, kRate}, &job);
  const std::map<Rank, int64_t> landed = LandedBytes(RouteByGroup(job, Strategy::kChains, false));
  // Rank 2 is in the holder's group, and rank 1 behind uplinks that are nine times slower.
  CHECK(landed.at(2) == doctest::Approx(9.0 * static_cast<double>(landed.at(1))).epsilon(0.02));
}

TEST_CASE("by group, a rank whose uplinks have room carries for its domain") {
  Job job;
  job.AddDomain(2, kRate);
  job.AddDomain(1, kRate);
  job.AddClass({0}, {2}, {kGb});
  PutInGroups({0, 1, 1}, {kRate / 9, kRate}, &job);
  const std::map<Rank, int64_t> landed = LandedBytes(RouteByGroup(job, Strategy::kChains, true));
  CHECK(landed.at(2) == kGb);
  CHECK(landed.at(1) == doctest::Approx(0.9 * kGb).epsilon(0.02));
}

TEST_CASE("holders of other groups send what the own ones would take too long for") {
  Job job;
  for (const int64_t rate : {kRate / 2, kRate, kRate}) job.AddDomain(1, rate);
  job.AddClass({0, 1}, {2}, {kGb});
  PutInGroups({0, 1, 0}, {kRate, kRate / 4}, &job);
  const Routing routing = Route(job);
  // 1 GB at three quarters of a rate, of which the uplinks carry a third.
  CHECK(routing.loads[0].send_bytes == doctest::Approx(kGb * 2.0 / 3).epsilon(0.02));
  CHECK(routing.loads[1].send_bytes == doctest::Approx(kGb / 3.0).epsilon(0.02));
}

}  // namespace
}  // namespace reshard
