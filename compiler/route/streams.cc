#include "compiler/route/streams.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/route/deal.h"
#include "compiler/route/overlay.h"
#include "compiler/route/round_cost.h"
#include "compiler/route/water_fill.h"
#include "compiler/transfer/describe_tensors.h"
#include "compiler/transfer/name_ranks.h"

namespace reshard {
namespace {

// Classes whose bytes may land on the same candidates.
struct Group {
  std::vector<uint32_t> streams;     // candidates
  std::vector<GroupId> from_groups;  // of the streams
  std::vector<ClassId> classes;
  int64_t bytes = 0;
  std::vector<int64_t> part_bytes;  // per candidate
};

// More candidates than this would only cut finer than NIC counts can tell apart.
constexpr size_t kMaxCandidates = 128;
// Looks at one lander's port while a group is spread over its candidates, and while all groups are:
// time to compile.
constexpr size_t kMostGroupWork = size_t{1} << 20;
constexpr size_t kMostSpreadWork = size_t{1} << 24;
// Landers that are busier than the least possible by this part, and a round's cost, are relieved.
constexpr int64_t kWorthWidening = 200;

// Which ranks of a domain may land bytes for its needers, besides these.
enum class Width : uint8_t {
  kParticipants,  // that hold or need something
  kAll,           // and for each outlet that none of these uses one that does not
};

class StreamBuilder {
 public:
  StreamBuilder(const LogicalTable& table, const StreamInputs& inputs, Diagnostics* diags,
                std::vector<DraftStream>* out)
      : table_(table), in_(inputs), diags_(*diags), out_(*out), received_(*inputs.ports) {}

  bool Run();

 private:
  void FindParticipants();
  RankList UsableLanders(ClassId cls, DomainId domain);
  bool ReportCutOff();
  const std::vector<GroupId>& GroupsOf(RankSetId holders);
  uint32_t StreamOf(const std::vector<DomainId>& domains, RankList landers,
                    const std::vector<GroupId>& from_groups);
  std::vector<PortId> UplinksOf(const DraftStream& stream) const;
  RankList LandersOf(DomainId domain, Width width) const;
  bool SpansGroups(DomainId domain) const {
    const RankList& ranks = in_.topology->domains[domain].ranks;
    return std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) {
      return in_.ports->group_of_rank(rank) != in_.ports->group_of_rank(ranks[0]);
    });
  }
  bool HasIdle(const RankList& ranks) const {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](Rank rank) { return !participates_[in_.ports->site(rank)]; });
  }
  void AddCandidates(const std::vector<DomainId>& domains, const std::vector<RankList>& landers,
                     Group* group);
  Group MakeNetworkGroup(ClassId cls, const std::vector<GroupId>& from_groups);
  int64_t LeastLevel() const;
  bool Widen(Width width, int64_t limit_ps, Group* group);
  int64_t LimitPs(Width width) const;
  bool WidenOverloaded(Width width);
  bool IsBusy(const Group& group, int64_t limit_ps) const;
  void DivideByDomain();
  void TakeDivisions(const std::vector<std::vector<int64_t>>& divisions,
                     const std::vector<RankList>& landers, Group* group);
  void AddNetworkGroups();
  void Balance();
  std::vector<std::vector<uint32_t>> PortSharers(const Group& group) const;
  int64_t HelpingsEach(const Group& group) const;
  void Spread(Group* group);
  void Charge(const Group& group, size_t candidate, int64_t bytes);
  int64_t NicLevel(uint32_t stream) const;
  int64_t LevelAfter(uint32_t stream, int64_t more) const;
  bool LandersAreAlike(const Group& group) const;
  void DealGroup(const Group& group);
  void SortBytes();

  const LogicalTable& table_;
  const StreamInputs& in_;
  Diagnostics& diags_;
  std::vector<DraftStream>& out_;
  PortBytes received_;
  std::vector<bool> participates_;  // per site: holds or needs something
  std::map<std::tuple<std::vector<DomainId>, RankList, std::vector<GroupId>>, uint32_t> stream_ids_;
  std::vector<std::vector<PortId>> uplinks_;  // per stream: UplinksOf
  std::map<RankSetId, std::vector<GroupId>> groups_of_holders_;
  std::vector<Group> groups_;
  std::map<DomainId, std::vector<ClassId>> cut_off_;  // domains without NICs, what they need
};

