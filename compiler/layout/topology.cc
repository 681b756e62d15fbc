#include "compiler/layout/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/layout/fabric.h"
#include "compiler/layout/nic_affinity.h"
#include "compiler/layout/node_table.h"

namespace reshard {

namespace {

// NICs of all nodes, and NICs of all ranks: two files of a few kilobytes could ask for billions.
constexpr size_t kMaxTopologyNics = size_t{1} << 22;

Span Brace(Span span) { return {span.file, span.begin, std::min(span.begin + 1, span.end)}; }

static_assert(kNone == kNoEntry, "a node without a group is one in both");

// Where the parts of a file node stand in the Topology; kNone without a rank on it.
struct UsedNode {
  NodeId node = kNone;
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
      : spec_(spec), diags_(diags), out_(out), table_(spec, diags), used_(table_.nodes().size()) {}

  // Checks everything first: what follows needs every name resolved.
  void Check() {
    CheckFabric(spec_, diags_);
    PlaceRanks();
    ReadOverrides();
  }
  void Build() {
    out_->file = spec_.file;
    SetFabric();
    OrderGroups();
    AddNodes();
    AddSites();
    AddDomains();
  }

 private:
  void PlaceEntry(uint32_t entry);
  void PlaceRanks();
  void CheckPlacements();
  void ReadOverrides();
  void ReadNicOverride(const OverrideSpec& override_spec);
  void SetFabric();
  void OrderGroups();
  void AddNodes();
  void AddNics(uint32_t file_node);
  void AddSites();
  void AddDomains();
  GroupId GroupOf(uint32_t file_node) const;
  std::string DomainName(const RankSite& site, const FileNode& node) const;

  Diagnostic& Error(DiagnosticCode code, Span span, std::string text) {
    return diags_->Error(code, span, std::move(text));
  }

  const TopoSpec& spec_;
  Diagnostics* diags_;
  Topology* out_;
  NodeTable table_;
  std::vector<UsedNode> used_;         // of each node of the table
  std::vector<GroupId> group_ids_;     // in the Topology, of each group of the file
  std::vector<Placement> placements_;  // rising by rank
  std::map<std::pair<uint32_t, uint32_t>, const OverrideSpec*> nic_overrides_;  // node, NIC
  std::map<Rank, const OverrideSpec*> rank_overrides_;
};

void TopologyBuilder::PlaceEntry(uint32_t entry) {
  const RankRangeSpec& range = spec_.ranks[entry];
  std::vector<uint32_t> nodes;
  for (const std::string& name : range.nodes.names) {
    const uint32_t node = table_.Find(name, range.nodes.span);
    if (node == kNoEntry || table_.nodes()[node].type == kNoEntry) return;
    nodes.push_back(node);
  }
  size_t next = 0;
  for (size_t n = 0; n < nodes.size() && next < range.ranks.size(); ++n) {
    const NodeTypeSpec& type = table_.TypeOf(nodes[n]);
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
              std::string(table_.nodes()[b.node].name) + "'")
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
  const uint32_t node = table_.Find(override_spec.node->value, override_spec.node->span);
  if (node == kNoEntry || table_.nodes()[node].type == kNoEntry) return;
  const NodeTypeSpec& type = table_.TypeOf(node);
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
            // Beyond some errors suggestions are only work.
            (diags_->error_count() < 100 ? DidYouMean(override_spec.nic->value, known) : ""))
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
    const auto [first, added] = rank_overrides_.emplace(rank, &override_spec);
    if (added) continue;
    Error(DiagnosticCode::kBadValue, override_spec.span,
          "rank " + std::to_string(rank) + " is overridden twice")
        .notes.push_back({first->second->span, "it is overridden first here"});
  }
}

void TopologyBuilder::SetFabric() {
  AddGroups(spec_, table_, diags_, out_);
  if (!spec_.fabric) return;
  const FabricSpec& fabric = *spec_.fabric;
  out_->rails = fabric.kind == FabricSpec::Kind::kRails && RailCount(spec_) > 1;
  out_->fabric_bytes_per_s = fabric.total_bytes_per_s;
  out_->latency_ns = fabric.latency_ns;
  out_->cross_rail_latency_ns = fabric.cross_rail_latency_ns;
  out_->cross_group_latency_ns = fabric.cross_group_latency_ns;
}

// Groups, too, in the order of their first ranks; those without ranks last.
void TopologyBuilder::OrderGroups() {
  group_ids_.assign(out_->groups.size(), kNone);
  std::vector<Group> ordered;
  const auto take = [&](GroupId group) {
    if (group == kNone || group_ids_[group] != kNone) return;
    group_ids_[group] = static_cast<GroupId>(ordered.size());
    ordered.push_back(out_->groups[group]);
  };
  for (const Placement& placement : placements_) take(table_.nodes()[placement.node].group);
  for (GroupId group = 0; group < group_ids_.size(); ++group) take(group);
  out_->groups = std::move(ordered);
}

GroupId TopologyBuilder::GroupOf(uint32_t file_node) const {
  const uint32_t group = table_.nodes()[file_node].group;
  return group == kNone ? kNone : group_ids_[group];
}

