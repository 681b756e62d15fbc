#include "compiler/route/trees.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/route/chains.h"
#include "compiler/route/round_cost.h"
#include "compiler/route/water_fill.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// Choices whose plan would have more messages from sources than this are taken only when all do.
constexpr int64_t kMaxInjects = 400'000;
// What the schedule makes of small streams, for that count.
constexpr int64_t kLeastSlice = kDefaultSliceBytes / 8;

// Streams by the ranks that can send their bytes: the demands of all choices, times heads.
struct SourceDemand {
  std::vector<OutletId> outlets;
  std::vector<std::pair<uint32_t, int64_t>> stream_bytes;
};

std::vector<SourceDemand> FindSourceDemands(const TreeInputs& in,
                                            std::vector<int64_t>* runs_per_stream) {
  std::map<RankSetId, size_t> ids;
  std::vector<SourceDemand> demands;
  for (uint32_t s = 0; s < in.streams->size(); ++s) {
    runs_per_stream->push_back(0);
    if ((*in.streams)[s].local) continue;
    for (const HolderRun& run : HolderRuns(*in.transfers, (*in.streams)[s])) {
      ++runs_per_stream->back();
      if ((*in.streams)[s].carrier != kNone) continue;  // handed over
      const auto [entry, is_new] = ids.try_emplace(run.holders, demands.size());
      if (is_new) {
        std::vector<OutletId>& outlets = demands.emplace_back().outlets;
        for (const Rank rank : (*in.facts)[run.holders].networked) {
          outlets.push_back(in.ports->outlet_of_rank(rank));
        }
        std::sort(outlets.begin(), outlets.end());
        outlets.erase(std::unique(outlets.begin(), outlets.end()), outlets.end());
      }
      demands[entry->second].stream_bytes.emplace_back(s, run.bytes);
    }
  }
  return demands;
}

// The landers of a stream whose NICs are less than half as fast as its fastest ones.
std::vector<Rank> SlowLanders(const Ports& ports, const std::vector<Rank>& landers) {
  const auto rate = [&](Rank rank) { return ports.outlet(ports.outlet_of_rank(rank)).bytes_per_s; };
  int64_t fastest = 0;
  for (const Rank lander : landers) fastest = std::max(fastest, rate(lander));
  std::vector<Rank> slow;
  for (const Rank lander : landers) {
    if (rate(lander) < fastest - fastest / 2) slow.push_back(lander);
  }
  return slow;
}

// Per stream, the ranks that may send to its heads and land streams of the network themselves.
std::vector<RankList> FindLandingSenders(const TreeInputs& in) {
  RankList landing;
  for (const DraftStream& stream : *in.streams) {
    if (!stream.local) landing.insert(landing.end(), stream.landers.begin(), stream.landers.end());
  }
  const auto make_set = [](RankList* ranks) {
    std::sort(ranks->begin(), ranks->end());
    ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
  };
  make_set(&landing);
  std::map<RankSetId, RankList> senders_of;  // per set of holders
  std::vector<RankList> result;
  for (const DraftStream& stream : *in.streams) {
    RankList& senders = result.emplace_back();
    if (stream.local) continue;
    if (stream.carrier != kNone) {
      senders.push_back(stream.carrier);
      continue;
    }
    for (const HolderRun& run : HolderRuns(*in.transfers, stream)) {
      const auto [entry, is_new] = senders_of.try_emplace(run.holders);
      if (is_new) entry->second = Intersection((*in.facts)[run.holders].networked, landing);
      senders.insert(senders.end(), entry->second.begin(), entry->second.end());
    }
    make_set(&senders);
  }
  return result;
}

std::vector<std::vector<Rank>> ChainsOf(const TreeInputs& in, const DraftStream& stream,
                                        const std::vector<Rank>& landers, size_t count,
                                        GroupWays ways, UsedEdges* used) {
  if (stream.from_groups.empty()) {
    return MakeChains(*in.topology, *in.ports, landers, count, ways.senders, used);
  }
  if (stream.carrier != kNone) ways.from_groups = {in.ports->group_of_rank(stream.carrier)};
  return MakeGroupChains(*in.topology, *in.ports, landers, count, ways, used);
}

StreamTrees ChainsOfLength(const TreeInputs& in, const std::vector<RankList>& senders,
                           const std::vector<size_t>& chain_counts, bool slow_apart) {
  StreamTrees trees;
  UsedEdges used;
  PortBytes uplinks(*in.ports);
  for (size_t s = 0; s < in.streams->size(); ++s) {
    const DraftStream& stream = (*in.streams)[s];
    std::vector<BareTree>& of_stream = trees.emplace_back();
    if (stream.local) {
      of_stream.push_back({PlanTreeKind::kChain, stream.landers});
      continue;
    }
    const GroupWays ways{stream.from_groups, stream.total_bytes, senders[s], &uplinks};
    const auto add = [&](const std::vector<Rank>& landers, size_t count) {
      for (auto& chain : ChainsOf(in, stream, landers, count, ways, &used)) {
        if (stream.carrier != kNone) chain.insert(chain.begin(), stream.carrier);
        of_stream.push_back({PlanTreeKind::kChain, std::move(chain)});
      }
    };
    if (stream.carrier_lands) {
      add(stream.landers, 1);  // its domain gets the bytes once
      continue;
    }
    std::vector<Rank> landers = stream.landers;
    std::vector<Rank> slow;
    if (slow_apart) slow = SlowLanders(*in.ports, landers);
    std::erase_if(landers, [&](Rank rank) {
      return std::find(slow.begin(), slow.end(), rank) != slow.end();
    });
    const size_t count = std::min(chain_counts[s], landers.size());
    add(landers, count);
    if (!slow.empty()) {
      add(slow, (count * slow.size() + landers.size() - 1) / landers.size());
    }
  }
  return trees;
}

