#include "compiler/simulate/baselines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "compiler/simulate/rule_loads.h"
#include "compiler/simulate/whole_tiles.h"
#include "runtime/base/dtype.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 5> kTexts = {
#define RESHARD_BASELINE(name, text, meaning) text,
#include "compiler/simulate/baselines.def"
#undef RESHARD_BASELINE
};

constexpr int64_t kMostSliceBytes = int64_t{64} << 20;

// (n + k - 1) * (busiest / n + cost) for the best allowed n.
int64_t PipelineNs(int64_t busiest_ns, int64_t nic_bytes, int64_t hops, int64_t cost_ns) {
  if (cost_ns == 0) return busiest_ns;  // slices may be as small as one likes
  const double fill_ns = static_cast<double>(busiest_ns) * static_cast<double>(hops - 1);
  const double fewest = std::ceil(static_cast<double>(nic_bytes) / kMostSliceBytes);
  const double slices =
      std::max({1.0, fewest, std::floor(std::sqrt(fill_ns / static_cast<double>(cost_ns)))});
  return busiest_ns + std::llround(fill_ns / slices + (slices + static_cast<double>(hops - 1)) *
                                                          static_cast<double>(cost_ns));
}

// Of a tensor: one value of the loops. Its number of them is the product of the loops' extents.
int64_t TensorBytes(const PlanSuper& super) {
  int64_t elements = 1;
  for (const int64_t extent : super.shape) elements *= extent;
  return elements * DTypeBytes(super.dtype);
}

class Rules {
 public:
  Rules(const Plan& plan, int64_t round_cost_ns)
      : plan_(plan), hop_cost_ns_(round_cost_ns + plan.fabric.latency_ns) {
    for (const PlanSite& site : plan.sites) domain_of_rank_[site.rank] = site.domain;
    for (const PlanClass& cls : plan.classes) {
      const RankList& holders = plan.rank_sets[cls.holders];
      const RankList& needers = plan.rank_sets[cls.needers];
      root_ = std::min(root_, holders.front());
      bytes_ += static_cast<double>(cls.bytes);
      needers_ = Union(needers_, needers);
      holders_ = Union(holders_, holders);
    }
    for (const PlanSuper& super : plan.supers) {
      largest_tensor_ = std::max(largest_tensor_, TensorBytes(super));
    }
  }

  // Ranks of the network need a NIC, and those of a domain its fabric.
  bool Connected() const {
    const bool one_domain = std::all_of(
        plan_.sites.begin(), plan_.sites.end(),
        [&](const PlanSite& site) { return site.domain == plan_.sites.front().domain; });
    std::map<uint32_t, uint32_t> ranks_of_domain;
    for (const PlanRank& rank : plan_.ranks) ++ranks_of_domain[domain_of_rank_.at(rank.rank)];
    return std::all_of(plan_.sites.begin(), plan_.sites.end(), [&](const PlanSite& site) {
      return (one_domain || !site.nics.empty()) &&
             (ranks_of_domain[site.domain] < 2 || plan_.domains[site.domain].bytes_per_s > 0);
    });
  }

  // Every tensor is put together in the root domain, handed along the domains that need anything,
  // and given whole to each of their ranks. Domain by domain, rail j is the j-th rank.
  Baseline Ring(BaselineKind kind) const {
    const bool all_nics = kind == BaselineKind::kMultiRing;
    std::vector<RankList> stations = {{root_}};
    if (all_nics) stations.front() = RanksOfDomain(domain_of_rank_.at(root_), holders_);
    for (const auto& [domain, ranks] : ByDomain(needers_)) {
      if (domain == domain_of_rank_.at(root_)) continue;
      stations.push_back(all_nics ? ranks : RankList{ranks.front()});
    }
    size_t rails = 1;
    for (const RankList& station : stations) rails = std::max(rails, station.size());
    const double part = bytes_ / static_cast<double>(rails);
    RuleLoads loads(plan_);
    size_t turn = 0;
    for (size_t rail = 0; rail < rails; ++rail) {
      const auto at = [&](size_t s) { return stations[s][rail % stations[s].size()]; };
      for (const PlanClass& cls : plan_.classes) {
        const RankList& holders = plan_.rank_sets[cls.holders];
        if (Contains(holders, at(0))) continue;
        const RankList near = RanksOfDomain(domain_of_rank_.at(root_), holders);
        const RankList& choice = near.empty() ? holders : near;
        loads.AddMessage(choice[turn++ % choice.size()], at(0),
                         static_cast<double>(cls.bytes) / static_cast<double>(rails));
      }
      for (size_t s = 0; s + 1 < stations.size(); ++s) loads.AddMessage(at(s), at(s + 1), part);
      for (const auto& [domain, ranks] : ByDomain(needers_)) {
        const bool is_root = domain == domain_of_rank_.at(root_);
        const size_t first = all_nics ? rail % ranks.size() : 0;
        AddInside(is_root ? at(0) : ranks[first], ranks, first, part, &loads);
      }
    }
    return Result(kind, loads, static_cast<int64_t>(stations.size()), largest_tensor_);
  }

  Baseline WholeTilesFromFirst() const {
    RuleLoads loads(plan_);
    int64_t largest = 0;
    for (const TileSend& send : WholeTiles(plan_)) {
      const double bytes = static_cast<double>(send.tile_bytes) * static_cast<double>(send.count);
      largest = std::max(largest, send.tile_bytes);
      for (const uint32_t needer : send.needers) loads.AddMessage(send.holder, needer, bytes);
    }
    return Result(BaselineKind::kWholeTiles, loads, 1, largest);
  }

