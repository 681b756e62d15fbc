#include "compiler/route/carriers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/route/deal.h"
#include "compiler/route/trees.h"
#include "compiler/route/water_fill.h"
#include "runtime/base/rank_set.h"

namespace reshard {
namespace {

// NICs of holders send up to this part more than the least level that all NICs together reach: less
// to hand over, and fewer streams.
constexpr int64_t kOwnFirst = 1000;

// Less than this part of what a NIC sends is not worth a stream: a source of another one could send
// nothing else in its rounds.
constexpr int64_t kWorthSplitting = 256;

// Carriers among which one is chosen: time to compile.
constexpr size_t kLooks = 64;

// What one set of ranks holds, over all network streams.
struct Supply {
  struct Item {
    uint32_t stream = 0;
    uint32_t range = 0;  // of the stream's bytes
  };
  std::vector<Item> items;
  int64_t bytes = 0;
  std::vector<DomainId> domains;                  // of the holders
  std::vector<OutletId> own;                      // of holders, rising
  std::vector<std::pair<OutletId, Rank>> others;  // carriers, one for each outlet, rising
};

// What holders in the same domains leave to the NICs around them.
struct Rest {
  struct Item {
    uint32_t stream = 0;
    ClassRange range;
  };
  std::vector<Item> items;
  std::map<std::pair<OutletId, Rank>, int64_t> carried;  // per carrier
};

// What a carrier gets of which streams.
class CarrierLoad {
 public:
  CarrierLoad(Rank rank, int64_t bytes) : rank_(rank), left_(bytes) {}

  Rank rank() const { return rank_; }
  int64_t left() const { return left_; }

  void Take(uint32_t stream, RankSetId holders, int64_t bytes) {
    left_ -= bytes;
    trees_[stream] += bytes;
    handed_[{holders, stream}] += bytes;
  }

  // How well it could take these bytes, less is better. Their holders have one message for the
  // carrier in a round: they can serve all of its streams side by side as long as their parts of
  // these do not add up to more than one.
  std::tuple<bool, int64_t, bool, int64_t> RankFor(uint32_t stream, RankSetId holders,
                                                   int64_t bytes, int64_t min_split) const {
    constexpr int64_t kWhole = int64_t{1} << 20;
    const int64_t more = std::min(bytes, std::max<int64_t>(left_, 1));
    const auto tree = trees_.find(stream);
    int64_t own = more, parts = 0;
    for (auto part = handed_.lower_bound({holders, 0});
         part != handed_.end() && part->first.first == holders; ++part) {
      if (part->first.second == stream) {
        own += part->second;
      } else {
        parts += Portion(kWhole, part->second, trees_.at(part->first.second));
      }
    }
    parts += Portion(kWhole, own, more + (tree == trees_.end() ? 0 : tree->second));
    return {left_ < min_split, std::max(parts, kWhole), tree == trees_.end(), -left_};
  }

 private:
  Rank rank_;
  int64_t left_;
  std::map<uint32_t, int64_t> trees_;                         // by stream
  std::map<std::pair<RankSetId, uint32_t>, int64_t> handed_;  // by (holders, stream)
};

class CarrierFinder {
 public:
  CarrierFinder(const StreamInputs& in, std::vector<DraftStream>* streams)
      : in_(in), pool_(in.pool), streams_(*streams), sent_(*in.ports) {}

  void Run() {
    if (!pool_ && AllHaveNics()) return;
    FindSupplies();
    const bool any = std::any_of(supplies_.begin(), supplies_.end(),
                                 [](const auto& entry) { return !entry.second.others.empty(); });
    if (!any) return;
    ChargeRelays();
    Fill();
    size_t next = 0;
    // Of holders in the same domains, for the same groups.
    std::map<std::pair<std::vector<DomainId>, std::vector<GroupId>>, Rest> rests;
    for (const auto& [key, supply] : supplies_) {
      DealOwn(supply, carried_[next++], &rests[{supply.domains, key.second}]);
    }
    for (auto& [key, rest] : rests) DealRest(&rest);
    Split();
    if (!landed_.empty()) TakeFromLocal();
  }

