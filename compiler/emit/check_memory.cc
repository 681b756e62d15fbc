#include "compiler/emit/check_memory.h"

#include <cstdio>
#include <map>
#include <string>

namespace reshard {
namespace {

std::string Gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

int64_t InstanceCount(const PlanFamily& family) {
  int64_t count = 1;
  for (const int64_t extent : family.loop_extent) count *= extent;
  return count;
}

struct RankMemory {
  int64_t params = 0;
  int64_t staging = 0;
};

}  // namespace

bool CheckMemory(const Plan& plan, Span topology, bool strict, Diagnostics* diags) {
  std::map<Rank, RankMemory> used;
  for (const PlanFamily& family : plan.families) {
    const int64_t bytes = family.bytes * InstanceCount(family);
    for (const Rank rank : plan.rank_sets[family.rank_set]) used[rank].params += bytes;
  }
  for (const PlanRank& rank : plan.ranks) used[rank.rank].staging = rank.staging_bytes();

  RankList over;
  const PlanSite* worst = nullptr;
  int64_t worst_excess = 0;
  for (const PlanSite& site : plan.sites) {
    const auto found = used.find(site.rank);
    if (site.memory_bytes == 0 || found == used.end()) continue;
    const int64_t excess = found->second.params + found->second.staging - site.memory_bytes;
    if (excess <= 0) continue;
    over.push_back(site.rank);
    if (worst == nullptr || excess > worst_excess) {
      worst = &site;
      worst_excess = excess;
    }
  }
  if (worst == nullptr) return true;

  const RankMemory& memory = used[worst->rank];
  const std::string text =
      "rank " + std::to_string(worst->rank) + " stores " + Gigabytes(memory.params) +
      " of params and " + Gigabytes(memory.staging) + " of staging, its GPU has " +
      Gigabytes(worst->memory_bytes) + " (ranks over their memory: " + DescribeRanks(over) + ")";
  if (strict) {
    diags->Error(DiagnosticCode::kMemoryExceeded, topology, text);
    return false;
  }
  diags->Warning(DiagnosticCode::kMemoryExceeded, topology, text);
  return true;
}

}  // namespace reshard
