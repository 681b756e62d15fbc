#include "compiler/plan_tools/conditional_bound.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/plan_tools/loads.h"
#include "compiler/route/relay_bound.h"

namespace reshard {
namespace {

using DomainList = std::vector<uint32_t>;

// Of holders and needers of all demands together: what is printed should not cost seconds.
constexpr size_t kMostWork = 200'000;

// Between domains: bytes by where they are held and where they are needed besides.
std::map<std::pair<DomainList, DomainList>, int64_t> FindDemands(const Plan& plan) {
  const std::vector<DomainList> domains_of_set = DomainsOfSets(plan);
  std::map<std::pair<uint32_t, uint32_t>, int64_t> by_sets;
  for (const PlanClass& cls : plan.classes) by_sets[{cls.holders, cls.needers}] += cls.bytes;
  std::map<std::pair<DomainList, DomainList>, int64_t> demands;
  for (const auto& [sets, bytes] : by_sets) {
    const DomainList& holders = domains_of_set[sets.first];
    const DomainList& all_needers = domains_of_set[sets.second];
    DomainList needers;
    std::set_difference(all_needers.begin(), all_needers.end(), holders.begin(), holders.end(),
                        std::back_inserter(needers));
    if (!needers.empty()) demands[{holders, needers}] += bytes;
  }
  return demands;
}

// What the NICs of each domain carry, and at most the ways to them.
std::vector<int64_t> DomainRates(const Plan& plan) {
  std::vector<std::set<uint32_t>> nics(plan.domains.size());
  std::vector<int64_t> ways(plan.domains.size(), 0);
  for (const PlanSite& site : plan.sites) {
    int64_t way = 0;
    for (const uint32_t nic : site.nics) way += plan.nics[nic].bytes_per_s;
    if (site.host_bytes_per_s > 0) way = std::min(way, site.host_bytes_per_s);
    ways[site.domain] += way;
    nics[site.domain].insert(site.nics.begin(), site.nics.end());
  }
  std::vector<int64_t> rates;
  for (size_t domain = 0; domain < nics.size(); ++domain) {
    int64_t rate = 0;
    for (const uint32_t nic : nics[domain]) rate += plan.nics[nic].bytes_per_s;
    rates.push_back(std::min(rate, ways[domain]));
  }
  return rates;
}

}  // namespace

int64_t RelayBoundOf(const Plan& plan) {
  std::vector<bool> holds(plan.domains.size(), false), needs(plan.domains.size(), false);
  std::vector<RelayDemand> demands;
  size_t work = 0;
  for (auto& [sides, bytes] : FindDemands(plan)) {
    for (const uint32_t domain : sides.first) holds[domain] = true;
    for (const uint32_t domain : sides.second) needs[domain] = true;
    work += sides.first.size() + sides.second.size();
    demands.push_back({sides.first, sides.second, bytes});
  }
  bool both = false;
  for (size_t domain = 0; domain < holds.size(); ++domain) {
    both = both || (holds[domain] && needs[domain]);
  }
  if (!both || work > kMostWork) return 0;
  const int64_t bound_ns = RelayBoundNs(demands, DomainRates(plan));
  const int64_t stated_ns = plan.header.totals.bound_ns;
  return bound_ns > stated_ns + stated_ns / 1000 ? bound_ns : 0;
}

}  // namespace reshard
