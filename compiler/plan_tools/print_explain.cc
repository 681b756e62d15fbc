#include "compiler/plan_tools/print_explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/plan_tools/explain_why.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

// "0", "4:8", "0:63:2".
std::string Slice(int64_t first, int64_t last, int64_t step) {
  std::string text = std::to_string(first);
  if (last > first) text += ":" + std::to_string(last + 1);
  if (last > first && step > 1) text += ":" + std::to_string(step);
  return text;
}

// "w [0, 4:8]"
std::string Elements(const ParamFlow& flow) {
  std::string text;
  for (const IndexRun& run : flow.elements) {
    text += (text.empty() ? "" : ", ") +
            Slice(run.begin, run.begin + (run.count - 1) * run.step, run.step);
  }
  return flow.tensor + " [" + text + "]";
}

// "[0:3, 8:16]", or "[0, 8]..[3, 2]" where it is no box.
std::string Indices(const ParamBox& box) {
  if (!box.is_box) return ListText(box.first) + ".." + ListText(box.last);
  std::string text;
  for (size_t d = 0; d < box.first.size(); ++d) {
    text += (d == 0 ? "" : ", ") + Slice(box.first[d], box.last[d], box.step[d]);
  }
  return "[" + text + "]";
}

// The params of the other side. Their ranks are named where not all have the same.
std::string Ends(const std::vector<ParamFlow::End>& ends) {
  std::string text;
  for (const ParamFlow::End& end : ends) {
    if (ends.size() > 1) {
      text += (text.empty() ? "" : "; ") + std::string("rank ") + DescribeRanks(end.ranks) + ": ";
    }
    text += end.box.param + " " + Indices(end.box);
  }
  return text.empty() ? "-" : text;
}

std::string PathText(const std::vector<Rank>& path) {
  std::string text;
  for (const Rank rank : path) text += (text.empty() ? "" : " > ") + std::to_string(rank);
  return text;
}

std::string Rounds(const ParamFlow& flow) {
  std::string text = std::to_string(flow.first_round);
  if (flow.last_round > flow.first_round) text += "-" + std::to_string(flow.last_round);
  return text;
}

// What flows have in common: one class over one path. Its sources are those of all of them.
struct Ways {
  std::vector<ParamFlow> ways;
  std::vector<size_t> way_of_flow;
};

Ways FindWays(const std::vector<ParamFlow>& flows) {
  Ways found;
  std::map<std::tuple<std::vector<Rank>, RankList, uint32_t, uint32_t, uint32_t>, size_t> known;
  for (const ParamFlow& flow : flows) {
    const auto [at, is_new] =
        known.emplace(std::tuple(flow.path, flow.destinations, flow.cls, flow.stream, flow.tree),
                      found.ways.size());
    if (is_new) {
      found.ways.push_back(flow);
    } else {
      RankList& sources = found.ways[at->second].sources;
      sources = Union(sources, flow.sources);
    }
    found.way_of_flow.push_back(at->second);
  }
  return found;
}

void PrintAlternatives(const char* title, const std::vector<Alternative>& alternatives,
                       const TextStyle& style, std::ostream& out) {
  if (alternatives.empty()) return;
  PrintTitle(style, title, out);
  TextTable table({">rank", "domain", ">sends", ">receives", "busiest NIC", ">NIC busy", ""});
  for (const Alternative& one : alternatives) {
    table.Add({std::to_string(one.rank), one.domain, FormatBytes(one.use.bytes.send_bytes),
               FormatBytes(one.use.bytes.receive_bytes), one.use.nic.empty() ? "-" : one.use.nic,
               FormatNanoseconds(one.use.nic_busy_ns), one.chosen ? "chosen" : ""});
  }
  table.Print(style, out);
}

constexpr uint32_t kMembersListed = 16;

