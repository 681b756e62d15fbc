#include "compiler/layout/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/layout/nic_affinity.h"
#include "runtime/base/checked_math.h"

namespace reshard {

namespace {

// NICs of all nodes, and NICs of all ranks: two files of a few kilobytes could ask for billions.
constexpr size_t kMaxTopologyNics = size_t{1} << 22;

Span Brace(Span span) { return {span.file, span.begin, std::min(span.begin + 1, span.end)}; }

// A node of the file, whether or not a rank is placed on it.
struct FileNode {
  std::string_view name;
  uint32_t entry = 0;     // of TopoSpec::nodes
  uint32_t type = kNone;  // of TopoSpec::node_types
  uint32_t group = kNone;
  uint32_t scaleup = kNone;  // of TopoSpec::scaleup
  NodeId used = kNone;       // of Topology::nodes
  NicId first_nic = 0;
};

struct Placement {
  Rank rank = 0;
  uint32_t node = 0;  // of the file's nodes
  uint32_t gpu = 0;
  uint32_t entry = 0;  // of TopoSpec::ranks
};

class TopologyBuilder {
 public:
  TopologyBuilder(const TopoSpec& spec, Diagnostics* diags, Topology* out)
      : spec_(spec), diags_(diags), out_(out) {}

  bool Build() {
    const size_t errors_before = diags_->error_count();
    out_->file = spec_.file;
    IndexNodes();
    CheckRails();
    AssignGroups();
    AssignScaleups();
    PlaceRanks();
    ReadOverrides();
    if (diags_->error_count() != errors_before) return false;
    SetFabric();
    AddNodes();
    AddSites();
    AddDomains();
    return diags_->error_count() == errors_before;
  }

 private:
  void IndexNodes();
  uint32_t FindNode(const std::string& name, Span span);
  void CheckRails();
  uint32_t RailCount() const;
  uint32_t GroupNamed(const LocatedText& name);
  void AssignGroups();
  void AssignGroup(uint32_t node, uint32_t group, Span span);
  int64_t NicBytesOfGroup(uint32_t group) const;
  void SetUplink(uint32_t group);
  void AssignScaleups();
  bool AssignScaleup(uint32_t node, uint32_t scaleup, Span span);
  void PlaceEntry(uint32_t entry);
  void PlaceRanks();
  void CheckPlacements();
  void ReadOverrides();
  void ReadNicOverride(const OverrideSpec& override_spec);
  void SetFabric();
  void AddNodes();
  void AddSites();
  void AddDomains();
  std::string DomainName(const RankSite& site, const FileNode& node) const;

  Diagnostic& Error(DiagnosticCode code, Span span, std::string text) {
    return diags_->Error(code, span, std::move(text));
  }
  const NodeTypeSpec& TypeOf(const FileNode& node) const { return spec_.node_types[node.type]; }

