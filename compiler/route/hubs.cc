#include "compiler/route/hubs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/route/deal.h"
#include "compiler/route/overlay.h"
#include "compiler/route/trees.h"
#include "compiler/route/water_fill.h"

namespace reshard {
namespace {

// More of them would only cut finer.
constexpr size_t kMostRelays = 32;
// A stream is dealt twice: first it does not know what the others will do.
constexpr int kPasses = 2;

// A stream, or by group its way to the landers of one group, and how many of its bytes go to each
// hub.
struct Broadcast {
  uint32_t stream = 0;
  std::vector<Rank> landers;
  std::vector<Rank> hubs;  // the landers, then ranks that need nothing of it
  std::vector<int64_t> bytes;
};

class HubDealer {
 public:
  HubDealer(const StreamInputs& in, const HubOptions& options, std::vector<DraftStream>* streams)
      : in_(in), options_(options), streams_(*streams), sent_(*in.ports), received_(*in.ports) {}

  void Run() {
    FindBroadcasts();
    ChargeSources();
    for (Broadcast& broadcast : broadcasts_) broadcast.hubs = HubsOf(broadcast);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (Broadcast& broadcast : broadcasts_) Spread(&broadcast);
    }
    Split();
  }

 private:
  void FindBroadcasts();
  std::vector<RankList> LandersByGroup(const DraftStream& stream) const;
  void ChargeSources();
  std::vector<Rank> HubsOf(const Broadcast& broadcast);
  bool Concerns(const DraftStream& stream, DomainId domain) const;
  int64_t Copies(const Broadcast& broadcast, size_t hub) const {
    const auto landers = static_cast<int64_t>(broadcast.landers.size());
    return static_cast<size_t>(landers) > hub ? landers - 1 : landers;
  }
  void Charge(const Broadcast& broadcast, size_t hub, int64_t bytes);
  int64_t LevelAfter(const Broadcast& broadcast, size_t hub, int64_t more) const;
  void Spread(Broadcast* broadcast);
  void Split();
  std::vector<DraftStream> PartsOf(const std::vector<const Broadcast*>& broadcasts) const;

  const StreamInputs& in_;
  const HubOptions options_;
  std::vector<DraftStream>& streams_;
  PortBytes sent_, received_;
  std::vector<Broadcast> broadcasts_;
};

// A carrier that lands the bytes itself gets them once, for one tree.
std::vector<RankList> HubDealer::LandersByGroup(const DraftStream& stream) const {
  if (!options_.by_group || stream.carrier_lands) return {stream.landers};
  std::map<GroupId, RankList> by_group;
  for (const Rank lander : stream.landers) {
    by_group[in_.ports->group_of_rank(lander)].push_back(lander);
  }
  std::vector<RankList> landers;
  for (auto& [group, ranks] : by_group) landers.push_back(std::move(ranks));
  return landers;
}

void HubDealer::FindBroadcasts() {
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].local || streams_[s].landers.size() < 2) continue;
    std::vector<RankList> landers = LandersByGroup(streams_[s]);
    const auto too_many = [](const RankList& ranks) { return ranks.size() > kMostHubs; };
    if (std::any_of(landers.begin(), landers.end(), too_many)) continue;
    for (RankList& ranks : landers) broadcasts_.push_back({s, std::move(ranks), {}, {}});
  }
}

