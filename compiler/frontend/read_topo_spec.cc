// ReadTopoSpec: a topology file's top level, its nodes, scale-up domains, ranks and overrides.
#include <optional>
#include <string>
#include <utility>

#include "compiler/frontend/topo_reader.h"
#include "compiler/frontend/topo_spec.h"

namespace reshard {

namespace {

bool ReadNodeEntry(const JsonNode& node, TopoReader* reader, NodeSpec* out) {
  ObjectReader object(node, "the entry of 'nodes'", reader->diags);
  out->nodes = reader->RequiredHosts("names", &object);
  out->type = reader->RequiredText("type", &object);
  out->group = reader->OptionalText("group", &object);
  return object.Finish();
}

bool ReadScaleup(const JsonNode& node, TopoReader* reader, ScaleupSpec* out) {
  ObjectReader object(node, "the scale-up domain", reader->diags);
  out->span = node.span;
  out->name = reader->RequiredText("name", &object);
  out->per_node = object.Word("per", {"node"}).has_value();
  out->nodes = reader->OptionalHosts("nodes", &object);
  out->bytes_per_s = reader->RequiredBandwidth("bw", &object);
  out->latency_ns = reader->Latency("lat", &object).value_or(0);
  for (const char* key : {"kind", "cluster_uuid"}) reader->IgnoreText(key, &object);
  for (const char* key : {"peak_bw", "clique_id"}) reader->IgnoreNumber(key, &object);
  reader->IgnoreBool("multicast", &object);
  if (object.ok() && !out->per_node && !out->nodes) {
    reader->diags->Error(DiagnosticCode::kMissingKey,
                         {node.span.file, node.span.begin, node.span.begin + 1},
                         "the scale-up domain has neither \"per\":\"node\" nor 'nodes'");
    object.MarkBad();
  }
  return object.Finish();
}

bool ReadRankEntry(const JsonNode& node, TopoReader* reader, RankRangeSpec* out) {
  ObjectReader object(node, "the entry of 'ranks'", reader->diags);
  if (const JsonNode* rank = object.Optional("rank")) {
    out->ranks_span = rank->span;
    const std::optional<int64_t> number = object.Integer("rank", 0, kMaxTopologyRank);
    if (number) out->ranks.push_back(static_cast<uint32_t>(*number));
    const LocatedText name = reader->RequiredText("node", &object);
    out->nodes = {{name.value}, name.span};
    if (const JsonNode* gpu = object.Required("gpu")) {
      out->gpus_span = gpu->span;
      const std::optional<int64_t> index = object.Integer("gpu", 0, kMaxGpusPerNode - 1);
      if (index) out->gpus.push_back(static_cast<uint32_t>(*index));
    }
    return object.Finish();
  }
  if (const JsonNode* ranks = object.Required("ranks")) out->ranks_span = ranks->span;
  out->ranks = reader->Numbers("ranks", kMaxTopologyRank, &object);
  out->nodes = reader->RequiredHosts("nodes", &object);
  static_cast<void>(object.Word("order", {"node-major"}));
  if (const JsonNode* gpus = object.Optional("gpus")) out->gpus_span = gpus->span;
  out->gpus = reader->Numbers("gpus", kMaxGpusPerNode - 1, &object);
  return object.Finish();
}

bool ReadOverride(const JsonNode& node, TopoReader* reader, OverrideSpec* out) {
  ObjectReader object(node, "the override", reader->diags);
  out->span = node.span;
  reader->IgnoreText("reason", &object);
  if (object.Has("rank")) {
    const std::optional<int64_t> rank = object.Integer("rank", 0, kMaxTopologyRank);
    if (rank) out->rank = static_cast<uint32_t>(*rank);
    static_cast<void>(object.Required("excluded"));
    out->excluded = object.Bool("excluded").value_or(false);
    return object.Finish();
  }
  out->node = reader->RequiredText("node", &object);
  out->nic = reader->RequiredText("nic", &object);
  out->bytes_per_s = reader->RequiredBandwidth("bw", &object);
  return object.Finish();
}

// Reads every item of an array member with `read`.
template <typename Spec, typename Read>
bool ReadArray(const JsonNode* array, TopoReader* reader, std::vector<Spec>* out, Read read) {
  bool ok = true;
  if (array == nullptr) return ok;
  out->reserve(array->items.size());
  for (const JsonNode& item : array->items) ok &= read(item, reader, &out->emplace_back());
  return ok;
}

bool ReadHeader(ObjectReader* object, Diagnostics* diags) {
  const JsonNode* format = object->Required("format", JsonNode::Kind::kString);
  const JsonNode* version = object->Required("version", JsonNode::Kind::kNumber);
  if (format == nullptr || version == nullptr) return false;
  if (format->text != "reshard-topo") {
    diags->Error(DiagnosticCode::kBadFormat, format->span,
                 "the format is '" + format->text + "', expected 'reshard-topo'");
    return false;
  }
  if (version->text == "1") return true;
  diags->Error(DiagnosticCode::kBadFormat, version->span,
               "the version is " + DescribeJson(*version) + ", expected 1");
  return false;
}

bool ReadFabrics(const JsonNode* fabrics, TopoReader* reader, std::optional<FabricSpec>* out) {
  if (fabrics == nullptr || fabrics->items.empty()) return true;
  if (fabrics->items.size() > 1) {
    reader->diags
        ->Error(DiagnosticCode::kBadValue, fabrics->items[1].span,
                "there are " + std::to_string(fabrics->items.size()) +
                    " fabrics, expected one that connects all NICs")
        .notes.push_back({fabrics->items[0].span, "the first one is here"});
    return false;
  }
  return ReadFabric(fabrics->items[0], reader, &out->emplace());
}

}  // namespace

bool ReadTopoSpec(const JsonNode& root, Diagnostics* diags, TopoSpec* out) {
  *out = TopoSpec();
  out->file = root.span.file;
  out->span = root.span;
  ObjectReader object(root, "the topology", diags);
  // A file of another format would only cause errors that follow.
  if (!ReadHeader(&object, diags)) return false;
  TopoReader reader;
  reader.diags = diags;
  bool ok = true;
  if (const JsonNode* types = object.Required("node_types", JsonNode::Kind::kObject)) {
    out->node_types.reserve(types->members.size());
    for (const JsonMember& member : types->members) {
      if (member.key == "comment") continue;
      ok &= ReadNodeType(member, &reader, &out->node_types.emplace_back());
    }
  }
  const auto array = [&](std::string_view key) {
    return object.Optional(key, JsonNode::Kind::kArray);
  };
  ok &= ReadArray(object.Required("nodes", JsonNode::Kind::kArray), &reader, &out->nodes,
                  ReadNodeEntry);
  ok &= ReadArray(array("scaleup"), &reader, &out->scaleup, ReadScaleup);
  ok &= ReadFabrics(array("fabrics"), &reader, &out->fabric);
  ok &= ReadArray(object.Required("ranks", JsonNode::Kind::kArray), &reader, &out->ranks,
                  ReadRankEntry);
  ok &= ReadArray(array("overrides"), &reader, &out->overrides, ReadOverride);
  return object.Finish() && ok;
}

}  // namespace reshard