  const TopoSpec& spec_;
  Diagnostics* diags_;
  Topology* out_;
  std::vector<FileNode> nodes_;
  std::unordered_map<std::string_view, uint32_t> node_index_;
  std::vector<Placement> placements_;                                           // rising by rank
  std::map<std::pair<uint32_t, uint32_t>, const OverrideSpec*> nic_overrides_;  // node, NIC
  std::map<Rank, const OverrideSpec*> excluded_;
  int suggestions_left_ = 20;  // each compares with every node
};

void TopologyBuilder::IndexNodes() {
  std::map<std::string_view, uint32_t> types;
  std::vector<std::string> type_names;
  for (uint32_t t = 0; t < spec_.node_types.size(); ++t) {
    types[spec_.node_types[t].name.value] = t;
    type_names.push_back(spec_.node_types[t].name.value);
  }
  for (uint32_t e = 0; e < spec_.nodes.size(); ++e) {
    const NodeSpec& entry = spec_.nodes[e];
    const auto type = types.find(entry.type.value);
    if (type == types.end()) {
      Error(DiagnosticCode::kUnknownNodeType, entry.type.span,
            "no node type is called '" + entry.type.value + "'" +
                DidYouMean(entry.type.value, type_names));
    }
    bool reported = false;
    for (const std::string& name : entry.nodes.names) {
      const auto [place, added] = node_index_.emplace(name, static_cast<uint32_t>(nodes_.size()));
      if (added) {
        FileNode node;
        node.name = name;
        node.entry = e;
        // Without a type the build fails, but the name counts as known.
        node.type = type == types.end() ? kNone : type->second;
        nodes_.push_back(node);
      } else if (!reported) {
        reported = true;
        const NodeSpec& first = spec_.nodes[nodes_[place->second].entry];
        Error(DiagnosticCode::kDuplicateNode, entry.nodes.span,
              "the node '" + name + "' is listed twice")
            .notes.push_back({first.nodes.span, "it is listed first here"});
      }
    }
  }
}

// The node called `name`, or kNone after an error.
uint32_t TopologyBuilder::FindNode(const std::string& name, Span span) {
  const auto found = node_index_.find(name);
  if (found != node_index_.end()) return found->second;
  std::string suggestion;
  if (suggestions_left_ > 0) {
    --suggestions_left_;
    std::vector<std::string> known;
    known.reserve(nodes_.size());
    for (const FileNode& node : nodes_) known.emplace_back(node.name);
    suggestion = DidYouMean(name, known);
  }
  Error(DiagnosticCode::kUnknownNode, span, "no node is called '" + name + "'" + suggestion);
  return kNone;
}

uint32_t TopologyBuilder::RailCount() const {
  if (!spec_.fabric || spec_.fabric->kind != FabricSpec::Kind::kRails) return 1;
  if (spec_.fabric->rails) return *spec_.fabric->rails;
  int32_t highest = 0;
  for (const NodeTypeSpec& type : spec_.node_types) {
    for (const NicSpec& nic : type.nics) highest = std::max(highest, nic.rail.value_or(0));
  }
  return static_cast<uint32_t>(highest) + 1;
}

void TopologyBuilder::CheckRails() {
  if (!spec_.fabric) return;
  const FabricSpec& fabric = *spec_.fabric;
  if (fabric.kind != FabricSpec::Kind::kRails) {
    if (fabric.rails) {
      Error(DiagnosticCode::kBadValue, fabric.rails_span,
            "'rails' of a fabric that is not of kind 'rails'");
    }
    return;
  }
  const uint32_t rails = RailCount();
  for (const NodeTypeSpec& type : spec_.node_types) {
    for (const NicSpec& nic : type.nics) {
      const std::string what =
          "the NIC '" + nic.name.value + "' of node type '" + type.name.value + "'";
      if (!nic.rail) {
        Error(DiagnosticCode::kBadValue, nic.span, what + " has no 'rail', the fabric has rails");
        break;  // the others of this type are alike
      }
      // Without a count the highest rail makes it.
      if (static_cast<uint32_t>(*nic.rail) < rails) continue;
      Error(DiagnosticCode::kBadValue, nic.span,
            what + " is on rail " + std::to_string(*nic.rail) + ", the fabric has rails 0 to " +
                std::to_string(rails - 1))
          .notes.push_back({fabric.rails_span, "the number of rails is given here"});
      break;
    }
  }
}

// The group of the fabric called `name`, or kNone after an error.
uint32_t TopologyBuilder::GroupNamed(const LocatedText& name) {
  const std::vector<FabricSpec::Group>& groups = spec_.fabric->groups;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    if (groups[g].name.value == name.value) return g;
  }
  std::vector<std::string> known;
  for (const FabricSpec::Group& group : groups) known.push_back(group.name.value);
  Error(DiagnosticCode::kBadValue, name.span,
        "no group of the fabric is called '" + name.value + "'" + DidYouMean(name.value, known));
  return kNone;
}

void TopologyBuilder::AssignGroup(uint32_t node, uint32_t group, Span span) {
  FileNode& entry = nodes_[node];
  if (entry.group == kNone || entry.group == group) {
    entry.group = group;
    return;
  }
  const std::vector<FabricSpec::Group>& groups = spec_.fabric->groups;
  Error(DiagnosticCode::kDuplicateNode, span,
        "the node '" + std::string(entry.name) + "' is in two groups, '" +
            groups[entry.group].name.value + "' and '" + groups[group].name.value + "'")
      .notes.push_back({groups[entry.group].name.span, "the first group is here"});
}

void TopologyBuilder::AssignGroups() {
  if (!spec_.fabric || spec_.fabric->groups.empty()) return;
  const std::vector<FabricSpec::Group>& groups = spec_.fabric->groups;
  std::map<std::string_view, uint32_t> names;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    const auto [first, added] = names.emplace(groups[g].name.value, g);
    if (!added) {
      Error(DiagnosticCode::kBadValue, groups[g].name.span,
            "there are two groups '" + groups[g].name.value + "'")
          .notes.push_back({groups[first->second].name.span, "the first one is here"});
      continue;
    }
    if (!groups[g].nodes) continue;
    for (const std::string& name : groups[g].nodes->names) {
      const uint32_t node = FindNode(name, groups[g].nodes->span);
      if (node == kNone) break;
      AssignGroup(node, g, groups[g].nodes->span);
    }
  }
  std::vector<std::optional<uint32_t>> of_entry(spec_.nodes.size());
  for (uint32_t e = 0; e < spec_.nodes.size(); ++e) {
    if (spec_.nodes[e].group) of_entry[e] = GroupNamed(*spec_.nodes[e].group);
  }
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const std::optional<uint32_t> group = of_entry[nodes_[n].entry];
    if (group && *group != kNone) AssignGroup(n, *group, spec_.nodes[nodes_[n].entry].group->span);
  }
}

