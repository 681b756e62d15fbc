#include "compiler/route/sources.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/route/deal.h"
#include "compiler/route/gather_parts.h"
#include "compiler/route/water_fill.h"

namespace reshard {
namespace {

// What heads want from one set of holders: those of all trees, or, where uplinks limit, those of
// one group.
struct HolderDemand {
  RankList senders;
  struct Want {
    uint32_t stream = 0;
    uint32_t tree = 0;
    HolderRun run;
  };
  std::vector<Want> wants;
};

// Ranks of a holder set by outlet, each with what it sends already.
struct Senders {
  struct Sender {
    Rank rank = 0;
    int64_t bytes = 0;
  };
  std::vector<std::vector<Sender>> by_outlet;  // in the order of Flow::outlets

  Rank Take(size_t outlet, int64_t bytes) {
    auto least =
        std::min_element(by_outlet[outlet].begin(), by_outlet[outlet].end(),
                         [](const Sender& a, const Sender& b) { return a.bytes < b.bytes; });
    least->bytes += bytes;
    return least->rank;
  }
};

class SourceAssigner {
 public:
  SourceAssigner(const TreeInputs& in, const ClassCuts& cuts, std::vector<RoutedStream>* streams,
                 PortBytes* sent)
      : in_(in), cuts_(cuts), streams_(*streams), sent_(*sent) {}

  void Run() {
    FindDemands();
    WaterFill(*in_.ports, &flows_, &sent_);
    SpareUplinks();
    for (size_t d = 0; d < demands_.size() && in_.topology->rails; ++d) {
      AlignRails(&demands_[d], &flows_[d]);
    }
    const int64_t busy_ps = std::max(sent_.MaxLevel(), ReceivedLevel());
    // Dealing whole runs strays a little from the parts: flows that have more of a choice, dealt
    // later, are filled again around what the earlier ones came to.
    for (const uint32_t id : FillingOrder(flows_)) {
      FillFlow(*in_.ports, &flows_[id], &sent_);
      GatherParts(*in_.ports, busy_ps, &flows_[id], &sent_);
      DealFlow(demands_[id], &flows_[id]);
    }
  }

 private:
  int64_t ReceivedLevel() const;
  void FindDemands();
  void AddDemand(RankSetId holders);
  bool HasChoiceOfGroups(const Flow& flow) const;
  void SpareUplinks();
  Senders SendersOf(const HolderDemand& demand, const Flow& flow) const;
  int32_t RailOf(Rank rank) const;
  void AlignRails(HolderDemand* demand, Flow* flow) const;
  void DealFlow(const HolderDemand& demand, Flow* flow);
  std::vector<Deal> DealWants(const std::vector<int64_t>& item_bytes, const Flow& flow,
                              const std::function<int64_t(uint32_t, int64_t)>& cut) const;
  int64_t CutRun(const HolderDemand::Want& want, int64_t at_bytes) const;
  void AddSource(const HolderDemand::Want& want, int64_t begin, int64_t extent, Rank source);

  const TreeInputs& in_;
  const ClassCuts& cuts_;
  std::vector<RoutedStream>& streams_;
  PortBytes& sent_;
  std::vector<HolderDemand> demands_;
  std::vector<Flow> flows_;
};

// How busy landers keep the busiest port that receives. A carrier gets its bytes inside its domain.
int64_t SourceAssigner::ReceivedLevel() const {
  PortBytes received(*in_.ports);
  for (size_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].local) continue;
    const DraftStream& draft = (*in_.streams)[s];
    for (const RoutedTree& tree : streams_[s].trees) {
      for (size_t p = draft.carrier == kNone ? 0 : 1; p < tree.landers.size(); ++p) {
        received.Add(in_.ports->outlet_of_rank(tree.landers[p]), draft.total_bytes);
      }
    }
  }
  return received.MaxLevel();
}

void SourceAssigner::FindDemands() {
  std::map<std::pair<RankSetId, GroupId>, size_t> ids;
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].local || (*in_.streams)[s].carrier != kNone) continue;
    for (const HolderRun& run : HolderRuns(*in_.transfers, (*in_.streams)[s])) {
      for (uint32_t t = 0; t < streams_[s].trees.size(); ++t) {
        const bool limit = in_.ports->uplinks_limit();
        const Rank head = streams_[s].trees[t].landers[0];
        const GroupId group = limit ? in_.ports->group_of_rank(head) : kNone;
        const auto [entry, is_new] = ids.try_emplace({run.holders, group}, demands_.size());
        if (is_new) {
          AddDemand(run.holders);
          if (limit) flows_.back().to_groups = {group};
        }
        demands_[entry->second].wants.push_back({s, t, run});
        flows_[entry->second].bytes += run.bytes;
      }
    }
  }
}

