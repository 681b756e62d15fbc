#include "compiler/emit/write_plan.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// Results of the passes for the 8x8 example, written by hand; the plan made of them has to be
// testing::ToyPlan(), table by table.
struct ToyInputs {
  LogicalTable table;
  Layout source, destination;
  Topology topology;
  TransferSet transfers;
  Routing routing;
  Schedule schedule;

  ToyInputs() {
    SuperTensor w;
    w.name.text = {"w"};
    w.dtype = DType::kF32;
    w.shape = {8, 8};
    table.supers = {w};
    destination.side = Side::kDestination;
    for (Rank r = 0; r < 2; ++r) AddFamily(&source, "w.rows", {r}, {4, 8}, 128);
    for (Rank c = 0; c < 4; ++c) AddFamily(&destination, "w.columns", {2 + c}, {8, 2}, 64);
    AddTransfers();
    AddTopology();
    for (uint32_t c = 0; c < 4; ++c) {
      schedule.streams.push_back({2 * c, 2, 64, false});
      schedule.pieces.push_back({2 * c, 0, 32});
      schedule.pieces.push_back({2 * c + 1, 0, 32});
      schedule.trees.push_back({c, PlanTreeKind::kChain, c, 1});
      schedule.tree_members.push_back(2 + c);
    }
    for (uint32_t r = 0; r < 2; ++r) {
      for (const uint32_t tree : {0U, 2U, 1U, 3U}) {
        schedule.injects.push_back({tree % 2, tree, r, int64_t{32} * r, 32});
      }
      schedule.slots.push_back({r, 0, 512});
    }
    for (Rank r = 2; r < 6; ++r) schedule.slots.push_back({r, 256, 0});
    schedule.round_count = 2;
    routing.witnesses = {{PlanCutKind::kInjection, {1}, 256, 2'000'000'000},
                         {PlanCutKind::kIngress, {2}, 128, 2'000'000'000},
                         {PlanCutKind::kIngress, {3}, 128, 2'000'000'000}};
  }

  static void AddFamily(Layout* layout, const std::string& name, const RankList& ranks,
                        std::vector<int64_t> shape, int64_t bytes) {
    ParamFamily family;
    family.name.text = {name};
    family.ranks = layout->rank_sets.Intern(ranks);
    family.shape = std::move(shape);
    family.dtype = DType::kF32;
    family.bytes = bytes;
    layout->families.push_back(family);
  }

  void AddTransfers() {
    transfers.dims = {{{0, 1}, {1, 1}}};
    // Interned in another order than the layouts do.
    for (Rank c = 4; c-- > 0;) transfers.rank_sets.Intern({2 + c});
    for (uint32_t r = 0; r < 2; ++r) {
      const RankSetId held = transfers.rank_sets.Intern({r});
      transfers.places.push_back(
          {Side::kSource, 0, r, held, 0, 0, {{4 * r, 4, 32, 0}, {0, 8, 4, 0}}});
    }
    for (uint32_t c = 0; c < 4; ++c) {
      const RankSetId needed = transfers.rank_sets.Intern({2 + c});
      transfers.places.push_back(
          {Side::kDestination, 0, c, needed, 0, 0, {{0, 8, 8, 0}, {2 * c, 2, 4, 0}}});
      for (uint32_t r = 0; r < 2; ++r) {
        transfers.classes.push_back({transfers.rank_sets.Intern({r}), needed, 32,
                                     static_cast<uint32_t>(transfers.cells.size()), 1});
        transfers.cells.push_back({0, {{4 * r, 4}, {2 * c, 2}}, 32});
      }
    }
  }

  // Domain 0 is somebody else's.
  void AddTopology() {
    const std::vector<std::pair<std::string, RankList>> domains = {
        {"other", {6, 7}}, {"train0", {0, 1}}, {"infer0", {2, 3}}, {"infer1", {4, 5}}};
    topology.sites.resize(8);
    topology.groups = {{"unused", 5}};
    topology.latency_ns = 2000;
    for (const auto& [name, ranks] : domains) {
      const auto domain = static_cast<DomainId>(topology.domains.size());
      topology.domains.push_back({name, 10'000'000'000, 500, ranks, {}});
      topology.nodes.push_back({name, 0, kNone});
      for (size_t gpu = 0; gpu < ranks.size(); ++gpu) {
        const auto nic = static_cast<NicId>(topology.nics.size());
        topology.nics.push_back({name + "/nic" + std::to_string(gpu), domain, 1'000'000'000, -1});
        topology.domains.back().nics.push_back(nic);
        RankSite& site = topology.sites[ranks[gpu]];
        site.rank = ranks[gpu];
        site.node = domain;
        site.gpu = static_cast<uint32_t>(gpu);
        site.domain = domain;
        site.nics = {nic};
        topology.site_index[site.rank] = site.rank;
      }
    }
  }

  Plan Make() const {
    PlanInputs inputs;
    inputs.table = &table;
    inputs.source = &source;
    inputs.destination = &destination;
    inputs.topology = &topology;
    inputs.transfers = &transfers;
    inputs.routing = &routing;
    inputs.schedule = &schedule;
    inputs.train_digest.fill(1);
    inputs.infer_digest.fill(2);
    inputs.topo_digest.fill(3);
    inputs.options = {{"slice", "67108864"}, {"max-staging", "268435456"}};
    return MakePlan(inputs);
  }
};

TEST_CASE("the passes' results become the plan that was written by hand") {
  const Plan plan = ToyInputs().Make();
  const Plan want = testing::ToyPlan();
  CHECK(plan.header.options == want.header.options);
  CHECK(plan.rank_sets == want.rank_sets);
  CHECK(plan.intervals == want.intervals);
  CHECK(plan.sites.size() == 6);
  CHECK(plan.groups.empty());
  CHECK(plan.nics[0].name == "train0/nic0");
  CHECK(plan.cuts[0].members == std::vector<uint32_t>{0});
  CHECK(plan.header.totals.predicted_ns == want.header.totals.predicted_ns);
  const StatusOr<std::vector<uint8_t>> got_bytes = SerializePlan(plan);
  const StatusOr<std::vector<uint8_t>> want_bytes = SerializePlan(want);
  REQUIRE((got_bytes.ok() && want_bytes.ok()));
  CHECK(*got_bytes == *want_bytes);
}

TEST_CASE("fills, second names, external params and a relay's rank are kept") {
  ToyInputs inputs;
  // Rank 6 lands stream 3 on its way to rank 5 and stores nothing.
  inputs.schedule.trees[3].member_count = 2;
  inputs.schedule.tree_members = {2, 3, 4, 6, 5};
  inputs.schedule.slots.push_back({6, 256, 0});
  inputs.schedule.round_count = 3;
  Layout& destination = inputs.destination;
  destination.families[1].shares = {{{"tied"}, {}}};
  ToyInputs::AddFamily(&destination, "scales", {2, 4}, {4}, 16);
  destination.families[4].external = true;
  destination.fills = {{0, FillRule::kKeep, 8, {{2, 16}, {8, 1}}}};
  const Plan plan = inputs.Make();
  REQUIRE(plan.ranks.size() == 7);
  CHECK(plan.ranks[6].rank == 6);
  CHECK(plan.ranks[6].recv_slot_bytes == 256);
  CHECK(plan.domains[0].name == "other");
  CHECK(plan.sites.size() == 8);
  CHECK(plan.cuts[0].members == std::vector<uint32_t>{1});
  CHECK(plan.families[3].shares == destination.families[1].shares);
  CHECK(plan.families[6].external);
  CHECK(plan.rank_sets[plan.families[6].rank_set] == RankList{2, 4});
  REQUIRE(plan.fills.size() == 1);
  CHECK(plan.fills[0].family == 2);
  CHECK(plan.fills[0].rule == PlanFillRule::kKeep);
  CHECK(plan.fill_dims[1].stride_bytes == 1);
  CHECK(plan.header.totals.destination_bytes == 256);
  CHECK(plan.header.totals.rounds == 3);
}

}  // namespace
}  // namespace reshard
