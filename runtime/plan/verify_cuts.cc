#include "runtime/plan/verify_cuts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

class CutChecker {
 public:
  CutChecker(const Plan& plan, const VerifyFacts& facts, VerifyLog* log)
      : plan_(plan), facts_(facts), log_(*log), set_domains_(plan, facts) {}

  void Run() {
    for (cut_ = 0; cut_ < plan_.cuts.size() && log_.CanGoOn(); ++cut_) Check();
  }

 private:
  struct Measure {
    Wide bytes = 0;
    Wide bytes_per_s = 0;
  };
  // What one rank set has of the members of a cut.
  struct SetView {
    std::vector<uint32_t> inside;  // members, rising
    bool outside = false;          // has ranks that belong to no member
  };

  void Add(std::string text) {
    log_.Add(VerifyRule::kCut, "cut " + std::to_string(cut_), std::move(text));
  }
  void Check();
  std::optional<Measure> Evaluate();
  std::vector<SetView> ViewByDomain();
  std::vector<SetView> ViewByGroup();
  std::vector<SetView> ViewByRank();
  Wide IngressBytes(const std::vector<SetView>& views, bool once);
  Wide EgressBytes(const std::vector<SetView>& views);
  Wide CopiedBytes();
  Wide NicRate(const std::function<bool(const PlanSite&)>& inside) const;
  Wide ScaleupRate() const;
  std::optional<Wide> UplinkRate();
  Wide FabricRate() const;
  bool IsMember(uint32_t id) const {
    return std::binary_search(cut().members.begin(), cut().members.end(), id);
  }
  const PlanCut& cut() const { return plan_.cuts[cut_]; }
  const PlanSite& SiteOf(uint32_t rank) const {
    return plan_.sites[facts_.index().SiteIndex(plan_, rank)];
  }

  const Plan& plan_;
  const VerifyFacts& facts_;
  VerifyLog& log_;
  const RankSetDomains set_domains_;
  size_t cut_ = 0;
};

std::vector<CutChecker::SetView> CutChecker::ViewByDomain() {
  std::vector<SetView> views(plan_.rank_sets.size());
  for (uint32_t set = 0; set < views.size(); ++set) {
    if (!log_.Charge(set_domains_.Of(set).size())) break;
    for (const uint32_t domain : set_domains_.Of(set)) {
      if (IsMember(domain)) {
        views[set].inside.push_back(domain);
      } else {
        views[set].outside = true;
      }
    }
  }
  return views;
}

// All members of a group count as one: its uplinks do not tell them apart.
std::vector<CutChecker::SetView> CutChecker::ViewByGroup() {
  std::vector<SetView> views(plan_.rank_sets.size());
  for (uint32_t set = 0; set < views.size(); ++set) {
    if (!log_.Charge(plan_.rank_sets[set].size())) break;
    for (const Rank rank : plan_.rank_sets[set]) {
      const uint32_t group = SiteOf(rank).group;
      if (group == kNoId || !IsMember(group)) {
        views[set].outside = true;
      } else if (views[set].inside.empty()) {
        views[set].inside.push_back(group);
      }
    }
  }
  return views;
}

std::vector<CutChecker::SetView> CutChecker::ViewByRank() {
  std::vector<SetView> views(plan_.rank_sets.size());
  for (uint32_t set = 0; set < views.size(); ++set) {
    if (!log_.Charge(plan_.rank_sets[set].size())) break;
    for (const Rank rank : plan_.rank_sets[set]) {
      if (IsMember(rank)) {
        views[set].inside.push_back(rank);
      } else {
        views[set].outside = true;
      }
    }
  }
  return views;
}

// What members need and do not hold: each member for itself, or `once` for all of them.
Wide CutChecker::IngressBytes(const std::vector<SetView>& views, bool once) {
  Wide bytes = 0;
  for (const PlanClass& cls : plan_.classes) {
    const std::vector<uint32_t>& needing = views[cls.needers].inside;
    const std::vector<uint32_t>& holding = views[cls.holders].inside;
    if (once) {
      if (!needing.empty() && holding.empty()) bytes += cls.bytes;
      continue;
    }
    if (!log_.Charge(1 + needing.size())) break;
    for (const uint32_t member : needing) {
      if (!std::binary_search(holding.begin(), holding.end(), member)) bytes += cls.bytes;
    }
  }
  return bytes;
}

// What only members hold and somebody else needs, once.
Wide CutChecker::EgressBytes(const std::vector<SetView>& views) {
  Wide bytes = 0;
  for (const PlanClass& cls : plan_.classes) {
    if (views[cls.needers].outside && !views[cls.holders].outside) bytes += cls.bytes;
  }
  return bytes;
}

// What all domains need and do not hold, once for each.
Wide CutChecker::CopiedBytes() {
  Wide bytes = 0;
  for (const PlanClass& cls : plan_.classes) {
    const std::vector<uint32_t>& holding = set_domains_.Of(cls.holders);
    const std::vector<uint32_t>& needing = set_domains_.Of(cls.needers);
    if (!log_.Charge(1 + needing.size())) break;
    for (const uint32_t domain : needing) {
      if (!std::binary_search(holding.begin(), holding.end(), domain)) bytes += cls.bytes;
    }
  }
  return bytes;
}