void SourceAssigner::AddDemand(RankSetId holders) {
  HolderDemand& demand = demands_.emplace_back();
  demand.senders = (*in_.facts)[holders].networked;
  std::vector<OutletId>& outlets = flows_.emplace_back().outlets;
  for (const Rank rank : demand.senders) outlets.push_back(in_.ports->outlet_of_rank(rank));
  std::sort(outlets.begin(), outlets.end());
  outlets.erase(std::unique(outlets.begin(), outlets.end()), outlets.end());
}

// Are some outlets of the group that receives, and others not?
bool SourceAssigner::HasChoiceOfGroups(const Flow& flow) const {
  if (flow.to_groups.empty()) return false;
  const auto away = std::count_if(flow.outlets.begin(), flow.outlets.end(), [&](OutletId outlet) {
    return flow.IsAway(in_.ports->group_of_outlet(outlet));
  });
  return away > 0 && static_cast<size_t>(away) < flow.outlets.size();
}

// Bytes come from another group only where holders of the own one would be busier than the busiest
// port has to be: what passes no uplinks waits for nobody there.
void SourceAssigner::SpareUplinks() {
  const int64_t busy_ps = std::max(sent_.MaxLevel(), ReceivedLevel());
  bool any = false;
  for (Flow& flow : flows_) {
    if (!HasChoiceOfGroups(flow)) continue;
    flow.away_from_ps = busy_ps;
    any = true;
  }
  if (!any) return;
  for (Flow& flow : flows_) {
    for (size_t i = 0; i < flow.parts.size(); ++i) {
      ChargeFlow(*in_.ports, flow, i, -flow.parts[i], &sent_);
    }
    flow.parts.clear();
  }
  WaterFill(*in_.ports, &flows_, &sent_);
}

int32_t SourceAssigner::RailOf(Rank rank) const {
  const std::vector<NicId>& nics = in_.topology->sites[in_.ports->site(rank)].nics;
  return nics.empty() ? -1 : in_.topology->nics[nics[0]].rail;
}

// Bytes between rails take the spine. What outlets send is dealt in order to what heads want in
// order: with both by rail a head gets from its own rail what that has for it. Loads stay as they
// are.
void SourceAssigner::AlignRails(HolderDemand* demand, Flow* flow) const {
  std::stable_sort(demand->wants.begin(), demand->wants.end(),
                   [&](const HolderDemand::Want& a, const HolderDemand::Want& b) {
                     return RailOf(streams_[a.stream].trees[a.tree].landers[0]) <
                            RailOf(streams_[b.stream].trees[b.tree].landers[0]);
                   });
  std::map<OutletId, int32_t> rails;
  for (const Rank rank : demand->senders) {
    rails.try_emplace(in_.ports->outlet_of_rank(rank), RailOf(rank));
  }
  std::vector<std::tuple<int32_t, OutletId, int64_t>> order;
  for (size_t i = 0; i < flow->outlets.size(); ++i) {
    order.emplace_back(rails.at(flow->outlets[i]), flow->outlets[i], flow->parts[i]);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    std::tie(std::ignore, flow->outlets[i], flow->parts[i]) = order[i];
  }
}

Senders SourceAssigner::SendersOf(const HolderDemand& demand, const Flow& flow) const {
  Senders senders;
  senders.by_outlet.resize(flow.outlets.size());
  std::map<OutletId, size_t> index;
  for (size_t i = 0; i < flow.outlets.size(); ++i) index[flow.outlets[i]] = i;
  for (const Rank rank : demand.senders) {
    senders.by_outlet[index.at(in_.ports->outlet_of_rank(rank))].push_back({rank, 0});
  }
  return senders;
}

// The last permitted cut at or below `at_bytes` of a run.
int64_t SourceAssigner::CutRun(const HolderDemand::Want& want, int64_t at_bytes) const {
  const DraftStream& stream = (*in_.streams)[want.stream];
  int64_t begin = 0;
  for (uint32_t i = want.run.first; i < want.run.first + want.run.count; ++i) {
    const ClassRange& range = stream.bytes[i];
    if (at_bytes < begin + range.extent) {
      const int64_t in_class = cuts_.Floor(range.cls, range.begin + at_bytes - begin);
      return begin + std::max(in_class, range.begin) - range.begin;
    }
    begin += range.extent;
  }
  return begin;
}