bool TopologyBuilder::AssignScaleup(uint32_t node, uint32_t scaleup, Span span) {
  FileNode& entry = nodes_[node];
  if (entry.scaleup == kNone) {
    entry.scaleup = scaleup;
    return true;
  }
  Error(DiagnosticCode::kDuplicateNode, span,
        "the node '" + std::string(entry.name) + "' is in two scale-up domains, '" +
            spec_.scaleup[entry.scaleup].name.value + "' and '" +
            spec_.scaleup[scaleup].name.value + "'")
      .notes.push_back({spec_.scaleup[entry.scaleup].name.span, "the first domain is here"});
  return false;
}

void TopologyBuilder::AssignScaleups() {
  std::map<std::string_view, uint32_t> names;
  for (uint32_t s = 0; s < spec_.scaleup.size(); ++s) {
    const ScaleupSpec& scaleup = spec_.scaleup[s];
    const auto [first, added] = names.emplace(scaleup.name.value, s);
    if (!added) {
      Error(DiagnosticCode::kBadValue, scaleup.name.span,
            "there are two scale-up domains '" + scaleup.name.value + "'")
          .notes.push_back({spec_.scaleup[first->second].name.span, "the first one is here"});
    }
    // One node in two domains says it all; the rest of the list would repeat it.
    if (!scaleup.nodes) {
      for (uint32_t n = 0; n < nodes_.size() && AssignScaleup(n, s, scaleup.name.span);) ++n;
      continue;
    }
    for (const std::string& name : scaleup.nodes->names) {
      const uint32_t node = FindNode(name, scaleup.nodes->span);
      if (node == kNone || !AssignScaleup(node, s, scaleup.nodes->span)) break;
    }
  }
}

void TopologyBuilder::PlaceEntry(uint32_t entry) {
  const RankRangeSpec& range = spec_.ranks[entry];
  std::vector<uint32_t> nodes;
  for (const std::string& name : range.nodes.names) {
    const uint32_t node = FindNode(name, range.nodes.span);
    if (node == kNone || nodes_[node].type == kNone) return;
    nodes.push_back(node);
  }
  size_t next = 0;
  for (size_t n = 0; n < nodes.size() && next < range.ranks.size(); ++n) {
    const NodeTypeSpec& type = TypeOf(nodes_[nodes[n]]);
    const size_t count = range.gpus.empty() ? type.gpus : range.gpus.size();
    for (size_t i = 0; i < count && next < range.ranks.size(); ++i) {
      const uint32_t gpu = range.gpus.empty() ? static_cast<uint32_t>(i) : range.gpus[i];
      if (gpu >= type.gpus) {
        Error(DiagnosticCode::kRankPlacement, range.gpus_span,
              "the node '" + range.nodes.names[n] + "' has no GPU " + std::to_string(gpu) +
                  ", its type '" + type.name.value + "' has " + std::to_string(type.gpus) + " GPUs")
            .notes.push_back({type.name.span, "the node type is defined here"});
        return;
      }
      placements_.push_back({range.ranks[next++], nodes[n], gpu, entry});
    }
  }
  if (next == range.ranks.size()) return;
  Error(DiagnosticCode::kRankPlacement, range.ranks_span,
        std::to_string(range.ranks.size()) + " ranks for " + std::to_string(next) +
            " GPUs of the nodes")
      .notes.push_back({range.nodes.span, "the nodes are listed here"});
}

