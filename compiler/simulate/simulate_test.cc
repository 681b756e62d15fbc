// The simulation against closed forms. A NIC carries 1 GB/s: a byte costs a nanosecond.
#include "compiler/simulate/simulate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/simulate/testing/net_plan.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using testing::NetPlan;

constexpr int64_t kNic = 1'000'000'000;

SimOptions Free() {
  SimOptions options;
  options.round_cost_ns = 0;
  return options;
}

int64_t TotalNs(const NetPlan& net, const SimOptions& options = Free()) {
  const SimResult result = Simulate(net.Finish(), options);
  REQUIRE(result.failure == "");
  return result.total_ns;
}

TEST_CASE("incast: eight to one take exactly eight times as long as one") {
  NetPlan net;
  net.AddLoneRanks(9, kNic);
  for (uint32_t source = 1; source <= 8; ++source) net.AddMessage(0, source, 0, 1000);
  CHECK(TotalNs(net) == 8000);
}

TEST_CASE("all to all: as long as a port is busy") {
  NetPlan net;
  net.AddLoneRanks(6, kNic);
  for (uint32_t a = 0; a < 6; ++a) {
    for (uint32_t b = 0; b < 6; ++b) {
      if (a != b) net.AddMessage(0, a, b, 1000);
    }
  }
  CHECK(TotalNs(net) == 5000);
}

TEST_CASE("pipelined chain: (n + k - 1) * (c / bandwidth + latency + cost of a round)") {
  for (const int64_t slices : {1, 2, 7}) {
    for (const uint32_t members : {1U, 2U, 5U}) {
      NetPlan net;
      net.AddLoneRanks(members + 1, kNic);
      net.fabric().latency_ns = 30;
      std::vector<uint32_t> chain;
      for (uint32_t m = 1; m <= members; ++m) chain.push_back(m);
      const uint32_t tree = net.AddStream(chain, chain, slices * 500);
      for (int64_t s = 0; s < slices; ++s) {
        net.AddInject(static_cast<uint32_t>(s), tree, 0, s * 500, 500);
      }
      SimOptions options;
      options.round_cost_ns = 200;
      CHECK(TotalNs(net, options) == (slices + members - 1) * (500 + 30 + 200));
    }
  }
}

TEST_CASE("one class to many replicas reaches Kumar and Ross's bound") {
  // A source of bandwidth u and three needers of bandwidth d: each head takes a third from the
  // source and the other two get it from there: max(b / u, b / d, 3 * b / (u + 3 * d)).
  constexpr int64_t kPart = 40'000;
  constexpr int64_t kSlices = 100;
  NetPlan net;
  net.AddLoneRanks(1, kNic);
  net.AddLoneRanks(3, kNic);
  for (uint32_t head = 0; head < 3; ++head) {
    const std::vector<uint32_t> chain = {1 + head, 1 + (head + 1) % 3, 1 + (head + 2) % 3};
    const uint32_t tree = net.AddStream(chain, {1, 2, 3}, kPart);
    for (int64_t s = 0; s < kSlices; ++s) {
      net.AddInject(static_cast<uint32_t>(s), tree, 0, s * kPart / kSlices, kPart / kSlices);
    }
  }
  constexpr int64_t kBound = 3 * kPart;
  // The chains are two rounds deeper than the bound, and a round lasts a hundredth of it.
  const int64_t total = TotalNs(net);
  CHECK(total >= kBound);
  CHECK(total <= kBound * (kSlices + 2) / kSlices);
}

TEST_CASE("a rank spreads its bytes over its NICs and is slowed down by the way to them") {
  NetPlan net;
  net.AddRank(net.AddDomain(), {kNic, 3 * kNic});
  net.AddRank(net.AddDomain(), {4 * kNic});
  net.AddMessage(0, 0, 1, 8000);
  const SimResult result = Simulate(net.Finish(), Free());
  CHECK(result.total_ns == 2000);
  CHECK(result.nics[0].out.bytes == 2000);
  CHECK(result.nics[1].out.bytes == 6000);
  CHECK(result.nics[2].in.bytes == 8000);
  CHECK(result.nics[2].in.busy_ns == 2000);
  CHECK(result.nics[2].out.busy_ns == 0);
  net.site(1).host_bytes_per_s = 2 * kNic;
  CHECK(TotalNs(net) == 4000);
}

