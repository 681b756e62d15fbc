#include "compiler/plan_tools/explain_why.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace reshard {
namespace {

constexpr double kNsPerSecond = 1e9;

int64_t BusyNs(const PortLoads& bytes, int64_t bytes_per_s) {
  const int64_t most = std::max(bytes.send_bytes, bytes.receive_bytes);
  return std::llround(static_cast<double>(most) / static_cast<double>(bytes_per_s) * kNsPerSecond);
}

}  // namespace

std::string_view PathRoleText(PathRole role) {
  switch (role) {
#define RESHARD_PATH_ROLE(name, text, meaning) \
  case PathRole::name:                         \
    return text;
#include "compiler/plan_tools/path_roles.def"
#undef RESHARD_PATH_ROLE
  }
  return "";
}

std::string_view PathRoleMeaning(PathRole role) {
  switch (role) {
#define RESHARD_PATH_ROLE(name, text, meaning) \
  case PathRole::name:                         \
    return meaning;
#include "compiler/plan_tools/path_roles.def"
#undef RESHARD_PATH_ROLE
  }
  return "";
}

RankList Copying(const ParamFlow& flow) {
  RankList others = flow.destinations;
  std::erase(others, flow.path.back());
  return others;
}

NicTraffic TrafficOfNic(const Plan& plan, const std::string& nic) {
  NicTraffic traffic;
  traffic.nic = nic;
  const PlanLoads loads = ComputeLoads(plan);
  for (const PlanSite& site : plan.sites) {
    for (const uint32_t used : site.nics) {
      if (plan.nics[used].name != nic) continue;
      traffic.bytes = loads.nics[used];
      if (site.nics.size() > 1) traffic.spreading.push_back(site.rank);
    }
  }
  return traffic;
}

WhyFlows::WhyFlows(const Plan& plan)
    : plan_(plan), loads_(ComputeLoads(plan)), sites_of_domain_(plan.domains.size()) {
  for (uint32_t s = 0; s < plan.sites.size(); ++s) {
    site_of_[plan.sites[s].rank] = s;
    sites_of_domain_[plan.sites[s].domain].push_back(s);
  }
}

NetworkUse WhyFlows::UseOf(const std::vector<uint32_t>& sites) const {
  NetworkUse use;
  std::set<uint32_t> nics;
  for (const uint32_t site : sites) {
    use.bytes.send_bytes += loads_.sites[site].send_bytes;
    use.bytes.receive_bytes += loads_.sites[site].receive_bytes;
    nics.insert(plan_.sites[site].nics.begin(), plan_.sites[site].nics.end());
  }
  for (const uint32_t nic : nics) {
    const int64_t busy_ns = BusyNs(loads_.nics[nic], plan_.nics[nic].bytes_per_s);
    if (!use.nic.empty() && busy_ns <= use.nic_busy_ns) continue;
    use.nic = plan_.nics[nic].name;
    use.nic_bytes = loads_.nics[nic];
    use.nic_busy_ns = busy_ns;
  }
  return use;
}

std::vector<Alternative> WhyFlows::AlternativesOf(const std::vector<uint32_t>& sites,
                                                  const RankList& chosen) const {
  std::vector<Alternative> found;
  for (const uint32_t s : sites) {
    const PlanSite& site = plan_.sites[s];
    found.push_back(
        {site.rank, plan_.domains[site.domain].name, UseOf({s}), Contains(chosen, site.rank)});
  }
  return found;
}

std::vector<Alternative> WhyFlows::Holders(const ParamFlow& flow) const {
  std::vector<uint32_t> sites;
  for (const Rank rank : plan_.rank_sets[plan_.classes[flow.cls].holders]) {
    const auto site = site_of_.find(rank);
    if (site != site_of_.end()) sites.push_back(site->second);
  }
  return AlternativesOf(sites, flow.sources);
}

PathRole WhyFlows::RoleOf(const ParamFlow& flow, uint32_t domain) const {
  const PlanClass& cls = plan_.classes[flow.cls];
  const auto has_one_of = [&](uint32_t rank_set) {
    const RankList& ranks = plan_.rank_sets[rank_set];
    return std::any_of(sites_of_domain_[domain].begin(), sites_of_domain_[domain].end(),
                       [&](uint32_t site) { return Contains(ranks, plan_.sites[site].rank); });
  };
  if (has_one_of(cls.needers)) return PathRole::kLands;
  return has_one_of(cls.holders) ? PathRole::kCarries : PathRole::kRelays;
}

std::vector<uint32_t> WhyFlows::RelaySites(const ParamFlow& flow) const {
  std::vector<uint32_t> sites;
  for (uint32_t domain = 0; domain < sites_of_domain_.size(); ++domain) {
    if (RoleOf(flow, domain) != PathRole::kRelays) continue;
    for (const uint32_t site : sites_of_domain_[domain]) {
      if (!plan_.sites[site].nics.empty()) sites.push_back(site);
    }
  }
  std::sort(sites.begin(), sites.end());
  return sites;
}

Hop WhyFlows::HopAt(const ParamFlow& flow, uint32_t site) const {
  const Rank rank = plan_.sites[site].rank;
  const uint32_t domain = plan_.sites[site].domain;
  const PlanTree& tree = plan_.trees[flow.tree];
  const auto members = plan_.tree_members.begin() + tree.first_member;
  std::vector<uint32_t> others = sites_of_domain_[domain];
  Hop hop;
  hop.rank = rank;
  hop.domain = plan_.domains[domain].name;
  hop.position =
      static_cast<uint32_t>(std::find(members, members + tree.member_count, rank) - members);
  hop.role = flow.local ? PathRole::kHands : RoleOf(flow, domain);
  hop.domain_use = UseOf(others);
  if (hop.role == PathRole::kRelays) others = RelaySites(flow);
  if (hop.role == PathRole::kHands) {
    const RankList& holders = plan_.rank_sets[plan_.classes[flow.cls].holders];
    std::erase_if(others, [&](uint32_t s) { return !Contains(holders, plan_.sites[s].rank); });
  }
  hop.alternatives = AlternativesOf(others, {rank});
  return hop;
}

std::vector<Hop> WhyFlows::Hops(const ParamFlow& flow) const {
  std::vector<Hop> hops;
  if (flow.local && Copying(flow).empty()) return hops;
  for (const Rank rank : flow.path) {
    const auto site = site_of_.find(rank);
    if (site != site_of_.end()) hops.push_back(HopAt(flow, site->second));
  }
  return hops;
}

}  // namespace reshard