 private:
  // Per outlet of Supply::others, in order.
  using Carried = std::vector<int64_t>;

  bool AllHaveNics() const;
  void FindSupplies();
  std::vector<GroupId> LanderGroups(const DraftStream& stream) const;
  void FindOutlets(RankSetId holders, Supply* supply);
  void ChargeRelays();
  void Fill();
  // The last permitted cut at or below `at` bytes of a range.
  int64_t CutOf(const ClassRange& range, int64_t at) const {
    return std::max(in_.cuts->Floor(range.cls, range.begin + at) - range.begin, int64_t{0});
  }
  // Who holds the bytes sends them as a source.
  Rank CarrierOf(ClassId cls, Rank rank) const {
    const RankSetId holders = in_.transfers->classes[cls].holders;
    return Contains(in_.transfers->rank_sets[holders], rank) ? kNone : rank;
  }
  void DealOwn(const Supply& supply, const Carried& carried, Rest* rest);
  void DealRest(Rest* rest);
  void Split();
  DraftStream CarriedStream(const DraftStream& whole, Rank carrier, std::vector<ClassRange> ranges);
  std::vector<GroupId> OwnGroups(const DraftStream& part) const;
  void TakeFromLocal();
  void TakeBack();
  bool Needs(DomainId domain, ClassId cls) const {
    const RanksByDomain& needers = (*in_.facts)[in_.transfers->classes[cls].needers].by_domain;
    return needers.Find(domain) != needers.domains.size();
  }
  DomainId DomainOf(Rank rank) const { return in_.topology->sites[in_.ports->site(rank)].domain; }

  const StreamInputs& in_;
  const bool pool_;
  std::vector<DraftStream>& streams_;
  PortBytes sent_;
  // By holders and, by group, the groups that the bytes go to.
  std::map<std::pair<RankSetId, std::vector<GroupId>>, Supply> supplies_;
  std::vector<Carried> carried_;  // per supply, in order
  // By (stream, carrier); kNone carries nothing.
  std::map<std::pair<uint32_t, Rank>, std::vector<ClassRange>> parts_;
  std::map<std::pair<DomainId, ClassId>, std::vector<ClassRange>> landed_;
};

bool CarrierFinder::AllHaveNics() const {
  std::vector<bool> seen(in_.transfers->rank_sets.count(), false);
  for (const DraftStream& stream : streams_) {
    if (stream.local) continue;
    for (const ClassRange& range : stream.bytes) {
      const RankSetId holders = in_.transfers->classes[range.cls].holders;
      if (seen[holders]) continue;
      seen[holders] = true;
      if ((*in_.facts)[holders].networked.empty()) return false;
    }
  }
  return true;
}

void CarrierFinder::FindSupplies() {
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].local) continue;
    const std::vector<GroupId> groups = LanderGroups(streams_[s]);
    for (uint32_t i = 0; i < streams_[s].bytes.size(); ++i) {
      const ClassRange& range = streams_[s].bytes[i];
      const RankSetId holders = in_.transfers->classes[range.cls].holders;
      const auto [entry, is_new] = supplies_.try_emplace({holders, groups});
      if (is_new) FindOutlets(holders, &entry->second);
      entry->second.items.push_back({s, i});
      entry->second.bytes += range.extent;
    }
  }
}

