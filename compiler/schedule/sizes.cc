#include "compiler/schedule/sizes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/route/round_cost.h"
#include "compiler/schedule/tree_levels.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

int64_t CeilDiv(int64_t bytes, int64_t parts) { return (bytes + parts - 1) / parts; }

// Cuts so that no tree needs many more rounds than `rounds`; where four sources a slice are too
// few for that, all slices become smaller, as what one head cannot take no other port can use.
constexpr int kCutAttempts = 6;

// A rank in more streams than this gets some of them at a time, in larger slices: a little of each
// in every round would be too many messages.
constexpr uint32_t kSteadyStreams = 8;

// Senders that have this part of the time to spare find receivers without being matched with them.
constexpr int64_t kSparePart = 4;

// In fewer rounds than these slices of one source each are too few to come out even.
constexpr int64_t kManyToMatch = 32;

// In fewer rounds than these a port has so few slices that it had better take what there is.
constexpr int64_t kManyRounds = 8;

// Where ranks hand over bytes, slices of small streams may be this part of those of the largest: in
// fewer and larger ones, a source of several streams has room for all of them in no round.
constexpr int64_t kSteadyPart = 32;

// However slow a port is, less than this is not worth a message.
constexpr int64_t kLeastSlowBytes = int64_t{4} << 10;

class Sizer {
 public:
  Sizer(const Topology& topology, const Ports& ports, const Routing& routing, const ClassCuts& cuts,
        const Traffic& traffic, const RoundSizes& sizes, std::vector<ScheduledTree>* trees)
      : topology_(topology),
        ports_(ports),
        routing_(routing),
        cuts_(cuts),
        traffic_(traffic),
        sizes_(sizes),
        most_bytes_(sizes.slice_bytes),
        trees_(*trees),
        fastest_rate_(FastestRate()) {}

  void Cut() {
    rounds_ = RoundCount(traffic_, most_bytes_);
    matches_ = IsFlat(traffic_) && traffic_.senders_busy && rounds_ >= kManyToMatch;
    for (const int64_t rounds : sizes_.source_rounds) {
      if (rounds == 0) continue;
      rounds_ = std::max(rounds_, rounds);
      sources_ = kMaxSourcesPerSlice;
    }
    if (traffic_.hands_over && EvenBytes() > LeastBytes(0)) {
      most_least_bytes_ = EvenBytes() / kSteadyPart + kCutAlignBytes;
    }
    int64_t most = 0;
    for (int attempt = 0; attempt < kCutAttempts; ++attempt) {
      CutSlices(routing_, cuts_, ports_, Limits(false), &trees_);
      most = 0;
      for (const ScheduledTree& tree : trees_) {
        if (!tree.local) most = std::max(most, static_cast<int64_t>(tree.slices.size()));
      }
      if (most <= rounds_ + rounds_ / 32 || matches_) break;
      if (sources_ < kMaxSourcesPerSlice) {
        sources_ *= 2;
      } else {
        rounds_ = most;
      }
    }
    // Slices so small that they need all rounds may not be worth a message: with fewer slices each
    // round takes longer, and ports have a larger share of it.
    if (IsFlat(traffic_) && most > 0 && most < rounds_) SpreadOver(most);
    CutSlices(routing_, cuts_, ports_, Limits(true), &trees_);
    for (const ScheduledTree& tree : trees_) {
      for (const DraftSlice& slice : tree.slices) widest_ = std::max(widest_, slice.extent);
    }
  }

  RoundLimits RoundShares() const;