// What holders and carriers send once for each stream, or group, and what landers receive.
void HubDealer::ChargeSources() {
  std::map<std::pair<RankSetId, std::vector<GroupId>>, size_t> ids;
  std::vector<Flow> flows;
  const auto add = [&](const HolderRun& run, const std::vector<GroupId>& to_groups) {
    const auto [entry, is_new] = ids.try_emplace({run.holders, to_groups}, flows.size());
    if (is_new) {
      std::vector<OutletId>& outlets = flows.emplace_back().outlets;
      flows.back().to_groups = to_groups;
      for (const Rank rank : (*in_.facts)[run.holders].networked) {
        outlets.push_back(in_.ports->outlet_of_rank(rank));
      }
      std::sort(outlets.begin(), outlets.end());
      outlets.erase(std::unique(outlets.begin(), outlets.end()), outlets.end());
    }
    flows[entry->second].bytes += run.bytes;
  };
  for (const DraftStream& stream : streams_) {
    if (stream.local) continue;
    for (const Rank lander : stream.landers) {
      received_.Add(in_.ports->outlet_of_rank(lander), stream.total_bytes);
    }
    for (const RankList& landers : LandersByGroup(stream)) {
      if (stream.carrier != kNone) {
        sent_.Add(in_.ports->outlet_of_rank(stream.carrier), stream.total_bytes);
        continue;
      }
      std::vector<GroupId> to_groups;
      if (options_.by_group) to_groups = {in_.ports->group_of_rank(landers[0])};
      for (const HolderRun& run : HolderRuns(*in_.transfers, stream)) add(run, to_groups);
    }
  }
  WaterFill(*in_.ports, &flows, &sent_);
}

// Does anybody of the domain hold or need bytes of the stream?
bool HubDealer::Concerns(const DraftStream& stream, DomainId domain) const {
  std::pair<RankSetId, RankSetId> last = {kNone, kNone};
  for (const ClassRange& range : stream.bytes) {
    const TransferClass& cls = in_.transfers->classes[range.cls];
    if (std::pair(cls.holders, cls.needers) == last) continue;
    last = {cls.holders, cls.needers};
    for (const RankSetId set : {cls.holders, cls.needers}) {
      const RanksByDomain& ranks = (*in_.facts)[set].by_domain;
      if (ranks.Find(domain) != ranks.domains.size()) return true;
    }
  }
  return false;
}

// Relays: of each other domain a rank for each NIC, the least busy first; by group those of the
// landers' group.
std::vector<Rank> HubDealer::HubsOf(const Broadcast& broadcast) {
  const DraftStream& stream = streams_[broadcast.stream];
  std::vector<Rank> hubs = broadcast.landers;
  if (!options_.idle_relays) return hubs;
  const GroupId own = in_.ports->group_of_rank(broadcast.landers[0]);
  std::vector<std::pair<int64_t, Rank>> relays;
  for (DomainId domain = 0; domain < in_.topology->domains.size(); ++domain) {
    if (Concerns(stream, domain)) continue;
    std::vector<OutletId> seen;
    for (const Rank rank : in_.topology->domains[domain].ranks) {
      const OutletId outlet = in_.ports->outlet_of_rank(rank);
      if (outlet == kNone || std::find(seen.begin(), seen.end(), outlet) != seen.end()) continue;
      if (options_.by_group && in_.ports->group_of_rank(rank) != own) continue;
      seen.push_back(outlet);
      relays.emplace_back(std::max(sent_.Level(outlet), received_.Level(outlet)), rank);
    }
  }
  std::sort(relays.begin(), relays.end());
  if (relays.size() > kMostRelays) relays.resize(kMostRelays);
  for (const auto& [level, rank] : relays) hubs.push_back(rank);
  return hubs;
}

void HubDealer::Charge(const Broadcast& broadcast, size_t hub, int64_t bytes) {
  const OutletId outlet = in_.ports->outlet_of_rank(broadcast.hubs[hub]);
  sent_.Add(outlet, Copies(broadcast, hub) * bytes);
  const bool lands = hub < broadcast.landers.size();
  if (!lands) received_.Add(outlet, bytes);
}

int64_t HubDealer::LevelAfter(const Broadcast& broadcast, size_t hub, int64_t more) const {
  const OutletId outlet = in_.ports->outlet_of_rank(broadcast.hubs[hub]);
  const int64_t sends = sent_.Level(outlet, Copies(broadcast, hub) * more);
  const bool lands = hub < broadcast.landers.size();
  return lands ? sends : std::max(sends, received_.Level(outlet, more));
}

