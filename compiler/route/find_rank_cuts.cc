#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "compiler/route/find_cuts.h"

namespace reshard {
namespace {

// Ranks are numbers up to 2^32 anywhere, sites are dense.
class RankCutFinder {
 public:
  RankCutFinder(const CutInputs& in, std::vector<CutWitness>* out)
      : in_(in),
        out_(*out),
        needs_(in.topology->sites.size(), 0),
        holds_alone_(in.topology->sites.size(), 0) {}

  void Run() {
    Collect();
    for (const Domain& domain : in_.topology->domains) {
      // Without a scale-up fabric a domain is one rank, and its own cut says the same.
      if (domain.bytes_per_s > 0) AddDomain(domain);
    }
  }

 private:
  void Collect();
  void AddDomain(const Domain& domain);
  size_t SiteOf(Rank rank) const { return in_.topology->site_index.at(rank); }

  const CutInputs& in_;
  std::vector<CutWitness>& out_;
  std::vector<int64_t> needs_;        // per site: bytes that it needs and does not hold
  std::vector<int64_t> holds_alone_;  // per site: bytes that nobody else holds and somebody needs
};

void RankCutFinder::Collect() {
  const RankSetTable& sets = in_.transfers->rank_sets;
  std::map<RankSetId, int64_t> needed;  // by ranks none of which holds it
  for (const TransferClass& cls : in_.transfers->classes) {
    const RankList& holders = sets[cls.holders];
    const RankList& needers = sets[cls.needers];
    RankList without;
    std::set_difference(needers.begin(), needers.end(), holders.begin(), holders.end(),
                        std::back_inserter(without));
    if (holders.size() == 1 && !without.empty()) holds_alone_[SiteOf(holders[0])] += cls.bytes;
    if (without.size() == needers.size()) {
      needed[cls.needers] += cls.bytes;
    } else {
      for (const Rank rank : without) needs_[SiteOf(rank)] += cls.bytes;
    }
  }
  for (const auto& [set, bytes] : needed) {
    for (const Rank rank : sets[set]) needs_[SiteOf(rank)] += bytes;
  }
}

void RankCutFinder::AddDomain(const Domain& domain) {
  RankList needers;
  int64_t needed = 0;
  size_t nics = 0;
  for (const Rank rank : domain.ranks) {
    const size_t site = SiteOf(rank);
    const int64_t rate = domain.bytes_per_s + NicRateOf(*in_.topology, {rank});
    if (holds_alone_[site] > 0) {
      out_.push_back({PlanCutKind::kRankEgress, {rank}, holds_alone_[site], rate});
    }
    if (needs_[site] == 0) continue;
    out_.push_back({PlanCutKind::kRankIngress, {rank}, needs_[site], rate});
    needers.push_back(rank);
    needed += needs_[site];
    nics += in_.topology->sites[site].nics.size();
  }
  // Where no NIC is shared, the busiest single rank says as much.
  if (needers.size() < 2 || nics <= domain.nics.size()) return;
  const int64_t rate =
      domain.bytes_per_s * static_cast<int64_t>(needers.size()) + NicRateOf(*in_.topology, needers);
  out_.push_back({PlanCutKind::kRankIngress, needers, needed, rate});
}

}  // namespace

void FindRankCuts(const CutInputs& inputs, std::vector<CutWitness>* out) {
  RankCutFinder(inputs, out).Run();
}

}  // namespace reshard