 private:
  // Of the largest stream, in equal slices.
  int64_t EvenBytes() const;
  // Fewer rounds, in slices that are as even as those of more would be.
  void SpreadOver(int64_t rounds);
  SliceLimits Limits(bool by_port) const;
  // Of the NIC of a rank, 0 where it has none.
  int64_t RateOf(Rank rank) const {
    const OutletId outlet = ports_.outlet_of_rank(rank);
    return outlet == kNone ? 0 : ports_.outlet(outlet).bytes_per_s;
  }
  static int64_t BytesOf(const RoutedStream& stream);
  int64_t FastestRate() const;
  // Of the uplinks that bytes pass from one rank to another; that of the fastest NIC where there
  // are none.
  int64_t WayRate(Rank from, Rank to) const;
  // Of the NICs that land the stream, and the uplinks that it passes.
  int64_t SlowestRate(const RoutedStream& stream) const;
  int64_t LeastBytes(int64_t bytes_per_s) const;
  int64_t RoundPs() const { return traffic_.busy_ps / rounds_ + 1; }
  // What a rank can receive in a round, of one that packs, too, in proportion to all its bytes.
  int64_t RecvRoom(SiteId site) const {
    const int64_t slots = kRecvSlots * traffic_.landed_bytes[site];
    const int64_t all = slots + kPackSlots * traffic_.packed_bytes[site];
    if (!IsFlat(traffic_) || slots == 0 || slots == all) return sizes_.recv_bytes;
    return std::clamp(Portion(sizes_.staging_bytes, slots, all) / kRecvSlots,
                      sizes_.least_recv_bytes, sizes_.recv_bytes);
  }
  // What it can pack.
  int64_t PackRoom(SiteId site) const {
    const bool lands = traffic_.landed_bytes[site] > 0;
    const int64_t received = lands ? kRecvSlots * RecvRoom(site) : 0;
    return (sizes_.staging_bytes - received) / kPackSlots;
  }

  const Topology& topology_;
  const Ports& ports_;
  const Routing& routing_;
  const ClassCuts& cuts_;
  const Traffic& traffic_;
  const RoundSizes& sizes_;
  int64_t most_bytes_;
  std::vector<ScheduledTree>& trees_;
  int64_t fastest_rate_;
  int64_t rounds_ = 1;
  bool matches_ = false;                  // trees with sources, in every round
  int64_t most_least_bytes_ = INT64_MAX;  // no slice has to be larger to be worth a message
  uint32_t sources_ = kFewSourcesPerSlice;
  int64_t widest_ = 0;  // slice
};

int64_t Sizer::BytesOf(const RoutedStream& stream) {
  int64_t bytes = 0;
  for (const ClassRange& range : stream.bytes) bytes += range.extent;
  return bytes;
}

int64_t Sizer::FastestRate() const {
  int64_t fastest = 0;
  for (const RoutedStream& stream : routing_.streams) {
    for (const RoutedTree& tree : stream.trees) {
      for (const Rank lander : tree.landers) fastest = std::max(fastest, RateOf(lander));
      for (const SourceRange& source : tree.sources) {
        fastest = std::max(fastest, RateOf(source.source));
      }
    }
  }
  return fastest;
}

int64_t Sizer::WayRate(Rank from, Rank to) const {
  const GroupId group = ports_.group_of_rank(from), other = ports_.group_of_rank(to);
  int64_t rate = fastest_rate_;
  if (group == other) return rate;
  for (const PortId uplink : {ports_.uplink_out(group), ports_.uplink_in(other)}) {
    if (uplink != kNone) rate = std::min(rate, ports_.bytes_per_s(uplink));
  }
  return rate;
}

int64_t Sizer::SlowestRate(const RoutedStream& stream) const {
  int64_t slowest = fastest_rate_;
  for (const RoutedTree& tree : stream.trees) {
    for (const Rank lander : tree.landers) {
      if (const int64_t rate = RateOf(lander); rate > 0) slowest = std::min(slowest, rate);
    }
    if (!ports_.uplinks_limit()) continue;
    for (const SourceRange& source : tree.sources) {
      slowest = std::min(slowest, WayRate(source.source, tree.landers[0]));
    }
    for (uint32_t p = 1; p < tree.landers.size(); ++p) {
      const Rank parent = tree.landers[TreeParent(tree.kind, p)];
      slowest = std::min(slowest, WayRate(parent, tree.landers[p]));
    }
  }
  return slowest;
}