void StreamBuilder::FindParticipants() {
  participates_.assign(in_.topology->sites.size(), false);
  std::vector<bool> seen(in_.transfers->rank_sets.count(), false);
  for (const TransferClass& cls : in_.transfers->classes) {
    for (const RankSetId set : {cls.holders, cls.needers}) {
      if (seen[set]) continue;
      seen[set] = true;
      for (const Rank rank : in_.transfers->rank_sets[set]) {
        participates_[in_.ports->site(rank)] = true;
      }
    }
  }
}

RankList StreamBuilder::LandersOf(DomainId domain, Width width) const {
  RankList landers;
  std::set<OutletId> used;
  for (const bool participants : {true, false}) {
    if (!participants && width == Width::kParticipants) break;
    for (const Rank rank : in_.topology->domains[domain].ranks) {
      const SiteId site = in_.ports->site(rank);
      const OutletId outlet = in_.ports->outlet_of_site(site);
      if (outlet == kNone || participates_[site] != participants) continue;
      if (used.insert(outlet).second || participants) landers.push_back(rank);
    }
  }
  std::sort(landers.begin(), landers.end());
  return landers;
}

// Needers with a NIC; where there is none, others of the domain that have one: needers then copy
// from these.
RankList StreamBuilder::UsableLanders(ClassId cls, DomainId domain) {
  const RankSetFacts& needers = (*in_.facts)[in_.transfers->classes[cls].needers];
  RankList usable;
  for (const Rank rank : needers.by_domain.RanksOf(needers.by_domain.Find(domain))) {
    if (in_.ports->outlet_of_rank(rank) != kNone) usable.push_back(rank);
  }
  if (usable.empty()) usable = LandersOf(domain, Width::kParticipants);
  if (usable.empty()) usable = LandersOf(domain, Width::kAll);
  if (usable.empty()) cut_off_[domain].push_back(cls);
  return usable;
}

// One error for all that a domain cannot receive.
bool StreamBuilder::ReportCutOff() {
  for (const auto& [domain, classes] : cut_off_) {
    RankList ranks;
    for (const ClassId cls : classes) {
      const RankSetFacts& needers = (*in_.facts)[in_.transfers->classes[cls].needers];
      ranks = Union(ranks, needers.by_domain.RanksOf(needers.by_domain.Find(domain)));
    }
    diags_.Error(DiagnosticCode::kNoNic, Span{in_.topology->file, 0, 0},
                 "bytes of " + DescribeTensors(table_, *in_.transfers, classes) + " for " +
                     NameRanks(ranks) + " come over the network, but no rank of the domain '" +
                     in_.topology->domains[domain].name + "' has a NIC to receive them");
  }
  return cut_off_.empty();
}

