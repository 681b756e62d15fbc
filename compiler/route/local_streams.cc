#include "compiler/route/local_streams.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "compiler/route/deal.h"

namespace reshard {
namespace {

// A group's bytes come in so many helpings for each lander, fewer where a domain has much to deal:
// so many looks at a lander in a pass.
constexpr int64_t kMostHelpings = 64;
constexpr int64_t kMostDomainWork = int64_t{1} << 20;
// The first pass over the groups of a domain does not see what the later ones will do.
constexpr int kPasses = 3;
// Handing over is another stage, whose messages cost rounds: it has to make the busiest port less
// busy by this part, and by so many rounds' cost.
constexpr int64_t kWorthHandingOver = 20;
constexpr int64_t kHandOverRounds = 3;
// Ports that are busier than the bound by this part, and a round's cost, are relieved.
constexpr int64_t kWorthRelieving = 200;

// Who lands bytes, and who hands them to it: the lander itself where it holds them.
struct Way {
  Rank lander = 0;
  Rank source = 0;
  auto operator<=>(const Way&) const = default;
};

// Bytes that the same ranks of a domain hold and need.
struct Group {
  RankList holders;
  RankList needers;
  std::vector<ClassId> classes;
  int64_t bytes = 0;
  std::map<Way, int64_t> parts;
};

// Bytes through the scale-up ports of one domain.
struct PortLoad {
  int64_t out = 0;
  int64_t in = 0;
};
using Loads = std::map<Rank, PortLoad>;

int64_t Busiest(const Loads& loads) {
  int64_t most = 0;
  for (const auto& [rank, load] : loads) most = std::max({most, load.out, load.in});
  return most;
}

// Needers copy from the lander, which got the bytes from the source.
void Charge(const Group& group, const Way& way, int64_t bytes, Loads* loads) {
  if (way.source != way.lander) {
    (*loads)[way.source].out += bytes;
    (*loads)[way.lander].in += bytes;
  }
  for (const Rank needer : group.needers) {
    if (needer == way.lander) continue;
    (*loads)[way.lander].out += bytes;
    (*loads)[needer].in += bytes;
  }
}

// Deals the groups of one domain.
class DomainDealer {
 public:
  DomainDealer(const Loads& network, bool hands_over, std::vector<Group>* groups)
      : hands_over_(hands_over), groups_(*groups), loads_(network) {}

  // Returns how busy the busiest port is then, in bytes.
  int64_t Run();

 private:
  int64_t HelpingsEach(size_t landers) const;
  Rank LeastBusySource(const Group& group);
  std::pair<int64_t, int64_t> CostOf(const Group& group, const Way& way, int64_t bytes);
  void Spread(Group* group);

  const bool hands_over_;
  std::vector<Group>& groups_;
  Loads loads_;
};

int64_t DomainDealer::HelpingsEach(size_t landers) const {
  const auto looks = static_cast<int64_t>(landers * landers * groups_.size());
  return std::clamp(kMostDomainWork / looks, int64_t{2}, kMostHelpings);
}

Rank DomainDealer::LeastBusySource(const Group& group) {
  return *std::min_element(group.holders.begin(), group.holders.end(),
                           [&](Rank a, Rank b) { return loads_[a].out < loads_[b].out; });
}

// How busy the busiest port that the choice concerns becomes, and the lander's. What needers that
// do not hold the bytes receive is the same whoever lands them.
std::pair<int64_t, int64_t> DomainDealer::CostOf(const Group& group, const Way& way,
                                                 int64_t bytes) {
  const auto readers =
      static_cast<int64_t>(group.needers.size()) - (Contains(group.needers, way.lander) ? 1 : 0);
  const int64_t own = loads_[way.lander].out + readers * bytes;
  int64_t most = own;
  if (way.source != way.lander) most = std::max(most, loads_[way.source].out + bytes);
  for (const Rank holder : group.holders) {
    if (holder == way.lander || !Contains(group.needers, holder)) continue;
    most = std::max(most, loads_[holder].in + bytes);
  }
  return {most, own};
}

// Small equal helpings, each to the lander that makes the busiest port least busy; holders first.
void DomainDealer::Spread(Group* group) {
  RankList landers = group->holders;
  if (hands_over_) {
    const RankList others = Difference(group->needers, group->holders);
    landers.insert(landers.end(), others.begin(), others.end());
  }
  const int64_t helpings = static_cast<int64_t>(landers.size()) * HelpingsEach(landers.size());
  for (int64_t i = 0; i < helpings; ++i) {
    const int64_t helping =
        Portion(group->bytes, i + 1, helpings) - Portion(group->bytes, i, helpings);
    const Rank source = LeastBusySource(*group);
    Way best;
    std::pair<int64_t, int64_t> best_cost = {INT64_MAX, INT64_MAX};
    for (size_t k = 0; k < landers.size(); ++k) {
      const Way way{landers[k], k < group->holders.size() ? landers[k] : source};
      const std::pair<int64_t, int64_t> cost = CostOf(*group, way, helping);
      if (cost >= best_cost) continue;
      best = way;
      best_cost = cost;
    }
    group->parts[best] += helping;
    Charge(*group, best, helping, &loads_);
  }
}

int64_t DomainDealer::Run() {
  std::vector<size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups_[a].holders.size() < groups_[b].holders.size();
  });
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const size_t id : order) {
      Group& group = groups_[id];
      for (const auto& [way, bytes] : group.parts) Charge(group, way, -bytes, &loads_);
      group.parts.clear();
      Spread(&group);
    }
  }
  return Busiest(loads_);
}

