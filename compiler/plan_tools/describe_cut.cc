#include "compiler/plan_tools/describe_cut.h"

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/plan_tools/units.h"
#include "runtime/base/rank_set.h"
#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "8 NICs at 50 GB/s", or the sum where their rates differ.
std::string DescribeRates(const std::vector<int64_t>& rates, const std::string& what,
                          int64_t together) {
  const std::string count = Count(rates.size(), what);
  const bool equal =
      std::all_of(rates.begin(), rates.end(), [&](int64_t rate) { return rate == rates.front(); });
  if (equal) return count + " at " + FormatRate(rates.front());
  return count + " at " + FormatRate(together) + " together";
}

// What the NICs of some sites carry: these themselves, or the ways of GPUs to them.
std::string DescribeNics(const Plan& plan, const std::vector<const PlanSite*>& sites,
                         int64_t bytes_per_s) {
  std::set<uint32_t> nics;
  std::vector<int64_t> rates, ways;
  for (const PlanSite* site : sites) {
    nics.insert(site->nics.begin(), site->nics.end());
    if (!site->nics.empty()) ways.push_back(site->host_bytes_per_s);
  }
  int64_t nic_rate = 0;
  for (const uint32_t nic : nics) {
    rates.push_back(plan.nics[nic].bytes_per_s);
    nic_rate += rates.back();
  }
  if (rates.empty()) return FormatRate(bytes_per_s);
  if (nic_rate == bytes_per_s) return DescribeRates(rates, "NIC", bytes_per_s);
  return DescribeRates(ways, "GPU", bytes_per_s) + " to " + Count(nics.size(), "NIC");
}

std::string DescribeMembers(const std::vector<std::string>& names) {
  std::string text;
  constexpr size_t kShown = 2;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string DomainText(const Plan& plan, const PlanCut& cut, std::string* ports) {
  std::vector<std::string> names;
  std::vector<const PlanSite*> sites;
  for (const uint32_t domain : cut.members) names.push_back(plan.domains[domain].name);
  for (const PlanSite& site : plan.sites) {
    if (std::binary_search(cut.members.begin(), cut.members.end(), site.domain)) {
      sites.push_back(&site);
    }
  }
  *ports = DescribeNics(plan, sites, cut.bytes_per_s);
  return DescribeMembers(names);
}

std::string GroupText(const Plan& plan, const PlanCut& cut, std::string* ports) {
  std::vector<std::string> names;
  for (const uint32_t group : cut.members) names.push_back(plan.groups[group].name);
  *ports =
      (names.size() == 1 ? "its uplinks at " : "their uplinks at ") + FormatRate(cut.bytes_per_s);
  return (names.size() == 1 ? "group " : "groups ") + DescribeMembers(names);
}

}  // namespace

std::string DescribeCut(const Plan& plan, const PlanCut& cut) {
  const CutKindFacts& facts = FactsOf(cut.kind);
  std::string of, ports;
  switch (facts.members) {
    case CutMembers::kNothing:
      ports = "the fabric at " + FormatRate(cut.bytes_per_s);
      break;
    case CutMembers::kDomains:
      of = " " + DomainText(plan, cut, &ports);
      break;
    case CutMembers::kGroups:
      of = " " + GroupText(plan, cut, &ports);
      break;
    case CutMembers::kRanks:
      of = (cut.members.size() == 1 ? " rank " : " ranks ") + DescribeRanks(cut.members);
      ports = "scale-up ports and NICs at " + FormatRate(cut.bytes_per_s);
      break;
  }
  return std::string(facts.direction) + of + ": " + FormatBytes(cut.bytes) + " over " + ports;
}

int64_t CutNs(const PlanCut& cut) {
  return static_cast<int64_t>(Wide{cut.bytes} * 1'000'000'000 / cut.bytes_per_s);
}

}  // namespace reshard