// "tree 0 (star over 5 domains: 10 > 1 > 2 > 3 > 4)", ranks in their order, of long trees the
// first.
std::string TreeText(const Plan& plan, uint32_t index) {
  const PlanTree& tree = plan.trees[index];
  std::string text = "tree " + std::to_string(index) + " (" + std::string(TreeKindText(tree.kind)) +
                     " over " + FormatCount(tree.member_count) +
                     (tree.member_count == 1 ? " domain: " : " domains: ");
  const auto first = plan.tree_members.begin() + tree.first_member;
  text += PathText({first, first + std::min(tree.member_count, kMembersListed)});
  text += tree.member_count > kMembersListed ? " > ...)" : ")";
  std::vector<uint32_t> others;
  for (uint32_t t = 0; t < plan.trees.size(); ++t) {
    if (t != index && plan.trees[t].stream == tree.stream) others.push_back(t);
  }
  if (!others.empty()) {
    text += "; other bytes of its stream take tree" + std::string(others.size() == 1 ? " " : "s ") +
            DescribeRanks(others);
  }
  return text;
}

void PrintHops(const Plan& plan, const ParamFlow& way, const std::vector<Hop>& hops,
               const TextStyle& style, std::ostream& out) {
  PrintLine(style, TreeText(plan, way.tree), out);
  TextTable table({">position", ">rank", "domain", "", ">domain sends", ">receives", "busiest NIC",
                   ">NIC busy"});
  for (const Hop& hop : hops) {
    table.Add({std::to_string(hop.position), std::to_string(hop.rank), hop.domain,
               std::string(PathRoleMeaning(hop.role)), FormatBytes(hop.domain_use.bytes.send_bytes),
               FormatBytes(hop.domain_use.bytes.receive_bytes),
               hop.domain_use.nic.empty() ? "-" : hop.domain_use.nic,
               FormatNanoseconds(hop.domain_use.nic_busy_ns)});
  }
  table.Print(style, out);
}

// A way that crosses no network: the lander holds the bytes.
void PrintWhyLocal(const WhyFlows& why, const std::string& title, const ParamFlow& way,
                   const TextStyle& style, std::ostream& out) {
  const std::vector<Hop> hops = why.Hops(way);
  const Rank holder = way.path.back();
  if (hops.empty()) {
    PrintTitle(style, title + std::to_string(holder), out);
    PrintLine(style, "the rank holds these bytes itself: nothing crosses the network", out);
    return;
  }
  const RankList others = Copying(way);
  PrintTitle(style,
             title + std::to_string(holder) + " > " + DescribeRanks(others) + " inside " +
                 hops.front().domain,
             out);
  PrintLine(style,
            std::string(others.size() == 1 ? "rank " : "ranks ") + DescribeRanks(others) +
                (others.size() == 1 ? " copies" : " copy") + " these bytes from rank " +
                std::to_string(holder) + ", which holds them: nothing crosses the network",
            out);
  PrintAlternatives("ranks that hold these bytes", why.Holders(way), style, out);
}

void PrintWhy(const Plan& plan, const WhyFlows& why, size_t index, const ParamFlow& way,
              const TextStyle& style, std::ostream& out) {
  const std::string title = "why way " + std::to_string(index) + ": ";
  if (way.local) {
    PrintWhyLocal(why, title, way, style, out);
    return;
  }
  PrintTitle(style, title + DescribeRanks(way.sources) + " > " + PathText(way.path), out);
  const std::vector<Hop> hops = why.Hops(way);
  PrintHops(plan, way, hops, style, out);
  PrintAlternatives("ranks that hold these bytes", why.Holders(way), style, out);
  for (const Hop& hop : hops) {
    const std::string stand_in = "ranks that might stand in for " + std::to_string(hop.rank);
    PrintAlternatives(stand_in.c_str(), hop.alternatives, style, out);
  }
}

void WriteRanks(const char* name, const std::vector<Rank>& ranks, JsonWriter* json) {
  json->BeginArray(name);
  for (const Rank rank : ranks) json->Item(int64_t{rank});
  json->End();
}