// Streams that could not be halved are chains.
StreamTrees TwoTrees(const TreeInputs& in) {
  const std::vector<RankList> senders = FindLandingSenders(in);
  StreamTrees trees =
      ChainsOfLength(in, senders, std::vector<size_t>(in.streams->size(), 1), false);
  UsedEdges used;
  for (size_t s = 0; s + 1 < in.streams->size(); ++s) {
    const DraftStream& stream = (*in.streams)[s];
    if (stream.half != StreamHalf::kFirst) continue;
    auto [first, second] = MakeTwoTrees(*in.topology, *in.ports, stream.landers, senders[s], &used);
    const bool carried = stream.carrier != kNone;
    const PlanTreeKind kind = carried ? PlanTreeKind::kStemBinary : PlanTreeKind::kBinary;
    if (carried) {
      first.insert(first.begin(), stream.carrier);
      second.insert(second.begin(), stream.carrier);
    }
    trees[s] = {{kind, std::move(first)}};
    trees[s + 1] = {{kind, std::move(second)}};
  }
  return trees;
}

// From each hub to the landers that are not the hub, where there are several hubs to those of its
// group. Streams without a hub are chains.
StreamTrees Stars(const TreeInputs& in) {
  StreamTrees trees =
      ChainsOfLength(in, FindLandingSenders(in), std::vector<size_t>(in.streams->size(), 1), false);
  for (size_t s = 0; s < in.streams->size(); ++s) {
    const DraftStream& stream = (*in.streams)[s];
    if (stream.hubs.empty()) continue;
    trees[s].clear();
    for (const Rank hub : stream.hubs) {
      BareTree& tree = trees[s].emplace_back();
      if (stream.carrier != kNone) tree.landers.push_back(stream.carrier);
      tree.landers.push_back(hub);
      const size_t first_members = tree.landers.size();
      for (const Rank lander : stream.landers) {
        const bool own = stream.hubs.size() == 1 ||
                         in.ports->group_of_rank(lander) == in.ports->group_of_rank(hub);
        if (own && lander != hub) tree.landers.push_back(lander);
      }
      if (tree.landers.size() == first_members) continue;  // a chain
      tree.kind = stream.carrier != kNone ? PlanTreeKind::kStemStar : PlanTreeKind::kStar;
    }
  }
  return trees;
}

struct Choice {
  StreamTrees trees;
  int64_t predicted_ns = 0;
  int64_t injects = 0;
};

class ChainChooser {
 public:
  ChainChooser(const TreeInputs& in, bool slow_apart)
      : in_(in), senders_(FindLandingSenders(in)), slow_apart_(slow_apart), received_(*in.ports) {
    demands_ = FindSourceDemands(in, &runs_per_stream_);
    for (const DraftStream& stream : *in.streams) {
      if (stream.local) continue;
      longest_ = std::max(longest_, stream.landers.size());
      for (const Rank lander : stream.landers) {
        received_.Add(in.ports->outlet_of_rank(lander), stream.total_bytes);
        lander_bytes_[lander] += stream.total_bytes;
      }
    }
    for (const auto& [lander, bytes] : lander_bytes_) most_landed_ = std::max(most_landed_, bytes);
  }

  StreamTrees Choose() {
    std::vector<Choice> choices;
    for (size_t length = longest_; length >= 1; length = length == 1 ? 0 : (length + 1) / 2) {
      choices.push_back(Make(length));
    }
    const auto over_budget = [](const Choice& c) { return c.injects > kMaxInjects; };
    const bool all_over = std::all_of(choices.begin(), choices.end(), over_budget);
    if (all_over) return std::move(choices.front().trees);  // the fewest heads
    std::erase_if(choices, over_budget);
    int64_t best_ns = choices.front().predicted_ns;
    for (const Choice& choice : choices) best_ns = std::min(best_ns, choice.predicted_ns);
    // Fewer heads make a smaller plan and spare the sources: worth a quarter of a per cent.
    for (Choice& choice : choices) {
      if (choice.predicted_ns <= best_ns + best_ns / 400) return std::move(choice.trees);
    }
    return {};
  }

