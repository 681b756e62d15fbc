#include "compiler/plan_tools/show_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/plan_tools/describe_cut.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/loads.h"
#include "compiler/plan_tools/summary.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

double Seconds(int64_t bytes, int64_t bytes_per_s) {
  return bytes_per_s == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(bytes_per_s);
}

std::string Percent(double part, double whole) {
  return whole == 0 ? "-" : FormatPercent(part / whole);
}

// Indices 0..count-1, the largest `weight` first, equal ones in order.
template <class Weight>
std::vector<size_t> ByWeight(size_t count, const Weight& weight) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weight(a) > weight(b); });
  return order;
}

void PrintDomains(const Plan& plan, const PlanLoads& loads, const TextStyle& style,
                  std::ostream& out) {
  PrintTitle(style, "domains (network bytes)", out);
  TextTable table({"domain", ">ranks", ">needs", ">receives", ">x needs", ">sends"});
  for (size_t d = 0; d < plan.domains.size(); ++d) {
    const DomainLoads& domain = loads.domains[d];
    table.Add({plan.domains[d].name, FormatCount(domain.ranks), FormatBytes(domain.needed_bytes),
               FormatBytes(domain.network.receive_bytes),
               domain.needed_bytes == 0
                   ? "-"
                   : FormatRatio(static_cast<double>(domain.network.receive_bytes) /
                                 static_cast<double>(domain.needed_bytes)),
               FormatBytes(domain.network.send_bytes)});
  }
  table.Print(style, out);
}

// The tightest cut of each kind; the plan has them by tightness.
std::vector<const PlanCut*> TightestCuts(const Plan& plan) {
  std::vector<const PlanCut*> tightest;
  std::vector<bool> seen(kCutKinds.size(), false);
  for (const PlanCut& cut : plan.cuts) {
    if (!seen[static_cast<size_t>(cut.kind)]) tightest.push_back(&cut);
    seen[static_cast<size_t>(cut.kind)] = true;
  }
  return tightest;
}

void PrintCuts(const Plan& plan, const TextStyle& style, std::ostream& out) {
  if (plan.cuts.empty()) return;
  PrintTitle(style, "cuts that no schedule can beat, the tightest of each kind", out);
  TextTable table({"kind", ">at least", "cut"});
  for (const PlanCut* cut : TightestCuts(plan)) {
    table.Add({std::string(FactsOf(cut->kind).text), FormatNanoseconds(CutNs(*cut)),
               DescribeCut(plan, *cut)});
  }
  table.Print(style, out);
}

void WriteCuts(const Plan& plan, JsonWriter* json) {
  json->BeginArray("cuts");
  for (const PlanCut* cut : TightestCuts(plan)) {
    json->BeginObject();
    json->Field("kind", FactsOf(cut->kind).text);
    json->Field("ns", CutNs(*cut));
    json->Field("bytes", cut->bytes);
    json->Field("bytes_per_s", cut->bytes_per_s);
    json->Field("text", DescribeCut(plan, *cut));
    json->End();
  }
  json->End();
}

void PrintNics(const Plan& plan, const PlanLoads& loads, const TextStyle& style,
               std::ostream& out) {
  PrintTitle(style, "NICs, the busiest first (part of the predicted time that its bytes take)",
             out);
  TextTable table({"NIC", ">rate", ">sends", ">busy", ">receives", ">busy"});
  const double time = static_cast<double>(plan.header.totals.predicted_ns) / 1e9;
  const auto busiest = [&](size_t n) {
    return Seconds(std::max(loads.nics[n].send_bytes, loads.nics[n].receive_bytes),
                   plan.nics[n].bytes_per_s);
  };
  for (const size_t n : ByWeight(plan.nics.size(), busiest)) {
    const PlanNic& nic = plan.nics[n];
    const PortLoads& load = loads.nics[n];
    table.Add({nic.name, FormatRate(nic.bytes_per_s), FormatBytes(load.send_bytes),
               Percent(Seconds(load.send_bytes, nic.bytes_per_s), time),
               FormatBytes(load.receive_bytes),
               Percent(Seconds(load.receive_bytes, nic.bytes_per_s), time)});
  }
  table.Print(style, out);
}

void PrintClasses(const Plan& plan, const TextStyle& style, std::ostream& out) {
  PrintTitle(style, "classes, the largest first", out);
  TextTable table({">class", ">bytes", ">cells", "holders", "needers"});
  for (const size_t c :
       ByWeight(plan.classes.size(), [&](size_t index) { return plan.classes[index].bytes; })) {
    const PlanClass& cls = plan.classes[c];
    table.Add({std::to_string(c), FormatBytes(cls.bytes), FormatCount(cls.cell_count),
               DescribeRanks(plan.rank_sets[cls.holders]),
               DescribeRanks(plan.rank_sets[cls.needers])});
  }
  table.Print(style, out);
}

