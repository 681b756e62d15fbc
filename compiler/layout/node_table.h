// NodeTable: the nodes of a topology file by name, with what the file says of each.
#ifndef RESHARD_COMPILER_LAYOUT_NODE_TABLE_H_
#define RESHARD_COMPILER_LAYOUT_NODE_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/topo_spec.h"

namespace reshard {

inline constexpr uint32_t kNoEntry = UINT32_MAX;

// A node of the file, whether or not a rank is placed on it. Numbers are positions in the spec.
struct FileNode {
  std::string_view name;
  uint32_t entry = 0;           // of TopoSpec::nodes
  uint32_t type = kNoEntry;     // of TopoSpec::node_types
  uint32_t group = kNoEntry;    // of FabricSpec::groups
  uint32_t scaleup = kNoEntry;  // of TopoSpec::scaleup
};

// Refers to the spec, which must outlive it.
class NodeTable {
 public:
  // Reports unknown types, groups and nodes, and nodes that are listed twice, in two groups or in
  // two scale-up domains.
  NodeTable(const TopoSpec& spec, Diagnostics* diags);

  // In the order of the file. After an error a type can be missing.
  const std::vector<FileNode>& nodes() const { return nodes_; }
  const NodeTypeSpec& TypeOf(uint32_t node) const { return spec_.node_types[nodes_[node].type]; }
  // The node called `name`, or kNoEntry after an error at `span`.
  uint32_t Find(const std::string& name, Span span);

 private:
  void IndexNodes();
  void AssignGroups();
  void AssignGroup(uint32_t node, uint32_t group, Span span);
  uint32_t GroupNamed(const LocatedText& name);
  void AssignScaleups();
  bool AssignScaleup(uint32_t node, uint32_t scaleup, Span span);
  Diagnostic& Error(DiagnosticCode code, Span span, std::string text) {
    return diags_->Error(code, span, std::move(text));
  }

  const TopoSpec& spec_;
  Diagnostics* diags_;
  std::vector<FileNode> nodes_;
  std::unordered_map<std::string_view, uint32_t> node_index_;
  std::unordered_map<std::string_view, uint32_t> group_index_;
  int suggestions_left_ = 20;  // each compares with every known name
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_NODE_TABLE_H_