// No rank on two GPUs, no GPU with two ranks. Two entries that overlap are reported once.
void TopologyBuilder::CheckPlacements() {
  std::vector<const Placement*> by_gpu;
  for (const Placement& placement : placements_) by_gpu.push_back(&placement);
  std::stable_sort(by_gpu.begin(), by_gpu.end(), [](const Placement* a, const Placement* b) {
    return std::tie(a->node, a->gpu, a->entry) < std::tie(b->node, b->gpu, b->entry);
  });
  std::map<std::pair<uint32_t, uint32_t>, bool> reported;
  for (size_t i = 1; i < placements_.size(); ++i) {
    const Placement& a = placements_[i - 1];
    const Placement& b = placements_[i];
    if (a.rank != b.rank || !reported.emplace(std::pair(a.entry, b.entry), true).second) continue;
    Error(DiagnosticCode::kRankPlacement, spec_.ranks[b.entry].ranks_span,
          "rank " + std::to_string(b.rank) + " is placed twice")
        .notes.push_back({spec_.ranks[a.entry].ranks_span, "it is placed first here"});
  }
  // A rank that is placed twice on one GPU has been reported.
  for (size_t i = 1; i < by_gpu.size(); ++i) {
    const Placement& a = *by_gpu[i - 1];
    const Placement& b = *by_gpu[i];
    if (a.node != b.node || a.gpu != b.gpu || a.rank == b.rank) continue;
    if (!reported.emplace(std::pair(a.entry, b.entry), true).second) continue;
    Error(DiagnosticCode::kRankPlacement, spec_.ranks[b.entry].nodes.span,
          "ranks " + std::to_string(a.rank) + " and " + std::to_string(b.rank) +
              " are both placed on GPU " + std::to_string(b.gpu) + " of the node '" +
              std::string(nodes_[b.node].name) + "'")
        .notes.push_back({spec_.ranks[a.entry].nodes.span, "the first one is placed here"});
  }
}

void TopologyBuilder::PlaceRanks() {
  for (uint32_t e = 0; e < spec_.ranks.size(); ++e) PlaceEntry(e);
  std::stable_sort(placements_.begin(), placements_.end(),
                   [](const Placement& a, const Placement& b) {
                     return std::tie(a.rank, a.entry) < std::tie(b.rank, b.entry);
                   });
  CheckPlacements();
}

void TopologyBuilder::ReadNicOverride(const OverrideSpec& override_spec) {
  const uint32_t node = FindNode(override_spec.node->value, override_spec.node->span);
  if (node == kNone || nodes_[node].type == kNone) return;
  const NodeTypeSpec& type = TypeOf(nodes_[node]);
  std::vector<std::string> known;
  for (uint32_t n = 0; n < type.nics.size(); ++n) {
    if (type.nics[n].name.value != override_spec.nic->value) {
      known.push_back(type.nics[n].name.value);
      continue;
    }
    const auto [first, added] = nic_overrides_.emplace(std::pair(node, n), &override_spec);
    if (added) return;
    Error(DiagnosticCode::kBadValue, override_spec.span,
          "the NIC '" + override_spec.nic->value + "' of node '" + override_spec.node->value +
              "' is overridden twice")
        .notes.push_back({first->second->span, "it is overridden first here"});
    return;
  }
  Error(DiagnosticCode::kUnknownNic, override_spec.nic->span,
        "the node '" + override_spec.node->value + "' of type '" + type.name.value +
            "' has no NIC '" + override_spec.nic->value + "'" +
            DidYouMean(override_spec.nic->value, known))
      .notes.push_back({type.name.span, "the node type is defined here"});
}

void TopologyBuilder::ReadOverrides() {
  for (const OverrideSpec& override_spec : spec_.overrides) {
    if (!override_spec.rank) {
      ReadNicOverride(override_spec);
      continue;
    }
    const Rank rank = *override_spec.rank;
    const auto place =
        std::lower_bound(placements_.begin(), placements_.end(), rank,
                         [](const Placement& a, Rank value) { return a.rank < value; });
    if (place == placements_.end() || place->rank != rank) {
      Error(DiagnosticCode::kRankPlacement, override_spec.span,
            "rank " + std::to_string(rank) + " has an override, but no place");
      continue;
    }
    if (override_spec.excluded) excluded_.emplace(rank, &override_spec);
  }
}