// A domain's bytes in equal parts over their landers, in the order of the classes.
struct EvenGroup {
  DomainId domain = 0;
  RankList landers;
  std::vector<ClassId> classes;
  int64_t bytes = 0;
};

class LocalStreamBuilder {
 public:
  LocalStreamBuilder(const StreamInputs& in, std::vector<DraftStream>* streams)
      : in_(in), streams_(*streams), first_(streams->size()) {}

  void Run() {
    if (in_.demands->local.empty()) return;
    AddEvenGroups();
    FindBusyDomains();
    for (auto& [domain, network] : busy_) {
      std::vector<Group> groups = Relieve(domain, network);
      if (groups.empty()) continue;
      relieved_.emplace(domain, std::move(groups));
    }
    for (const EvenGroup& group : even_) {
      if (!relieved_.count(group.domain)) AddEvenStreams(group);
    }
    for (const auto& [domain, groups] : relieved_) {
      for (const Group& group : groups) AddGroupStreams(domain, group);
    }
    SortBytes();
  }

 private:
  RankList NearOf(RankSetId set, DomainId domain) const {
    const RanksByDomain& ranks = (*in_.facts)[set].by_domain;
    const size_t at = ranks.Find(domain);
    return at == ranks.domains.size() ? RankList() : ranks.RanksOf(at);
  }
  int64_t BytesOf(ClassId cls) const { return in_.transfers->classes[cls].bytes; }
  int64_t LimitBytes(DomainId domain) const;
  void AddEvenGroups();
  void ChargeEvenly(const LocalDemand& demand, const RankList& landers);
  void FindBusyDomains();
  void ChargeNetwork();
  std::vector<Group> GroupsOf(DomainId domain) const;
  std::vector<Group> Relieve(DomainId domain, const Loads& network) const;
  uint32_t StreamOf(DomainId domain, const Way& way);
  void AddEvenStreams(const EvenGroup& group);
  void AddGroupStreams(DomainId domain, const Group& group);
  void Deal(std::vector<ClassId> classes, const std::vector<uint32_t>& streams,
            const std::vector<int64_t>& part_bytes);
  void SortBytes();

  const StreamInputs& in_;
  std::vector<DraftStream>& streams_;
  const size_t first_;  // stream that is local
  std::vector<EvenGroup> even_;
  std::vector<PortLoad> even_loads_;                 // per site
  std::map<DomainId, Loads> busy_;                   // copies of what comes over the network
  std::map<DomainId, std::vector<Group>> relieved_;  // dealt anew
  std::map<std::pair<DomainId, Way>, uint32_t> stream_ids_;
};

// What a scale-up port of the domain carries in the time that the job takes anyway.
int64_t LocalStreamBuilder::LimitBytes(DomainId domain) const {
  const int64_t worth_ps = std::max(in_.bound_ps / kWorthRelieving, in_.topology->round_ns * 1000);
  return BytesIn(in_.bound_ps + worth_ps, in_.topology->domains[domain].bytes_per_s);
}

