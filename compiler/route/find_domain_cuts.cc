#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/route/busiest_sets.h"
#include "compiler/route/find_cuts.h"

namespace reshard {
namespace {

using DomainList = std::vector<DomainId>;  // rising

// How many sets of domains are looked at besides single ones and all.
constexpr size_t kBusySets = 4;

// Domains of `a` that are not in `b`.
DomainList Minus(const DomainList& a, const DomainList& b) {
  DomainList result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

// Sets of several domains that share NICs, directly or through others.
std::vector<DomainList> DomainsThatShareNics(const Topology& topology) {
  std::vector<DomainId> first(topology.domains.size());  // least domain known to be connected
  std::iota(first.begin(), first.end(), DomainId{0});
  const auto find = [&](DomainId domain) {
    while (first[domain] != domain) domain = first[domain];
    return domain;
  };
  std::vector<DomainId> user(topology.nics.size(), kNone);
  for (DomainId domain = 0; domain < topology.domains.size(); ++domain) {
    for (const NicId nic : topology.domains[domain].nics) {
      if (user[nic] == kNone) user[nic] = domain;
      const DomainId a = find(domain), b = find(user[nic]);
      first[std::max(a, b)] = std::min(a, b);
    }
  }
  std::map<DomainId, DomainList> sets;
  for (DomainId domain = 0; domain < topology.domains.size(); ++domain) {
    sets[find(domain)].push_back(domain);
  }
  std::vector<DomainList> result;
  for (auto& [least, domains] : sets) {
    if (domains.size() > 1) result.push_back(std::move(domains));
  }
  return result;
}

class DomainCutFinder {
 public:
  DomainCutFinder(const CutInputs& in, std::vector<CutWitness>* out)
      : in_(in), facts_(*in.facts), out_(*out), ingress_(in.topology->domains.size(), 0) {}

  void Run() {
    Collect();
    AddIngress();
    AddInjection();
  }

 private:
  void Collect();
  void AddIngress();
  void AddInjection();
  void AddInjectionFrom(const DomainList& domains);
  void Add(PlanCutKind kind, const DomainList& domains, int64_t bytes);

  const CutInputs& in_;
  RankSetFactsTable& facts_;
  std::vector<CutWitness>& out_;
  std::vector<int64_t> ingress_;
  // Classes that cross between domains, by where they are held and needed.
  std::map<std::pair<DomainList, DomainList>, int64_t> crossing_;
};

void DomainCutFinder::Collect() {
  std::map<std::pair<RankSetId, RankSetId>, int64_t> bytes_of_sets;
  for (const TransferClass& cls : in_.transfers->classes) {
    bytes_of_sets[{cls.holders, cls.needers}] += cls.bytes;
  }
  for (const auto& [sets, bytes] : bytes_of_sets) {
    const DomainList& holders = facts_[sets.first].by_domain.domains;
    const DomainList& needers = facts_[sets.second].by_domain.domains;
    const DomainList remote = Minus(needers, holders);
    for (const DomainId domain : remote) ingress_[domain] += bytes;
    if (!remote.empty()) crossing_[{holders, needers}] += bytes;
  }
}

void DomainCutFinder::Add(PlanCutKind kind, const DomainList& domains, int64_t bytes) {
  RankList ranks;
  for (const DomainId domain : domains) {
    const RankList& more = in_.topology->domains[domain].ranks;
    ranks.insert(ranks.end(), more.begin(), more.end());
  }
  std::sort(ranks.begin(), ranks.end());
  const int64_t rate = NicRateOf(*in_.topology, ranks);
  if (bytes > 0 && rate > 0) out_.push_back({kind, domains, bytes, rate});
}

void DomainCutFinder::AddIngress() {
  for (DomainId domain = 0; domain < ingress_.size(); ++domain) {
    Add(PlanCutKind::kIngress, {domain}, ingress_[domain]);
  }
  for (DomainList& domains : DomainsThatShareNics(*in_.topology)) {
    std::erase_if(domains, [&](DomainId domain) { return ingress_[domain] == 0; });
    if (domains.size() < 2) continue;
    int64_t bytes = 0;
    for (const DomainId domain : domains) bytes += ingress_[domain];
    Add(PlanCutKind::kIngress, domains, bytes);
  }
}

void DomainCutFinder::AddInjectionFrom(const DomainList& domains) {
  int64_t bytes = 0;
  for (const auto& [sides, of_sides] : crossing_) {
    if (Minus(sides.first, domains).empty() && !Minus(sides.second, domains).empty()) {
      bytes += of_sides;
    }
  }
  Add(PlanCutKind::kInjection, domains, bytes);
}

void DomainCutFinder::AddInjection() {
  std::map<DomainList, int64_t> by_holders;
  std::set<DomainId> all_holders;
  for (const auto& [sides, bytes] : crossing_) {
    by_holders[sides.first] += bytes;
    all_holders.insert(sides.first.begin(), sides.first.end());
  }
  std::vector<UnitDemand> demands;
  for (const auto& [holders, bytes] : by_holders) {
    demands.push_back({holders, bytes});
    if (holders.size() == 1) Add(PlanCutKind::kInjection, holders, bytes);
  }
  std::vector<int64_t> rates;
  for (const Domain& domain : in_.topology->domains) {
    rates.push_back(NicRateOf(*in_.topology, domain.ranks));
  }
  for (const DomainList& domains : BusiestSets(demands, rates, kBusySets)) {
    AddInjectionFrom(domains);
  }
  if (all_holders.size() > 1) AddInjectionFrom({all_holders.begin(), all_holders.end()});
}

}  // namespace

void FindDomainCuts(const CutInputs& inputs, std::vector<CutWitness>* out) {
  DomainCutFinder(inputs, out).Run();
}

int64_t NicRateOf(const Topology& topology, const RankList& ranks) {
  std::set<NicId> nics;
  int64_t ways = 0;
  for (const Rank rank : ranks) {
    const RankSite* site = topology.Site(rank);
    if (site == nullptr) continue;
    int64_t way = 0;
    for (const NicId nic : site->nics) way += topology.nics[nic].bytes_per_s;
    nics.insert(site->nics.begin(), site->nics.end());
    ways += site->host_bytes_per_s > 0 ? std::min(way, site->host_bytes_per_s) : way;
  }
  int64_t rate = 0;
  for (const NicId nic : nics) rate += topology.nics[nic].bytes_per_s;
  return std::min(rate, ways);
}

}  // namespace reshard