int64_t TopologyBuilder::NicBytesOfGroup(uint32_t group) const {
  std::vector<std::optional<int64_t>> of_type(spec_.node_types.size());
  std::optional<int64_t> total = 0;
  for (const FileNode& node : nodes_) {
    if (node.group != group || !total) continue;
    std::optional<int64_t>& bytes = of_type[node.type];
    if (!bytes) {
      bytes = 0;  // at most kMaxNicsPerNode * kMaxBytesPerSecond: fits
      for (const NicSpec& nic : TypeOf(node).nics) *bytes += nic.bytes_per_s;
    }
    total = CheckedAdd(*total, *bytes);
  }
  return total.value_or(INT64_MAX);
}

void TopologyBuilder::SetUplink(uint32_t group) {
  constexpr int64_t kOne = 1'000'000;  // a ratio of 1.0
  const FabricSpec& fabric = *spec_.fabric;
  const FabricSpec::Group& from = fabric.groups[group];
  std::optional<int64_t> uplink = 0;
  if (from.uplink_bytes_per_s_per_leaf != 0) {
    uplink = CheckedProduct<int64_t>(
        {from.uplink_bytes_per_s_per_leaf, from.leaf_per_rail, RailCount()});
  } else if (fabric.oversubscription_micro && fabric.oversubscription_micro->value > kOne) {
    // total * 10^6 / ratio, divided first so that it fits.
    const int64_t total = NicBytesOfGroup(group);
    const int64_t ratio = fabric.oversubscription_micro->value;
    uplink = total / ratio * kOne + total % ratio * kOne / ratio;
  }
  if (uplink) {
    out_->groups.push_back({from.name.value, *uplink});
    return;
  }
  Error(DiagnosticCode::kBadBandwidth, from.span,
        "the uplinks of the group '" + from.name.value + "' do not fit into 64 bits");
}

void TopologyBuilder::SetFabric() {
  if (!spec_.fabric) return;
  const FabricSpec& fabric = *spec_.fabric;
  out_->rails = fabric.kind == FabricSpec::Kind::kRails && RailCount() > 1;
  out_->fabric_bytes_per_s = fabric.total_bytes_per_s;
  out_->latency_ns = fabric.latency_ns;
  out_->cross_rail_latency_ns = fabric.cross_rail_latency_ns;
  out_->cross_group_latency_ns = fabric.cross_group_latency_ns;
  if (fabric.kind == FabricSpec::Kind::kSingleSwitch && !fabric.groups.empty()) {
    Error(DiagnosticCode::kBadValue, fabric.groups[0].span,
          "a fabric of kind 'single_switch' has no groups");
  }
  const bool oversubscribed =
      fabric.oversubscription_micro && fabric.oversubscription_micro->value > 1'000'000;
  if (oversubscribed && fabric.groups.empty()) {
    Error(DiagnosticCode::kBadValue, fabric.oversubscription_micro->span,
          "an oversubscribed fabric without groups: it does not say which nodes share uplinks");
  }
  for (uint32_t g = 0; g < fabric.groups.size(); ++g) SetUplink(g);
}

// Nodes with ranks, and all their NICs.
void TopologyBuilder::AddNodes() {
  for (const Placement& placement : placements_) nodes_[placement.node].used = 0;
  size_t nic_count = 0;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    FileNode& node = nodes_[n];
    if (node.used == kNone) continue;
    node.used = static_cast<NodeId>(out_->nodes.size());
    node.first_nic = static_cast<NicId>(out_->nics.size());
    out_->nodes.push_back({std::string(node.name), node.type, node.group});
    const std::vector<NicSpec>& nics = TypeOf(node).nics;
    nic_count += nics.size();
    if (nic_count > kMaxTopologyNics) {
      Error(DiagnosticCode::kTooLarge, Brace(spec_.span),
            "the nodes have more than " + std::to_string(kMaxTopologyNics) + " NICs");
      return;
    }
    for (uint32_t i = 0; i < nics.size(); ++i) {
      const auto found = nic_overrides_.find({n, i});
      const int64_t bytes_per_s =
          found == nic_overrides_.end() ? nics[i].bytes_per_s : found->second->bytes_per_s;
      out_->nics.push_back({std::string(node.name) + "/" + nics[i].name.value, node.used,
                            bytes_per_s, nics[i].rail.value_or(-1)});
    }
  }
  if (out_->nics.empty() || spec_.fabric) return;
  Error(DiagnosticCode::kMissingKey, Brace(spec_.span),
        "the nodes have NICs, but no entry of 'fabrics' connects them");
}