void LocalStreamBuilder::ChargeEvenly(const LocalDemand& demand, const RankList& landers) {
  const int64_t share = BytesOf(demand.cls) / static_cast<int64_t>(landers.size());
  const RankList needers = NearOf(in_.transfers->classes[demand.cls].needers, demand.domain);
  const auto others = [&](const RankList& ranks, Rank rank) {
    return static_cast<int64_t>(ranks.size()) - (Contains(ranks, rank) ? 1 : 0);
  };
  for (const Rank lander : landers) {
    even_loads_[in_.ports->site(lander)].out += share * others(needers, lander);
  }
  for (const Rank needer : needers) {
    even_loads_[in_.ports->site(needer)].in += share * others(landers, needer);
  }
}

// A needer that is itself a holder lands its own bytes.
void LocalStreamBuilder::AddEvenGroups() {
  even_loads_.resize(in_.topology->sites.size());
  std::map<RankList, size_t> ids;  // a list of ranks of one domain names the domain, too
  for (const LocalDemand& demand : in_.demands->local) {
    const TransferClass& cls = in_.transfers->classes[demand.cls];
    RankList landers = NearOf(cls.holders, demand.domain);
    RankList both = Intersection(landers, NearOf(cls.needers, demand.domain));
    if (!both.empty()) landers = std::move(both);
    ChargeEvenly(demand, landers);
    const auto [entry, is_new] = ids.try_emplace(std::move(landers), even_.size());
    if (is_new) even_.push_back({demand.domain, entry->first, {}, 0});
    EvenGroup& group = even_[entry->second];
    group.classes.push_back(demand.cls);
    group.bytes += cls.bytes;
  }
}

// Where local copies alone are a good part of what is too much.
void LocalStreamBuilder::FindBusyDomains() {
  for (const EvenGroup& group : even_) {
    const int64_t limit = LimitBytes(group.domain);
    if (in_.topology->domains[group.domain].bytes_per_s == 0 || busy_.count(group.domain)) continue;
    for (const Rank rank : in_.topology->domains[group.domain].ranks) {
      const PortLoad& load = even_loads_[in_.ports->site(rank)];
      if (std::max(load.out, load.in) > limit / 4) busy_.try_emplace(group.domain);
    }
  }
  if (!busy_.empty()) ChargeNetwork();
}

void LocalStreamBuilder::ChargeNetwork() {
  for (size_t s = 0; s < first_; ++s) {
    const DraftStream& stream = streams_[s];
    for (size_t d = 0; d < stream.domains.size(); ++d) {
      const auto busy = busy_.find(stream.domains[d]);
      if (busy == busy_.end()) continue;
      for (const ClassRange& range : stream.bytes) {
        Group group;
        group.needers = NearOf(in_.transfers->classes[range.cls].needers, busy->first);
        Charge(group, {stream.landers[d], stream.landers[d]}, range.extent, &busy->second);
      }
    }
  }
}

std::vector<Group> LocalStreamBuilder::GroupsOf(DomainId domain) const {
  std::map<std::pair<RankList, RankList>, size_t> ids;
  std::vector<Group> groups;
  for (const LocalDemand& demand : in_.demands->local) {
    if (demand.domain != domain) continue;
    const TransferClass& cls = in_.transfers->classes[demand.cls];
    RankList holders = NearOf(cls.holders, domain), needers = NearOf(cls.needers, domain);
    const auto [entry, is_new] = ids.try_emplace({holders, needers}, groups.size());
    if (is_new) groups.push_back({std::move(holders), std::move(needers), {}, 0, {}});
    groups[entry->second].classes.push_back(demand.cls);
    groups[entry->second].bytes += cls.bytes;
  }
  return groups;
}