// By group only: where trees can begin without passing uplinks.
std::vector<GroupId> CarrierFinder::LanderGroups(const DraftStream& stream) const {
  std::vector<GroupId> groups;
  if (stream.from_groups.empty()) return groups;
  for (const Rank lander : stream.landers) groups.push_back(in_.ports->group_of_rank(lander));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

void CarrierFinder::FindOutlets(RankSetId holders, Supply* supply) {
  const RankSetFacts& facts = (*in_.facts)[holders];
  supply->domains = facts.by_domain.domains;
  for (const Rank rank : facts.networked) supply->own.push_back(in_.ports->outlet_of_rank(rank));
  std::sort(supply->own.begin(), supply->own.end());
  supply->own.erase(std::unique(supply->own.begin(), supply->own.end()), supply->own.end());
  if (!pool_ && !supply->own.empty()) return;
  for (const DomainId domain : facts.by_domain.domains) {
    for (const Rank rank : in_.topology->domains[domain].ranks) {
      const OutletId outlet = in_.ports->outlet_of_rank(rank);
      if (outlet == kNone) continue;
      if (std::binary_search(supply->own.begin(), supply->own.end(), outlet)) continue;
      supply->others.emplace_back(outlet, rank);
    }
  }
  std::sort(supply->others.begin(), supply->others.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  supply->others.erase(std::unique(supply->others.begin(), supply->others.end(), same),
                       supply->others.end());
}

// All landers but one of each stream pass it on; which one does not is not known yet.
void CarrierFinder::ChargeRelays() {
  for (const DraftStream& stream : streams_) {
    if (stream.local) continue;
    const auto count = static_cast<int64_t>(stream.landers.size());
    for (const Rank lander : stream.landers) {
      sent_.Add(in_.ports->outlet_of_rank(lander), Portion(stream.total_bytes, count - 1, count));
    }
  }
}

// Holders' own NICs first, up to the level that is reached when all NICs of their domains send.
void CarrierFinder::Fill() {
  std::vector<Flow> flows;
  for (const auto& [key, supply] : supplies_) {
    Flow& flow = flows.emplace_back();
    flow.to_groups = key.second;
    flow.bytes = supply.bytes;
    flow.outlets = supply.own;
    for (const auto& [outlet, rank] : supply.others) flow.outlets.push_back(outlet);
    std::sort(flow.outlets.begin(), flow.outlets.end());
  }
  PortBytes least = sent_;
  std::vector<Flow> pooled = flows;
  WaterFill(*in_.ports, &pooled, &least);
  const int64_t level = least.MaxLevel() + least.MaxLevel() / kOwnFirst;
  PortBytes sent = sent_;
  std::vector<Flow> rest = flows;
  std::vector<Flow> own(flows.size());
  size_t next = 0;
  for (const auto& [key, supply] : supplies_) {
    Flow& flow = own[next];
    flow.outlets = supply.own;
    flow.to_groups = rest[next].to_groups;
    flow.bytes = supply.bytes;
    if (!supply.others.empty()) {
      const int64_t room = flow.outlets.empty() ? 0 : RoomBelow(*in_.ports, flow, level, sent);
      flow.bytes = std::min(room, supply.bytes);
    }
    if (!flow.outlets.empty()) FillFlow(*in_.ports, &flow, &sent);
    rest[next++].bytes -= flow.bytes;
  }
  WaterFill(*in_.ports, &rest, &sent);
  next = 0;
  for (const auto& [key, supply] : supplies_) {
    const Flow& flow = rest[next++];
    Carried& carried = carried_.emplace_back();
    for (const auto& [outlet, rank] : supply.others) {
      const auto at = std::lower_bound(flow.outlets.begin(), flow.outlets.end(), outlet);
      carried.push_back(flow.parts[static_cast<size_t>(at - flow.outlets.begin())]);
    }
  }
}

// What of a supply its holders send themselves: as much of it as lies first. The rest is left to
// those around them.
void CarrierFinder::DealOwn(const Supply& supply, const Carried& carried, Rest* rest) {
  std::vector<int64_t> item_bytes;
  for (const Supply::Item& item : supply.items) {
    item_bytes.push_back(streams_[item.stream].bytes[item.range].extent);
  }
  int64_t own_bytes = supply.bytes;
  for (size_t i = 0; i < carried.size(); ++i) {
    own_bytes -= carried[i];
    if (carried[i] > 0) rest->carried[supply.others[i]] += carried[i];
  }
  const auto cut = [&](uint32_t item, int64_t at) {
    return CutOf(streams_[supply.items[item].stream].bytes[supply.items[item].range], at);
  };
  for (const reshard::Deal& deal :
       DealOut(item_bytes, {own_bytes, supply.bytes - own_bytes},
               std::max(kMinSplitBytes, own_bytes / kWorthSplitting), cut)) {
    const Supply::Item& item = supply.items[deal.item];
    const ClassRange& range = streams_[item.stream].bytes[item.range];
    const ClassRange part = {range.cls, range.begin + deal.begin, deal.extent};
    if (deal.part == 0 && !supply.own.empty()) {
      parts_[{item.stream, kNone}].push_back(part);
    } else {
      rest->items.push_back({item.stream, part});
    }
  }
}

// Each range goes to the carrier where it adds least to what its holders hand over in turn, of
// these to one that has bytes of the same stream, of these to the one with most left to do.
void CarrierFinder::DealRest(Rest* rest) {
  std::stable_sort(rest->items.begin(), rest->items.end(),
                   [](const Rest::Item& a, const Rest::Item& b) { return a.stream < b.stream; });
  std::vector<CarrierLoad> loads;
  int64_t most_bytes = 0;
  for (const auto& [carrier, bytes] : rest->carried) {
    loads.emplace_back(carrier.second, bytes);
    most_bytes = std::max(most_bytes, bytes);
  }
  const int64_t min_split = std::max(kMinSplitBytes, most_bytes / kWorthSplitting);
  size_t first = 0;  // that has something left to do
  for (Rest::Item item : rest->items) {
    const RankSetId holders = in_.transfers->classes[item.range.cls].holders;
    while (item.range.extent > 0) {
      const auto better = [&](const CarrierLoad& a, const CarrierLoad& b) {
        return a.RankFor(item.stream, holders, item.range.extent, min_split) <
               b.RankFor(item.stream, holders, item.range.extent, min_split);
      };
      while (first + 1 < loads.size() && loads[first].left() < min_split) ++first;
      const auto begin = loads.begin() + static_cast<ptrdiff_t>(first);
      const auto end =
          loads.begin() + static_cast<ptrdiff_t>(std::min(first + kLooks, loads.size()));
      CarrierLoad& load = *std::min_element(begin, end, better);
      int64_t extent = item.range.extent;
      if (extent > load.left() + min_split) extent = CutOf(item.range, load.left());
      if (extent == 0) extent = item.range.extent;
      parts_[{item.stream, CarrierOf(item.range.cls, load.rank())}].push_back(
          {item.range.cls, item.range.begin, extent});
      load.Take(item.stream, holders, extent);
      item.range.begin += extent;
      item.range.extent -= extent;
    }
  }
}

// Of holders alone, where groups count: those of the first bytes' holders stand for all.
std::vector<GroupId> CarrierFinder::OwnGroups(const DraftStream& part) const {
  std::vector<GroupId> groups;
  if (part.from_groups.empty() || part.bytes.empty()) return part.from_groups;
  const RankSetId holders = in_.transfers->classes[part.bytes[0].cls].holders;
  for (const Rank rank : (*in_.facts)[holders].networked) {
    groups.push_back(in_.ports->group_of_rank(rank));
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

DraftStream CarrierFinder::CarriedStream(const DraftStream& whole, Rank carrier,
                                         std::vector<ClassRange> ranges) {
  DraftStream part;
  part.domains = whole.domains;
  part.landers = whole.landers;
  part.from_groups = whole.from_groups;
  part.carrier = carrier;
  part.bytes = std::move(ranges);
  for (const ClassRange& range : part.bytes) part.total_bytes += range.extent;
  if (carrier == kNone) {
    if (in_.pool) part.from_groups = OwnGroups(part);
    return part;
  }
  const DomainId domain = DomainOf(carrier);
  for (const ClassRange& range : part.bytes) {
    if (!Needs(domain, range.cls)) continue;
    part.carrier_lands = true;
    landed_[{domain, range.cls}].push_back(range);
  }
  return part;
}

void CarrierFinder::Split() {
  std::vector<DraftStream> result;
  auto part = parts_.begin();
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].local) {
      result.push_back(std::move(streams_[s]));
      continue;
    }
    // What has no carrier comes first.
    const auto own = parts_.find({s, kNone});
    if (own != parts_.end()) {
      result.push_back(CarriedStream(streams_[s], kNone, std::move(own->second)));
    }
    for (; part != parts_.end() && part->first.first == s; ++part) {
      const Rank carrier = part->first.second;
      if (carrier == kNone) continue;
      result.push_back(CarriedStream(streams_[s], carrier, std::move(part->second)));
    }
  }
  streams_ = std::move(result);
}

// Both lists rise and do not overlap among themselves.
std::vector<ClassRange> Without(const ClassRange& range, const std::vector<ClassRange>& taken) {
  std::vector<ClassRange> left;
  int64_t begin = range.begin;
  const int64_t end = range.begin + range.extent;
  for (const ClassRange& part : taken) {
    const int64_t from = std::max(part.begin, begin);
    const int64_t to = std::min(part.begin + part.extent, end);
    if (from >= to) continue;
    if (from > begin) left.push_back({range.cls, begin, from - begin});
    begin = to;
  }
  if (begin < end) left.push_back({range.cls, begin, end - begin});
  return left;
}

void CarrierFinder::TakeFromLocal() {
  for (auto& [where, ranges] : landed_) {
    std::sort(ranges.begin(), ranges.end(),
              [](const ClassRange& a, const ClassRange& b) { return a.begin < b.begin; });
  }
  for (DraftStream& stream : streams_) {
    if (!stream.local) continue;
    std::vector<ClassRange> left;
    stream.total_bytes = 0;
    for (const ClassRange& range : stream.bytes) {
      const auto taken = landed_.find({stream.domains[0], range.cls});
      if (taken == landed_.end()) {
        left.push_back(range);
      } else {
        for (const ClassRange& rest : Without(range, taken->second)) left.push_back(rest);
      }
    }
    stream.bytes = std::move(left);
    for (const ClassRange& range : stream.bytes) stream.total_bytes += range.extent;
  }
  TakeBack();
  std::erase_if(streams_, [](const DraftStream& stream) { return stream.bytes.empty(); });
}

// Holders that hand bytes to carriers, which land them, land the rest themselves: further messages
// to the same ranks would wait for their turns.
void CarrierFinder::TakeBack() {
  std::map<Rank, DraftStream*> own;  // by lander
  for (DraftStream& stream : streams_) {
    if (stream.local && stream.source == kNone) own[stream.landers[0]] = &stream;
  }
  for (DraftStream& stream : streams_) {
    if (!stream.local || stream.source == kNone) continue;
    const auto first = landed_.lower_bound({stream.domains[0], 0});
    if (first == landed_.end() || first->first.first != stream.domains[0]) continue;
    stream.landers = {std::exchange(stream.source, kNone)};
    DraftStream& all = *own.try_emplace(stream.landers[0], &stream).first->second;
    if (&all == &stream) continue;
    all.bytes.insert(all.bytes.end(), stream.bytes.begin(), stream.bytes.end());
    all.total_bytes += stream.total_bytes;
    stream.bytes.clear();
    std::sort(all.bytes.begin(), all.bytes.end(), [&](const ClassRange& a, const ClassRange& b) {
      const auto holders = [&](ClassId cls) { return in_.transfers->classes[cls].holders; };
      return std::tuple(holders(a.cls), a.cls, a.begin) <
             std::tuple(holders(b.cls), b.cls, b.begin);
    });
  }
}

}  // namespace

void AddCarriers(const StreamInputs& inputs, std::vector<DraftStream>* streams) {
  CarrierFinder(inputs, streams).Run();
}

}  // namespace reshard
