#include "compiler/plan_tools/explain.h"

#include <algorithm>
#include <set>

#include "compiler/plan_tools/explain_why.h"
#include "compiler/plan_tools/fill_parts.h"
#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

std::vector<ParamFlow> Explain(const Plan& plan, PlanSide side, Rank rank, const std::string& name,
                               std::optional<std::vector<int64_t>> at) {
  const std::optional<ParamId> param = FindParam(plan, side, rank, name);
  REQUIRE(param);
  return ExplainParam(plan, {side, rank, *param, std::move(at)}).flows;
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
        const std::vector<ParamFlow> flows =
            Explain(plan, PlanSide::kDestination, rank, name, {{row, column}});
        REQUIRE(flows.size() == 1);
        const int64_t of_tensor = 2 * (static_cast<int64_t>(rank) - 2) + column;
        CHECK(flows[0].elements == std::vector<IndexRun>{{row}, {of_tensor}});
        // The sources have four rows each.
        const std::vector<int64_t> here = {row, column}, there = {row % 4, of_tensor};
        CHECK(flows[0].here.first == here);
        CHECK(flows[0].here.last == here);
        REQUIRE(flows[0].there.size() == 1);
        CHECK(flows[0].there[0].ranks == flows[0].sources);
        CHECK(flows[0].there[0].box.param == ParamName(plan, PlanSide::kSource));
        CHECK(flows[0].there[0].box.first == there);
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
  const std::vector<ParamFlow> flows = Explain(toy, PlanSide::kSource, 1, name, {{2, 5}});
  REQUIRE(flows.size() == 1);
  CHECK(flows[0].elements[0] == IndexRun{6});
  CHECK(flows[0].destinations == RankList{4});
  REQUIRE(flows[0].there.size() == 1);
  CHECK(flows[0].there[0].ranks == RankList{4});
  CHECK(flows[0].there[0].box.first == std::vector<int64_t>{6, 1});

  const Plan plan = testing::ReplicatedPlan();
  std::set<Rank> reached;
  for (const ParamFlow& flow :
       Explain(plan, PlanSide::kSource, 0, ParamName(plan, PlanSide::kSource), {{0, 0}})) {
    reached.insert(flow.destinations.begin(), flow.destinations.end());
  }
  CHECK(reached == std::set<Rank>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("a chain is followed to the lander of the rank's domain, a round per hop") {
  const Plan plan = testing::ReplicatedPlan();
  const std::string name = ParamName(plan, PlanSide::kDestination);
  const auto first_round = [&](Rank rank, const std::vector<Rank>& path) {
    const std::vector<ParamFlow> flows =
        Explain(plan, PlanSide::kDestination, rank, name, {{0, 0}});
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
        std::set<std::pair<std::string, std::vector<IndexRun>>> seen;
        int64_t bytes = 0;
        for (const ParamFlow& flow : Explain(plan, PlanSide::kDestination, rank, name, {})) {
          if (seen.emplace(flow.tensor, flow.elements).second) bytes += flow.bytes;
        }
        CHECK(bytes == family.bytes - padding);
      }
    }
  }
}

// The index, in the place's param, of a tensor element; nothing where the place does not have it.
std::optional<std::vector<int64_t>> IndexIn(const TensorPlace& place,
                                            const std::vector<int64_t>& element, DType dtype) {
  int64_t offset = place.offset_bytes;
  for (size_t d = 0; d < element.size(); ++d) {
    const IndexRun& run = place.box[d];
    const int64_t steps = (element[d] - run.begin) / run.step;
    if (steps < 0 || steps >= run.count || run.begin + steps * run.step != element[d]) return {};
    offset += steps * place.stride_bytes[d];
  }
  int64_t number = offset / DTypeBytes(dtype);
  std::vector<int64_t> index(place.param_shape.size());
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = number % place.param_shape[d];
    number /= place.param_shape[d];
  }
  return index;
}

// Checks the corners of a flow's part against the places of its tensor.
void CheckCorners(const Plan& plan, const ParamFlow& flow, PlanSide side, Rank rank,
                  const ParamBox& box) {
  const std::optional<TensorId> tensor = FindTensor(plan, flow.tensor);
  REQUIRE(tensor);
  std::vector<int64_t> first, last;
  for (const IndexRun& run : flow.elements) {
    first.push_back(run.begin);
    last.push_back(run.begin + (run.count - 1) * run.step);
  }
  bool known = false;
  for (const TensorPlace& place : PlacesOfTensor(plan, *tensor)) {
    if (place.side != side || place.param != box.param) continue;
    if (!Contains(plan.rank_sets[place.rank_set], rank)) continue;
    const DType dtype = plan.supers[tensor->super].dtype;
    known = known ||
            (IndexIn(place, first, dtype) == box.first && IndexIn(place, last, dtype) == box.last);
  }
  CHECK(known);
}