void SourceAssigner::AddSource(const HolderDemand::Want& want, int64_t begin, int64_t extent,
                               Rank source) {
  const DraftStream& stream = (*in_.streams)[want.stream];
  std::vector<SourceRange>& sources = streams_[want.stream].trees[want.tree].sources;
  int64_t range_begin = 0;
  for (uint32_t i = want.run.first; i < want.run.first + want.run.count; ++i) {
    const ClassRange& range = stream.bytes[i];
    const int64_t from = std::max(begin, range_begin);
    const int64_t to = std::min(begin + extent, range_begin + range.extent);
    if (from < to) {
      sources.push_back({{range.cls, range.begin + from - range_begin, to - from}, source});
    }
    range_begin += range.extent;
  }
}

// Runs stay whole where they can. A head that gets a whole run from a slow port would have to wait
// for it, so where ports differ each head gets a little from every one.
std::vector<Deal> SourceAssigner::DealWants(
    const std::vector<int64_t>& item_bytes, const Flow& flow,
    const std::function<int64_t(uint32_t, int64_t)>& cut) const {
  const auto rate = [&](OutletId outlet) { return in_.ports->outlet(outlet).bytes_per_s; };
  const bool alike = std::all_of(flow.outlets.begin(), flow.outlets.end(), [&](OutletId outlet) {
    return rate(outlet) == rate(flow.outlets[0]);
  });
  return (alike ? DealOut : DealOutEach)(item_bytes, flow.parts, kMinSplitBytes, cut);
}

void SourceAssigner::DealFlow(const HolderDemand& demand, Flow* flow) {
  std::vector<int64_t> item_bytes;
  for (const HolderDemand::Want& want : demand.wants) item_bytes.push_back(want.run.bytes);
  const auto cut = [&](uint32_t item, int64_t at) { return CutRun(demand.wants[item], at); };
  Senders senders = SendersOf(demand, *flow);
  std::vector<int64_t> dealt(flow->outlets.size(), 0);
  for (const Deal& deal : DealWants(item_bytes, *flow, cut)) {
    const Rank source = senders.Take(deal.part, deal.extent);
    AddSource(demand.wants[deal.item], deal.begin, deal.extent, source);
    dealt[deal.part] += deal.extent;
  }
  for (size_t i = 0; i < dealt.size(); ++i) {
    ChargeFlow(*in_.ports, *flow, i, dealt[i] - flow->parts[i], &sent_);
  }
  flow->parts = dealt;
}

// Holders near a carrier hand it its bytes: of each set the one that has handed over least.
void HandOver(const TreeInputs& in, const DraftStream& draft, std::map<Rank, int64_t>* handed_over,
              RoutedStream* stream) {
  const DomainId domain = in.topology->sites[in.ports->site(draft.carrier)].domain;
  for (const HolderRun& run : HolderRuns(*in.transfers, draft)) {
    const RanksByDomain& holders = (*in.facts)[run.holders].by_domain;
    const RankList near = holders.RanksOf(holders.Find(domain));
    for (RoutedTree& tree : stream->trees) {
      Rank source = near[0];
      for (const Rank rank : near) {
        if ((*handed_over)[rank] < (*handed_over)[source]) source = rank;
      }
      (*handed_over)[source] += run.bytes;
      for (uint32_t i = run.first; i < run.first + run.count; ++i) {
        tree.sources.push_back({draft.bytes[i], source});
      }
    }
  }
}

}  // namespace

void AssignSources(const TreeInputs& inputs, const ClassCuts& cuts,
                   std::vector<RoutedStream>* streams, PortBytes* sent) {
  std::map<Rank, int64_t> handed_over;
  for (size_t s = 0; s < streams->size(); ++s) {
    const DraftStream& draft = (*inputs.streams)[s];
    if (draft.carrier != kNone) HandOver(inputs, draft, &handed_over, &(*streams)[s]);
  }
  for (size_t s = 0; s < streams->size(); ++s) {
    RoutedStream& stream = (*streams)[s];
    if (!stream.local) continue;
    const Rank handed_by = (*inputs.streams)[s].source;
    const Rank source = handed_by == kNone ? stream.trees[0].landers[0] : handed_by;
    for (const ClassRange& range : stream.bytes) {
      stream.trees[0].sources.push_back({range, source});
    }
  }
  SourceAssigner(inputs, cuts, streams, sent).Run();
}

}  // namespace reshard
