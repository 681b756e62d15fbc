#include "compiler/plan_tools/summary.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "compiler/plan_tools/conditional_bound.h"
#include "compiler/plan_tools/describe_cut.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/loads.h"
#include "compiler/plan_tools/units.h"
#include "runtime/plan/plan_options.h"

namespace reshard {
namespace {

int64_t Product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

double Nanoseconds(const PortLoads& load, int64_t bytes_per_s) {
  const auto bytes = static_cast<double>(std::max(load.send_bytes, load.receive_bytes));
  return bytes * 1e9 / static_cast<double>(bytes_per_s);
}

double BusiestNs(const Plan& plan, const PlanLoads& loads) {
  double busiest = 0;
  for (size_t n = 0; n < plan.nics.size(); ++n) {
    busiest = std::max(busiest, Nanoseconds(loads.nics[n], plan.nics[n].bytes_per_s));
  }
  for (size_t s = 0; s < plan.sites.size(); ++s) {
    const int64_t way = plan.sites[s].host_bytes_per_s;
    if (way > 0) busiest = std::max(busiest, Nanoseconds(loads.sites[s], way));
  }
  return busiest;
}

// Ranks without which the job was compiled, "2,5-6"; empty: none.
std::string LeftOut(const Plan& plan) {
  for (const auto& [name, value] : plan.header.options) {
    if (name == "exclude-ranks" && value != "none") return value;
  }
  return "";
}

// Why a plan has no cut.
std::string NoBoundReason(const Plan& plan) {
  const bool stays =
      std::all_of(plan.classes.begin(), plan.classes.end(), [&plan](const PlanClass& cls) {
        return IsSubset(plan.rank_sets[cls.needers], plan.rank_sets[cls.holders]);
      });
  return stays ? "no byte has to pass a port" : "the plan has no cut";
}

}  // namespace

PlanSummary Summarize(const Plan& plan) {
  PlanSummary summary;
  for (const PlanSuper& super : plan.supers) summary.tensors += Product(super.loop_extent);
  std::set<Rank> ranks[2];
  for (const PlanFamily& family : plan.families) {
    SideSummary& side = family.side == PlanSide::kSource ? summary.source : summary.destination;
    const RankList& set = plan.rank_sets[family.rank_set];
    const int64_t buffers = Product(family.loop_extent) * static_cast<int64_t>(set.size());
    side.params += buffers;
    side.bytes += buffers * family.bytes;
    ranks[static_cast<size_t>(family.side)].insert(set.begin(), set.end());
  }
  summary.source.ranks = static_cast<int64_t>(ranks[0].size());
  summary.destination.ranks = static_cast<int64_t>(ranks[1].size());

  for (const PlanRank& rank : plan.ranks) {
    if (ranks[0].count(rank.rank) + ranks[1].count(rank.rank) > 0) continue;
    summary.relaying_ranks.push_back(rank.rank);
  }

  const PlanLoads loads = ComputeLoads(plan);
  for (const DomainLoads& domain : loads.domains) {
    summary.needed_network_bytes += domain.needed_bytes;
    if (domain.needed_bytes > 0) ++summary.domains_fed;
  }
  if (plan.cuts.empty()) {
    summary.no_bound = NoBoundReason(plan);
  } else {
    summary.binding_cut = DescribeCut(plan, plan.cuts.front());
  }
  summary.relay_bound_ns = RelayBoundOf(plan);
  const PlanTotals& totals = plan.header.totals;
  if (totals.bound_ns > 0) {
    const auto bound_ns = static_cast<double>(totals.bound_ns);
    summary.ratio = static_cast<double>(totals.predicted_ns) / bound_ns;
    const PlanCut& cut = plan.cuts.front();
    const double busiest_ns = BusiestNs(plan, loads);
    summary.busiest_ns = static_cast<int64_t>(busiest_ns);
    // Not of whole nanoseconds: small plans take few of them.
    summary.balance =
        busiest_ns * static_cast<double>(cut.bytes_per_s) / (static_cast<double>(cut.bytes) * 1e9);
  }
  return summary;
}

std::string RelayingText(const PlanSummary& summary) {
  if (summary.relaying_ranks.empty()) return "";
  const bool one = summary.relaying_ranks.size() == 1;
  return (one ? "by rank " : "by ranks ") + DescribeRanks(summary.relaying_ranks) +
         (one ? ", which holds and needs nothing" : ", which hold and need nothing");
}

std::string BoundText(const Plan& plan, const PlanSummary& summary) {
  if (!summary.no_bound.empty()) return "none: " + summary.no_bound;
  const int64_t bound_ns = plan.header.totals.bound_ns;
  const std::string cut = FormatNanoseconds(bound_ns) + " (" + summary.binding_cut + ")";
  if (bound_ns == 0) return cut;
  return cut + ", ratio " + FormatRatio(summary.ratio) + ", balance " +
         FormatRatio(summary.balance);
}

std::string RelayBoundText(const PlanSummary& summary) {
  return "at least " + FormatNanoseconds(summary.relay_bound_ns) +
         " if only domains that hold or need bytes pass them on";
}

void PrintSummary(const Plan& plan, const PlanSummary& summary, int64_t plan_bytes,
                  const TextStyle& style, std::ostream& out) {
  const PlanTotals& totals = plan.header.totals;
  const auto side = [&](const SideSummary& of) {
    return FormatCount(of.ranks) + " ranks, " + FormatCount(of.params) + " params, " +
           FormatBytes(of.bytes);
  };
  std::string network =
      FormatBytes(totals.network_bytes) + " in " + FormatCount(totals.messages) + " messages";
  if (summary.needed_network_bytes > 0) {
    network += " into " + FormatCount(summary.domains_fed) +
               (summary.domains_fed == 1 ? " domain, " : " domains, ") +
               FormatRatio(static_cast<double>(totals.network_bytes) /
                           static_cast<double>(summary.needed_network_bytes)) +
               "x what they need";
  }
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"tensors", FormatCount(summary.tensors) + " in " +
                      FormatCount(static_cast<int64_t>(plan.classes.size())) + " classes"},
      {"source", side(summary.source)},
      {"destination", side(summary.destination)},
      {"network", network},
      {"scale-up", FormatBytes(totals.scaleup_bytes) + " between ranks of a domain, " +
                       FormatBytes(totals.local_bytes) + " inside ranks"},
      {"time", FormatNanoseconds(totals.predicted_ns) + " predicted in " +
                   FormatCount(totals.rounds) + (totals.rounds == 1 ? " round" : " rounds") +
                   (RoundCostNs(plan) == kDefaultRoundNs
                        ? ""
                        : ", " + FormatNanoseconds(RoundCostNs(plan)) + " a round")}};
  if (!summary.relaying_ranks.empty()) pairs.emplace_back("passed on", RelayingText(summary));
  if (const std::string ranks = LeftOut(plan); !ranks.empty()) {
    const bool one = ranks.find_first_of(",-") == std::string::npos;
    pairs.emplace_back(
        "left out", (one ? "rank " : "ranks ") + ranks +
                        (one ? ", which gets and sends nothing" : ", which get and send nothing"));
  }
  pairs.emplace_back("bound", BoundText(plan, summary));
  if (summary.relay_bound_ns > 0) pairs.emplace_back("relays", RelayBoundText(summary));
  pairs.emplace_back("staging", FormatBinary(totals.max_staging_bytes) + " on the busiest rank");
  pairs.emplace_back("plan", FormatBytes(plan_bytes));
  PrintPairs(style, pairs, 12, out);
}