void WriteIndex(const char* name, const std::vector<int64_t>& index, JsonWriter* json) {
  json->BeginArray(name);
  for (const int64_t i : index) json->Item(i);
  json->End();
}

void WriteBox(const ParamBox& box, JsonWriter* json) {
  json->Field("param", box.param);
  WriteIndex("first", box.first, json);
  WriteIndex("last", box.last, json);
  WriteIndex("step", box.step, json);
  json->Flag("is_box", box.is_box);
}

void WriteUse(const NetworkUse& use, JsonWriter* json) {
  json->Field("send_bytes", use.bytes.send_bytes);
  json->Field("receive_bytes", use.bytes.receive_bytes);
  json->Field("busiest_nic", use.nic);
  json->Field("nic_send_bytes", use.nic_bytes.send_bytes);
  json->Field("nic_receive_bytes", use.nic_bytes.receive_bytes);
  json->Field("nic_busy_ns", use.nic_busy_ns);
}

void WriteAlternatives(const char* name, const std::vector<Alternative>& alternatives,
                       JsonWriter* json) {
  json->BeginArray(name);
  for (const Alternative& one : alternatives) {
    json->BeginObject();
    json->Field("rank", int64_t{one.rank});
    json->Field("domain", one.domain);
    WriteUse(one.use, json);
    json->Flag("chosen", one.chosen);
    json->End();
  }
  json->End();
}

void WriteFlow(const ParamFlow& flow, size_t way, JsonWriter* json) {
  json->BeginObject();
  json->Field("tensor", flow.tensor);
  json->BeginArray("elements");
  for (const IndexRun& run : flow.elements) {
    json->BeginObject();
    json->Field("first", run.begin);
    json->Field("last", run.begin + (run.count - 1) * run.step);
    json->Field("step", run.step);
    json->End();
  }
  json->End();
  json->Field("bytes", flow.bytes);
  json->BeginObject("part");
  WriteBox(flow.here, json);
  json->End();
  json->BeginArray("other_side");
  for (const ParamFlow::End& end : flow.there) {
    json->BeginObject();
    WriteRanks("ranks", end.ranks, json);
    WriteBox(end.box, json);
    json->End();
  }
  json->End();
  WriteRanks("sources", flow.sources, json);
  WriteRanks("destinations", flow.destinations, json);
  json->Field("first_round", int64_t{flow.first_round});
  json->Field("last_round", int64_t{flow.last_round});
  json->Field("way", static_cast<int64_t>(way));
  json->End();
}

void WriteWay(const Plan& plan, const ParamFlow& way, const WhyFlows* why, JsonWriter* json) {
  json->BeginObject();
  json->Field("class", int64_t{way.cls});
  json->Field("stream", int64_t{way.stream});
  json->Field("tree", int64_t{way.tree});
  json->Field("tree_kind", TreeKindText(plan.trees[way.tree].kind));
  const auto first = plan.tree_members.begin() + plan.trees[way.tree].first_member;
  WriteRanks("tree_members", {first, first + plan.trees[way.tree].member_count}, json);
  json->Flag("local", way.local);
  WriteRanks("path", way.path, json);
  if (why != nullptr) {
    WriteAlternatives("holders", why->Holders(way), json);
    json->BeginArray("hops");
    for (const Hop& hop : why->Hops(way)) {
      json->BeginObject();
      json->Field("rank", int64_t{hop.rank});
      json->Field("domain", hop.domain);
      json->Field("position", int64_t{hop.position});
      json->Field("role", PathRoleText(hop.role));
      json->BeginObject("domain_network");
      WriteUse(hop.domain_use, json);
      json->End();
      WriteAlternatives("alternatives", hop.alternatives, json);
      json->End();
    }
    json->End();
  }
  json->End();
}