TEST_CASE("uplinks of a group and a shared switch limit what passes them") {
  NetPlan net;
  net.AddLoneRanks(4, kNic);
  net.AddMessage(0, 0, 2, 1000);
  net.AddMessage(0, 1, 3, 1000);
  CHECK(TotalNs(net) == 1000);
  const uint32_t left = net.AddGroup(kNic);
  net.site(0).group = net.site(1).group = left;
  CHECK(TotalNs(net) == 2000);
  net.site(2).group = net.site(3).group = left;
  CHECK(TotalNs(net) == 1000);
  net.fabric().bytes_per_s = kNic / 2;
  CHECK(TotalNs(net) == 4000);
}

TEST_CASE("latency is that of the way: same rail, other rail, other group") {
  NetPlan net;
  net.AddLoneRanks(2, kNic);
  net.fabric().latency_ns = 1;
  net.fabric().cross_rail_latency_ns = 20;
  net.fabric().cross_group_latency_ns = 300;
  net.AddMessage(0, 0, 1, 1000);
  Plan plan = net.Finish();
  CHECK(Simulate(plan, Free()).total_ns == 1001);
  plan.fabric.rails = true;
  plan.nics[0].rail = 0;
  plan.nics[1].rail = 1;
  CHECK(Simulate(plan, Free()).total_ns == 1020);
  plan.groups.push_back({"group", 0});
  plan.sites[0].group = 0;
  CHECK(Simulate(plan, Free()).total_ns == 1300);
}

TEST_CASE("packs and copies take the memory's time, copies the fabric's") {
  NetPlan net;
  net.AddLoneRanks(1, kNic);
  const uint32_t domain = net.AddDomain(2 * kNic, 7);
  net.AddRank(domain, {kNic});
  net.AddRank(domain, {kNic});
  const uint32_t tree = net.AddStream({1}, {2}, 1000);
  net.AddInject(0, tree, 0, 0, 1000);
  CHECK(TotalNs(net) == 1000 + 7 + 500);
  net.site(0).copy_bytes_per_s = 4 * kNic;
  CHECK(TotalNs(net) == 250 + 1000 + 7 + 500);
  net.site(2).copy_bytes_per_s = kNic;
  const SimResult result = Simulate(net.Finish(), Free());
  CHECK(result.total_ns == 250 + 1000 + 7 + 1000);
  CHECK(result.scaleup[1].out.bytes == 1000);
  CHECK(result.scaleup[2].in.busy_ns == 1000);
}

TEST_CASE("a rank packs for the very next round while this one's messages move") {
  for (const uint32_t gap : {1U, 2U}) {
    NetPlan net;
    net.AddLoneRanks(2, kNic);
    net.site(0).copy_bytes_per_s = kNic;
    for (uint32_t s = 0; s < 4; ++s) net.AddMessage(s * gap, 0, 1, 1000);
    // After a gap the slot of the round may still be in use: packs and messages take turns.
    CHECK(TotalNs(net) == (gap == 1 ? 1000 + 4 * 1000 : 4 * (1000 + 1000)));
  }
}

TEST_CASE("ranks wait for their peers but not for the others") {
  NetPlan net;
  net.AddLoneRanks(4, kNic);
  net.AddMessage(0, 0, 1, 5000);
  net.AddMessage(0, 2, 3, 1000);
  net.AddMessage(1, 2, 3, 1000);  // needs no rank of the slow pair
  net.AddMessage(2, 2, 1, 1000);
  const SimResult result = Simulate(net.Finish(), Free());
  CHECK(result.total_ns == 6000);
  CHECK(result.round_end_ns == std::vector<int64_t>{5000, 2000, 6000});
  CHECK(result.ranks[2].wait_for_peers_ns == 3000);
  CHECK(result.ranks[1].wait_for_peers_ns == 0);
  CHECK(result.ranks[3].end_ns == 2000);
}