void PrintRoutes(const Plan& plan, const TextStyle& style, std::ostream& out) {
  PrintTitle(style, "routes: each tree feeds one rank of each of its domains", out);
  TextTable table({">tree", ">stream", "kind", ">bytes", ">sources", "landers, the head first"});
  std::vector<std::vector<Rank>> sources(plan.trees.size());
  for (const PlanInject& inject : plan.injects) {
    std::vector<Rank>& of_tree = sources[inject.tree];
    if (of_tree.empty() || of_tree.back() != inject.source) of_tree.push_back(inject.source);
  }
  for (size_t t = 0; t < plan.trees.size(); ++t) {
    const PlanTree& tree = plan.trees[t];
    const PlanStream& stream = plan.streams[tree.stream];
    std::string landers;
    constexpr uint32_t kShown = 6;
    for (uint32_t m = 0; m < tree.member_count && m < kShown; ++m) {
      landers += (m == 0 ? "" : " > ") + std::to_string(plan.tree_members[tree.first_member + m]);
    }
    if (tree.member_count > kShown) {
      landers += " > ... (" + FormatCount(tree.member_count) + " ranks)";
    }
    table.Add({std::to_string(t), std::to_string(tree.stream),
               stream.local ? "local" : std::string(TreeKindText(tree.kind)),
               FormatBytes(stream.bytes), FormatCount(static_cast<int64_t>(sources[t].size())),
               landers});
  }
  table.Print(style, out);
}

void PrintProvenance(const LoadedPlan& loaded, const TextStyle& style, std::ostream& out) {
  const PlanHeader& header = loaded.plan.header;
  std::string options;
  for (const auto& [name, value] : header.options) {
    options += (options.empty() ? "" : " ") + name + "=" + value;
  }
  if (style.format == OutputFormat::kMarkdown) {
    PrintTitle(style, "options and digests", out);
  } else {
    out << "\n";
  }
  PrintPairs(style,
             {{"options", options},
              {"train", ToHex(header.train_digest)},
              {"infer", ToHex(header.infer_digest)},
              {"topo", ToHex(header.topo_digest)},
              {"plan", ToHex(loaded.root_digest)}},
             13, out);
}

void WriteLoads(const Plan& plan, const PlanLoads& loads, JsonWriter* json) {
  json->BeginArray("domains");
  for (size_t d = 0; d < plan.domains.size(); ++d) {
    json->BeginObject();
    json->Field("name", plan.domains[d].name);
    json->Field("ranks", loads.domains[d].ranks);
    json->Field("needed_bytes", loads.domains[d].needed_bytes);
    json->Field("receive_bytes", loads.domains[d].network.receive_bytes);
    json->Field("send_bytes", loads.domains[d].network.send_bytes);
    json->End();
  }
  json->End();
  json->BeginArray("nics");
  for (size_t n = 0; n < plan.nics.size(); ++n) {
    json->BeginObject();
    json->Field("name", plan.nics[n].name);
    json->Field("bytes_per_s", plan.nics[n].bytes_per_s);
    json->Field("send_bytes", loads.nics[n].send_bytes);
    json->Field("receive_bytes", loads.nics[n].receive_bytes);
    json->End();
  }
  json->End();
}

}  // namespace

void ShowPlanText(const LoadedPlan& loaded, int64_t plan_bytes, const TextStyle& style,
                  std::ostream& out) {
  const Plan& plan = loaded.plan;
  const PlanLoads loads = ComputeLoads(plan);
  if (style.format == OutputFormat::kMarkdown) out << "#### summary\n\n";
  PrintSummary(plan, Summarize(plan), plan_bytes, style, out);
  PrintCuts(plan, style, out);
  PrintDomains(plan, loads, style, out);
  PrintNics(plan, loads, style, out);
  PrintClasses(plan, style, out);
  PrintRoutes(plan, style, out);
  PrintProvenance(loaded, style, out);
}

void ShowPlanJson(const LoadedPlan& loaded, int64_t plan_bytes, std::ostream& out) {
  const Plan& plan = loaded.plan;
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-show/1");
  WriteSummary(plan, Summarize(plan), plan_bytes, &json);
  WriteCuts(plan, &json);
  WriteLoads(plan, ComputeLoads(plan), &json);
  json.BeginObject("options");
  for (const auto& [name, value] : plan.header.options) json.Field(name, value);
  json.End();
  json.Field("train_digest", ToHex(plan.header.train_digest));
  json.Field("infer_digest", ToHex(plan.header.infer_digest));
  json.Field("topo_digest", ToHex(plan.header.topo_digest));
  json.Field("root_digest", ToHex(loaded.root_digest));
  json.End();
  out << json.Text() << "\n";
}

}  // namespace reshard