  // Needers take holders in turn, one of their own domain if there is any.
  Baseline Direct() const {
    RuleLoads loads(plan_);
    size_t turn = 0;
    for (const PlanClass& cls : plan_.classes) {
      const RankList& holders = plan_.rank_sets[cls.holders];
      const auto near = ByDomain(holders);
      for (const uint32_t needer : plan_.rank_sets[cls.needers]) {
        if (Contains(holders, needer)) continue;
        const auto own = near.find(domain_of_rank_.at(needer));
        const RankList& choice = own == near.end() ? holders : own->second;
        loads.AddMessage(choice[turn++ % choice.size()], needer, static_cast<double>(cls.bytes));
      }
    }
    return Result(BaselineKind::kDirect, loads, 1, 0);
  }

  // A contribution is what a class has of one tensor. Contributions take holders, and the needers
  // of each domain, in turn; a contribution goes whole from its holder along the domains that do
  // not hold it, and inside each from rank to rank.
  Baseline DomainChains() const {
    RuleLoads loads(plan_);
    int64_t largest = 0;
    int64_t hops = 1;
    size_t turn = 0;
    for (const PlanClass& cls : plan_.classes) {
      const RankList& holders = plan_.rank_sets[cls.holders];
      const auto near = ByDomain(holders);
      const auto far = ByDomain(plan_.rank_sets[cls.needers]);
      hops = std::max(hops, static_cast<int64_t>(far.size()));
      for (uint32_t c = cls.first_cell; c < cls.first_cell + cls.cell_count; ++c) {
        const auto [count, bytes] = Contributions(plan_.cells[c]);
        largest = std::max(largest, bytes);
        for (int64_t i = 0; i < count; ++i, ++turn) {
          uint32_t from = holders[turn % holders.size()];
          for (const auto& [domain, ranks] : far) {
            const auto own = near.find(domain);
            uint32_t lander = ranks[turn % ranks.size()];
            if (own == near.end()) {
              loads.AddMessage(from, lander, static_cast<double>(bytes));
              from = lander;
            } else {
              lander = own->second[turn % own->second.size()];
            }
            for (const uint32_t rank : ranks) {
              if (rank == lander || Contains(holders, rank)) continue;
              loads.AddMessage(lander, rank, static_cast<double>(bytes));
              lander = rank;
            }
          }
        }
      }
    }
    return Result(BaselineKind::kDomainChains, loads, hops, largest);
  }

 private:
  // `hops`: as many as bytes take one after the other between domains, at most.
  Baseline Result(BaselineKind kind, const RuleLoads& loads, int64_t hops, int64_t buffer) const {
    Baseline baseline;
    baseline.kind = kind;
    baseline.busiest_port_ns = loads.BusiestPortNs();
    baseline.buffer_bytes = buffer;
    baseline.nics = loads.BytesOfNics();
    for (const NicBytes& nic : baseline.nics) {
      baseline.most_nic_bytes = std::max({baseline.most_nic_bytes, nic.out, nic.in});
    }
    baseline.time_ns =
        PipelineNs(baseline.busiest_port_ns, baseline.most_nic_bytes, hops, hop_cost_ns_);
    return baseline;
  }

  using Domains = std::map<uint32_t, RankList>;

  Domains ByDomain(const RankList& ranks) const {
    Domains domains;
    for (const uint32_t rank : ranks) domains[domain_of_rank_.at(rank)].push_back(rank);
    return domains;
  }
  RankList RanksOfDomain(uint32_t domain, const RankList& among) const {
    RankList ranks;
    for (const uint32_t rank : among) {
      if (domain_of_rank_.at(rank) == domain) ranks.push_back(rank);
    }
    return ranks;
  }

  // What `from` has goes from rank to rank through its domain, beginning with ranks[first].
  static void AddInside(uint32_t from, const RankList& ranks, size_t first, double bytes,
                        RuleLoads* loads) {
    uint32_t last = from;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const uint32_t rank = ranks[(first + i) % ranks.size()];
      if (rank == from) continue;
      loads->AddMessage(last, rank, bytes);
      last = rank;
    }
  }

  // How many tensors the cell has bytes of, and how many of each.
  std::pair<int64_t, int64_t> Contributions(const PlanCell& cell) const {
    const PlanSuper& super = plan_.supers[cell.super];
    int64_t count = 1;
    int64_t elements = 1;
    for (size_t d = 0; d < super.dims.size(); ++d) {
      const int64_t extent = plan_.intervals[plan_.cell_dims[cell.first_dim + d]].extent;
      (super.dims[d].axis < super.loop_extent.size() ? count : elements) *= extent;
    }
    return {count, elements * DTypeBytes(super.dtype)};
  }

  const Plan& plan_;
  const int64_t hop_cost_ns_;
  std::map<uint32_t, uint32_t> domain_of_rank_;
  uint32_t root_ = UINT32_MAX;  // the first rank that holds anything
  RankList holders_, needers_;  // of anything
  double bytes_ = 0;            // that move, each once
  int64_t largest_tensor_ = 0;
};

}  // namespace

std::string_view BaselineText(BaselineKind kind) { return kTexts[static_cast<size_t>(kind)]; }

std::vector<Baseline> ComputeBaselines(const Plan& plan, int64_t round_cost_ns) {
  const Rules rules(plan, round_cost_ns);
  if (!rules.Connected()) return {};
  return {rules.Ring(BaselineKind::kSingleRing), rules.Ring(BaselineKind::kMultiRing),
          rules.WholeTilesFromFirst(), rules.Direct(), rules.DomainChains()};
}

}  // namespace reshard