 private:
  // What sources have to send: of each set of holders, and where uplinks limit for each group.
  std::vector<Flow> SourceFlows(const StreamTrees& trees) const {
    std::vector<Flow> flows;
    for (const SourceDemand& demand : demands_) {
      std::map<GroupId, int64_t> bytes_to;
      for (const auto& [stream, bytes] : demand.stream_bytes) {
        for (const BareTree& tree : trees[stream]) {
          const bool limit = in_.ports->uplinks_limit();
          bytes_to[limit ? in_.ports->group_of_rank(tree.landers[0]) : kNone] += bytes;
        }
      }
      for (const auto& [group, bytes] : bytes_to) {
        Flow& flow = flows.emplace_back();
        flow.outlets = demand.outlets;
        flow.bytes = bytes;
        if (in_.ports->uplinks_limit()) flow.to_groups = {group};
      }
    }
    return flows;
  }

  Choice Make(size_t length) const {
    Choice choice;
    std::vector<size_t> counts;
    size_t depth = 1;
    for (const DraftStream& stream : *in_.streams) {
      counts.push_back((stream.landers.size() + length - 1) / length);
    }
    choice.trees = ChainsOfLength(in_, senders_, counts, slow_apart_);
    for (size_t s = 0; s < counts.size(); ++s) counts[s] = choice.trees[s].size();
    for (const std::vector<BareTree>& of_stream : choice.trees) {
      for (const BareTree& chain : of_stream) depth = std::max(depth, chain.landers.size());
    }
    PortBytes sent(*in_.ports);
    AddRelays(in_, choice.trees, &sent);
    std::vector<Flow> flows = SourceFlows(choice.trees);
    WaterFill(*in_.ports, &flows, &sent);
    PortBytes injected(*in_.ports);
    for (const Flow& flow : flows) {
      for (size_t i = 0; i < flow.parts.size(); ++i) injected.Add(flow.outlets[i], flow.parts[i]);
    }
    // Heads that wait for a source: the busier the sources, the more often none is free. Measured
    // losses are about 2 % with sources that are always busy.
    const int64_t busy_ns = std::max(received_.MaxLevel(), sent.MaxLevel()) / 1000;
    const int64_t waits_ns = injected.MaxLevel() / 1000 / 50;
    const int64_t rounds = WantedRounds(most_landed_, busy_ns, static_cast<int64_t>(depth),
                                        kDefaultSliceBytes, in_.topology->round_ns);
    const int64_t fill_rounds = static_cast<int64_t>(depth) - 1;
    choice.predicted_ns = busy_ns + waits_ns + busy_ns / rounds * fill_rounds +
                          (rounds + fill_rounds) * in_.topology->round_ns;
    for (size_t s = 0; s < counts.size(); ++s) {
      if ((*in_.streams)[s].local) continue;
      const int64_t slices = std::min(rounds, (*in_.streams)[s].total_bytes / kLeastSlice + 1);
      choice.injects += static_cast<int64_t>(counts[s]) * (slices + runs_per_stream_[s]);
    }
    return choice;
  }

  const TreeInputs& in_;
  const std::vector<RankList> senders_;
  const bool slow_apart_;
  PortBytes received_;
  std::map<Rank, int64_t> lander_bytes_;
  int64_t most_landed_ = 0;
  size_t longest_ = 1;
  std::vector<int64_t> runs_per_stream_;
  std::vector<SourceDemand> demands_;
};

}  // namespace

std::vector<HolderRun> HolderRuns(const TransferSet& transfers, const DraftStream& stream) {
  std::vector<HolderRun> runs;
  for (uint32_t i = 0; i < stream.bytes.size(); ++i) {
    const RankSetId holders = transfers.classes[stream.bytes[i].cls].holders;
    if (runs.empty() || runs.back().holders != holders) runs.push_back({holders, i, 0, 0});
    ++runs.back().count;
    runs.back().bytes += stream.bytes[i].extent;
  }
  return runs;
}

void AddRelays(const TreeInputs& inputs, const StreamTrees& trees, PortBytes* sent) {
  for (size_t s = 0; s < trees.size(); ++s) {
    for (const BareTree& tree : trees[s]) {
      for (uint32_t p = 1; p < tree.landers.size(); ++p) {
        const Rank parent = tree.landers[TreeParent(tree.kind, p)];
        const int64_t bytes = (*inputs.streams)[s].total_bytes;
        sent->Add(inputs.ports->outlet_of_rank(parent), bytes);
        sent->AddUplinks(inputs.ports->group_of_rank(parent),
                         inputs.ports->group_of_rank(tree.landers[p]), bytes);
      }
    }
  }
}

StreamTrees BuildTrees(const TreeInputs& inputs, const RouteOptions& options) {
  if (options.strategy == Strategy::kTwoTrees) return TwoTrees(inputs);
  if (options.strategy == Strategy::kHubs) return Stars(inputs);
  const bool direct = options.strategy == Strategy::kDirect;
  if (options.heads == 0 && !direct) return ChainChooser(inputs, options.slow_apart).Choose();
  std::vector<size_t> counts;
  for (const DraftStream& stream : *inputs.streams) {
    const size_t most = stream.landers.size();
    counts.push_back(direct ? most : std::min<size_t>(options.heads, most));
  }
  return ChainsOfLength(inputs, FindLandingSenders(inputs), counts, options.slow_apart);
}

}  // namespace reshard