void PrintFlowTable(const FlowsReport& report, const Ways& ways, const TextStyle& style,
                    std::ostream& out) {
  const bool source = report.query.side == PlanSide::kSource;
  TextTable table({"part", ">bytes", "elements", source ? "needers" : "sources",
                   source ? "destination param" : "source param", ">rounds", ">way"});
  const std::vector<ParamFlow>& flows = report.explanation.flows;
  for (size_t f = 0; f < flows.size(); ++f) {
    table.Add({Indices(flows[f].here), FormatCount(flows[f].bytes), Elements(flows[f]),
               DescribeRanks(source ? flows[f].destinations : flows[f].sources),
               Ends(flows[f].there), Rounds(flows[f]), std::to_string(ways.way_of_flow[f])});
  }
  table.Print(style, out);
}

void PrintFills(const FlowsReport& report, const TextStyle& style, std::ostream& out) {
  if (report.fills.empty()) return;
  PrintTitle(style, "padding", out);
  TextTable table({"part", ">bytes", "what becomes of it"});
  for (const FillPart& fill : report.fills) {
    table.Add({Indices(fill.here), FormatCount(fill.bytes),
               std::string(FillRuleMeaning(fill.rule, report.query.side))});
  }
  table.Print(style, out);
}

void WriteFills(const std::vector<FillPart>& fills, JsonWriter* json) {
  json->BeginArray("padding");
  for (const FillPart& fill : fills) {
    json->BeginObject();
    json->Field("rule", FillRuleText(fill.rule));
    json->Field("bytes", fill.bytes);
    json->BeginObject("part");
    WriteBox(fill.here, json);
    json->End();
    json->End();
  }
  json->End();
}

void PrintWays(const Plan& plan, const Ways& ways, const TextStyle& style, std::ostream& out) {
  PrintTitle(style, "ways", out);
  TextTable table({">way", "sources", "landers", "needers", ">class", ">stream", ">tree", "kind"});
  for (size_t w = 0; w < ways.ways.size(); ++w) {
    const ParamFlow& way = ways.ways[w];
    table.Add({std::to_string(w), DescribeRanks(way.sources),
               PathText(way.path) + (way.local ? " (local)" : ""), DescribeRanks(way.destinations),
               std::to_string(way.cls), std::to_string(way.stream), std::to_string(way.tree),
               std::string(TreeKindText(plan.trees[way.tree].kind))});
  }
  table.Print(style, out);
}

}  // namespace

void PrintFlowsText(const Plan& plan, const FlowsReport& report, const TextStyle& style,
                    std::ostream& out) {
  const bool source = report.query.side == PlanSide::kSource;
  std::string question = (source ? "source rank " : "destination rank ") +
                         std::to_string(report.query.rank) + ", " + report.param;
  if (report.query.at) question += " " + ListText(*report.query.at);
  PrintLine(style, question + (source ? " goes to" : " comes from"), out);
  if (report.explanation.flows.empty()) {
    PrintLine(style,
              report.fills.empty() ? "  nothing: no tensor that is moved has these elements"
                                   : "  nothing: this is padding",
              out);
    PrintFills(report, style, out);
    return;
  }
  const Ways ways = FindWays(report.explanation.flows);
  PrintFlowTable(report, ways, style, out);
  if (!report.explanation.complete) {
    PrintLine(style, "there is more than is listed: ask for single elements with --at", out);
  }
  PrintFills(report, style, out);
  PrintWays(plan, ways, style, out);
  if (!report.why) return;
  const WhyFlows why(plan);
  const size_t shown = style.rows == 0 ? ways.ways.size() : std::min(style.rows, ways.ways.size());
  for (size_t w = 0; w < shown; ++w) PrintWhy(plan, why, w, ways.ways[w], style, out);
  if (shown == ways.ways.size()) return;
  PrintLine(style,
            "--rows 0 explains " + FormatCount(static_cast<int64_t>(ways.ways.size() - shown)) +
                " more ways",
            out);
}

