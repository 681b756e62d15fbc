#include "compiler/report/timeline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/plan_tools/loads.h"
#include "runtime/plan/plan_options.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

constexpr size_t kMaxSitesWithAllDomains = 32;
// A plan with at most so many rounds is shown whole.
constexpr uint32_t kMaxRoundsShownWhole = 20;
constexpr uint32_t kWindowRounds = 10;
// Network messages of a plan that is simulated whole, which takes about a second.
constexpr int64_t kMaxMessagesSimulated = 400'000;
// Of a window; the last rounds are left out beyond.
constexpr size_t kMaxSpans = 6'000;

std::optional<uint32_t> DomainOf(const Plan& plan, Rank rank) {
  const size_t site = RowOfRank(plan.sites, rank);
  if (site == plan.sites.size()) return std::nullopt;
  return plan.sites[site].domain;
}

// The domains that a cut is about.
std::vector<uint32_t> DomainsOfCut(const Plan& plan, const PlanCut& cut) {
  const CutMembers what = FactsOf(cut.kind).members;
  if (what == CutMembers::kDomains) return cut.members;
  const auto names = [&](uint32_t member) {
    return std::binary_search(cut.members.begin(), cut.members.end(), member);
  };
  std::set<uint32_t> domains;
  for (const PlanSite& site : plan.sites) {
    const bool inside =
        what == CutMembers::kNothing || names(what == CutMembers::kGroups ? site.group : site.rank);
    if (inside) domains.insert(site.domain);
  }
  return {domains.begin(), domains.end()};
}

// Of the binding cut.
std::optional<uint32_t> BindingDomain(const Plan& plan) {
  if (plan.cuts.empty()) return std::nullopt;
  const PlanCut& cut = plan.cuts.front();
  const std::vector<DomainLoads> loads = ComputeLoads(plan).domains;
  const auto bytes = [&](uint32_t domain) {
    const PortLoads& network = loads[domain].network;
    const bool sends = cut.kind == PlanCutKind::kInjection ||
                       cut.kind == PlanCutKind::kGroupEgress ||
                       cut.kind == PlanCutKind::kRankEgress;
    return sends ? network.send_bytes : network.receive_bytes;
  };
  std::optional<uint32_t> most;
  for (const uint32_t domain : DomainsOfCut(plan, cut)) {
    if (!most || bytes(domain) > bytes(*most)) most = domain;
  }
  return most;
}

std::optional<uint32_t> InjectingDomain(const Plan& plan) {
  std::vector<int64_t> bytes(plan.domains.size(), 0);
  for (const PlanInject& inject : plan.injects) {
    const std::optional<uint32_t> domain = DomainOf(plan, inject.source);
    if (domain && !plan.streams[plan.trees[inject.tree].stream].local) {
      bytes[*domain] += inject.extent;
    }
  }
  const auto most = std::max_element(bytes.begin(), bytes.end());
  if (most == bytes.end() || *most == 0) return std::nullopt;
  return static_cast<uint32_t>(most - bytes.begin());
}

std::optional<uint32_t> LastDomain(const Plan& plan) {
  const auto longest = std::max_element(
      plan.trees.begin(), plan.trees.end(),
      [](const PlanTree& a, const PlanTree& b) { return a.member_count < b.member_count; });
  if (longest == plan.trees.end()) return std::nullopt;
  return DomainOf(plan, plan.tree_members[longest->first_member + longest->member_count - 1]);
}

std::vector<std::pair<uint32_t, uint32_t>> WindowRounds(uint32_t rounds) {
  if (rounds <= kMaxRoundsShownWhole) return {{0, rounds}};
  const uint32_t middle = (rounds - kWindowRounds) / 2;
  if (rounds < 3 * kWindowRounds) return {{0, kWindowRounds}, {rounds - kWindowRounds, rounds}};
  return {{0, kWindowRounds}, {middle, middle + kWindowRounds}, {rounds - kWindowRounds, rounds}};
}

// The spans of `all` that touch a domain of `domains`, by begin.
std::vector<SimSpan> SpansOf(const Plan& plan, const std::vector<uint32_t>& domains,
                             const std::vector<SimSpan>& all) {
  const auto shown = [&](Rank rank) {
    const std::optional<uint32_t> domain = DomainOf(plan, rank);
    return std::find(domains.begin(), domains.end(), domain) != domains.end();
  };
  std::vector<SimSpan> spans;
  for (const SimSpan& span : all) {
    if (span.src != span.dst && (shown(span.src) || shown(span.dst))) spans.push_back(span);
  }
  std::sort(spans.begin(), spans.end(), [](const SimSpan& a, const SimSpan& b) {
    return std::tie(a.begin_ps, a.end_ps, a.src, a.dst, a.round) <
           std::tie(b.begin_ps, b.end_ps, b.src, b.dst, b.round);
  });
  return spans;
}

// Leaves out the last rounds until there are few enough spans.
void Shorten(TimelineWindow* window) {
  while (window->spans.size() > kMaxSpans && window->end_round > window->first_round + 1) {
    --window->end_round;
    std::erase_if(window->spans,
                  [&](const SimSpan& span) { return span.round >= window->end_round; });
  }
}

}  // namespace

std::vector<uint32_t> TimelineDomains(const Plan& plan) {
  std::vector<uint32_t> domains;
  const auto add = [&](std::optional<uint32_t> domain) {
    const bool known = std::find(domains.begin(), domains.end(), domain) != domains.end();
    if (domain && !known) domains.push_back(*domain);
  };
  add(BindingDomain(plan));
  add(InjectingDomain(plan));
  add(LastDomain(plan));
  if (plan.sites.size() > kMaxSitesWithAllDomains) return domains;
  for (const PlanSite& site : plan.sites) add(site.domain);
  return domains;
}

Timeline BuildTimeline(const Plan& plan) {
  Timeline timeline;
  timeline.domains = TimelineDomains(plan);
  const PlanTotals& totals = plan.header.totals;
  SimOptions options;
  options.round_cost_ns = RoundCostNs(plan);
  if (totals.messages <= kMaxMessagesSimulated) {
    const SimResult result = Simulate(plan, options);
    timeline.failure = result.failure;
    timeline.total_ns = result.total_ns;
    if (!timeline.failure.empty()) return timeline;
  }
  for (const auto& [first, end] : WindowRounds(totals.rounds)) {
    options.first_round = first;
    options.end_round = end;
    options.record_spans = true;
    const SimResult result = Simulate(plan, options);
    timeline.failure = result.failure;
    if (!timeline.failure.empty()) return timeline;
    timeline.windows.push_back({first, end, SpansOf(plan, timeline.domains, result.spans)});
    Shorten(&timeline.windows.back());
  }
  return timeline;
}

}  // namespace reshard