// Nodes with ranks in the order of their first ranks, and all their NICs.
void TopologyBuilder::AddNodes() {
  size_t nic_count = 0;
  for (const Placement& placement : placements_) {
    const uint32_t n = placement.node;
    if (used_[n].node != kNone) continue;
    nic_count += table_.TypeOf(n).nics.size();
    if (nic_count > kMaxTopologyNics) {
      Error(DiagnosticCode::kTooLarge, Brace(spec_.span),
            "the nodes have more than " + std::to_string(kMaxTopologyNics) + " NICs");
      return;
    }
    used_[n] = {static_cast<NodeId>(out_->nodes.size()), static_cast<NicId>(out_->nics.size())};
    const FileNode& node = table_.nodes()[n];
    out_->nodes.push_back({std::string(node.name), node.type, GroupOf(n)});
    AddNics(n);
  }
  if (out_->nics.empty() || spec_.fabric) return;
  Error(DiagnosticCode::kMissingKey, Brace(spec_.span),
        "the nodes have NICs, but no entry of 'fabrics' connects them");
}

void TopologyBuilder::AddNics(uint32_t file_node) {
  const std::vector<NicSpec>& nics = table_.TypeOf(file_node).nics;
  for (uint32_t i = 0; i < nics.size(); ++i) {
    const auto found = nic_overrides_.find({file_node, i});
    const int64_t bytes_per_s =
        found == nic_overrides_.end() ? nics[i].bytes_per_s : found->second->bytes_per_s;
    out_->nics.push_back({std::string(table_.nodes()[file_node].name) + "/" + nics[i].name.value,
                          used_[file_node].node, bytes_per_s, nics[i].rail.value_or(-1)});
  }
}

void TopologyBuilder::AddSites() {
  std::vector<std::vector<GpuNics>> of_type(spec_.node_types.size());
  size_t nic_count = 0;
  out_->sites.reserve(placements_.size());
  for (const Placement& placement : placements_) {
    const FileNode& node = table_.nodes()[placement.node];
    const UsedNode& used = used_[placement.node];
    const NodeTypeSpec& type = table_.TypeOf(placement.node);
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
    site.node = used.node;
    site.gpu = placement.gpu;
    site.group = GroupOf(placement.node);
    for (const uint32_t nic : gpu.nics) site.nics.push_back(used.first_nic + nic);
    site.host_bytes_per_s = gpu.host_bytes_per_s;
    site.copy_bytes_per_s = type.copy_bytes_per_s;
    site.memory_bytes = type.memory_bytes;
    const auto overridden = rank_overrides_.find(placement.rank);
    site.excluded = overridden != rank_overrides_.end() && overridden->second->excluded;
    out_->site_index.emplace_hint(out_->site_index.end(), placement.rank,
                                  static_cast<uint32_t>(out_->sites.size()));
    out_->sites.push_back(std::move(site));
  }
}

std::string TopologyBuilder::DomainName(const RankSite& site, const FileNode& node) const {
  if (node.scaleup == kNoEntry) return std::string(node.name) + "/gpu" + std::to_string(site.gpu);
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
    const FileNode& node = table_.nodes()[file_node];
    auto next = static_cast<DomainId>(out_->domains.size());
    if (node.scaleup == kNoEntry) {
      site.domain = next;
    } else {
      const bool per_node = spec_.scaleup[node.scaleup].per_node;
      site.domain =
          ids.emplace(std::pair(node.scaleup, per_node ? file_node : kNone), next).first->second;
    }
    if (site.domain == next) {
      Domain domain;
      domain.name = DomainName(site, node);
      if (node.scaleup != kNoEntry) {
        domain.bytes_per_s = spec_.scaleup[node.scaleup].bytes_per_s;
        domain.latency_ns = spec_.scaleup[node.scaleup].latency_ns;
      }
      out_->domains.push_back(std::move(domain));
    }
    Domain& domain = out_->domains[site.domain];
    domain.ranks.push_back(site.rank);
    if (site.excluded) continue;
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

void RemoveRanks(const RankList& ranks, Topology* topology) {
  std::erase_if(topology->sites, [&](const RankSite& site) { return Contains(ranks, site.rank); });
  topology->site_index.clear();
  for (Domain& domain : topology->domains) {
    domain.ranks = Difference(domain.ranks, ranks);
    domain.nics.clear();
  }
  for (uint32_t i = 0; i < topology->sites.size(); ++i) {
    const RankSite& site = topology->sites[i];
    topology->site_index.emplace_hint(topology->site_index.end(), site.rank, i);
    std::vector<NicId>& nics = topology->domains[site.domain].nics;
    nics.insert(nics.end(), site.nics.begin(), site.nics.end());
  }
  for (Domain& domain : topology->domains) {
    std::sort(domain.nics.begin(), domain.nics.end());
    domain.nics.erase(std::unique(domain.nics.begin(), domain.nics.end()), domain.nics.end());
  }
}

bool BuildTopology(const TopoSpec& spec, Diagnostics* diags, Topology* out) {
  *out = Topology();
  const size_t errors_before = diags->error_count();
  TopologyBuilder builder(spec, diags, out);
  builder.Check();
  if (diags->error_count() == errors_before) builder.Build();
  return diags->error_count() == errors_before;
}

}  // namespace reshard