void TopologyBuilder::AddSites() {
  std::vector<std::vector<GpuNics>> of_type(spec_.node_types.size());
  size_t nic_count = 0;
  out_->sites.reserve(placements_.size());
  for (const Placement& placement : placements_) {
    const FileNode& node = nodes_[placement.node];
    const NodeTypeSpec& type = TypeOf(node);
    if (of_type[node.type].empty()) of_type[node.type] = ResolveGpuNics(type);
    const GpuNics& gpu = of_type[node.type][placement.gpu];
    nic_count += gpu.nics.size();
    if (nic_count > kMaxTopologyNics) {
      Error(DiagnosticCode::kTooLarge, Brace(spec_.span),
            "the ranks use more than " + std::to_string(kMaxTopologyNics) + " NICs in sum");
      return;
    }
    RankSite site;
    site.rank = placement.rank;
    site.node = node.used;
    site.gpu = placement.gpu;
    site.group = node.group;
    for (const uint32_t nic : gpu.nics) site.nics.push_back(node.first_nic + nic);
    site.host_bytes_per_s = gpu.host_bytes_per_s;
    site.copy_bytes_per_s = type.copy_bytes_per_s;
    site.memory_bytes = type.memory_bytes;
    site.excluded = excluded_.contains(placement.rank);
    out_->site_index.emplace_hint(out_->site_index.end(), placement.rank,
                                  static_cast<uint32_t>(out_->sites.size()));
    out_->sites.push_back(std::move(site));
  }
}

std::string TopologyBuilder::DomainName(const RankSite& site, const FileNode& node) const {
  if (node.scaleup == kNone) return std::string(node.name) + "/gpu" + std::to_string(site.gpu);
  const ScaleupSpec& scaleup = spec_.scaleup[node.scaleup];
  std::string name = scaleup.name.value;
  if (!scaleup.per_node) return name;
  constexpr std::string_view kHole = "{node}";
  const size_t hole = name.find(kHole);
  if (hole == std::string::npos) return name + "-" + std::string(node.name);
  return name.replace(hole, kHole.size(), node.name);
}

// Domains in the order of their first ranks.
void TopologyBuilder::AddDomains() {
  std::map<std::pair<uint32_t, uint32_t>, DomainId> ids;  // scale-up entry, node
  for (size_t i = 0; i < out_->sites.size(); ++i) {
    RankSite& site = out_->sites[i];
    const uint32_t file_node = placements_[i].node;
    const FileNode& node = nodes_[file_node];
    auto next = static_cast<DomainId>(out_->domains.size());
    if (node.scaleup == kNone) {
      site.domain = next;
    } else {
      const bool per_node = spec_.scaleup[node.scaleup].per_node;
      site.domain =
          ids.emplace(std::pair(node.scaleup, per_node ? file_node : kNone), next).first->second;
    }
    if (site.domain == next) {
      Domain domain;
      domain.name = DomainName(site, node);
      if (node.scaleup != kNone) {
        domain.bytes_per_s = spec_.scaleup[node.scaleup].bytes_per_s;
        domain.latency_ns = spec_.scaleup[node.scaleup].latency_ns;
      }
      out_->domains.push_back(std::move(domain));
    }
    Domain& domain = out_->domains[site.domain];
    domain.ranks.push_back(site.rank);
    domain.nics.insert(domain.nics.end(), site.nics.begin(), site.nics.end());
  }
  for (Domain& domain : out_->domains) {
    std::sort(domain.nics.begin(), domain.nics.end());
    domain.nics.erase(std::unique(domain.nics.begin(), domain.nics.end()), domain.nics.end());
  }
}

}  // namespace

const RankSite* Topology::Site(Rank rank) const {
  const auto found = site_index.find(rank);
  return found == site_index.end() ? nullptr : &sites[found->second];
}

bool BuildTopology(const TopoSpec& spec, Diagnostics* diags, Topology* out) {
  *out = Topology();
  return TopologyBuilder(spec, diags, out).Build();
}

}  // namespace reshard
