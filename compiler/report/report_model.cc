#include "compiler/report/report_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/loads.h"
#include "compiler/plan_tools/summary.h"
#include "compiler/report/number_pack.h"
#include "compiler/report/rank_traffic.h"
#include "compiler/report/tensor_index.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

template <class Rows, class Get>
void WriteColumn(std::string_view name, const Rows& rows, const Get& get, JsonWriter* json) {
  json->BeginArray(name);
  for (const auto& row : rows) json->Item(get(row));
  json->End();
}

void WriteDomains(const Plan& plan, const PlanLoads& loads, JsonWriter* json) {
  json->BeginObject("domains");
  WriteColumn(
      "name", plan.domains, [](const PlanDomain& d) { return EscapeForTerminal(d.name); }, json);
  WriteColumn(
      "needed", loads.domains, [](const DomainLoads& d) { return d.needed_bytes; }, json);
  json->End();
}

// Bytes that each site stores on one side.
std::vector<int64_t> StoredBytes(const Plan& plan, PlanSide side) {
  std::map<Rank, size_t> site_of;
  for (size_t s = 0; s < plan.sites.size(); ++s) site_of[plan.sites[s].rank] = s;
  std::vector<int64_t> bytes(plan.sites.size(), 0);
  for (const PlanFamily& family : plan.families) {
    if (family.side != side) continue;
    int64_t all = family.bytes;
    for (const int64_t extent : family.loop_extent) all *= extent;
    for (const Rank rank : plan.rank_sets[family.rank_set]) {
      const auto site = site_of.find(rank);
      if (site != site_of.end()) bytes[site->second] += all;
    }
  }
  return bytes;
}

void WriteSites(const Plan& plan, JsonWriter* json) {
  std::map<std::string_view, int64_t> nodes;
  for (const PlanSite& site : plan.sites) nodes.emplace(site.node, 0);
  int64_t next = 0;
  for (auto& [name, number] : nodes) number = next++;
  WriteColumn(
      "nodes", nodes, [](const auto& node) { return EscapeForTerminal(node.first); }, json);

  json->BeginObject("sites");
  const auto column = [&](std::string_view name, const auto& get) {
    WriteColumn(name, plan.sites, get, json);
  };
  column("rank", [](const PlanSite& site) { return int64_t{site.rank}; });
  column("domain", [](const PlanSite& site) { return int64_t{site.domain}; });
  column("node", [&](const PlanSite& site) { return nodes.at(site.node); });
  column("gpu", [](const PlanSite& site) { return int64_t{site.gpu}; });
  json->BeginArray("nics");
  for (const PlanSite& site : plan.sites) {
    json->BeginArray();
    for (const uint32_t nic : site.nics) json->Item(int64_t{nic});
    json->End();
  }
  json->End();
  const auto same = [](int64_t bytes) { return bytes; };
  WriteColumn("source_bytes", StoredBytes(plan, PlanSide::kSource), same, json);
  WriteColumn("destination_bytes", StoredBytes(plan, PlanSide::kDestination), same, json);
  std::map<Rank, int64_t> staging;
  for (const PlanRank& rank : plan.ranks) staging[rank.rank] = rank.staging_bytes();
  column("staging_bytes", [&](const PlanSite& site) {
    const auto found = staging.find(site.rank);
    return found == staging.end() ? int64_t{0} : found->second;
  });
  json->End();
}

void WriteNics(const Plan& plan, const PlanLoads& loads, JsonWriter* json) {
  json->BeginObject("nics");
  WriteColumn(
      "name", plan.nics, [](const PlanNic& nic) { return EscapeForTerminal(nic.name); }, json);
  WriteColumn(
      "bytes_per_s", plan.nics, [](const PlanNic& nic) { return nic.bytes_per_s; }, json);
  WriteColumn(
      "send", loads.nics, [](const PortLoads& nic) { return nic.send_bytes; }, json);
  WriteColumn(
      "receive", loads.nics, [](const PortLoads& nic) { return nic.receive_bytes; }, json);
  json->End();
}

