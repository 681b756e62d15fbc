// The rules that make a plan safe to read: what every other reader takes for granted.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/plan/bounds_checker.h"
#include "runtime/plan/rank_rows.h"
#include "runtime/plan/verify.h"

namespace reshard {

std::string Item(const char* what, size_t index) { return what + (" " + std::to_string(index)); }

bool AddProduct(int64_t a, int64_t b, int64_t* sum) {
  const std::optional<int64_t> product = CheckedMul(a, b);
  if (!product) return false;
  const std::optional<int64_t> total = CheckedAdd(*sum, *product);
  if (!total || *total > kMaxReach || *total < -kMaxReach) return false;
  *sum = *total;
  return true;
}

bool Fits(uint64_t first, uint64_t count, uint64_t table_rows) {
  return first <= table_rows && count <= table_rows - first;
}

VerifyReport BoundsChecker::Run() {
  constexpr void (BoundsChecker::*kSteps[])() = {
      &BoundsChecker::CheckHeader,   &BoundsChecker::CheckTopology,  &BoundsChecker::CheckRanks,
      &BoundsChecker::CheckCuts,     &BoundsChecker::CheckRankSets,  &BoundsChecker::CheckSupers,
      &BoundsChecker::CheckFamilies, &BoundsChecker::CheckInstances, &BoundsChecker::CheckPlaces,
      &BoundsChecker::CheckFills,    &BoundsChecker::CheckClasses,   &BoundsChecker::CheckStreams,
      &BoundsChecker::CheckTrees,    &BoundsChecker::CheckInjects,   &BoundsChecker::CheckSlices,
  };
  for (const auto step : kSteps) {
    (this->*step)();
    if (!report_.violations.empty()) break;
  }
  return std::move(report_);
}

void BoundsChecker::Add(VerifyRule rule, std::string where, std::string text) {
  if (report_.violations.size() >= options_.max_violations && !report_.violations.empty()) return;
  report_.violations.push_back({rule, std::move(where), std::move(text)});
}

bool BoundsChecker::Require(bool holds, const char* what, size_t index, const char* text) {
  if (!holds) Add(VerifyRule::kBounds, Item(what, index), text);
  return holds;
}

bool BoundsChecker::RequireOrder(bool holds, const char* what, size_t index, const char* text) {
  if (!holds) Add(VerifyRule::kOrder, Item(what, index), text);
  return holds;
}

bool BoundsChecker::HasRank(uint32_t rank) const {
  return RowOfRank(plan_.ranks, rank) < plan_.ranks.size();
}

uint32_t BoundsChecker::DomainOf(uint32_t rank) const {
  return plan_.sites[RowOfRank(plan_.sites, rank)].domain;
}

void BoundsChecker::CheckHeader() {
  const PlanHeader& header = plan_.header;
  Require(header.version == kPlanVersion, "version", header.version, "is not known");
  for (size_t i = 1; i < header.options.size(); ++i) {
    RequireOrder(header.options[i - 1].first < header.options[i].first, "option", i,
                 "does not follow the one before by name");
  }
  const PlanTotals& t = header.totals;
  for (const int64_t value :
       {t.source_bytes, t.destination_bytes, t.network_bytes, t.scaleup_bytes, t.local_bytes,
        t.messages, t.max_staging_bytes, t.predicted_ns, t.bound_ns}) {
    if (value < 0) Add(VerifyRule::kBounds, "totals", "a total is negative");
  }
  // A round without a new slice is needed only while slices travel down their trees.
  if (t.rounds > plan_.injects.size() + plan_.tree_members.size()) {
    Add(VerifyRule::kBounds, "totals", "more rounds than injects and tree positions");
  }
}

void BoundsChecker::CheckTopology() {
  for (size_t i = 0; i < plan_.nics.size(); ++i) {
    Require(plan_.nics[i].bytes_per_s > 0 && plan_.nics[i].rail >= -1, "nic", i,
            "has no bandwidth or no rail number");
  }
  for (size_t i = 0; i < plan_.domains.size(); ++i) {
    Require(plan_.domains[i].bytes_per_s >= 0 && plan_.domains[i].latency_ns >= 0, "domain", i,
            "has a negative bandwidth or latency");
  }
  for (size_t i = 0; i < plan_.groups.size(); ++i) {
    Require(plan_.groups[i].uplink_bytes_per_s >= 0, "group", i, "has a negative bandwidth");
  }
  const PlanFabric& fabric = plan_.fabric;
  if (fabric.bytes_per_s < 0 || fabric.latency_ns < 0 || fabric.cross_rail_latency_ns < 0 ||
      fabric.cross_group_latency_ns < 0) {
    Add(VerifyRule::kBounds, "fabric", "a bandwidth or latency is negative");
  }
  for (size_t i = 0; i < plan_.sites.size(); ++i) {
    const PlanSite& site = plan_.sites[i];
    if (i > 0) {
      RequireOrder(plan_.sites[i - 1].rank < site.rank, "site", i,
                   "does not follow the one before by rank");
    }
    Require(site.domain < plan_.domains.size(), "site", i, "is in a domain that does not exist");
    Require(site.group == kNoId || site.group < plan_.groups.size(), "site", i,
            "is in a group that does not exist");
    for (const uint32_t nic : site.nics) {
      Require(nic < plan_.nics.size(), "site", i, "has a NIC that does not exist");
    }
    Require(site.host_bytes_per_s >= 0 && site.copy_bytes_per_s >= 0 && site.memory_bytes >= 0,
            "site", i, "has a negative bandwidth or memory");
  }
}

void BoundsChecker::CheckCuts() {
  for (size_t i = 0; i < plan_.cuts.size(); ++i) {
    const PlanCut& cut = plan_.cuts[i];
    if (static_cast<size_t>(cut.kind) >= kCutKinds.size()) {
      Require(false, "cut", i, "is of an unknown kind");
      continue;
    }
    Require(cut.bytes >= 0 && cut.bytes <= kMaxPlanBytes && cut.bytes_per_s > 0, "cut", i,
            "has no bandwidth or an impossible number of bytes");
    const CutMembers what = FactsOf(cut.kind).members;
    Require(what != CutMembers::kNothing || cut.members.empty(), "cut", i,
            "names members, which cuts of its kind do not have");
    for (const uint32_t member : cut.members) {
      const bool exists = what == CutMembers::kDomains  ? member < plan_.domains.size()
                          : what == CutMembers::kGroups ? member < plan_.groups.size()
                                                        : HasRank(member);
      if (!exists) {
        Require(false, "cut", i, "names a domain, group or rank that does not exist");
        break;
      }
    }
  }
}

void BoundsChecker::CheckRanks() {
  uint64_t next_inject = 0;
  auto site = plan_.sites.begin();
  for (size_t i = 0; i < plan_.ranks.size(); ++i) {
    const PlanRank& rank = plan_.ranks[i];
    if (i > 0) {
      RequireOrder(plan_.ranks[i - 1].rank < rank.rank, "rank entry", i,
                   "does not follow the one before by rank");
    }
    while (site != plan_.sites.end() && site->rank < rank.rank) ++site;
    Require(site != plan_.sites.end() && site->rank == rank.rank, "rank entry", i,
            "has no place in the topology");
    Require(rank.recv_slot_bytes >= 0 && rank.recv_slot_bytes <= kMaxPlanBytes / 8 &&
                rank.recv_slot_bytes % kSlotAlignBytes == 0 && rank.pack_slot_bytes >= 0 &&
                rank.pack_slot_bytes <= kMaxPlanBytes / 8 &&
                rank.pack_slot_bytes % kSlotAlignBytes == 0,
            "rank entry", i, "has slots of an impossible or unaligned size");
    Require(rank.first_inject == next_inject, "rank entry", i,
            "does not begin where the injects of the rank before end");
    next_inject += rank.inject_count;
  }
  if (next_inject != plan_.injects.size()) {
    Add(VerifyRule::kBounds, "rank entries", "their injects are not all injects");
  }
}

void BoundsChecker::CheckRankSets() {
  for (size_t i = 0; i < plan_.rank_sets.size(); ++i) {
    const RankList& set = plan_.rank_sets[i];
    Require(!set.empty(), "rank set", i, "is empty");
    for (size_t k = 0; k < set.size(); ++k) {
      if (k > 0 && !RequireOrder(set[k - 1] < set[k], "rank set", i, "is not rising")) break;
      if (!Require(HasRank(set[k]), "rank set", i, "has a rank without an entry")) break;
    }
  }
}

VerifyReport VerifyBounds(const Plan& plan, const VerifyOptions& options) {
  return BoundsChecker(plan, options).Run();
}

}  // namespace reshard
