#include "compiler/report/rank_traffic.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/plan/program.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

class Traffic {
 public:
  explicit Traffic(const Plan& plan) : plan_(plan) {}

  std::vector<TrafficEdge> Run() {
    AddInjects();
    AddTrees();
    AddCopies();
    return Merged();
  }

 private:
  // Index into plan.sites, which rise by rank; kNoId when the rank has none.
  uint32_t SiteOf(Rank rank) const {
    const size_t site = RowOfRank(plan_.sites, rank);
    return site == plan_.sites.size() ? kNoId : static_cast<uint32_t>(site);
  }
  Rank Member(const PlanTree& tree, uint32_t position) const {
    return plan_.tree_members[tree.first_member + position];
  }

  void Add(uint32_t from, uint32_t to, int64_t bytes, int64_t messages) {
    if (from == kNoId || to == kNoId || from == to || bytes == 0) return;
    const bool network = plan_.sites[from].domain != plan_.sites[to].domain;
    edges_.push_back({from, to, bytes, network ? messages : 0});
  }

  void AddInjects() {
    for (const PlanInject& inject : plan_.injects) {
      Add(SiteOf(inject.source), SiteOf(Member(plan_.trees[inject.tree], 0)), inject.extent, 1);
    }
    // Merged here, because a source sends to one head thousands of times.
    edges_ = Merged();
  }

  // Slices that pass each tree: its injects of one round are one.
  std::vector<int64_t> SliceCounts() const {
    std::vector<std::pair<uint32_t, uint32_t>> slices;
    slices.reserve(plan_.injects.size());
    for (const PlanInject& inject : plan_.injects) slices.emplace_back(inject.tree, inject.round);
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    std::vector<int64_t> counts(plan_.trees.size(), 0);
    for (const auto& [tree, round] : slices) ++counts[tree];
    return counts;
  }

  void AddTrees() {
    const std::vector<int64_t> slice_counts = SliceCounts();
    for (size_t t = 0; t < plan_.trees.size(); ++t) {
      const PlanTree& tree = plan_.trees[t];
      for (uint32_t position = 1; position < tree.member_count; ++position) {
        Add(SiteOf(Member(tree, TreeParent(tree.kind, position))), SiteOf(Member(tree, position)),
            plan_.streams[tree.stream].bytes, slice_counts[t]);
      }
    }
  }

  // Bytes of the stream by the set of ranks that need them.
  std::vector<std::pair<uint32_t, int64_t>> BytesByNeeders(const PlanStream& stream) const {
    std::vector<std::pair<uint32_t, int64_t>> parts;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      parts.emplace_back(plan_.classes[plan_.pieces[p].cls].needers, plan_.pieces[p].extent);
    }
    std::sort(parts.begin(), parts.end());
    std::vector<std::pair<uint32_t, int64_t>> merged;
    for (const auto& [set, bytes] : parts) {
      if (merged.empty() || merged.back().first != set) merged.emplace_back(set, 0);
      merged.back().second += bytes;
    }
    return merged;
  }

  // Sites of a rank set, by (domain, site).
  const std::vector<std::pair<uint32_t, uint32_t>>& SitesByDomain(uint32_t set) {
    std::vector<std::pair<uint32_t, uint32_t>>& list = by_domain_[set];
    if (!list.empty()) return list;
    for (const Rank rank : plan_.rank_sets[set]) {
      const uint32_t site = SiteOf(rank);
      if (site != kNoId) list.emplace_back(plan_.sites[site].domain, site);
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  void AddCopies() {
    by_domain_.resize(plan_.rank_sets.size());
    std::vector<std::vector<std::pair<uint32_t, int64_t>>> parts(plan_.streams.size());
    for (const PlanTree& tree : plan_.trees) {
      std::vector<std::pair<uint32_t, int64_t>>& of_stream = parts[tree.stream];
      if (of_stream.empty()) of_stream = BytesByNeeders(plan_.streams[tree.stream]);
      for (uint32_t position = 0; position < tree.member_count; ++position) {
        const uint32_t lander = SiteOf(Member(tree, position));
        if (lander != kNoId) AddCopiesFrom(lander, of_stream);
      }
    }
  }

  // What the other ranks of the lander's domain copy from it, of a stream that it receives.
  void AddCopiesFrom(uint32_t lander, const std::vector<std::pair<uint32_t, int64_t>>& parts) {
    const uint32_t domain = plan_.sites[lander].domain;
    std::vector<std::pair<uint32_t, int64_t>> copied;
    for (const auto& [set, bytes] : parts) {
      const auto& sites = SitesByDomain(set);
      for (auto it = std::lower_bound(sites.begin(), sites.end(), std::pair(domain, uint32_t{0}));
           it != sites.end() && it->first == domain; ++it) {
        copied.emplace_back(it->second, bytes);
      }
    }
    std::sort(copied.begin(), copied.end());
    for (size_t i = 0; i < copied.size();) {
      const uint32_t reader = copied[i].first;
      int64_t bytes = 0;
      for (; i < copied.size() && copied[i].first == reader; ++i) bytes += copied[i].second;
      Add(lander, reader, bytes, 0);
    }
  }

  std::vector<TrafficEdge> Merged() {
    std::sort(edges_.begin(), edges_.end(), [](const TrafficEdge& a, const TrafficEdge& b) {
      return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
    std::vector<TrafficEdge> merged;
    for (const TrafficEdge& edge : edges_) {
      if (merged.empty() || merged.back().from != edge.from || merged.back().to != edge.to) {
        merged.push_back(edge);
        continue;
      }
      merged.back().bytes += edge.bytes;
      merged.back().messages += edge.messages;
    }
    return merged;
  }

  const Plan& plan_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> by_domain_;  // per rank set
  std::vector<TrafficEdge> edges_;
};

}  // namespace

std::vector<TrafficEdge> RankTraffic(const Plan& plan) { return Traffic(plan).Run(); }

}  // namespace reshard