TEST_CASE("parts lie where the places of their tensors say, in the params of both sides") {
  int boxes = 0;
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const Plan& plan = named.plan;
    for (const PlanFamily& family : plan.families) {
      if (family.external) continue;
      const Rank rank = plan.rank_sets[family.rank_set].front();
      const PlanSide other =
          family.side == PlanSide::kSource ? PlanSide::kDestination : PlanSide::kSource;
      const std::string name = family.name.Instance(family.loop_begin);
      for (const ParamFlow& flow : Explain(plan, family.side, rank, name, {})) {
        CHECK(flow.here.param == name);
        CheckCorners(plan, flow, family.side, rank, flow.here);
        CHECK(!flow.there.empty());
        RankList ranks;
        for (const ParamFlow::End& end : flow.there) {
          for (const Rank of : end.ranks) CheckCorners(plan, flow, other, of, end.box);
          ranks = Union(ranks, end.ranks);
        }
        CHECK(ranks == (other == PlanSide::kSource ? flow.sources : flow.destinations));
        int64_t elements = 1;
        for (size_t d = 0; d < flow.here.first.size(); ++d) {
          elements *= (flow.here.last[d] - flow.here.first[d]) / flow.here.step[d] + 1;
        }
        if (flow.here.is_box) CHECK(elements * DTypeBytes(family.dtype) == flow.bytes);
        boxes += flow.here.is_box ? 1 : 0;
      }
    }
  }
  CHECK(boxes > 20);
}

TEST_CASE("an element is a flow's or a fill's, and never both") {
  int64_t filled = 0;
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const Plan& plan = named.plan;
    for (uint32_t f = 0; f < plan.families.size(); ++f) {
      const PlanFamily& family = plan.families[f];
      if (family.side != PlanSide::kDestination || family.external) continue;
      const Rank rank = plan.rank_sets[family.rank_set].front();
      int64_t in_whole = 0, in_elements = 0;
      for (const FillPart& part : FillPartsOf(plan, {f, 0}, {})) {
        REQUIRE(part.here.is_box);
        int64_t elements = 1;
        for (size_t d = 0; d < family.shape.size(); ++d) {
          elements *= (part.here.last[d] - part.here.first[d]) / part.here.step[d] + 1;
        }
        CHECK(elements * DTypeBytes(family.dtype) == part.bytes);
        in_whole += part.bytes;
      }
      std::vector<int64_t> at(family.shape.size(), 0);
      for (bool more = true; more;) {
        const std::vector<FillPart> fills = FillPartsOf(plan, {f, 0}, at);
        const bool moved =
            !ExplainParam(plan, {PlanSide::kDestination, rank, {f, 0}, at}).flows.empty();
        CHECK(fills.size() + (moved ? 1 : 0) == 1);
        for (const FillPart& part : fills) {
          CHECK(part.here.first == at);
          CHECK(part.rule == PlanFillRule::kZero);
          in_elements += part.bytes;
        }
        more = false;
        for (size_t d = at.size(); d-- > 0 && !more;) {
          more = ++at[d] < family.shape[d];
          if (!more) at[d] = 0;
        }
      }
      CHECK(in_whole == in_elements);
      filled += in_elements;
    }
  }
  CHECK(filled > 0);
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

