#include "compiler/emit/write_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/emit/plan_topology.h"
#include "compiler/emit/plan_totals.h"
#include "compiler/emit/shared_ports.h"
#include "compiler/schedule/predict.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

class Maker {
 public:
  explicit Maker(const PlanInputs& inputs) : in_(inputs) {}

  Plan Make() {
    plan_.header.train_digest = in_.train_digest;
    plan_.header.infer_digest = in_.infer_digest;
    plan_.header.topo_digest = in_.topo_digest;
    plan_.header.options = in_.options;
    std::sort(plan_.header.options.begin(), plan_.header.options.end());
    AddSupers();
    AddFamilies(PlanSide::kSource, *in_.source);
    AddFamilies(PlanSide::kDestination, *in_.destination);
    AddPlaces();
    AddClasses();
    AddRoutes();
    AddRanks();
    AddCuts(FillTopology(*in_.topology, &plan_));
    plan_.header.totals = CountTotals(plan_);
    plan_.header.totals.predicted_ns =
        StatedNs(plan_, PredictNs(*in_.topology, *in_.schedule), in_.topology->round_ns);
    return std::move(plan_);
  }

 private:
  void AddSupers() {
    for (size_t s = 0; s < in_.table->supers.size(); ++s) {
      const SuperTensor& from = in_.table->supers[s];
      PlanSuper to;
      to.name = from.name;
      to.dtype = from.dtype;
      to.loop_begin = from.loop_begin;
      to.loop_extent = from.loop_extent;
      to.shape = from.shape;
      for (const RefinedDim& dim : in_.transfers->dims[s])
        to.dims.push_back({dim.axis, dim.weight});
      plan_.supers.push_back(std::move(to));
    }
  }

  // A set of one of the compiler's tables as a set of the plan; `new_ids` remembers.
  uint32_t PlanSet(const RankSetTable& table, RankSetId id, std::vector<uint32_t>* new_ids) {
    new_ids->resize(table.count(), kNoId);
    uint32_t& new_id = (*new_ids)[id];
    if (new_id == kNoId) {
      new_id = sets_.Intern(table[id]);
      if (new_id == plan_.rank_sets.size()) plan_.rank_sets.push_back(table[id]);
    }
    return new_id;
  }

  void AddFamilies(PlanSide side, const Layout& layout) {
    std::vector<uint32_t> new_ids;
    const auto first_family = static_cast<uint32_t>(plan_.families.size());
    for (const ParamFamily& from : layout.families) {
      PlanFamily to;
      to.side = side;
      to.name = from.name;
      to.shares = from.shares;
      to.loop_begin = from.loop_begin;
      to.loop_extent = from.loop_extent;
      to.shape = from.shape;
      to.dtype = from.dtype;
      to.bytes = from.bytes;
      to.rank_set = PlanSet(layout.rank_sets, from.ranks, &new_ids);
      to.external = from.external;
      plan_.families.push_back(std::move(to));
    }
    for (const Fill& from : layout.fills) {
      PlanFill to;
      to.family = first_family + from.family;
      to.rule = from.rule == FillRule::kZero ? PlanFillRule::kZero : PlanFillRule::kKeep;
      to.base_bytes = from.base_bytes;
      to.first_dim = static_cast<uint32_t>(plan_.fill_dims.size());
      to.dim_count = static_cast<uint32_t>(from.dims.size());
      for (const Fill::Dim& dim : from.dims) {
        plan_.fill_dims.push_back({dim.extent, dim.stride_bytes});
      }
      plan_.fills.push_back(to);
    }
  }

  void AddPlaces() {
    const auto first_destination = static_cast<uint32_t>(in_.source->families.size());
    for (const BoxPlace& from : in_.transfers->places) {
      PlanPlace to;
      to.super = from.super;
      to.family = from.family + (from.side == Side::kSource ? 0 : first_destination);
      to.base_bytes = from.base_bytes;
      to.base_instance = from.base_instance;
      to.first_dim = static_cast<uint32_t>(plan_.place_dims.size());
      for (const BoxPlace::Dim& dim : from.dims) {
        plan_.place_dims.push_back({dim.begin, dim.extent, dim.stride_bytes, dim.instance_stride});
      }
      plan_.places.push_back(to);
    }
  }

  void AddClasses() {
    std::map<std::pair<int64_t, int64_t>, uint32_t> intervals;
    for (const Cell& from : in_.transfers->cells) {
      plan_.cells.push_back({from.super, static_cast<uint32_t>(plan_.cell_dims.size())});
      for (const BoxDim& dim : from.box) {
        const auto next = static_cast<uint32_t>(plan_.intervals.size());
        const auto [found, added] = intervals.emplace(std::pair(dim.begin, dim.extent), next);
        if (added) plan_.intervals.push_back({dim.begin, dim.extent});
        plan_.cell_dims.push_back(found->second);
      }
    }
    std::vector<uint32_t> new_ids;
    const RankSetTable& sets = in_.transfers->rank_sets;
    for (const TransferClass& from : in_.transfers->classes) {
      const uint32_t holders = PlanSet(sets, from.holders, &new_ids);
      const uint32_t needers = PlanSet(sets, from.needers, &new_ids);
      plan_.classes.push_back({holders, needers, from.bytes, from.first_cell, from.cell_count});
    }
  }

  void AddRoutes() {
    plan_.streams = in_.schedule->streams;
    plan_.pieces = in_.schedule->pieces;
    plan_.trees = in_.schedule->trees;
    plan_.tree_members = in_.schedule->tree_members;
    plan_.injects = in_.schedule->injects;
  }

  // Everybody who stores something, or lands it on its way to others.
  void AddRanks() {
    RankList ranks = plan_.tree_members;
    for (const RankList& set : plan_.rank_sets) ranks.insert(ranks.end(), set.begin(), set.end());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    auto slots = in_.schedule->slots.begin();
    uint32_t next_inject = 0;
    for (const Rank rank : ranks) {
      PlanRank entry;
      entry.rank = rank;
      entry.first_inject = next_inject;
      while (next_inject < plan_.injects.size() && plan_.injects[next_inject].source == rank) {
        ++next_inject;
      }
      entry.inject_count = next_inject - entry.first_inject;
      if (slots != in_.schedule->slots.end() && slots->rank == rank) {
        entry.recv_slot_bytes = slots->recv_slot_bytes;
        entry.pack_slot_bytes = slots->pack_slot_bytes;
        ++slots;
      }
      plan_.ranks.push_back(entry);
    }
    RESHARD_CHECK(
        next_inject == plan_.injects.size() && slots == in_.schedule->slots.end(),
        "a schedule's injects and slots are sorted by rank, of ranks that store something");
  }

  void AddCuts(const TopologyNumbers& numbers) {
    for (const CutWitness& from : in_.routing->witnesses) {
      PlanCut to{from.kind, from.members, from.bytes, from.bytes_per_s};
      for (uint32_t& member : to.members) {
        const CutMembers what = FactsOf(from.kind).members;
        if (what == CutMembers::kDomains) member = numbers.domains[member];
        if (what == CutMembers::kGroups) member = numbers.groups[member];
      }
      // Groups that only domains without weights join are not in the plan.
      if (std::count(to.members.begin(), to.members.end(), kNoId) > 0) continue;
      plan_.cuts.push_back(std::move(to));
    }
  }

  const PlanInputs& in_;
  RankSetTable sets_;
  Plan plan_;
};

}  // namespace

Plan MakePlan(const PlanInputs& inputs) { return Maker(inputs).Make(); }

}  // namespace reshard
