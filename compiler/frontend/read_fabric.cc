// ReadFabric: the network between the nodes of a topology.
#include <algorithm>
#include <optional>
#include <string>

#include "compiler/frontend/topo_reader.h"

namespace reshard {

namespace {

bool ReadGroup(const JsonNode& node, TopoReader* reader, FabricSpec::Group* out) {
  ObjectReader object(node, "the group", reader->diags);
  out->span = node.span;
  out->name = reader->RequiredText("name", &object);
  out->nodes = reader->OptionalHosts("nodes", &object);
  out->uplink_bytes_per_s_per_leaf = reader->Bandwidth("uplink_bw_per_leaf", &object);
  out->leaf_per_rail = static_cast<uint32_t>(object.Integer("leaf_per_rail", 1, 1024).value_or(1));
  return object.Finish();
}

// {"via":"spine","lat":8.0}: how traffic of one class goes.
bool ReadClass(std::string_view key, TopoReader* reader, ObjectReader* fabric,
               std::optional<int64_t>* latency_ns) {
  const JsonNode* node = fabric->Optional(key);
  if (node == nullptr) return true;
  ObjectReader object(*node, fabric->Describe(key), reader->diags);
  static_cast<void>(object.Word("via", {"leaf", "spine"}));
  const std::optional<int64_t> latency = reader->Latency("lat", &object);
  if (latency) *latency_ns = latency;
  return object.Finish();
}

}  // namespace

bool ReadFabric(const JsonNode& node, TopoReader* reader, FabricSpec* out) {
  ObjectReader object(node, "the fabric", reader->diags);
  out->span = node.span;
  out->name = reader->RequiredText("name", &object);
  if (object.Required("kind") == nullptr) return false;
  const std::optional<std::string> kind = object.Word("kind", {"flat", "rails", "single_switch"});
  if (!kind) return false;
  out->kind = *kind == "rails"           ? FabricSpec::Kind::kRails
              : *kind == "single_switch" ? FabricSpec::Kind::kSingleSwitch
                                         : FabricSpec::Kind::kFlat;
  bool ok = true;
  if (const JsonNode* groups = object.Optional("groups", JsonNode::Kind::kArray)) {
    for (const JsonNode& group : groups->items) {
      ok &= ReadGroup(group, reader, &out->groups.emplace_back());
    }
  }
  if (const JsonNode* rails = object.Optional("rails")) {
    out->rails_span = rails->span;
    const std::optional<int64_t> count = object.Integer("rails", 1, kMaxNicsPerNode);
    if (count) out->rails = static_cast<uint32_t>(*count);
  }
  if (const JsonNode* ratio = object.Optional("oversubscription")) {
    constexpr DecimalRule kRule = {6, 1'000'000, 1'000'000'000'000, "", DiagnosticCode::kBadValue};
    const std::optional<int64_t> value =
        ReadDecimal(*ratio, object.Describe("oversubscription"), kRule, reader->diags);
    if (!value) object.MarkBad();
    if (value) out->oversubscription_micro = {*value, ratio->span};
  }
  out->total_bytes_per_s = reader->Bandwidth("bw_total", &object);
  static_cast<void>(object.Word("cross_rail_policy", {"nvlink_then_rail", "spine"}));
  // Each class of traffic is at least as slow as the nearer one where its latency is not stated.
  std::optional<int64_t> near = reader->Latency("lat", &object);
  ok &= ReadClass("same_rail_same_group", reader, &object, &near);
  std::optional<int64_t> cross_rail;
  ok &= ReadClass("cross_rail_same_group", reader, &object, &cross_rail);
  std::optional<int64_t> cross_group;
  ok &= ReadClass("cross_group", reader, &object, &cross_group);
  out->latency_ns = near.value_or(0);
  out->cross_rail_latency_ns = cross_rail.value_or(out->latency_ns);
  out->cross_group_latency_ns = cross_group.value_or(out->cross_rail_latency_ns);
  return object.Finish() && ok;
}

}  // namespace reshard