// What is worth a message: of a slow port in proportion, or a round would last as long as that one
// takes for what is little to the others.
int64_t Sizer::LeastBytes(int64_t bytes_per_s) const {
  const int64_t least =
      std::max(kMinSliceBytes, most_bytes_ / (traffic_.most_streams > kSteadyStreams ? 8 : 32));
  const bool slow = bytes_per_s > 0 && bytes_per_s < fastest_rate_;
  const int64_t own =
      slow ? std::max(kLeastSlowBytes, Portion(least, bytes_per_s, fastest_rate_)) : least;
  return std::min({most_bytes_, most_least_bytes_, own});
}

int64_t Sizer::EvenBytes() const {
  int64_t largest = 0;
  for (const RoutedStream& stream : routing_.streams) {
    if (!stream.local) largest = std::max(largest, BytesOf(stream));
  }
  return CeilDiv(largest, rounds_);
}

void Sizer::SpreadOver(int64_t rounds) {
  rounds_ = rounds;
  most_least_bytes_ = EvenBytes() + kCutAlignBytes;
}

SliceLimits Sizer::Limits(bool by_port) const {
  SliceLimits limits;
  limits.sources = sources_;
  limits.own_slices = matches_;
  for (StreamId id = 0; id < routing_.streams.size(); ++id) {
    const RoutedStream& stream = routing_.streams[id];
    const int64_t bytes = std::max(BytesOf(stream), traffic_.turn_bytes[id]);
    // Cuts are rounded down by less than kCutAlignBytes.
    const int64_t even = CeilDiv(bytes, rounds_) + kCutAlignBytes;
    limits.slice_bytes.push_back(std::clamp(even, LeastBytes(SlowestRate(stream)), most_bytes_));
  }
  // A slow port sends as much in a round as it can in the time that the others take.
  for (SiteId site = 0; site < topology_.sites.size(); ++site) {
    const OutletId outlet = ports_.outlet_of_site(site);
    int64_t bytes = most_bytes_;
    const int64_t rate = outlet == kNone ? 0 : ports_.outlet(outlet).bytes_per_s;
    if (by_port && outlet != kNone) {
      bytes = BytesIn(RoundPs(), rate);
      bytes += bytes / 64 + kCutAlignBytes;  // room for chunks that cuts made a little longer
    }
    const bool lands = traffic_.landed_bytes[site] > 0;
    const int64_t packed = lands ? PackRoom(site) - kSlotAlignBytes : most_bytes_;
    const int64_t least = LeastBytes(rate);
    limits.portion_bytes.push_back(std::clamp(std::min(bytes, packed), least, most_bytes_));
    limits.hand_over_bytes.push_back(std::clamp(packed, least, most_bytes_));
  }
  return limits;
}

RoundLimits Sizer::RoundShares() const {
  RoundLimits limits;
  for (SiteId site = 0; site < topology_.sites.size(); ++site) {
    limits.recv_bytes.push_back(RecvRoom(site));
  }
  std::vector<int64_t> widest_portion(topology_.sites.size(), 0);
  for (const ScheduledTree& tree : trees_) {
    if (tree.local) continue;
    for (const SourceRun& portion : tree.portions) {
      int64_t& widest = widest_portion[ports_.site(portion.source)];
      widest = std::max(widest, AlignedToSlot(portion.extent));
    }
  }
  limits.flat = IsFlat(traffic_);
  limits.rounds = rounds_;
  limits.tight = matches_;
  PortBytes relayed(ports_);
  for (const ScheduledTree& tree : trees_) {
    if (tree.local) continue;
    for (uint32_t p = 1; p < tree.members.size(); ++p) {
      const Rank parent = tree.members[TreeParent(tree.kind, p)];
      const int64_t bytes = CeilDiv(tree.bytes, rounds_);
      relayed.Add(ports_.outlet_of_rank(parent), bytes);
      relayed.AddUplinks(ports_.group_of_rank(parent), ports_.group_of_rank(tree.members[p]),
                         bytes);
    }
  }
  for (PortId port = 0; port < ports_.port_count(); ++port) {
    const int64_t share = BytesIn(RoundPs(), ports_.bytes_per_s(port));
    int64_t bytes = share + share / 128;
    // Where senders are the limit, whole slices fill a round best: the rest of a share that is not
    // a multiple would stay unused in every round, and the round had better be shorter.
    const bool alike = !traffic_.hands_over;  // are slices?
    if (alike && traffic_.senders_busiest && bytes >= widest_ && rounds_ >= kManyRounds) {
      bytes = bytes / widest_ * widest_ + widest_ / 128;
    }
    limits.port_bytes.push_back(bytes - relayed.bytes(port));
  }
  for (SiteId site = 0; site < topology_.sites.size(); ++site) {
    limits.pack_bytes.push_back(std::max(PackRoom(site), widest_portion[site]));
  }
  return limits;
}

