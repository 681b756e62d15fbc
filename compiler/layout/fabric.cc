#include "compiler/layout/fabric.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/checked_math.h"

namespace reshard {

namespace {

constexpr int64_t kRatioOne = 1'000'000;  // an oversubscription of 1.0

void CheckRails(const TopoSpec& spec, Diagnostics* diags) {
  const FabricSpec& fabric = *spec.fabric;
  if (fabric.kind != FabricSpec::Kind::kRails) {
    if (fabric.rails) {
      diags->Error(DiagnosticCode::kBadValue, fabric.rails_span,
                   "'rails' of a fabric that is not of kind 'rails'");
    }
    return;
  }
  const uint32_t rails = RailCount(spec);
  for (const NodeTypeSpec& type : spec.node_types) {
    for (const NicSpec& nic : type.nics) {
      const std::string what =
          "the NIC '" + nic.name.value + "' of node type '" + type.name.value + "'";
      if (!nic.rail) {
        diags->Error(DiagnosticCode::kBadValue, nic.span,
                     what + " has no 'rail', the fabric has rails");
        break;  // the others of this type are alike
      }
      // Without a count the highest rail makes it.
      if (static_cast<uint32_t>(*nic.rail) < rails) continue;
      diags
          ->Error(DiagnosticCode::kBadValue, nic.span,
                  what + " is on rail " + std::to_string(*nic.rail) +
                      ", the fabric has rails 0 to " + std::to_string(rails - 1))
          .notes.push_back({fabric.rails_span, "the number of rails is given here"});
      break;
    }
  }
}

int64_t NicBytesOfGroup(const TopoSpec& spec, const NodeTable& nodes, uint32_t group) {
  std::vector<std::optional<int64_t>> of_type(spec.node_types.size());
  std::optional<int64_t> total = 0;
  for (const FileNode& node : nodes.nodes()) {
    if (node.group != group || !total) continue;
    std::optional<int64_t>& bytes = of_type[node.type];
    if (!bytes) {
      bytes = 0;  // at most kMaxNicsPerNode * kMaxBytesPerSecond: fits
      for (const NicSpec& nic : spec.node_types[node.type].nics) *bytes += nic.bytes_per_s;
    }
    total = CheckedAdd(*total, *bytes);
  }
  return total.value_or(INT64_MAX);
}

void AddGroup(const TopoSpec& spec, const NodeTable& nodes, uint32_t group, Diagnostics* diags,
              Topology* out) {
  const FabricSpec& fabric = *spec.fabric;
  const FabricSpec::Group& from = fabric.groups[group];
  std::optional<int64_t> uplink = 0;
  if (from.uplink_bytes_per_s_per_leaf != 0) {
    uplink = CheckedProduct<int64_t>(
        {from.uplink_bytes_per_s_per_leaf, from.leaf_per_rail, RailCount(spec)});
  } else if (fabric.oversubscription_micro && fabric.oversubscription_micro->value > kRatioOne) {
    // total * 10^6 / ratio, divided first so that it fits.
    const int64_t total = NicBytesOfGroup(spec, nodes, group);
    const int64_t ratio = fabric.oversubscription_micro->value;
    uplink = total / ratio * kRatioOne + total % ratio * kRatioOne / ratio;
  }
  if (uplink) {
    out->groups.push_back({from.name.value, *uplink});
    return;
  }
  diags->Error(DiagnosticCode::kBadBandwidth, from.span,
               "the uplinks of the group '" + from.name.value + "' do not fit into 64 bits");
}

}  // namespace

uint32_t RailCount(const TopoSpec& spec) {
  if (!spec.fabric || spec.fabric->kind != FabricSpec::Kind::kRails) return 1;
  if (spec.fabric->rails) return *spec.fabric->rails;
  int32_t highest = 0;
  for (const NodeTypeSpec& type : spec.node_types) {
    for (const NicSpec& nic : type.nics) highest = std::max(highest, nic.rail.value_or(0));
  }
  return static_cast<uint32_t>(highest) + 1;
}

void CheckFabric(const TopoSpec& spec, Diagnostics* diags) {
  if (!spec.fabric) return;
  const FabricSpec& fabric = *spec.fabric;
  CheckRails(spec, diags);
  if (fabric.kind == FabricSpec::Kind::kSingleSwitch && !fabric.groups.empty()) {
    diags->Error(DiagnosticCode::kBadValue, fabric.groups[0].span,
                 "a fabric of kind 'single_switch' has no groups");
  }
  const bool oversubscribed =
      fabric.oversubscription_micro && fabric.oversubscription_micro->value > kRatioOne;
  if (!oversubscribed || !fabric.groups.empty()) return;
  diags->Error(
      DiagnosticCode::kBadValue, fabric.oversubscription_micro->span,
      "an oversubscribed fabric without groups: it does not say which nodes share uplinks");
}

void AddGroups(const TopoSpec& spec, const NodeTable& nodes, Diagnostics* diags, Topology* out) {
  if (!spec.fabric) return;
  for (uint32_t g = 0; g < spec.fabric->groups.size(); ++g) AddGroup(spec, nodes, g, diags, out);
}

}  // namespace reshard