void PrintFlowsJson(const Plan& plan, const FlowsReport& report, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-explain/1");
  json.Field("side", report.query.side == PlanSide::kSource ? "source" : "destination");
  json.Field("rank", int64_t{report.query.rank});
  json.Field("param", report.param);
  if (report.query.at) WriteIndex("at", *report.query.at, &json);
  const std::vector<ParamFlow>& flows = report.explanation.flows;
  const Ways ways = FindWays(flows);
  json.Flag("complete", report.explanation.complete);
  json.BeginArray("flows");
  for (size_t f = 0; f < flows.size(); ++f) WriteFlow(flows[f], ways.way_of_flow[f], &json);
  json.End();
  WriteFills(report.fills, &json);
  std::optional<WhyFlows> why;
  if (report.why) why.emplace(plan);
  json.BeginArray("ways");
  for (const ParamFlow& way : ways.ways) WriteWay(plan, way, why ? &*why : nullptr, &json);
  json.End();
  json.End();
  out << json.Text() << "\n";
}

void PrintPassagesText(const PassagesReport& report, const TextStyle& style, std::ostream& out) {
  const std::vector<Passage>& passages = report.passages;
  int64_t bytes = 0;
  for (const Passage& passage : passages) bytes += passage.bytes;
  // Those of one report have one way.
  const bool network = passages.empty() || passages.front().way == PassageWay::kNetwork;
  const std::string count = FormatCount(static_cast<int64_t>(passages.size()));
  PrintLine(style,
            report.what + ": " + count + (network ? " message" : " transfer") +
                (passages.size() == 1 ? ", " : "s, ") + FormatBytes(bytes) +
                (network ? "" : " " + std::string(PassageWayText(passages.front().way))),
            out);
  if (report.nic && !report.nic->spreading.empty()) {
    const RankList& ranks = report.nic->spreading;
    PrintLine(style,
              report.nic->nic + " passes " + FormatBytes(report.nic->bytes.send_bytes) +
                  " out and " + FormatBytes(report.nic->bytes.receive_bytes) + " in of them: " +
                  (ranks.size() == 1 ? "rank " : "ranks ") + DescribeRanks(ranks) +
                  (ranks.size() == 1 ? " spreads its bytes over its NICs"
                                     : " spread their bytes over their NICs") +
                  " by bandwidth",
              out);
  }
  TextTable table({">round", ">from", ">to", ">tree", "stream bytes", ">bytes", "way"});
  for (const Passage& passage : passages) {
    table.Add({std::to_string(passage.round), std::to_string(passage.from),
               std::to_string(passage.to), std::to_string(passage.tree),
               "[" + std::to_string(passage.begin) + ", " +
                   std::to_string(passage.begin + passage.bytes) + ")",
               FormatCount(passage.bytes), std::string(PassageWayText(passage.way))});
  }
  table.Print(style, out);
}

void PrintPassagesJson(const PassagesReport& report, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-explain-passages/1");
  json.Field("of", report.what);
  if (report.nic) {
    json.BeginObject("nic");
    json.Field("name", report.nic->nic);
    json.Field("send_bytes", report.nic->bytes.send_bytes);
    json.Field("receive_bytes", report.nic->bytes.receive_bytes);
    WriteRanks("spreading_ranks", report.nic->spreading, &json);
    json.End();
  }
  json.BeginArray("messages");
  for (const Passage& passage : report.passages) {
    json.BeginObject();
    json.Field("round", int64_t{passage.round});
    json.Field("from", int64_t{passage.from});
    json.Field("to", int64_t{passage.to});
    json.Field("tree", int64_t{passage.tree});
    json.Field("begin", passage.begin);
    json.Field("bytes", passage.bytes);
    json.Field("way", PassageWayText(passage.way));
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
}

}  // namespace reshard