// In small equal helpings, each to the hub that is then least busy.
void HubDealer::Spread(Broadcast* broadcast) {
  const size_t count = broadcast->hubs.size();
  for (size_t j = 0; j < broadcast->bytes.size(); ++j) Charge(*broadcast, j, -broadcast->bytes[j]);
  const int64_t total = streams_[broadcast->stream].total_bytes;
  const auto helpings =
      static_cast<int64_t>(count * std::clamp<size_t>((size_t{1} << 16) / (count * count), 4, 64));
  const int64_t helping = total / helpings + 1;
  std::vector<int64_t> helped(count, 0);
  for (int64_t i = 0; i < helpings; ++i) {
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t j = 0; j < count; ++j) {
      const int64_t level = LevelAfter(*broadcast, j, helping);
      if (level < least) std::tie(best, least) = std::pair(j, level);
    }
    ++helped[best];
    Charge(*broadcast, best, helping);
  }
  broadcast->bytes.assign(count, 0);
  int64_t given = 0, before = 0;
  for (size_t j = 0; j < count; ++j) {
    Charge(*broadcast, j, -helping * helped[j]);
    given += helped[j];
    const int64_t end = Portion(total, given, helpings);
    broadcast->bytes[j] = end - before;
    before = end;
    Charge(*broadcast, j, broadcast->bytes[j]);
  }
}

// Each hub gets its part of the bytes of each set of holders; what it gets less of one it gets more
// of the next. Where groups have hubs of their own, the parts of these are laid over each other.
std::vector<DraftStream> HubDealer::PartsOf(const std::vector<const Broadcast*>& broadcasts) const {
  const DraftStream& whole = streams_[broadcasts[0]->stream];
  std::vector<std::vector<int64_t>> divisions;
  for (const Broadcast* broadcast : broadcasts) divisions.push_back(broadcast->bytes);
  std::vector<DraftStream> parts;
  std::vector<int64_t> left;
  for (const OverlaidRun& run : Overlay(divisions)) {
    DraftStream& part = parts.emplace_back();
    part.domains = whole.domains;
    part.landers = whole.landers;
    part.carrier = whole.carrier;
    part.carrier_lands = whole.carrier_lands;
    part.from_groups = whole.from_groups;
    for (size_t i = 0; i < broadcasts.size(); ++i) {
      part.hubs.push_back(broadcasts[i]->hubs[run.parts[i]]);
    }
    left.push_back(run.bytes);
  }
  int64_t total_left = whole.total_bytes;
  for (const HolderRun& run : HolderRuns(*in_.transfers, whole)) {
    std::vector<int64_t> item_bytes, part_bytes;
    for (uint32_t i = run.first; i < run.first + run.count; ++i) {
      item_bytes.push_back(whole.bytes[i].extent);
    }
    for (const int64_t bytes : left) {
      part_bytes.push_back(Portion(std::max<int64_t>(bytes, 0), run.bytes, total_left));
    }
    total_left -= run.bytes;
    const auto cut = [&](uint32_t item, int64_t at) {
      const ClassRange& range = whole.bytes[run.first + item];
      return std::max(in_.cuts->Floor(range.cls, range.begin + at) - range.begin, int64_t{0});
    };
    for (const Deal& deal : DealOut(item_bytes, part_bytes, kMinSplitBytes, cut)) {
      const ClassRange& range = whole.bytes[run.first + deal.item];
      parts[deal.part].bytes.push_back({range.cls, range.begin + deal.begin, deal.extent});
      parts[deal.part].total_bytes += deal.extent;
      left[deal.part] -= deal.extent;
    }
  }
  std::erase_if(parts, [](const DraftStream& part) { return part.bytes.empty(); });
  return parts;
}

void HubDealer::Split() {
  std::vector<DraftStream> result;
  auto next = broadcasts_.begin();
  for (uint32_t s = 0; s < streams_.size(); ++s) {
    std::vector<const Broadcast*> of_stream;
    for (; next != broadcasts_.end() && next->stream == s; ++next) of_stream.push_back(&*next);
    if (of_stream.empty()) {
      result.push_back(std::move(streams_[s]));
      continue;
    }
    for (DraftStream& part : PartsOf(of_stream)) result.push_back(std::move(part));
  }
  streams_ = std::move(result);
}

}  // namespace

void SplitForHubs(const StreamInputs& inputs, const HubOptions& options,
                  std::vector<DraftStream>* streams) {
  HubDealer(inputs, options, streams).Run();
}

}  // namespace reshard
