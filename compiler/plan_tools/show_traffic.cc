#include "compiler/plan_tools/show_traffic.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan_tools/explain.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/loads.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

struct RankRow {
  const PlanSite* site = nullptr;
  int64_t source_bytes = 0, destination_bytes = 0;
  PortLoads network;
  int64_t staging_bytes = 0;
};

// Ranks that have a site, rising.
std::map<Rank, RankRow> RankRows(const Plan& plan) {
  const PlanLoads loads = ComputeLoads(plan);
  std::map<Rank, RankRow> rows;
  for (size_t s = 0; s < plan.sites.size(); ++s) {
    RankRow& row = rows[plan.sites[s].rank];
    row.site = &plan.sites[s];
    row.network = loads.sites[s];
  }
  for (const PlanFamily& family : plan.families) {
    int64_t bytes = family.bytes;
    for (const int64_t extent : family.loop_extent) bytes *= extent;
    for (const Rank rank : plan.rank_sets[family.rank_set]) {
      const auto row = rows.find(rank);
      if (row == rows.end()) continue;
      (family.side == PlanSide::kSource ? row->second.source_bytes
                                        : row->second.destination_bytes) += bytes;
    }
  }
  for (const PlanRank& entry : plan.ranks) {
    const auto row = rows.find(entry.rank);
    if (row != rows.end()) row->second.staging_bytes = entry.staging_bytes();
  }
  return rows;
}

struct SizeBucket {
  int64_t messages = 0;
  int64_t bytes = 0;
};

// By the largest power of two that is no larger than the message.
std::map<int64_t, SizeBucket> MessageSizes(const Plan& plan) {
  std::map<int64_t, SizeBucket> buckets;
  ForEachPassage(plan, [&](const Passage& passage) {
    int64_t size = 1;
    while (size <= passage.bytes / 2) size *= 2;
    SizeBucket& bucket = buckets[size];
    ++bucket.messages;
    bucket.bytes += passage.bytes;
  });
  return buckets;
}

// A string of the dot language.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

void PrintRankNodes(const Plan& plan, std::ostream& out) {
  for (uint32_t d = 0; d < plan.domains.size(); ++d) {
    out << "  subgraph cluster_" << d << " {\n    label=" << Quoted(plan.domains[d].name) << ";\n";
    for (const PlanSite& site : plan.sites) {
      if (site.domain == d) out << "    " << site.rank << ";\n";
    }
    out << "  }\n";
  }
}

}  // namespace

void ShowRanksText(const Plan& plan, const TextStyle& style, std::ostream& out) {
  TextTable table(
      {">rank", "node", "domain", ">source", ">destination", ">sends", ">receives", ">staging"});
  for (const auto& [rank, row] : RankRows(plan)) {
    table.Add({std::to_string(rank), row.site->node, plan.domains[row.site->domain].name,
               FormatBytes(row.source_bytes), FormatBytes(row.destination_bytes),
               FormatBytes(row.network.send_bytes), FormatBytes(row.network.receive_bytes),
               FormatBinary(row.staging_bytes)});
  }
  table.Print(style, out);
}

void ShowRanksJson(const Plan& plan, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-show-ranks/1");
  json.BeginArray("ranks");
  for (const auto& [rank, row] : RankRows(plan)) {
    json.BeginObject();
    json.Field("rank", int64_t{rank});
    json.Field("node", row.site->node);
    json.Field("domain", plan.domains[row.site->domain].name);
    json.Field("source_bytes", row.source_bytes);
    json.Field("destination_bytes", row.destination_bytes);
    json.Field("send_bytes", row.network.send_bytes);
    json.Field("receive_bytes", row.network.receive_bytes);
    json.Field("staging_bytes", row.staging_bytes);
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
}

void ShowMessagesText(const Plan& plan, const TextStyle& style, std::ostream& out) {
  const std::map<int64_t, SizeBucket> buckets = MessageSizes(plan);
  int64_t most = 1;
  for (const auto& [size, bucket] : buckets) most = std::max(most, bucket.messages);
  constexpr int64_t kBarWidth = 40;
  TextTable table({">from size", ">messages", ">bytes", ""});
  for (const auto& [size, bucket] : buckets) {
    const int64_t width = std::max<int64_t>(1, bucket.messages * kBarWidth / most);
    table.Add({FormatCount(size) + " B", FormatCount(bucket.messages), FormatBytes(bucket.bytes),
               std::string(static_cast<size_t>(width), '#')});
  }
  table.Print(style, out);
}

void ShowMessagesJson(const Plan& plan, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-show-messages/1");
  json.BeginArray("sizes");
  for (const auto& [size, bucket] : MessageSizes(plan)) {
    json.BeginObject();
    json.Field("from_bytes", size);
    json.Field("messages", bucket.messages);
    json.Field("bytes", bucket.bytes);
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
}

void ShowDot(const Plan& plan, DotNodes nodes, std::ostream& out) {
  std::map<Rank, uint32_t> domain_of;
  for (const PlanSite& site : plan.sites) domain_of[site.rank] = site.domain;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> edges;
  ForEachPassage(plan, [&](const Passage& passage) {
    const bool by_rank = nodes == DotNodes::kRanks;
    edges[{by_rank ? passage.from : domain_of[passage.from],
           by_rank ? passage.to : domain_of[passage.to]}] += passage.bytes;
  });
  out << "digraph plan {\n  rankdir=LR;\n";
  if (nodes == DotNodes::kRanks) PrintRankNodes(plan, out);
  const auto name = [&](uint32_t node) {
    return nodes == DotNodes::kRanks ? std::to_string(node) : Quoted(plan.domains[node].name);
  };
  for (const auto& [edge, bytes] : edges) {
    out << "  " << name(edge.first) << " -> " << name(edge.second)
        << " [label=" << Quoted(FormatBytes(bytes)) << "];\n";
  }
  out << "}\n";
}

}  // namespace reshard
