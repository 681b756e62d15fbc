#include "compiler/against/resolve_both.h"

#include "compiler/layout/layout.h"

namespace reshard {
namespace {

// The layout that declares the tensors: ours, the one of the job's other side, or the other one.
const LayoutSpec* Declarer(const LayoutSpec& mine, const std::vector<LayoutSpec>& layouts,
                           const LayoutSpec& other) {
  if (mine.has_logical) return &mine;
  for (const LayoutSpec& layout : layouts) {
    if (layout.has_logical) return &layout;
  }
  return other.has_logical ? &other : nullptr;
}

bool Resolve(const LayoutSpec& spec, const LogicalTable& table, Diagnostics* diags, Layout* out) {
  return BuildLayout(spec, table, diags, out) && CheckExpectations(spec, table, *out, diags);
}

}  // namespace

bool ResolveBoth(const std::vector<LayoutSpec>& layouts, const LayoutSpec& other,
                 Diagnostics* diags, BothLayouts* out) {
  const LayoutSpec* mine = nullptr;
  for (const LayoutSpec& layout : layouts) {
    if (layout.side == other.side) mine = &layout;
  }
  if (mine == nullptr) {
    diags->Error(DiagnosticCode::kWrongSide, other.side_span,
                 "no layout of this side is given to compare with");
    return false;
  }
  const LayoutSpec* declarer = Declarer(*mine, layouts, other);
  if (declarer == nullptr) {
    diags->Error(DiagnosticCode::kMissingKey, mine->span,
                 "neither this layout nor the other one has 'logical', expected it in one of them "
                 "or a source layout beside them");
    return false;
  }
  const LayoutSpec* second = declarer == &other ? mine : &other;
  // Where the job's other side declares the tensors, ours may still have aliases of them.
  const LayoutSpec* third = declarer == mine || second == mine ? nullptr : mine;
  if (!BuildLogicalTable(declarer, second, diags, &out->table, third)) return false;
  const bool good = Resolve(*mine, out->table, diags, &out->mine);
  return Resolve(other, out->table, diags, &out->theirs) && good;
}

}  // namespace reshard