TEST_CASE("alternatives are the holders and the ranks of each domain on the way, one chosen") {
  const Plan plan = testing::ReplicatedPlan();
  const std::string name = ParamName(plan, PlanSide::kDestination);
  const std::vector<ParamFlow> flows = Explain(plan, PlanSide::kDestination, 4, name, {{0, 0}});
  REQUIRE(flows.size() == 1);
  const WhyFlows why(plan);
  const std::vector<Alternative> holders = why.Holders(flows[0]);
  REQUIRE(holders.size() == 2);
  CHECK(holders[0].chosen != holders[1].chosen);
  const std::vector<Hop> hops = why.Hops(flows[0]);
  REQUIRE(hops.size() == 2);
  for (const Hop& hop : hops) CHECK(hop.role == PathRole::kLands);
  CHECK(hops[0].rank == 2);
  CHECK(hops[1].position == 1);
  const std::vector<Alternative>& landers = hops[1].alternatives;
  REQUIRE(landers.size() == 2);
  CHECK(landers[0].rank == 4);
  CHECK(!landers[0].chosen);
  CHECK(landers[0].use.bytes.receive_bytes == 0);
  CHECK(landers[1].chosen);
  CHECK(landers[1].use.bytes.receive_bytes == 4096);
  CHECK(landers[1].use.nic_bytes.receive_bytes == 4096);
  CHECK(landers[1].use.nic == plan.nics[plan.sites[5].nics.at(0)].name);
}

TEST_CASE(
    "bytes that stay in a domain are copied from a holder there, or held by the rank itself") {
  const Plan plan = testing::ColocatedPlan();
  const WhyFlows why(plan);
  const auto local = [&](PlanSide side, Rank rank, const std::string& param, int64_t row) {
    std::vector<ParamFlow> flows = Explain(plan, side, rank, param, {{row, 0}});
    std::erase_if(flows, [](const ParamFlow& flow) { return !flow.local; });
    REQUIRE(flows.size() == 1);
    return flows[0];
  };
  // Row 1 lies on rank 1. Rank 0 needs it too, and has it from there.
  const ParamFlow neighbour = local(PlanSide::kDestination, 0, "w.full", 1);
  CHECK(Copying(neighbour) == RankList{0});
  const std::vector<Hop> hops = why.Hops(neighbour);
  REQUIRE(hops.size() == 1);
  CHECK(hops[0].rank == 1);
  CHECK(hops[0].role == PathRole::kHands);
  CHECK(hops[0].domain == "node0");
  REQUIRE(hops[0].alternatives.size() == 1);
  CHECK(hops[0].alternatives[0].rank == 1);
  CHECK(hops[0].alternatives[0].chosen);
  const ParamFlow own = local(PlanSide::kDestination, 1, "w.full", 1);
  CHECK(Copying(own).empty());
  CHECK(why.Hops(own).empty());
  // The same from the side of the holder, which needs it as its neighbour does.
  const ParamFlow source = local(PlanSide::kSource, 1, "w.shard", 0);
  CHECK(source.destinations == RankList{0, 1});
  CHECK(Copying(source) == RankList{0});
  CHECK(why.Hops(source).size() == 1);
}

TEST_CASE("what passes between ranks adds up to the plan's bytes over networks and inside") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    int64_t bytes = 0;
    int64_t messages = 0;
    int64_t in_domains = 0;
    int64_t in_ranks = 0;
    for (const PlanSite& from : named.plan.sites) {
      for (const PlanSite& to : named.plan.sites) {
        for (const Passage& passage : PassagesBetween(named.plan, from.rank, to.rank)) {
          if (passage.way != PassageWay::kNetwork) {
            (passage.way == PassageWay::kRank ? in_ranks : in_domains) += passage.bytes;
            continue;
          }
          bytes += passage.bytes;
          ++messages;
        }
      }
    }
    CHECK(bytes == named.plan.header.totals.network_bytes);
    CHECK(messages == named.plan.header.totals.messages);
    CHECK(in_domains == named.plan.header.totals.scaleup_bytes);
    CHECK(in_ranks == named.plan.header.totals.local_bytes);
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

TEST_CASE("of a rank with several NICs, each passes a share") {
  Plan plan = testing::CarriedPlan();
  const uint32_t first = plan.sites[1].nics.at(0);
  CHECK(TrafficOfNic(plan, plan.nics[first].name).bytes.send_bytes == 4096);
  CHECK(TrafficOfNic(plan, plan.nics[first].name).spreading.empty());
  const uint32_t second = static_cast<uint32_t>(plan.nics.size());
  plan.nics.push_back({"second", 3 * plan.nics[first].bytes_per_s, -1});
  plan.sites[1].nics.push_back(second);
  const NicTraffic quarter = TrafficOfNic(plan, plan.nics[first].name);
  CHECK(quarter.bytes.send_bytes == 1024);
  CHECK(quarter.spreading == RankList{1});
  CHECK(TrafficOfNic(plan, "second").bytes.send_bytes == 3072);
}

}  // namespace
}  // namespace reshard