// What one rank sends to another of a tree.
struct PairUse {
  std::pair<Rank, Rank> ranks;
  uint32_t stream = 0;
  int64_t bytes = 0;
  int64_t part = 0;  // of the tree's bytes; all are kWholeTree
};
constexpr int64_t kWholeTree = int64_t{1} << 20;

std::vector<PairUse> UsesOf(const ScheduledTree& tree) {
  std::vector<PairUse> uses;
  for (const SourceRun& run : tree.runs) {
    uses.push_back({{run.source, tree.members[0]},
                    tree.stream,
                    run.extent,
                    Portion(kWholeTree, run.extent, tree.bytes)});
  }
  for (uint32_t p = 1; p < tree.members.size(); ++p) {
    const Rank parent = tree.members[TreeParent(tree.kind, p)];
    uses.push_back({{parent, tree.members[p]}, tree.stream, tree.bytes, kWholeTree});
  }
  return uses;
}

// Fills Traffic::turn_bytes. Where every head gets its bytes over the network, trees were chosen
// that share no two ranks.
void FindTurns(const std::vector<ScheduledTree>& trees, Traffic* traffic) {
  if (!trees.empty()) traffic->turn_bytes.assign(trees.back().stream + size_t{1}, 0);
  if (!traffic->hands_over) return;
  std::vector<PairUse> uses;
  for (const ScheduledTree& tree : trees) {
    if (tree.local) continue;
    const std::vector<PairUse> own = UsesOf(tree);
    uses.insert(uses.end(), own.begin(), own.end());
  }
  std::sort(uses.begin(), uses.end(),
            [](const PairUse& a, const PairUse& b) { return a.ranks < b.ranks; });
  for (auto first = uses.begin(); first != uses.end();) {
    const auto last = std::find_if(first, uses.end(),
                                   [&](const PairUse& use) { return use.ranks != first->ranks; });
    int64_t bytes = 0, parts = 0;
    for (auto use = first; use != last; ++use) {
      bytes += use->bytes;
      parts += use->part;
    }
    // Parts of several trees fit side by side: while one tree gets its slice from this rank,
    // another one gets it from another.
    if (parts <= kWholeTree) bytes = 0;
    for (; first != last; ++first) {
      int64_t& most = traffic->turn_bytes[first->stream];
      most = std::max(most, bytes);
    }
  }
}

}  // namespace

int64_t RoundCount(const Traffic& traffic, int64_t most_bytes) {
  return WantedRounds(traffic.most_landed_bytes, traffic.busy_ps / 1000,
                      static_cast<int64_t>(traffic.network_levels), most_bytes, traffic.round_ns);
}

