#include "compiler/route/trees.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/route/chains.h"
#include "compiler/route/round_cost.h"
#include "compiler/route/water_fill.h"

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
  const auto rate = [&](Rank rank) {
    return ports.outlet(ports.outlet_of_rank(rank)).bytes_per_s;
  };
  int64_t fastest = 0;
  for (const Rank lander : landers) fastest = std::max(fastest, rate(lander));
  std::vector<Rank> slow;
  for (const Rank lander : landers) {
    if (rate(lander) < fastest - fastest / 2) slow.push_back(lander);
  }
  return slow;
}

Chains ChainsOfLength(const TreeInputs& in, const std::vector<size_t>& chain_counts,
                      bool slow_apart) {
  Chains chains;
  UsedEdges used;
  for (size_t s = 0; s < in.streams->size(); ++s) {
    const DraftStream& stream = (*in.streams)[s];
    if (stream.local) {
      chains.push_back({stream.landers});
      continue;
    }
    std::vector<Rank> landers = stream.landers;
    std::vector<Rank> slow;
    if (slow_apart) slow = SlowLanders(*in.ports, landers);
    std::erase_if(landers, [&](Rank rank) {
      return std::find(slow.begin(), slow.end(), rank) != slow.end();
    });
    const size_t count = std::min(chain_counts[s], landers.size());
    chains.push_back(MakeChains(*in.topology, *in.ports, landers, count, &used));
    if (slow.empty()) continue;
    const size_t slow_count = (count * slow.size() + landers.size() - 1) / landers.size();
    for (auto& chain : MakeChains(*in.topology, *in.ports, slow, slow_count, &used)) {
      chains.back().push_back(std::move(chain));
    }
  }
  return chains;
}

struct Choice {
  Chains chains;
  int64_t predicted_ns = 0;
  int64_t injects = 0;
};

class ChainChooser {
 public:
  ChainChooser(const TreeInputs& in, bool slow_apart)
      : in_(in), slow_apart_(slow_apart), received_(*in.ports) {
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

  Chains Choose() {
    std::vector<Choice> choices;
    for (size_t length = longest_; length >= 1; length = length == 1 ? 0 : (length + 1) / 2) {
      choices.push_back(Make(length));
    }
    const auto over_budget = [](const Choice& c) { return c.injects > kMaxInjects; };
    const bool all_over = std::all_of(choices.begin(), choices.end(), over_budget);
    if (all_over) return std::move(choices.front().chains);  // the fewest heads
    std::erase_if(choices, over_budget);
    int64_t best_ns = choices.front().predicted_ns;
    for (const Choice& choice : choices) best_ns = std::min(best_ns, choice.predicted_ns);
    // Fewer heads make a smaller plan and spare the sources: worth a quarter of a per cent.
    for (Choice& choice : choices) {
      if (choice.predicted_ns <= best_ns + best_ns / 400) return std::move(choice.chains);
    }
    return {};
  }

 private:
  Choice Make(size_t length) const {
    Choice choice;
    std::vector<size_t> counts;
    size_t depth = 1;
    for (const DraftStream& stream : *in_.streams) {
      counts.push_back((stream.landers.size() + length - 1) / length);
    }
    choice.chains = ChainsOfLength(in_, counts, slow_apart_);
    for (size_t s = 0; s < counts.size(); ++s) counts[s] = choice.chains[s].size();
    for (const auto& trees : choice.chains) {
      for (const auto& chain : trees) depth = std::max(depth, chain.size());
    }
    PortBytes sent(*in_.ports);
    AddRelays(in_, choice.chains, &sent);
    std::vector<Flow> flows;
    for (const SourceDemand& demand : demands_) {
      Flow& flow = flows.emplace_back();
      flow.outlets = demand.outlets;
      for (const auto& [stream, bytes] : demand.stream_bytes) {
        flow.bytes += bytes * static_cast<int64_t>(counts[stream]);
      }
    }
    WaterFill(*in_.ports, &flows, &sent);
    PortBytes injected(*in_.ports);
    for (const Flow& flow : flows) {
      for (size_t i = 0; i < flow.parts.size(); ++i) injected.Add(flow.outlets[i], flow.parts[i]);
    }
    // Heads that wait for a source: the busier the sources, the more often none is free. Measured
    // losses are about 2 % with sources that are always busy.
    const int64_t busy_ns = std::max(received_.MaxLevel(), sent.MaxLevel()) / 1000;
    const int64_t waits_ns = injected.MaxLevel() / 1000 / 50;
    const int64_t rounds =
        WantedRounds(most_landed_, busy_ns, static_cast<int64_t>(depth), kDefaultSliceBytes);
    const int64_t fill_rounds = static_cast<int64_t>(depth) - 1;
    choice.predicted_ns = busy_ns + waits_ns + busy_ns / rounds * fill_rounds +
                          (rounds + fill_rounds) * kRoundOverheadNs;
    for (size_t s = 0; s < counts.size(); ++s) {
      if ((*in_.streams)[s].local) continue;
      const int64_t slices = std::min(rounds, (*in_.streams)[s].total_bytes / kLeastSlice + 1);
      choice.injects += static_cast<int64_t>(counts[s]) * (slices + runs_per_stream_[s]);
    }
    return choice;
  }

  const TreeInputs& in_;
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

void AddRelays(const TreeInputs& inputs, const Chains& chains, PortBytes* sent) {
  for (size_t s = 0; s < chains.size(); ++s) {
    for (const std::vector<Rank>& chain : chains[s]) {
      for (size_t i = 0; i + 1 < chain.size(); ++i) {
        sent->Add(inputs.ports->outlet_of_rank(chain[i]), (*inputs.streams)[s].total_bytes);
      }
    }
  }
}

Chains BuildChains(const TreeInputs& inputs, const RouteOptions& options) {
  if (options.heads == 0) return ChainChooser(inputs, options.slow_apart).Choose();
  std::vector<size_t> counts;
  for (const DraftStream& stream : *inputs.streams) {
    counts.push_back(std::min<size_t>(options.heads, stream.landers.size()));
  }
  return ChainsOfLength(inputs, counts, options.slow_apart);
}

}  // namespace reshard