// The domain's bytes dealt anew; nothing where equal parts are as good.
std::vector<Group> LocalStreamBuilder::Relieve(DomainId domain, const Loads& network) const {
  Loads even = network;
  for (const Rank rank : in_.topology->domains[domain].ranks) {
    const PortLoad& load = even_loads_[in_.ports->site(rank)];
    even[rank].out += load.out;
    even[rank].in += load.in;
  }
  const int64_t limit = LimitBytes(domain);
  int64_t busiest = Busiest(even);
  if (busiest <= limit) return {};
  std::vector<Group> best;
  std::vector<Group> by_holders = GroupsOf(domain);
  const int64_t by_holders_bytes = DomainDealer(network, false, &by_holders).Run();
  if (by_holders_bytes < busiest) {
    busiest = by_holders_bytes;
    best = std::move(by_holders);
  }
  if (busiest <= limit) return best;
  std::vector<Group> by_all = GroupsOf(domain);
  const int64_t by_all_bytes = DomainDealer(network, true, &by_all).Run();
  const int64_t rounds_bytes = BytesIn(kHandOverRounds * in_.topology->round_ns * 1000,
                                       in_.topology->domains[domain].bytes_per_s);
  if (by_all_bytes + std::max(by_all_bytes / kWorthHandingOver, rounds_bytes) < busiest) {
    best = std::move(by_all);
  }
  return best;
}

uint32_t LocalStreamBuilder::StreamOf(DomainId domain, const Way& way) {
  const auto [entry, is_new] =
      stream_ids_.try_emplace({domain, way}, static_cast<uint32_t>(streams_.size()));
  if (is_new) {
    DraftStream& stream = streams_.emplace_back();
    stream.domains = {domain};
    stream.landers = {way.lander};
    stream.local = true;
    if (way.source != way.lander) stream.source = way.source;
  }
  return entry->second;
}

void LocalStreamBuilder::AddEvenStreams(const EvenGroup& group) {
  std::vector<uint32_t> streams;
  std::vector<int64_t> part_bytes;
  const auto count = static_cast<int64_t>(group.landers.size());
  for (int64_t j = 0; j < count; ++j) {
    const Rank lander = group.landers[static_cast<size_t>(j)];
    streams.push_back(StreamOf(group.domain, {lander, lander}));
    part_bytes.push_back(group.bytes / count + (j < group.bytes % count ? 1 : 0));
  }
  Deal(group.classes, streams, part_bytes);
}

void LocalStreamBuilder::AddGroupStreams(DomainId domain, const Group& group) {
  std::vector<uint32_t> streams;
  std::vector<int64_t> part_bytes;
  for (const auto& [way, bytes] : group.parts) {
    streams.push_back(StreamOf(domain, way));
    part_bytes.push_back(bytes);
  }
  Deal(group.classes, streams, part_bytes);
}

void LocalStreamBuilder::Deal(std::vector<ClassId> classes, const std::vector<uint32_t>& streams,
                              const std::vector<int64_t>& part_bytes) {
  std::stable_sort(classes.begin(), classes.end(), [&](ClassId a, ClassId b) {
    return in_.transfers->classes[a].holders < in_.transfers->classes[b].holders;
  });
  std::vector<int64_t> bytes;
  for (const ClassId cls : classes) bytes.push_back(BytesOf(cls));
  const auto cut = [&](uint32_t item, int64_t at) { return in_.cuts->Floor(classes[item], at); };
  for (const reshard::Deal& deal : DealOut(bytes, part_bytes, kMinSplitBytes, cut)) {
    streams_[streams[deal.part]].bytes.push_back({classes[deal.item], deal.begin, deal.extent});
  }
}

void LocalStreamBuilder::SortBytes() {
  const auto key = [&](const ClassRange& range) {
    return std::tuple(in_.transfers->classes[range.cls].holders, range.cls, range.begin);
  };
  for (size_t s = first_; s < streams_.size(); ++s) {
    DraftStream& stream = streams_[s];
    std::sort(stream.bytes.begin(), stream.bytes.end(),
              [&](const ClassRange& a, const ClassRange& b) { return key(a) < key(b); });
    for (const ClassRange& range : stream.bytes) stream.total_bytes += range.extent;
  }
  std::erase_if(streams_, [](const DraftStream& stream) { return stream.bytes.empty(); });
}

}  // namespace

void AddLocalStreams(const StreamInputs& inputs, std::vector<DraftStream>* streams) {
  LocalStreamBuilder(inputs, streams).Run();
}

}  // namespace reshard
