#include "compiler/plan_tools/explain.h"

#include <algorithm>
#include <set>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

std::vector<Flow> Explain(const Plan& plan, PlanSide side, Rank rank, const std::string& name,
                          std::optional<std::vector<int64_t>> at) {
  const std::optional<ParamId> param = FindParam(plan, side, rank, name);
  REQUIRE(param);
  return ExplainParam(plan, {side, rank, *param, std::move(at)});
}

// The first param of the side.
std::string ParamName(const Plan& plan, PlanSide side) {
  for (const PlanFamily& family : plan.families) {
    if (family.side == side) return family.name.Instance(family.loop_begin);
  }
  return "";
}

TEST_CASE("every element of the toy comes from the rank that has its row") {
  const Plan plan = testing::ToyPlan();
  const std::string name = ParamName(plan, PlanSide::kDestination);
  for (Rank rank = 2; rank < 6; ++rank) {
    for (int64_t row = 0; row < 8; ++row) {
      for (int64_t column = 0; column < 2; ++column) {
        const std::vector<Flow> flows =
            Explain(plan, PlanSide::kDestination, rank, name, {{row, column}});
        REQUIRE(flows.size() == 1);
        const int64_t of_tensor = 2 * (static_cast<int64_t>(rank) - 2) + column;
        const std::vector<std::pair<int64_t, int64_t>> index = {{row, row}, {of_tensor, of_tensor}};
        CHECK(flows[0].index == index);
        CHECK(flows[0].bytes == 4);
        CHECK(flows[0].sources == RankList{row < 4 ? 0u : 1u});
        CHECK(flows[0].destinations == RankList{rank});
      }
    }
  }
}

TEST_CASE("a source element goes to all who need it") {
  const Plan toy = testing::ToyPlan();
  const std::string name = ParamName(toy, PlanSide::kSource);
  const std::vector<Flow> flows = Explain(toy, PlanSide::kSource, 1, name, {{2, 5}});
  REQUIRE(flows.size() == 1);
  CHECK(flows[0].index[0].first == 6);
  CHECK(flows[0].destinations == RankList{4});

  const Plan plan = testing::ReplicatedPlan();
  std::set<Rank> reached;
  for (const Flow& flow :
       Explain(plan, PlanSide::kSource, 0, ParamName(plan, PlanSide::kSource), {{0, 0}})) {
    reached.insert(flow.destinations.begin(), flow.destinations.end());
  }
  CHECK(reached == std::set<Rank>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("a chain is followed to the lander of the rank's domain, a round per hop") {
  const Plan plan = testing::ReplicatedPlan();
  const std::string name = ParamName(plan, PlanSide::kDestination);
  const auto first_round = [&](Rank rank, const std::vector<Rank>& path) {
    const std::vector<Flow> flows = Explain(plan, PlanSide::kDestination, rank, name, {{0, 0}});
    REQUIRE(flows.size() == 1);
    CHECK(flows[0].path == path);
    return flows[0].first_round;
  };
  const uint32_t at_head = first_round(2, {2});
  CHECK(first_round(3, {2}) == at_head);
  CHECK(first_round(4, {2, 5}) == at_head + 1);
  CHECK(first_round(7, {2, 5, 6}) == at_head + 2);
}

TEST_CASE("the parts of a whole param have all bytes of its elements that move") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    const Plan& plan = named.plan;
    for (const PlanFamily& family : plan.families) {
      if (family.side != PlanSide::kDestination || family.external) continue;
      CAPTURE(named.name);
      int64_t padding = 0;
      for (const PlanFill& fill : plan.fills) {
        if (&plan.families[fill.family] != &family) continue;
        int64_t bytes = 1;
        for (uint32_t d = 0; d < fill.dim_count; ++d) {
          bytes *= plan.fill_dims[fill.first_dim + d].extent;
        }
        padding += bytes;
      }
      for (const Rank rank : plan.rank_sets[family.rank_set]) {
        const std::string name = family.name.Instance(family.loop_begin);
        std::set<std::pair<std::string, std::vector<std::pair<int64_t, int64_t>>>> seen;
        int64_t bytes = 0;
        for (const Flow& flow : Explain(plan, PlanSide::kDestination, rank, name, {})) {
          if (seen.emplace(flow.tensor, flow.index).second) bytes += flow.bytes;
        }
        CHECK(bytes == family.bytes - padding);
      }
    }
  }
}

TEST_CASE("padding comes from nowhere") {
  const Plan plan = testing::ExpertPlan();
  REQUIRE(!plan.fills.empty());
  const PlanFill& fill = plan.fills[0];
  const PlanFamily& family = plan.families[fill.family];
  std::vector<int64_t> at(family.shape.size());
  int64_t element = fill.base_bytes / DTypeBytes(family.dtype);
  for (size_t i = at.size(); i-- > 0;) {
    at[i] = element % family.shape[i];
    element /= family.shape[i];
  }
  const Rank rank = plan.rank_sets[family.rank_set].front();
  CHECK(Explain(plan, PlanSide::kDestination, rank, family.name.Instance(family.loop_begin), at)
            .empty());
}

TEST_CASE("alternatives are the holders and the ranks of the domain, one chosen") {
  const Plan plan = testing::ReplicatedPlan();
  const std::string name = ParamName(plan, PlanSide::kDestination);
  const std::vector<Flow> flows = Explain(plan, PlanSide::kDestination, 4, name, {{0, 0}});
  REQUIRE(flows.size() == 1);
  const std::vector<Alternative> holders = SourceAlternatives(plan, flows[0]);
  REQUIRE(holders.size() == 2);
  CHECK(holders[0].chosen != holders[1].chosen);
  const std::vector<Alternative> landers = LanderAlternatives(plan, flows[0]);
  REQUIRE(landers.size() == 2);
  CHECK(landers[0].rank == 4);
  CHECK(!landers[0].chosen);
  CHECK(landers[0].bytes == 0);
  CHECK(landers[1].chosen);
  CHECK(landers[1].bytes == 4096);
}

TEST_CASE("messages add up to the plan's network bytes") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    int64_t bytes = 0;
    int64_t messages = 0;
    for (const PlanSite& from : named.plan.sites) {
      for (const PlanSite& to : named.plan.sites) {
        for (const Passage& passage : PassagesBetween(named.plan, from.rank, to.rank)) {
          bytes += passage.bytes;
          ++messages;
        }
      }
    }
    CHECK(bytes == named.plan.header.totals.network_bytes);
    CHECK(messages == named.plan.header.totals.messages);
    ForEachPassage(named.plan, [&](const Passage& passage) {
      bytes -= passage.bytes;
      --messages;
    });
    CHECK(bytes == 0);
    CHECK(messages == 0);
  }
}

TEST_CASE("a NIC passes what its ranks send and receive") {
  const Plan plan = testing::ReplicatedPlan();
  const auto passages = PassagesOfNic(plan, plan.nics[plan.sites[5].nics.at(0)].name);
  REQUIRE(passages);
  for (const Passage& passage : *passages) {
    CHECK((passage.from == plan.sites[5].rank || passage.to == plan.sites[5].rank));
  }
  CHECK(!PassagesOfNic(plan, "no such NIC"));
}

}  // namespace
}  // namespace reshard