void WriteSummary(const Plan& plan, const PlanSummary& summary, int64_t plan_bytes,
                  JsonWriter* json) {
  const PlanTotals& totals = plan.header.totals;
  json->Field("tensors", summary.tensors);
  json->Field("classes", static_cast<int64_t>(plan.classes.size()));
  for (const bool source : {true, false}) {
    const SideSummary& side = source ? summary.source : summary.destination;
    json->BeginObject(source ? "source" : "destination");
    json->Field("ranks", side.ranks);
    json->Field("params", side.params);
    json->Field("bytes", side.bytes);
    json->End();
  }
  json->Field("network_bytes", totals.network_bytes);
  json->Field("needed_network_bytes", summary.needed_network_bytes);
  json->Field("scaleup_bytes", totals.scaleup_bytes);
  json->Field("local_bytes", totals.local_bytes);
  json->Field("messages", totals.messages);
  json->Field("rounds", static_cast<int64_t>(totals.rounds));
  json->Field("predicted_ns", totals.predicted_ns);
  if (RoundCostNs(plan) != kDefaultRoundNs) json->Field("round_cost_ns", RoundCostNs(plan));
  json->Field("bound_ns", totals.bound_ns);
  json->Field("binding_cut", summary.binding_cut);
  if (!summary.no_bound.empty()) json->Field("no_bound", summary.no_bound);
  if (!summary.relaying_ranks.empty()) {
    json->Field("relaying_ranks", DescribeRanks(summary.relaying_ranks));
  }
  if (const std::string ranks = LeftOut(plan); !ranks.empty()) json->Field("left_out_ranks", ranks);
  if (summary.relay_bound_ns > 0) {
    json->Field("bound_if_only_holders_and_needers_relay_ns", summary.relay_bound_ns);
  }
  json->Field("busiest_ns", summary.busiest_ns);
  json->Field("max_staging_bytes", totals.max_staging_bytes);
  json->Field("plan_bytes", plan_bytes);
}

}  // namespace reshard
