#include "compiler/plan_tools/loads.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/plan/program.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

// Position of `rank` in plan.sites. Verified plans have a site for every rank that moves bytes.
size_t SiteOf(const Plan& plan, Rank rank) { return RowOfRank(plan.sites, rank); }

// `bytes` from one site to another; nothing when they share a domain.
void AddMessage(const Plan& plan, size_t sender, size_t receiver, int64_t bytes, PlanLoads* loads) {
  if (plan.sites[sender].domain == plan.sites[receiver].domain) return;
  loads->sites[sender].send_bytes += bytes;
  loads->sites[receiver].receive_bytes += bytes;
}

void AddTrees(const Plan& plan, PlanLoads* loads) {
  std::vector<size_t> heads;  // the site of each tree's head
  for (const PlanTree& tree : plan.trees) {
    const int64_t bytes = plan.streams[tree.stream].bytes;
    std::vector<size_t> members;
    for (uint32_t position = 0; position < tree.member_count; ++position) {
      members.push_back(SiteOf(plan, plan.tree_members[tree.first_member + position]));
      if (position == 0) continue;
      AddMessage(plan, members[TreeParent(tree.kind, position)], members[position], bytes, loads);
    }
    heads.push_back(members.front());
  }
  // Injects stand by source.
  const PlanInject* last = nullptr;
  size_t source = 0;
  for (const PlanInject& inject : plan.injects) {
    if (last == nullptr || last->source != inject.source) source = SiteOf(plan, inject.source);
    last = &inject;
    AddMessage(plan, source, heads[inject.tree], inject.extent, loads);
  }
}

// The bytes of a site over its NICs, in proportion to their bandwidth; the last takes the rest.
void SpreadOverNics(const Plan& plan, PlanLoads* loads) {
  for (size_t s = 0; s < plan.sites.size(); ++s) {
    const std::vector<uint32_t>& nics = plan.sites[s].nics;
    double total = 0;
    for (const uint32_t nic : nics) total += static_cast<double>(plan.nics[nic].bytes_per_s);
    PortLoads left = loads->sites[s];
    for (size_t i = 0; i < nics.size(); ++i) {
      PortLoads part = left;
      if (i + 1 < nics.size()) {
        const double share = static_cast<double>(plan.nics[nics[i]].bytes_per_s) / total;
        part.send_bytes =
            static_cast<int64_t>(share * static_cast<double>(loads->sites[s].send_bytes));
        part.receive_bytes =
            static_cast<int64_t>(share * static_cast<double>(loads->sites[s].receive_bytes));
      }
      loads->nics[nics[i]].send_bytes += part.send_bytes;
      loads->nics[nics[i]].receive_bytes += part.receive_bytes;
      left.send_bytes -= part.send_bytes;
      left.receive_bytes -= part.receive_bytes;
    }
  }
}

}  // namespace

std::vector<std::vector<uint32_t>> DomainsOfSets(const Plan& plan) {
  std::unordered_map<Rank, uint32_t> domain_of;  // for lookup only
  for (const PlanSite& site : plan.sites) domain_of.emplace(site.rank, site.domain);
  std::vector<std::vector<uint32_t>> domains_of_set;
  for (const RankList& ranks : plan.rank_sets) {
    std::vector<uint32_t>& domains = domains_of_set.emplace_back();
    for (const Rank rank : ranks) {
      const auto found = domain_of.find(rank);
      if (found == domain_of.end()) continue;
      if (domains.empty() || domains.back() != found->second) domains.push_back(found->second);
    }
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  }
  return domains_of_set;
}

PlanLoads ComputeLoads(const Plan& plan) {
  PlanLoads loads;
  loads.sites.resize(plan.sites.size());
  loads.nics.resize(plan.nics.size());
  loads.domains.resize(plan.domains.size());
  AddTrees(plan, &loads);
  SpreadOverNics(plan, &loads);

  for (size_t s = 0; s < plan.sites.size(); ++s) {
    DomainLoads& domain = loads.domains[plan.sites[s].domain];
    ++domain.ranks;
    domain.network.send_bytes += loads.sites[s].send_bytes;
    domain.network.receive_bytes += loads.sites[s].receive_bytes;
  }
  const std::vector<std::vector<uint32_t>> domains_of_set = DomainsOfSets(plan);
  for (const PlanClass& cls : plan.classes) {
    const std::vector<uint32_t>& have = domains_of_set[cls.holders];
    for (const uint32_t domain : domains_of_set[cls.needers]) {
      if (std::binary_search(have.begin(), have.end(), domain)) continue;
      loads.domains[domain].needed_bytes += cls.bytes;
    }
  }
  return loads;
}

}  // namespace reshard
