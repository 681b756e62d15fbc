#include "compiler/simulate/testing/net_plan.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace reshard::testing {

uint32_t NetPlan::AddDomain(int64_t bytes_per_s, int64_t latency_ns) {
  plan_.domains.push_back(
      {"domain" + std::to_string(plan_.domains.size()), bytes_per_s, latency_ns});
  return static_cast<uint32_t>(plan_.domains.size() - 1);
}

uint32_t NetPlan::AddRank(uint32_t domain, const std::vector<int64_t>& nic_bytes_per_s) {
  const uint32_t rank = static_cast<uint32_t>(plan_.ranks.size());
  PlanSite site;
  site.rank = rank;
  site.domain = domain;
  for (const int64_t bytes_per_s : nic_bytes_per_s) {
    site.nics.push_back(static_cast<uint32_t>(plan_.nics.size()));
    plan_.nics.push_back({"nic" + std::to_string(plan_.nics.size()), bytes_per_s, -1});
  }
  plan_.sites.push_back(site);
  PlanRank entry;
  entry.rank = rank;
  plan_.ranks.push_back(entry);
  return rank;
}

uint32_t NetPlan::AddLoneRanks(uint32_t count, int64_t nic_bytes_per_s) {
  const uint32_t first = static_cast<uint32_t>(plan_.ranks.size());
  for (uint32_t i = 0; i < count; ++i) AddRank(AddDomain(), {nic_bytes_per_s});
  return first;
}

uint32_t NetPlan::AddGroup(int64_t uplink_bytes_per_s) {
  plan_.groups.push_back({"group" + std::to_string(plan_.groups.size()), uplink_bytes_per_s});
  return static_cast<uint32_t>(plan_.groups.size() - 1);
}

uint32_t NetPlan::AddStream(const std::vector<uint32_t>& members,
                            const std::vector<uint32_t>& needers, int64_t bytes) {
  PlanClass cls;
  cls.needers = static_cast<uint32_t>(plan_.rank_sets.size());
  cls.holders = cls.needers;
  cls.bytes = bytes;
  plan_.rank_sets.push_back(needers);
  PlanPiece piece;
  piece.cls = static_cast<uint32_t>(plan_.classes.size());
  piece.extent = bytes;
  plan_.classes.push_back(cls);
  PlanStream stream;
  stream.first_piece = static_cast<uint32_t>(plan_.pieces.size());
  stream.piece_count = 1;
  stream.bytes = bytes;
  plan_.pieces.push_back(piece);
  PlanTree tree;
  tree.stream = static_cast<uint32_t>(plan_.streams.size());
  tree.first_member = static_cast<uint32_t>(plan_.tree_members.size());
  tree.member_count = static_cast<uint32_t>(members.size());
  plan_.streams.push_back(stream);
  plan_.tree_members.insert(plan_.tree_members.end(), members.begin(), members.end());
  plan_.trees.push_back(tree);
  return static_cast<uint32_t>(plan_.trees.size() - 1);
}

void NetPlan::AddInject(uint32_t round, uint32_t tree, uint32_t source, int64_t begin,
                        int64_t extent) {
  PlanInject inject;
  inject.round = round;
  inject.tree = tree;
  inject.source = source;
  inject.begin = begin;
  inject.extent = extent;
  plan_.injects.push_back(inject);
}

void NetPlan::AddMessage(uint32_t round, uint32_t source, uint32_t destination, int64_t bytes) {
  AddInject(round, AddStream({destination}, {destination}, bytes), source, 0, bytes);
}

Plan NetPlan::Finish() const {
  Plan plan = plan_;
  std::sort(plan.injects.begin(), plan.injects.end(), [](const PlanInject& a, const PlanInject& b) {
    return std::tie(a.source, a.round, a.tree) < std::tie(b.source, b.round, b.tree);
  });
  for (uint32_t i = 0; i < plan.injects.size(); ++i) {
    PlanRank& rank = plan.ranks[plan.injects[i].source];
    if (rank.inject_count++ == 0) rank.first_inject = i;
  }
  return plan;
}

}  // namespace reshard::testing
