#include "compiler/layout/node_table.h"

#include <map>
#include <optional>

namespace reshard {

NodeTable::NodeTable(const TopoSpec& spec, Diagnostics* diags) : spec_(spec), diags_(diags) {
  IndexNodes();
  AssignGroups();
  AssignScaleups();
}

void NodeTable::IndexNodes() {
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
      const bool suggest = suggestions_left_ > 0 && suggestions_left_-- > 0;
      Error(DiagnosticCode::kUnknownNodeType, entry.type.span,
            "no node type is called '" + entry.type.value + "'" +
                (suggest ? DidYouMean(entry.type.value, type_names) : ""));
    }
    bool reported = false;
    for (const std::string& name : entry.nodes.names) {
      const auto [place, added] = node_index_.emplace(name, static_cast<uint32_t>(nodes_.size()));
      if (added) {
        FileNode node;
        node.name = name;
        node.entry = e;
        // Without a type the build fails, but the name counts as known.
        node.type = type == types.end() ? kNoEntry : type->second;
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

uint32_t NodeTable::Find(const std::string& name, Span span) {
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
  return kNoEntry;
}

// The group of the fabric called `name`, or kNoEntry after an error.
uint32_t NodeTable::GroupNamed(const LocatedText& name) {
  const auto found = group_index_.find(name.value);
  if (found != group_index_.end()) return found->second;
  std::string suggestion;
  if (suggestions_left_ > 0) {
    --suggestions_left_;
    std::vector<std::string> known;
    for (const FabricSpec::Group& group : spec_.fabric->groups) known.push_back(group.name.value);
    suggestion = DidYouMean(name.value, known);
  }
  Error(DiagnosticCode::kBadValue, name.span,
        "no group of the fabric is called '" + name.value + "'" + suggestion);
  return kNoEntry;
}

void NodeTable::AssignGroup(uint32_t node, uint32_t group, Span span) {
  FileNode& entry = nodes_[node];
  if (entry.group == kNoEntry || entry.group == group) {
    entry.group = group;
    return;
  }
  const std::vector<FabricSpec::Group>& groups = spec_.fabric->groups;
  Error(DiagnosticCode::kDuplicateNode, span,
        "the node '" + std::string(entry.name) + "' is in two groups, '" +
            groups[entry.group].name.value + "' and '" + groups[group].name.value + "'")
      .notes.push_back({groups[entry.group].name.span, "the first group is here"});
}

void NodeTable::AssignGroups() {
  if (!spec_.fabric || spec_.fabric->groups.empty()) return;
  const std::vector<FabricSpec::Group>& groups = spec_.fabric->groups;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    const auto [first, added] = group_index_.emplace(groups[g].name.value, g);
    if (!added) {
      Error(DiagnosticCode::kBadValue, groups[g].name.span,
            "there are two groups '" + groups[g].name.value + "'")
          .notes.push_back({groups[first->second].name.span, "the first one is here"});
      continue;
    }
    if (!groups[g].nodes) continue;
    for (const std::string& name : groups[g].nodes->names) {
      const uint32_t node = Find(name, groups[g].nodes->span);
      if (node == kNoEntry) break;
      AssignGroup(node, g, groups[g].nodes->span);
    }
  }
  std::vector<std::optional<uint32_t>> of_entry(spec_.nodes.size());
  for (uint32_t e = 0; e < spec_.nodes.size(); ++e) {
    if (spec_.nodes[e].group) of_entry[e] = GroupNamed(*spec_.nodes[e].group);
  }
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const std::optional<uint32_t> group = of_entry[nodes_[n].entry];
    if (group && *group != kNoEntry)
      AssignGroup(n, *group, spec_.nodes[nodes_[n].entry].group->span);
  }
}

bool NodeTable::AssignScaleup(uint32_t node, uint32_t scaleup, Span span) {
  FileNode& entry = nodes_[node];
  if (entry.scaleup == kNoEntry) {
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

void NodeTable::AssignScaleups() {
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
      const uint32_t node = Find(name, scaleup.nodes->span);
      if (node == kNoEntry || !AssignScaleup(node, s, scaleup.nodes->span)) break;
    }
  }
}

}  // namespace reshard