// Of the ranks that can send what these hold; by group only.
const std::vector<GroupId>& StreamBuilder::GroupsOf(RankSetId holders) {
  const auto [entry, is_new] = groups_of_holders_.try_emplace(holders);
  std::vector<GroupId>& groups = entry->second;
  if (!is_new || !in_.by_group) return groups;
  const RankSetFacts& facts = (*in_.facts)[holders];
  for (const Rank rank : facts.networked) groups.push_back(in_.ports->group_of_rank(rank));
  if (groups.empty() || in_.pool) {
    for (const DomainId domain : facts.by_domain.domains) {
      for (const Rank rank : in_.topology->domains[domain].ranks) {
        if (in_.ports->outlet_of_rank(rank) == kNone) continue;
        groups.push_back(in_.ports->group_of_rank(rank));
      }
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

uint32_t StreamBuilder::StreamOf(const std::vector<DomainId>& domains, RankList landers,
                                 const std::vector<GroupId>& from_groups) {
  const auto [entry, is_new] =
      stream_ids_.try_emplace({domains, landers, from_groups}, static_cast<uint32_t>(out_.size()));
  if (is_new) {
    DraftStream& stream = out_.emplace_back();
    stream.domains = domains;
    stream.landers = std::move(landers);
    stream.from_groups = from_groups;
    uplinks_.push_back(UplinksOf(stream));
  }
  return entry->second;
}

// By group: the ways into groups of landers that have no holder, each of which the bytes pass once,
// and where only one group can send them its way out.
std::vector<PortId> StreamBuilder::UplinksOf(const DraftStream& stream) const {
  std::vector<PortId> uplinks;
  if (stream.from_groups.empty()) return uplinks;
  std::set<GroupId> into;
  for (const Rank lander : stream.landers) into.insert(in_.ports->group_of_rank(lander));
  for (const GroupId group : stream.from_groups) into.erase(group);
  for (const GroupId group : into) uplinks.push_back(in_.ports->uplink_in(group));
  if (!into.empty() && stream.from_groups.size() == 1) {
    uplinks.push_back(in_.ports->uplink_out(stream.from_groups[0]));
  }
  std::erase(uplinks, kNone);
  return uplinks;
}

// Candidate j lands on rank j mod m of the m landers of each domain.
void StreamBuilder::AddCandidates(const std::vector<DomainId>& domains,
                                  const std::vector<RankList>& landers, Group* group) {
  size_t count = 1, widest = 1;
  for (const RankList& ranks : landers) {
    widest = std::max(widest, ranks.size());
    if (count <= kMaxCandidates) count = std::lcm(count, ranks.size());
  }
  if (count > kMaxCandidates) count = widest;
  for (size_t j = 0; j < count; ++j) {
    RankList chosen;
    for (const RankList& ranks : landers) chosen.push_back(ranks[j % ranks.size()]);
    const uint32_t stream = StreamOf(domains, std::move(chosen), group->from_groups);
    std::vector<uint32_t>& streams = group->streams;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
      streams.push_back(stream);
    }
  }
}

Group StreamBuilder::MakeNetworkGroup(ClassId cls, const std::vector<GroupId>& from_groups) {
  const std::vector<DomainId>& domains = in_.demands->domain_sets[in_.demands->network[cls]];
  std::vector<RankList> usable;
  for (const DomainId domain : domains) {
    usable.push_back(UsableLanders(cls, domain));
  }
  const auto none = [](const RankList& ranks) { return ranks.empty(); };
  if (std::any_of(usable.begin(), usable.end(), none)) return {};
  Group group;
  group.from_groups = from_groups;
  AddCandidates(domains, usable, &group);
  return group;
}

void StreamBuilder::AddNetworkGroups() {
  std::map<std::tuple<RankSetId, DomainSetId, std::vector<GroupId>>, size_t> ids;
  for (ClassId cls = 0; cls < in_.transfers->classes.size(); ++cls) {
    const DomainSetId set = in_.demands->network[cls];
    if (set == kNone) continue;
    const RankSetId needers = in_.transfers->classes[cls].needers;
    const std::vector<GroupId>& from = GroupsOf(in_.transfers->classes[cls].holders);
    const auto [entry, is_new] = ids.try_emplace({needers, set, from}, groups_.size());
    if (is_new) {
      groups_.push_back(MakeNetworkGroup(cls, from));
    } else if (groups_[entry->second].streams.empty()) {
      static_cast<void>(MakeNetworkGroup(cls, from));  // says what else cannot be received
    }
    groups_[entry->second].classes.push_back(cls);
    groups_[entry->second].bytes += in_.transfers->classes[cls].bytes;
  }
}

void StreamBuilder::Charge(const Group& group, size_t candidate, int64_t bytes) {
  for (const Rank lander : out_[group.streams[candidate]].landers) {
    received_.Add(in_.ports->outlet_of_rank(lander), bytes);
  }
  for (const PortId uplink : uplinks_[group.streams[candidate]]) received_.AddPort(uplink, bytes);
}

int64_t StreamBuilder::NicLevel(uint32_t stream) const {
  int64_t level = 0;
  for (const Rank lander : out_[stream].landers) {
    level = std::max(level, received_.Level(in_.ports->outlet_of_rank(lander)));
  }
  return level;
}

int64_t StreamBuilder::LevelAfter(uint32_t stream, int64_t more) const {
  int64_t level = 0;
  for (const Rank lander : out_[stream].landers) {
    level = std::max(level, received_.Level(in_.ports->outlet_of_rank(lander), more));
  }
  for (const PortId uplink : uplinks_[stream]) {
    level = std::max(level, received_.PortLevel(uplink, more));
  }
  return level;
}

// Per candidate of a group, those whose landers share a port with its own; itself is one.
std::vector<std::vector<uint32_t>> StreamBuilder::PortSharers(const Group& group) const {
  std::vector<std::pair<PortId, uint32_t>> uses;
  for (uint32_t j = 0; j < group.streams.size(); ++j) {
    for (const Rank lander : out_[group.streams[j]].landers) {
      for (const Outlet::Share& share :
           in_.ports->outlet(in_.ports->outlet_of_rank(lander)).shares) {
        uses.emplace_back(share.port, j);
      }
    }
    for (const PortId uplink : uplinks_[group.streams[j]]) uses.emplace_back(uplink, j);
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  std::vector<std::vector<uint32_t>> sharers(group.streams.size());
  for (size_t first = 0, end = 0; first < uses.size(); first = end) {
    while (end < uses.size() && uses[end].first == uses[first].first) ++end;
    for (size_t a = first; a < end; ++a) {
      for (size_t b = first; b < end; ++b) sharers[uses[a].second].push_back(uses[b].second);
    }
  }
  for (std::vector<uint32_t>& of_one : sharers) {
    std::sort(of_one.begin(), of_one.end());
    of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
  }
  return sharers;
}

// In how many helpings each candidate's share comes: fewer where there is more to do.
int64_t StreamBuilder::HelpingsEach(const Group& group) const {
  const size_t count = group.streams.size();
  const size_t landers = out_[group.streams[0]].landers.size();
  const size_t of_group = kMostGroupWork / (count * count * landers);
  const size_t of_all = kMostSpreadWork / (count * landers * groups_.size());
  return static_cast<int64_t>(std::clamp<size_t>(std::min(of_group, of_all), 8, 256));
}

// Water-filling in small equal helpings, each to the candidate that is then least loaded.
void StreamBuilder::Spread(Group* group) {
  const size_t count = group->streams.size();
  const std::vector<std::vector<uint32_t>> sharers = PortSharers(*group);
  const int64_t helpings = static_cast<int64_t>(count) * HelpingsEach(*group);
  std::vector<int64_t> helped(count, 0);
  const int64_t helping = group->bytes / helpings + 1;
  std::vector<int64_t> level(count);
  for (size_t j = 0; j < count; ++j) level[j] = LevelAfter(group->streams[j], helping);
  for (int64_t i = 0; i < helpings; ++i) {
    const size_t best =
        static_cast<size_t>(std::min_element(level.begin(), level.end()) - level.begin());
    ++helped[best];
    Charge(*group, best, helping);
    for (const uint32_t j : sharers[best]) level[j] = LevelAfter(group->streams[j], helping);
  }
  int64_t given = 0, before = 0;
  group->part_bytes.assign(count, 0);
  for (size_t j = 0; j < count; ++j) {
    Charge(*group, j, -helping * helped[j]);
    given += helped[j];
    const int64_t end = Portion(group->bytes, given, helpings);
    group->part_bytes[j] = end - before;
    before = end;
    Charge(*group, j, group->part_bytes[j]);
  }
}

// Groups without a choice first; those with one then fill around them, twice, as the first round
// of choices did not see the later ones.
void StreamBuilder::Balance() {
  std::vector<size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups_[a].streams.size() < groups_[b].streams.size();
  });
  for (int pass = 0; pass < 2; ++pass) {
    for (const size_t id : order) {
      Group& group = groups_[id];
      if (group.streams.size() == 1) {
        if (group.part_bytes.empty()) {
          group.part_bytes = {group.bytes};
          Charge(group, 0, group.bytes);
        }
        continue;
      }
      for (size_t j = 0; j < group.part_bytes.size(); ++j) Charge(group, j, -group.part_bytes[j]);
      Spread(&group);
    }
  }
}

// How busy the busiest domain is when all of its NICs share what it needs.
int64_t StreamBuilder::LeastLevel() const {
  std::vector<int64_t> needed(in_.topology->domains.size(), 0);
  for (const Group& group : groups_) {
    for (const DomainId domain : out_[group.streams[0]].domains) needed[domain] += group.bytes;
  }
  int64_t level = 0;
  for (DomainId domain = 0; domain < needed.size(); ++domain) {
    int64_t rate = 0;
    for (const NicId nic : in_.topology->domains[domain].nics) {
      rate += in_.topology->nics[nic].bytes_per_s;
    }
    if (rate > 0) level = std::max(level, PicosecondsFor(needed[domain], rate));
  }
  return level;
}

// Where a group's landers are busier than the limit, lets others of their domain land its bytes;
// needers then copy from them. Returns whether there are new candidates.
bool StreamBuilder::Widen(Width width, int64_t limit_ps, Group* group) {
  const std::vector<DomainId> domains = out_[group->streams[0]].domains;
  std::vector<RankList> landers;
  bool widens = false;
  // Landers of other groups may have ways with room.
  const bool uplinks_busy =
      std::any_of(group->streams.begin(), group->streams.end(), [&](uint32_t stream) {
        const std::vector<PortId>& uplinks = uplinks_[stream];
        return std::any_of(uplinks.begin(), uplinks.end(), [&](PortId uplink) {
          return received_.PortLevel(uplink) > std::max(limit_ps, in_.bound_ps);
        });
      });
  for (size_t d = 0; d < domains.size(); ++d) {
    RankList ranks;
    bool busy = uplinks_busy && SpansGroups(domains[d]);
    for (const uint32_t stream : group->streams) {
      const Rank rank = out_[stream].landers[d];
      busy = busy || received_.Level(in_.ports->outlet_of_rank(rank)) > limit_ps;
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
    }
    if (busy) {
      const size_t needers = ranks.size();
      RankList more = LandersOf(domains[d], width);
      if (width == Width::kParticipants || HasIdle(more)) ranks = std::move(more);
      widens = widens || ranks.size() > needers;
    }
    landers.push_back(std::move(ranks));
  }
  const size_t before = group->streams.size();
  if (widens) AddCandidates(domains, landers, group);
  group->part_bytes.resize(group->streams.size(), 0);
  return group->streams.size() > before;
}

// Needers land their own bytes as long as that keeps no NIC much longer than the least possible.
// Ranks with nothing else to do are asked for it only where that is longer than the job takes, too.
int64_t StreamBuilder::LimitPs(Width width) const {
  const int64_t least_ps = std::max(LeastLevel(), width == Width::kAll ? in_.bound_ps : 0);
  return least_ps + std::max(least_ps / kWorthWidening, in_.topology->round_ns * 1000);
}

bool StreamBuilder::WidenOverloaded(Width width) {
  const int64_t limit_ps = LimitPs(width);
  bool widened = false;
  for (Group& group : groups_) widened |= Widen(width, limit_ps, &group);
  return widened;
}

bool StreamBuilder::IsBusy(const Group& group, int64_t limit_ps) const {
  return std::any_of(group.streams.begin(), group.streams.end(),
                     [&](uint32_t stream) { return NicLevel(stream) > limit_ps; });
}

// Candidates have landers of the same place in all of their domains. Where these have fast NICs in
// other places that is not enough: there each domain divides a group's bytes by itself.
void StreamBuilder::DivideByDomain() {
  const int64_t limit_ps = LimitPs(Width::kAll);
  std::vector<Group*> busy;
  for (Group& group : groups_) {
    const bool several = group.streams.size() > 1 && out_[group.streams[0]].domains.size() > 1;
    if (several && IsBusy(group, limit_ps)) busy.push_back(&group);
  }
  std::vector<Flow> flows;
  std::vector<std::vector<RankList>> landers_of;  // per busy group and domain; one for each outlet
  for (Group* group : busy) {
    std::vector<RankList>& landers = landers_of.emplace_back();
    for (size_t d = 0; d < out_[group->streams[0]].domains.size(); ++d) {
      std::map<OutletId, Rank> by_outlet;
      for (const uint32_t stream : group->streams) {
        const Rank rank = out_[stream].landers[d];
        by_outlet.try_emplace(in_.ports->outlet_of_rank(rank), rank);
      }
      Flow& flow = flows.emplace_back();
      flow.bytes = group->bytes;
      RankList& ranks = landers.emplace_back();
      for (const auto& [outlet, rank] : by_outlet) {
        flow.outlets.push_back(outlet);
        ranks.push_back(rank);
      }
    }
    for (size_t j = 0; j < group->streams.size(); ++j) Charge(*group, j, -group->part_bytes[j]);
  }
  WaterFill(*in_.ports, &flows, &received_);
  auto flow = flows.begin();
  for (size_t g = 0; g < busy.size(); ++g) {
    std::vector<std::vector<int64_t>> divisions;
    for (size_t d = 0; d < landers_of[g].size(); ++d) divisions.push_back((flow++)->parts);
    TakeDivisions(divisions, landers_of[g], busy[g]);
  }
}

void StreamBuilder::TakeDivisions(const std::vector<std::vector<int64_t>>& divisions,
                                  const std::vector<RankList>& landers, Group* group) {
  const std::vector<DomainId> domains = out_[group->streams[0]].domains;
  group->streams.clear();
  group->part_bytes.clear();
  for (const OverlaidRun& run : Overlay(divisions)) {
    RankList chosen;
    for (size_t d = 0; d < landers.size(); ++d) chosen.push_back(landers[d][run.parts[d]]);
    group->streams.push_back(StreamOf(domains, std::move(chosen), group->from_groups));
    group->part_bytes.push_back(run.bytes);
  }
}

bool StreamBuilder::LandersAreAlike(const Group& group) const {
  int64_t slowest = INT64_MAX, fastest = 0;
  for (const uint32_t stream : group.streams) {
    for (const Rank lander : out_[stream].landers) {
      const int64_t rate = in_.ports->outlet(in_.ports->outlet_of_rank(lander)).bytes_per_s;
      slowest = std::min(slowest, rate);
      fastest = std::max(fastest, rate);
    }
  }
  return slowest >= fastest;
}

void StreamBuilder::DealGroup(const Group& group) {
  std::vector<ClassId> classes = group.classes;
  std::stable_sort(classes.begin(), classes.end(), [&](ClassId a, ClassId b) {
    return in_.transfers->classes[a].holders < in_.transfers->classes[b].holders;
  });
  std::vector<int64_t> bytes;
  for (const ClassId cls : classes) bytes.push_back(in_.transfers->classes[cls].bytes);
  const auto cut = [&](uint32_t item, int64_t at) { return in_.cuts->Floor(classes[item], at); };
  // A slow lander takes a little in every round: if one source had it all, that one would have
  // nothing else to send in these.
  const auto deal_out = LandersAreAlike(group) ? DealOut : DealOutEach;
  for (const Deal& deal : deal_out(bytes, group.part_bytes, kMinSplitBytes, cut)) {
    out_[group.streams[deal.part]].bytes.push_back({classes[deal.item], deal.begin, deal.extent});
  }
}

void StreamBuilder::SortBytes() {
  const auto key = [&](const ClassRange& range) {
    return std::tuple(in_.transfers->classes[range.cls].holders, range.cls, range.begin);
  };
  for (DraftStream& stream : out_) {
    std::sort(stream.bytes.begin(), stream.bytes.end(),
              [&](const ClassRange& a, const ClassRange& b) { return key(a) < key(b); });
    for (const ClassRange& range : stream.bytes) stream.total_bytes += range.extent;
  }
  std::erase_if(out_, [](const DraftStream& stream) { return stream.bytes.empty(); });
}

bool StreamBuilder::Run() {
  FindParticipants();
  AddNetworkGroups();
  if (!ReportCutOff()) return false;
  Balance();
  for (const Width width : {Width::kParticipants, Width::kAll}) {
    if (WidenOverloaded(width)) Balance();
  }
  DivideByDomain();
  for (const Group& group : groups_) DealGroup(group);
  SortBytes();
  return true;
}

}  // namespace

bool BuildStreams(const LogicalTable& table, const StreamInputs& inputs, Diagnostics* diags,
                  std::vector<DraftStream>* out) {
  return StreamBuilder(table, inputs, diags, out).Run();
}

}  // namespace reshard
