#include "compiler/route/witnesses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

int64_t NicRate(const Topology& topology, const std::vector<DomainId>& domains) {
  std::set<NicId> nics;
  for (const DomainId domain : domains) {
    nics.insert(topology.domains[domain].nics.begin(), topology.domains[domain].nics.end());
  }
  int64_t rate = 0;
  for (const NicId nic : nics) rate += topology.nics[nic].bytes_per_s;
  return rate;
}

// Rising domains of `a` that are not in `b`.
std::vector<DomainId> Minus(const std::vector<DomainId>& a, const std::vector<DomainId>& b) {
  std::vector<DomainId> result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

// Sets of several domains that share NICs, directly or through others; each set rising.
std::vector<std::vector<DomainId>> DomainsThatShareNics(const Topology& topology) {
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
  std::map<DomainId, std::vector<DomainId>> sets;
  for (DomainId domain = 0; domain < topology.domains.size(); ++domain) {
    sets[find(domain)].push_back(domain);
  }
  std::vector<std::vector<DomainId>> result;
  for (auto& [least, domains] : sets) {
    if (domains.size() > 1) result.push_back(std::move(domains));
  }
  return result;
}

bool Tighter(const CutWitness& a, const CutWitness& b) {
  const Wide left = Wide{a.bytes} * b.bytes_per_s, right = Wide{b.bytes} * a.bytes_per_s;
  if (left != right) return left > right;
  return std::tuple(a.kind, a.domains) < std::tuple(b.kind, b.domains);
}

}  // namespace

std::vector<CutWitness> FindWitnesses(const TransferSet& transfers, const Topology& topology,
                                      RankSetFactsTable* facts) {
  std::set<DomainId> holder_set;
  for (const TransferClass& cls : transfers.classes) {
    const std::vector<DomainId>& domains = (*facts)[cls.holders].all.domains;
    holder_set.insert(domains.begin(), domains.end());
  }
  const std::vector<DomainId> all_holders(holder_set.begin(), holder_set.end());
  std::vector<int64_t> ingress(topology.domains.size(), 0), injection(topology.domains.size(), 0);
  int64_t all_injection = 0;
  for (const TransferClass& cls : transfers.classes) {
    const std::vector<DomainId>& holders = (*facts)[cls.holders].all.domains;
    const std::vector<DomainId>& needers = (*facts)[cls.needers].all.domains;
    const std::vector<DomainId> remote = Minus(needers, holders);
    for (const DomainId domain : remote) ingress[domain] += cls.bytes;
    if (!remote.empty() && holders.size() == 1) injection[holders[0]] += cls.bytes;
    if (!Minus(remote, all_holders).empty()) all_injection += cls.bytes;
  }
  std::vector<CutWitness> witnesses;
  const auto add = [&](CutWitness::Kind kind, std::vector<DomainId> domains, int64_t bytes) {
    const int64_t rate = NicRate(topology, domains);
    if (bytes > 0 && rate > 0) witnesses.push_back({kind, std::move(domains), bytes, rate});
  };
  for (DomainId domain = 0; domain < topology.domains.size(); ++domain) {
    add(CutWitness::Kind::kIngress, {domain}, ingress[domain]);
    add(CutWitness::Kind::kInjection, {domain}, injection[domain]);
  }
  for (std::vector<DomainId>& domains : DomainsThatShareNics(topology)) {
    std::erase_if(domains, [&](DomainId domain) { return ingress[domain] == 0; });
    if (domains.size() < 2) continue;
    int64_t bytes = 0;
    for (const DomainId domain : domains) bytes += ingress[domain];
    add(CutWitness::Kind::kIngress, std::move(domains), bytes);
  }
  if (all_holders.size() > 1) add(CutWitness::Kind::kInjection, all_holders, all_injection);
  std::sort(witnesses.begin(), witnesses.end(), Tighter);
  if (witnesses.size() > kMaxWitnesses) witnesses.resize(kMaxWitnesses);
  return witnesses;
}

int64_t WitnessNs(const CutWitness& witness) {
  return static_cast<int64_t>(Wide{witness.bytes} * 1'000'000'000 / witness.bytes_per_s);
}

}  // namespace reshard
