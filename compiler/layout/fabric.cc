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

// The bandwidth of all NICs of each group, as the node types say; the highest number if it is more.
std::vector<int64_t> NicBytesOfGroups(const TopoSpec& spec, const NodeTable& nodes) {
  std::vector<int64_t> of_type(spec.node_types.size(), 0);
  for (size_t t = 0; t < of_type.size(); ++t) {
    // At most kMaxNicsPerNode * kMaxBytesPerSecond: fits.
    for (const NicSpec& nic : spec.node_types[t].nics) of_type[t] += nic.bytes_per_s;
  }
  std::vector<int64_t> totals(spec.fabric->groups.size(), 0);
  for (const FileNode& node : nodes.nodes()) {
    if (node.group == kNoEntry) continue;
    int64_t& total = totals[node.group];
    total = CheckedAdd(total, of_type[node.type]).value_or(INT64_MAX);
  }
  return totals;
}

// What the uplinks of a group carry, whose NICs together send `nic_bytes_per_s`; 0: no limit.
std::optional<int64_t> UplinkOf(const FabricSpec& fabric, uint32_t rails,
                                const FabricSpec::Group& group, int64_t nic_bytes_per_s) {
  if (group.uplink_bytes_per_s_per_leaf != 0) {
    return CheckedProduct<int64_t>({group.uplink_bytes_per_s_per_leaf, group.leaf_per_rail, rails});
  }
  const std::optional<Located64>& ratio = fabric.oversubscription_micro;
  if (!ratio || ratio->value == kRatioOne) return 0;
  // nic_bytes_per_s * kRatioOne / ratio, divided first so that it fits.
  return nic_bytes_per_s / ratio->value * kRatioOne +
         nic_bytes_per_s % ratio->value * kRatioOne / ratio->value;
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
  const uint32_t rails = RailCount(spec);
  const std::vector<int64_t> nic_bytes = NicBytesOfGroups(spec, nodes);
  for (size_t g = 0; g < nic_bytes.size(); ++g) {
    const FabricSpec::Group& group = spec.fabric->groups[g];
    const std::optional<int64_t> uplink = UplinkOf(*spec.fabric, rails, group, nic_bytes[g]);
    if (!uplink) {
      diags->Error(DiagnosticCode::kBadBandwidth, group.span,
                   "the uplinks of the group '" + group.name.value + "' do not fit into 64 bits");
    }
    out->groups.push_back({group.name.value, uplink.value_or(0)});
  }
}

}  // namespace reshard
