#include "compiler/route/rank_set_facts.h"

#include <algorithm>
#include <utility>

namespace reshard {

size_t RanksByDomain::Find(DomainId domain) const {
  const auto at = std::lower_bound(domains.begin(), domains.end(), domain);
  if (at == domains.end() || *at != domain) return domains.size();
  return static_cast<size_t>(at - domains.begin());
}

RanksByDomain GroupByDomain(const Topology& topology, const Ports& ports, const RankList& ranks) {
  std::vector<std::pair<DomainId, Rank>> pairs;
  pairs.reserve(ranks.size());
  for (const Rank rank : ranks) pairs.emplace_back(topology.sites[ports.site(rank)].domain, rank);
  std::sort(pairs.begin(), pairs.end());
  RanksByDomain result;
  result.ranks.reserve(pairs.size());
  for (const auto& [domain, rank] : pairs) {
    if (result.domains.empty() || result.domains.back() != domain) {
      result.domains.push_back(domain);
      result.first.push_back(static_cast<uint32_t>(result.ranks.size()));
    }
    result.ranks.push_back(rank);
  }
  result.first.push_back(static_cast<uint32_t>(result.ranks.size()));
  return result;
}

const RankSetFacts& RankSetFactsTable::operator[](RankSetId id) {
  if (facts_[id] != nullptr) return *facts_[id];
  auto facts = std::make_unique<RankSetFacts>();
  RankList placed;
  for (const Rank rank : (*sets_)[id]) {
    const SiteId site = ports_->site(rank);
    if (site == kNone) {
      facts->unplaced.push_back(rank);
      continue;
    }
    placed.push_back(rank);
    if (ports_->outlet_of_site(site) != kNone) facts->networked.push_back(rank);
  }
  facts->by_domain = GroupByDomain(*topology_, *ports_, placed);
  facts_[id] = std::move(facts);
  return *facts_[id];
}

}  // namespace reshard