// What the NICs of some sites carry: at most the NICs together, and at most the ways of the GPUs to
// them together.
Wide CutChecker::NicRate(const std::function<bool(const PlanSite&)>& inside) const {
  std::set<uint32_t> nics;
  Wide ways = 0;
  for (const PlanSite& site : plan_.sites) {
    if (!inside(site)) continue;
    nics.insert(site.nics.begin(), site.nics.end());
    Wide way = 0;
    for (const uint32_t nic : site.nics) way += plan_.nics[nic].bytes_per_s;
    if (site.host_bytes_per_s > 0) way = std::min<Wide>(way, site.host_bytes_per_s);
    ways += way;
  }
  Wide rate = 0;
  for (const uint32_t nic : nics) rate += plan_.nics[nic].bytes_per_s;
  return std::min(rate, ways);
}

Wide CutChecker::ScaleupRate() const {
  Wide rate = 0;
  for (const uint32_t rank : cut().members) rate += plan_.domains[SiteOf(rank).domain].bytes_per_s;
  return rate;
}

// Of groups that no domain reaches out of: what passes their uplinks passes nothing else.
std::optional<Wide> CutChecker::UplinkRate() {
  std::vector<bool> reached(plan_.domains.size(), false);
  const auto inside = [&](const PlanSite& site) {
    return site.group != kNoId && IsMember(site.group);
  };
  for (const PlanSite& site : plan_.sites) {
    if (inside(site)) reached[site.domain] = true;
  }
  for (const PlanSite& site : plan_.sites) {
    if (!reached[site.domain] || inside(site)) continue;
    Add("its groups share the domain " + plan_.domains[site.domain].name +
        " with ranks outside, which pass no uplinks");
    return std::nullopt;
  }
  Wide rate = 0;
  for (const uint32_t group : cut().members) {
    if (plan_.groups[group].uplink_bytes_per_s == 0) {
      Add("the group " + plan_.groups[group].name + " has uplinks without a limit");
      return std::nullopt;
    }
    rate += plan_.groups[group].uplink_bytes_per_s;
  }
  return rate;
}

Wide CutChecker::FabricRate() const {
  const Wide nics = NicRate([](const PlanSite&) { return true; });
  const int64_t fabric = plan_.fabric.bytes_per_s;
  return fabric > 0 ? std::min<Wide>(fabric, nics) : nics;
}

std::optional<CutChecker::Measure> CutChecker::Evaluate() {
  const auto in_domains = [&](const PlanSite& site) { return IsMember(site.domain); };
  const auto is_member = [&](const PlanSite& site) { return IsMember(site.rank); };
  if (!log_.Charge(plan_.classes.size() + 2 * plan_.sites.size())) return std::nullopt;
  switch (cut().kind) {
    case PlanCutKind::kIngress:
      return Measure{IngressBytes(ViewByDomain(), false), NicRate(in_domains)};
    case PlanCutKind::kInjection:
      return Measure{EgressBytes(ViewByDomain()), NicRate(in_domains)};
    case PlanCutKind::kGroupIngress:
    case PlanCutKind::kGroupEgress: {
      const std::optional<Wide> rate = UplinkRate();
      if (!rate) return std::nullopt;
      const std::vector<SetView> views = ViewByGroup();
      const bool in = cut().kind == PlanCutKind::kGroupIngress;
      return Measure{in ? IngressBytes(views, true) : EgressBytes(views), *rate};
    }
    case PlanCutKind::kCopies:
      return Measure{CopiedBytes(), FabricRate()};
    case PlanCutKind::kRankIngress:
      return Measure{IngressBytes(ViewByRank(), false), NicRate(is_member) + ScaleupRate()};
    case PlanCutKind::kRankEgress:
      return Measure{EgressBytes(ViewByRank()), NicRate(is_member) + ScaleupRate()};
  }
  return std::nullopt;
}

void CutChecker::Check() {
  const std::vector<uint32_t>& members = cut().members;
  const auto not_rising = [](uint32_t a, uint32_t b) { return a >= b; };
  if (std::adjacent_find(members.begin(), members.end(), not_rising) != members.end()) {
    Add("its members are not rising");
    return;
  }
  const std::optional<Measure> counted = Evaluate();
  if (!counted || !log_.CanGoOn()) return;
  if (counted->bytes != cut().bytes) {
    Add("says that " + std::to_string(cut().bytes) + " bytes pass, the classes say " +
        WideText(counted->bytes));
  }
  if (counted->bytes_per_s != cut().bytes_per_s) {
    Add("says that its ports carry " + std::to_string(cut().bytes_per_s) +
        " bytes/s, the topology says " + WideText(counted->bytes_per_s));
  }
  const PlanCut& binding = plan_.cuts.front();
  if (Wide{cut().bytes} * binding.bytes_per_s > Wide{binding.bytes} * cut().bytes_per_s) {
    Add("takes longer than cut 0, which should bind");
  }
}

}  // namespace

void VerifyCuts(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  CutChecker(plan, facts, log).Run();
}

}  // namespace reshard
