#include "compiler/plan_tools/print_explain.h"

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// "w [0, 4:8]": indices of one element, or first and end.
std::string Elements(const Flow& flow) {
  std::string text;
  for (const auto& [first, last] : flow.index) {
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += ":" + std::to_string(last + 1);
  }
  return flow.tensor + " [" + text + "]";
}

std::string Path(const Flow& flow) {
  if (flow.local) return std::to_string(flow.path.back()) + " (local)";
  std::string text;
  for (const Rank rank : flow.path) text += (text.empty() ? "" : " > ") + std::to_string(rank);
  return text;
}

std::string Rounds(const Flow& flow) {
  std::string text = std::to_string(flow.first_round);
  if (flow.last_round > flow.first_round) text += "-" + std::to_string(flow.last_round);
  return text;
}

void PrintAlternatives(const char* title, const char* column,
                       const std::vector<Alternative>& alternatives, const TextStyle& style,
                       std::ostream& out) {
  if (alternatives.empty()) return;
  PrintTitle(style, title, out);
  TextTable table({">rank", "domain", column, ""});
  for (const Alternative& one : alternatives) {
    table.Add(
        {std::to_string(one.rank), one.domain, FormatBytes(one.bytes), one.chosen ? "chosen" : ""});
  }
  table.Print(style, out);
}

void WriteRanks(const char* name, const std::vector<Rank>& ranks, JsonWriter* json) {
  json->BeginArray(name);
  for (const Rank rank : ranks) json->Item(int64_t{rank});
  json->End();
}

void WriteAlternatives(const char* name, const std::vector<Alternative>& alternatives,
                       JsonWriter* json) {
  json->BeginArray(name);
  for (const Alternative& one : alternatives) {
    json->BeginObject();
    json->Field("rank", int64_t{one.rank});
    json->Field("domain", one.domain);
    json->Field("bytes", one.bytes);
    json->Flag("chosen", one.chosen);
    json->End();
  }
  json->End();
}

void WriteFlow(const Plan& plan, const Flow& flow, bool why, JsonWriter* json) {
  json->BeginObject();
  json->Field("tensor", flow.tensor);
  json->BeginArray("elements");
  for (const auto& [first, last] : flow.index) {
    json->BeginObject();
    json->Field("first", first);
    json->Field("last", last);
    json->End();
  }
  json->End();
  json->Field("bytes", flow.bytes);
  json->Field("class", int64_t{flow.cls});
  json->Field("stream", int64_t{flow.stream});
  json->Field("tree", int64_t{flow.tree});
  json->Flag("local", flow.local);
  WriteRanks("sources", flow.sources, json);
  WriteRanks("path", flow.path, json);
  WriteRanks("destinations", flow.destinations, json);
  json->Field("first_round", int64_t{flow.first_round});
  json->Field("last_round", int64_t{flow.last_round});
  if (why) {
    WriteAlternatives("holders", SourceAlternatives(plan, flow), json);
    WriteAlternatives("landers", LanderAlternatives(plan, flow), json);
  }
  json->End();
}

}  // namespace

void PrintFlowsText(const Plan& plan, const FlowsReport& report, const TextStyle& style,
                    std::ostream& out) {
  const bool source = report.query.side == PlanSide::kSource;
  std::string question = (source ? "source rank " : "destination rank ") +
                         std::to_string(report.query.rank) + ", " + report.param;
  if (report.query.at) {
    std::string at;
    for (const int64_t index : *report.query.at) {
      at += (at.empty() ? "" : ", ") + std::to_string(index);
    }
    question += " [" + at + "]";
  }
  PrintLine(style, question + (source ? " goes to" : " comes from"), out);
  if (report.flows.empty()) {
    PrintLine(style, "  nothing: no tensor that is moved has these elements", out);
    return;
  }
  TextTable table({"elements", ">bytes", "sources", "landers", "needers", ">class", ">stream",
                   ">tree", ">rounds"});
  for (const Flow& flow : report.flows) {
    table.Add({Elements(flow), FormatCount(flow.bytes), DescribeRanks(flow.sources), Path(flow),
               DescribeRanks(flow.destinations), std::to_string(flow.cls),
               std::to_string(flow.stream), std::to_string(flow.tree), Rounds(flow)});
  }
  table.Print(style, out);
  if (!report.why) return;
  const Flow& first = report.flows.front();
  PrintAlternatives("holders of the first of these, with all that they send over the network",
                    ">sends", SourceAlternatives(plan, first), style, out);
  PrintAlternatives("ranks where it might land, with all that they receive over the network",
                    ">receives", LanderAlternatives(plan, first), style, out);
}

void PrintFlowsJson(const Plan& plan, const FlowsReport& report, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-explain/1");
  json.Field("side", report.query.side == PlanSide::kSource ? "source" : "destination");
  json.Field("rank", int64_t{report.query.rank});
  json.Field("param", report.param);
  if (report.query.at) {
    json.BeginArray("at");
    for (const int64_t index : *report.query.at) json.Item(index);
    json.End();
  }
  json.BeginArray("flows");
  for (const Flow& flow : report.flows) WriteFlow(plan, flow, report.why, &json);
  json.End();
  json.End();
  out << json.Text() << "\n";
}

void PrintPassagesText(const std::string& what, const std::vector<Passage>& passages,
                       const TextStyle& style, std::ostream& out) {
  int64_t bytes = 0;
  for (const Passage& passage : passages) bytes += passage.bytes;
  PrintLine(style,
            what + ": " + FormatCount(static_cast<int64_t>(passages.size())) +
                (passages.size() == 1 ? " message, " : " messages, ") + FormatBytes(bytes),
            out);
  TextTable table({">round", ">from", ">to", ">tree", "stream bytes", ">bytes"});
  for (const Passage& passage : passages) {
    table.Add({std::to_string(passage.round), std::to_string(passage.from),
               std::to_string(passage.to), std::to_string(passage.tree),
               "[" + std::to_string(passage.begin) + ", " +
                   std::to_string(passage.begin + passage.bytes) + ")",
               FormatCount(passage.bytes)});
  }
  table.Print(style, out);
}

void PrintPassagesJson(const std::string& what, const std::vector<Passage>& passages,
                       std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-explain-passages/1");
  json.Field("of", what);
  json.BeginArray("messages");
  for (const Passage& passage : passages) {
    json.BeginObject();
    json.Field("round", int64_t{passage.round});
    json.Field("from", int64_t{passage.from});
    json.Field("to", int64_t{passage.to});
    json.Field("tree", int64_t{passage.tree});
    json.Field("begin", passage.begin);
    json.Field("bytes", passage.bytes);
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
}

}  // namespace reshard