TEST_CASE("a receive slot is written again when all have copied from it") {
  // Copies take ten times as long as messages: at first the slots hide it, then they are full.
  constexpr int64_t kSlices = 12;
  NetPlan net;
  net.AddLoneRanks(1, kNic);
  const uint32_t domain = net.AddDomain(kNic / 10);
  net.AddRank(domain, {kNic});
  net.AddRank(domain, {kNic});
  const uint32_t tree = net.AddStream({1}, {2}, kSlices * 100);
  for (int64_t s = 0; s < kSlices; ++s) {
    net.AddInject(static_cast<uint32_t>(s), tree, 0, s * 100, 100);
  }
  const SimResult result = Simulate(net.Finish(), Free());
  CHECK(result.total_ns == 100 + kSlices * 1000);
  // Slot 3 is written after the first copy, and so on: the last message waits for nine copies.
  CHECK(result.round_end_ns.back() == result.total_ns);
  CHECK(result.ranks[1].wait_for_slots_ns == 100 + 9 * 1000 - (3 * 100) - 8 * 100);
}

TEST_CASE("a window of rounds takes what comes before as done") {
  NetPlan net;
  net.AddLoneRanks(3, kNic);
  const uint32_t tree = net.AddStream({1, 2}, {1, 2}, 2000);
  net.AddInject(0, tree, 0, 0, 1000);
  net.AddInject(1, tree, 0, 1000, 1000);
  CHECK(TotalNs(net) == 3000);
  SimOptions window = Free();
  window.first_round = 1;
  window.end_round = 2;
  const SimResult result = Simulate(net.Finish(), window);
  CHECK(result.total_ns == 1000);
  CHECK(result.messages == 2);
  CHECK(result.round_end_ns == std::vector<int64_t>{1000});
}

TEST_CASE("whole small plans move the bytes that they say") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    SimOptions options = Free();
    options.record_spans = true;
    const SimResult result = Simulate(named.plan, options);
    REQUIRE(result.failure == "");
    int64_t sent = 0, received = 0;
    for (const SimPort& nic : result.nics) {
      sent += nic.out.bytes;
      received += nic.in.bytes;
      CHECK(nic.out.busy_ns <= result.total_ns);
    }
    CHECK(sent == named.plan.header.totals.network_bytes);
    CHECK(received == sent);
    int64_t scaleup = 0;
    for (const SimPort& port : result.scaleup) scaleup += port.in.bytes;
    CHECK(scaleup == named.plan.header.totals.scaleup_bytes);
    // Messages inside a domain take its fabric.
    std::map<Rank, uint32_t> domain_of;
    for (const PlanSite& site : named.plan.sites) domain_of[site.rank] = site.domain;
    int64_t in_spans = 0, network_messages = 0, others = 0;
    for (const SimSpan& span : result.spans) {
      CHECK(span.begin_ps <= span.end_ps);
      if (span.kind != SimSpanKind::kMessage) continue;
      const bool network = domain_of[span.src] != domain_of[span.dst];
      in_spans += network ? span.bytes : 0;
      ++(network ? network_messages : others);
    }
    CHECK(in_spans == sent);
    CHECK(network_messages == named.plan.header.totals.messages);
    CHECK(network_messages + others == result.messages);
    CHECK(result.max_staging_bytes == named.plan.header.totals.max_staging_bytes);
    CHECK(result.total_ns >= named.plan.header.totals.bound_ns);
  }
}

TEST_CASE("what the topology cannot carry is a failure that names the ranks") {
  NetPlan net;
  net.AddLoneRanks(2, kNic);
  net.AddMessage(0, 0, 1, 1000);
  Plan plan = net.Finish();
  plan.sites[1].nics.clear();
  CHECK(Simulate(plan, Free()).failure ==
        "rank 1 has no NIC, and rank 0 sends to rank 1 of another domain");
}

}  // namespace
}  // namespace reshard