// The traffic by (from, to): per sender its site and the number of its receivers; per receiver the
// distance to the one before (or to 0), and which of the different (bytes, messages) it gets.
void WriteTraffic(const std::vector<TrafficEdge>& edges, JsonWriter* json) {
  std::map<std::pair<int64_t, int64_t>, int64_t> uses;
  for (const TrafficEdge& edge : edges) ++uses[{edge.bytes, edge.messages}];
  // The most frequent amounts first: their numbers are short.
  std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> amounts;
  for (const auto& [amount, count] : uses) amounts.emplace_back(-count, amount);
  std::sort(amounts.begin(), amounts.end());
  std::map<std::pair<int64_t, int64_t>, uint64_t> number_of;
  for (size_t i = 0; i < amounts.size(); ++i) number_of[amounts[i].second] = i;

  NumberPack pack;
  for (size_t i = 0; i < edges.size();) {
    size_t end = i;
    while (end < edges.size() && edges[end].from == edges[i].from) ++end;
    pack.Add(edges[i].from);
    pack.Add(end - i);
    uint32_t before = 0;
    for (; i < end; ++i) {
      pack.Add(edges[i].to - before);
      pack.Add(number_of.at({edges[i].bytes, edges[i].messages}));
      before = edges[i].to;
    }
  }
  json->BeginObject("traffic");
  json->Field("pairs", static_cast<int64_t>(edges.size()));
  WriteColumn(
      "bytes", amounts, [](const auto& amount) { return amount.second.first; }, json);
  WriteColumn(
      "messages", amounts, [](const auto& amount) { return amount.second.second; }, json);
  json->Field("packed", pack.Base64());
  json->End();
}

void WriteTimeline(const Timeline& timeline, JsonWriter* json) {
  json->BeginObject("timeline");
  json->Field("failure", EscapeForTerminal(timeline.failure));
  json->Field("total_ns", timeline.total_ns);
  WriteColumn(
      "domains", timeline.domains, [](uint32_t domain) { return int64_t{domain}; }, json);
  json->BeginArray("windows");
  for (const TimelineWindow& window : timeline.windows) {
    json->BeginObject();
    json->Field("first_round", int64_t{window.first_round});
    json->Field("end_round", int64_t{window.end_round});
    // Per span: 0 message, 1 copy; round, sender, receiver, bytes, begin, end (picoseconds).
    json->BeginArray("spans");
    for (const SimSpan& span : window.spans) {
      json->Item(span.kind == SimSpanKind::kMessage ? int64_t{0} : int64_t{1});
      for (const int64_t number : {int64_t{span.round}, int64_t{span.src}, int64_t{span.dst},
                                   span.bytes, span.begin_ps, span.end_ps}) {
        json->Item(number);
      }
    }
    json->End();
    json->End();
  }
  json->End();
  json->End();
}

void WriteVerified(const VerifyReport& verified, JsonWriter* json) {
  json->BeginObject("verified");
  json->Field("verdict", PlanVerdict(verified));
  json->BeginArray("violations");
  for (const Violation& violation : verified.violations)
    json->Item(EscapeForTerminal(Describe(violation)));
  json->End();
  json->End();
}

void WriteHeader(const ReportPlan& report, JsonWriter* json) {
  const PlanHeader& header = report.loaded.plan.header;
  json->Field("name", EscapeForTerminal(report.name));
  json->Field("digest", ToHex(report.loaded.root_digest));
  json->BeginObject("inputs");
  json->Field("train", ToHex(header.train_digest));
  json->Field("infer", ToHex(header.infer_digest));
  json->Field("topo", ToHex(header.topo_digest));
  json->End();
  json->BeginArray("options");
  for (const auto& [name, value] : header.options) {
    json->BeginArray();
    json->Item(EscapeForTerminal(name));
    json->Item(EscapeForTerminal(value));
    json->End();
  }
  json->End();
}

}  // namespace

std::string_view PlanVerdict(const VerifyReport& verified) {
  if (verified.ok()) return "sound";
  return verified.violations.empty() ? "undecided" : "violated";
}

std::string ReportModelJson(const ReportPlan& report) {
  const Plan& plan = report.loaded.plan;
  const PlanLoads loads = ComputeLoads(plan);
  JsonWriter json;
  json.BeginObject();
  WriteHeader(report, &json);
  json.BeginObject("summary");
  WriteSummary(plan, Summarize(plan), report.plan_bytes, &json);
  json.End();
  WriteVerified(report.verified, &json);
  WriteDomains(plan, loads, &json);
  WriteSites(plan, &json);
  WriteNics(plan, loads, &json);
  WriteTraffic(RankTraffic(plan), &json);
  WriteTimeline(report.timeline, &json);
  WriteTensorIndex(plan, &json);
  json.End();
  return json.Line();
}

}  // namespace reshard
