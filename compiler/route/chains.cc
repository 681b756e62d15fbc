#include "compiler/route/chains.h"

#include <algorithm>
#include <tuple>

namespace reshard {
namespace {

using Chain = std::vector<Rank>;

// Landers of one NIC rate, by group and domain.
struct RateClass {
  int64_t bytes_per_s = 0;
  std::vector<Rank> ranks;
};

std::vector<RateClass> SortByRate(const Topology& topology, const Ports& ports,
                                  const std::vector<Rank>& landers) {
  std::vector<std::tuple<int64_t, GroupId, DomainId, Rank>> order;
  for (const Rank rank : landers) {
    const RankSite& site = topology.sites[ports.site(rank)];
    const int64_t rate = ports.outlet(ports.outlet_of_rank(rank)).bytes_per_s;
    order.emplace_back(-rate, site.group, site.domain, rank);
  }
  std::sort(order.begin(), order.end());
  std::vector<RateClass> classes;
  for (const auto& [negative_rate, group, domain, rank] : order) {
    if (classes.empty() || classes.back().bytes_per_s != -negative_rate) {
      classes.push_back({-negative_rate, {}});
    }
    classes.back().ranks.push_back(rank);
  }
  return classes;
}

// Orders that differ in who follows whom: as sorted, backwards, and with strides; and those again
// with other heads.
constexpr uint32_t kOrders = 12;
constexpr uint32_t kHeads = 8;
constexpr uint32_t kVariants = kOrders * kHeads;

std::vector<Rank> Reorder(std::vector<Rank> ranks, uint32_t variant) {
  const size_t stride = 1 + variant % kOrders / 2;
  std::vector<Rank> result;
  for (size_t start = 0; start < stride; ++start) {
    for (size_t i = start; i < ranks.size(); i += stride) result.push_back(ranks[i]);
  }
  if (variant % 2 == 1) std::reverse(result.begin(), result.end());
  const size_t head = result.size() * (variant / kOrders) / kHeads;
  std::rotate(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(head), result.end());
  return result;
}

std::vector<Chain> Cut(const std::vector<RateClass>& classes, size_t chain_count,
                       uint32_t variant) {
  std::vector<Chain> chains(chain_count);
  size_t first_longer = 0;  // chains that get one more take turns over the classes
  for (const RateClass& rate : classes) {
    const std::vector<Rank> ranks = Reorder(rate.ranks, variant);
    const size_t longer = ranks.size() % chain_count;
    size_t next = 0;
    for (size_t i = 0; i < chain_count; ++i) {
      const bool one_more = (i + chain_count - first_longer) % chain_count < longer;
      const size_t end = next + ranks.size() / chain_count + (one_more ? 1 : 0);
      for (; next < end; ++next) chains[i].push_back(ranks[next]);
    }
    first_longer = (first_longer + longer) % chain_count;
  }
  return chains;
}

size_t Repeated(const std::vector<Chain>& chains, const UsedEdges& used) {
  size_t repeated = 0;
  for (const Chain& chain : chains) {
    if (!chain.empty() && used.HasHead(chain[0])) ++repeated;
    for (size_t i = 1; i < chain.size(); ++i) repeated += used.Has(chain[i - 1], chain[i]) ? 1 : 0;
  }
  return repeated;
}

}  // namespace

std::vector<Chain> MakeChains(const Topology& topology, const Ports& ports,
                              const std::vector<Rank>& landers, size_t chain_count,
                              UsedEdges* used) {
  const std::vector<RateClass> classes = SortByRate(topology, ports, landers);
  std::vector<Chain> best;
  size_t fewest = 0;
  for (uint32_t variant = 0; variant < kVariants; ++variant) {
    std::vector<Chain> chains = Cut(classes, chain_count, variant);
    const size_t repeated = Repeated(chains, *used);
    if (best.empty() || repeated < fewest) {
      best = std::move(chains);
      fewest = repeated;
    }
    if (fewest == 0) break;
  }
  for (const Chain& chain : best) {
    if (!chain.empty()) used->AddHead(chain[0]);
    for (size_t i = 1; i < chain.size(); ++i) used->Add(chain[i - 1], chain[i]);
  }
  return best;
}

}  // namespace reshard