Traffic FindTraffic(const Topology& topology, const Ports& ports,
                    const std::vector<ScheduledTree>& trees) {
  Traffic traffic;
  traffic.round_ns = topology.round_ns;
  traffic.landed_bytes.assign(topology.sites.size(), 0);
  traffic.packed_bytes.assign(topology.sites.size(), 0);
  std::vector<uint32_t> streams(topology.sites.size(), 0);
  std::vector<uint32_t> local_streams(topology.sites.size(), 0);
  PortBytes sent(ports), received(ports), uplinks(ports);
  for (const ScheduledTree& tree : trees) {
    traffic.tree_bytes += tree.bytes;
    for (const Rank member : tree.members) {
      traffic.landed_bytes[ports.site(member)] += tree.bytes;
      traffic.most_streams = std::max(traffic.most_streams, ++streams[ports.site(member)]);
    }
    if (tree.local) {
      uint32_t& count = local_streams[ports.site(tree.members[0])];
      traffic.most_local_streams = std::max(traffic.most_local_streams, ++count);
      continue;
    }
    const size_t levels = LevelCount(tree.kind, tree.members.size());
    traffic.deepest = std::max(traffic.deepest, levels);
    traffic.network_levels = std::max(traffic.network_levels, levels - (tree.carried ? 1 : 0));
    for (uint32_t p = 1; p < tree.members.size(); ++p) {
      const Rank parent = tree.members[TreeParent(tree.kind, p)];
      received.Add(ports.outlet_of_rank(tree.members[p]), tree.bytes);
      sent.Add(ports.outlet_of_rank(parent), tree.bytes);
      uplinks.AddUplinks(ports.group_of_rank(parent), ports.group_of_rank(tree.members[p]),
                         tree.bytes);
    }
    if (tree.carried) continue;
    received.Add(ports.outlet_of_rank(tree.members[0]), tree.bytes);
    for (const SourceRun& run : tree.runs) {
      sent.Add(ports.outlet_of_rank(run.source), run.extent);
      uplinks.AddUplinks(ports.group_of_rank(run.source), ports.group_of_rank(tree.members[0]),
                         run.extent);
    }
  }
  traffic.hands_over = std::any_of(trees.begin(), trees.end(), IsPassedOnByCarrier);
  FindTurns(trees, &traffic);
  std::vector<bool> hands_over(topology.sites.size(), false);
  for (const ScheduledTree& tree : trees) {
    if (tree.local) continue;
    for (const SourceRun& run : tree.runs) {
      const SiteId site = ports.site(run.source);
      traffic.packed_bytes[site] += run.extent;
      traffic.landers_send = traffic.landers_send || traffic.landed_bytes[site] > 0;
      if (!tree.carried) continue;
      if (tree.members.size() == 1) continue;
      hands_over[site] = true;
    }
  }
  for (SiteId site = 0; site < hands_over.size(); ++site) {
    const int64_t landed = traffic.landed_bytes[site];
    const int64_t pack_slots = kPackSlots * traffic.packed_bytes[site];
    traffic.most_landed_bytes = std::max(traffic.most_landed_bytes, landed);
    traffic.slot_bytes = std::max(traffic.slot_bytes, kRecvSlots * landed + pack_slots);
    if (!hands_over[site]) continue;
    traffic.handing_slot_bytes =
        std::max(traffic.handing_slot_bytes, 2 * kRecvSlots * landed + pack_slots);
  }
  const int64_t send_busy_ps = sent.MaxLevel();
  traffic.busy_ps = std::max({send_busy_ps, received.MaxLevel(), uplinks.MaxLevel()});
  traffic.senders_busiest = send_busy_ps > received.MaxLevel();
  traffic.senders_busy = send_busy_ps >= traffic.busy_ps - traffic.busy_ps / kSparePart;
  return traffic;
}

RoundLimits SizeSlices(const Topology& topology, const Ports& ports, const Routing& routing,
                       const ClassCuts& cuts, const Traffic& traffic, const RoundSizes& sizes,
                       std::vector<ScheduledTree>* trees) {
  Sizer sizer(topology, ports, routing, cuts, traffic, sizes, trees);
  sizer.Cut();
  return sizer.RoundShares();
}

}  // namespace reshard
