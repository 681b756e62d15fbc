#include "compiler/layout/logical_table.h"

#include <algorithm>
#include <utility>

#include "compiler/layout/limits.h"
#include "compiler/layout/logical_boxes.h"
#include "compiler/layout/name_skeleton.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

using Entry = LogicalTable::Entry;

bool Overlap(const Entry& entry, const NameBox& box) {
  for (size_t i = 0; i < box.slots.size(); ++i) {
    if (entry.slots[i].end <= box.slots[i].begin || box.slots[i].end <= entry.slots[i].begin) {
      return false;
    }
  }
  return true;
}

bool Contains(const Entry& entry, const NameBox& box) {
  for (size_t i = 0; i < box.slots.size(); ++i) {
    if (box.slots[i].begin < entry.slots[i].begin || box.slots[i].end > entry.slots[i].end) {
      return false;
    }
  }
  return true;
}

class TableBuilder {
 public:
  TableBuilder(Diagnostics* diags, LogicalTable* table) : diags_(*diags), table_(*table) {}

  bool AddSide(const LayoutSpec& spec, const SpecScope& globals) {
    side_ = spec.side;
    first_of_side_ = table_.supers.size();
    bool good = true;
    for (const LogicalSpec& logical : spec.logical) good &= AddTemplate(logical, globals);
    return good;
  }

  // Aliases may build on each other in any order: try those that are left until none gets on.
  bool AddAliases(const LayoutSpec& spec, const SpecScope& globals) {
    std::vector<const AliasSpec*> waiting;
    for (const AliasSpec& alias : spec.aliases) waiting.push_back(&alias);
    int64_t tries_left = kMaxTableEntries;
    while (!waiting.empty()) {
      std::vector<const AliasSpec*> later;
      for (const AliasSpec* alias : waiting) {
        if (--tries_left < 0) return TooManyAliases(*alias);
        bool unknown = false;
        if (!AddAlias(*alias, globals, &unknown)) return false;
        if (unknown) later.push_back(alias);
      }
      if (later.size() == waiting.size()) return ReportUnresolved(later);
      waiting = std::move(later);
    }
    return true;
  }

  bool ResolveScales() {
    bool good = true;
    for (const Pending& pending : pending_) good &= ResolveScale(pending);
    return good;
  }

 private:
  struct Pending {
    SuperId super = 0;
    NameBox tensor;
    std::vector<int64_t> block;
    Span span;
  };

  bool AddTemplate(const LogicalSpec& spec, const SpecScope& globals) {
    std::vector<const NameExpr*> names = {&spec.name};
    std::vector<Expr> also = spec.shape;
    if (spec.scale_of) {
      names.push_back(&spec.scale_of->tensor);
      also.insert(also.end(), spec.scale_of->block.begin(), spec.scale_of->block.end());
    }
    LoopBoxes loops(globals, spec.loops, names, also, &entries_left_);
    const NamePlan plan = PlanName(spec.name);
    return loops.ForEach(&diags_, [&](const LoopBox& box) {
      SuperTensor super;
      if (!FillSuper(spec, loops, box, &super)) return false;
      NameBox name;
      if (!loops.Box(spec.name, plan, box, &diags_, &name)) return false;
      super.name = PatternOf(spec.name, name, loops, box);
      std::optional<Pending> scale;
      if (spec.scale_of && !BoxScale(spec, loops, box, &scale)) return false;
      return AddSuper(std::move(super), name, std::move(scale));
    });
  }

  bool FillSuper(const LogicalSpec& spec, const LoopBoxes& loops, const LoopBox& box,
                 SuperTensor* super) {
    super->dtype = spec.dtype.value_or(DType::kBf16);
    super->declared = spec.span;
    super->declared_by_source = side_ == Side::kSource;
    std::optional<int64_t> total = DTypeBytes(super->dtype);
    for (const Expr& expr : spec.shape) {
      int64_t extent = 0;
      if (!loops.Eval(expr, &diags_, &extent)) return false;
      if (extent < 0) {
        diags_.Error(DiagnosticCode::kBadValue, expr.span,
                     "extent " + std::to_string(extent) + " of '" + spec.name.source +
                         "', expected at least 0" + loops.Where());
        return false;
      }
      super->shape.push_back(extent);
    }
    for (const Run& range : box.ranges) {
      super->loop_begin.push_back(range.begin);
      super->loop_extent.push_back(range.count);
      total = total ? CheckedMul(*total, range.count) : total;
    }
    for (const int64_t extent : super->shape) total = total ? CheckedMul(*total, extent) : total;
    if (super->axis_count() > kMaxDims) {
      diags_.Error(DiagnosticCode::kTooLarge, spec.shape_span,
                   "'" + spec.name.source + "' has " + std::to_string(super->axis_count()) +
                       " loops and dimensions, at most " + std::to_string(kMaxDims) + " work");
      return false;
    }
    if (!total || *total > kMaxTensorBytes) {
      diags_.Error(DiagnosticCode::kTooLarge, spec.shape_span,
                   "'" + spec.name.source + "' with shape " + ShapeText(super->shape) +
                       " does not fit 64 bits" + loops.Where());
      return false;
    }
    return true;
  }

  static NamePattern PatternOf(const NameExpr& expr, const NameBox& name, const LoopBoxes& loops,
                               const LoopBox& box) {
    NamePattern pattern;
    if (!name.plain.empty() || box.ranges.empty()) {
      pattern.text = {name.plain};
      return pattern;
    }
    pattern.text = {expr.text[0]};
    for (size_t h = 0; h < expr.holes.size(); ++h) {
      int64_t value = 0;
      EvalFailure failure;
      if (!loops.scope().EvalInt(expr.holes[h], &value, &failure)) continue;
      size_t range = 0;
      while (range < box.ranges.size() &&
             AsName(expr.holes[h]) != loops.scope().name(box.variables[range])) {
        ++range;
      }
      if (range == box.ranges.size()) {
        pattern.text.back() += std::to_string(value) + expr.text[h + 1];
        continue;
      }
      NamePattern::Hole hole;
      hole.coef.assign(box.ranges.size(), 0);
      hole.coef[range] = 1;
      pattern.holes.push_back(hole);
      pattern.text.push_back(expr.text[h + 1]);
    }
    return pattern;
  }

  bool BoxScale(const LogicalSpec& spec, const LoopBoxes& loops, const LoopBox& box,
                std::optional<Pending>* out) {
    Pending scale;
    scale.span = spec.scale_of->span;
    for (const Expr& expr : spec.scale_of->block) {
      int64_t extent = 0;
      if (!loops.Eval(expr, &diags_, &extent)) return false;
      if (extent < 1) {
        diags_.Error(DiagnosticCode::kBadValue, expr.span,
                     "a block of " + std::to_string(extent) + " elements, expected at least 1");
        return false;
      }
      scale.block.push_back(extent);
    }
    if (!loops.Box(spec.scale_of->tensor, PlanName(spec.scale_of->tensor), box, &diags_,
                   &scale.tensor)) {
      return false;
    }
    *out = std::move(scale);
    return true;
  }

  // What the table already says of the names in `box`: entries of templates, and single names.
  std::vector<Entry> Known(const NameBox& box) const {
    std::vector<Entry> known;
    if (const auto it = table_.by_skeleton.find(box.skeleton); it != table_.by_skeleton.end()) {
      for (const Entry& entry : it->second) {
        if (Overlap(entry, box)) known.push_back(entry);
      }
    }
    if (const auto it = singles_.find(box.skeleton); it != singles_.end()) {
      if (!box.plain.empty()) {
        const auto single = table_.by_name.find(box.plain);
        if (single != table_.by_name.end()) known.push_back(EntryOf(box, single->second));
      } else {
        for (const Entry& entry : it->second) {
          if (Overlap(entry, box)) known.push_back(entry);
        }
      }
    }
    return known;
  }

  static Entry EntryOf(const NameBox& box, const LogicalRef& ref) {
    Entry entry;
    entry.super = ref.super;
    entry.base = ref.loop_values;
    for (const NameBox::Slot& slot : box.slots) entry.slots.push_back({slot.begin, slot.end, -1});
    return entry;
  }

  bool AddSuper(SuperTensor super, const NameBox& box, std::optional<Pending> scale) {
    std::vector<Entry> known = Known(box);
    for (const Entry& entry : known) {
      if (!Agree(super, entry.super)) return false;
    }
    if (known.empty()) {
      AppendSuper(std::move(super), box, std::move(scale));
      return true;
    }
    // The other side knows some of these tensors. Those that it does not are added one by one.
    return AddMissing(super, box, known);
  }

  // Splits `box` along its slots until a part is known as a whole or not at all.
  bool AddMissing(const SuperTensor& super, const NameBox& box, const std::vector<Entry>& known) {
    std::vector<Entry> touching;
    for (const Entry& entry : known) {
      if (Contains(entry, box)) return true;
      if (Overlap(entry, box)) touching.push_back(entry);
    }
    entries_left_ -= static_cast<int64_t>(known.size() / 16 + 1);
    if (entries_left_ < 0) {
      diags_.Error(DiagnosticCode::kTooLarge, super.declared,
                   "the sides declare too many tensors in different ways");
      return false;
    }
    if (touching.empty()) {
      SuperTensor part = super;
      for (const NameBox::Slot& slot : box.slots) {
        if (slot.range < 0) continue;
        part.loop_begin[static_cast<size_t>(slot.range)] = slot.begin;
        part.loop_extent[static_cast<size_t>(slot.range)] = slot.end - slot.begin;
      }
      AppendSuper(std::move(part), box, std::nullopt);
      return true;
    }
    const Entry& entry = touching[0];
    for (size_t i = 0; i < box.slots.size(); ++i) {
      for (const int64_t cut : {entry.slots[i].begin, entry.slots[i].end}) {
        if (cut <= box.slots[i].begin || cut >= box.slots[i].end) continue;
        NameBox low = box, high = box;
        low.slots[i].end = cut;
        high.slots[i].begin = cut;
        return AddMissing(super, low, touching) && AddMissing(super, high, touching);
      }
    }
    return true;
  }

  // The tensors that two templates share, as exactly as can be said in one name.
  static std::string CommonName(const SuperTensor& mine, const SuperTensor& other) {
    std::vector<int64_t> begin = mine.loop_begin;
    std::vector<int64_t> extent = mine.loop_extent;
    if (mine.name == other.name && begin.size() == other.loop_begin.size()) {
      for (size_t i = 0; i < begin.size(); ++i) {
        const int64_t end = std::min(begin[i] + extent[i], other.loop_begin[i] + other.loop_extent[i]);
        begin[i] = std::max(begin[i], other.loop_begin[i]);
        extent[i] = end - begin[i];
      }
    }
    return mine.name.Describe(begin, extent);
  }

  // Reports where `mine` contradicts what is known; false when it does.
  bool Agree(const SuperTensor& mine, SuperId known) {
    const SuperTensor& other = table_.supers[known];
    const std::string name = CommonName(mine, other);
    if (known >= first_of_side_) {
      diags_.Error(DiagnosticCode::kDuplicateTensor, mine.declared,
                   "'" + name + "' is declared twice")
          .notes.push_back({other.declared, "it is declared here too"});
      return false;
    }
    if (mine.shape != other.shape) {
      diags_.Error(DiagnosticCode::kShapeMismatch, mine.declared,
                   "'" + name + "' has shape " + ShapeText(mine.shape) + ", expected " +
                       ShapeText(other.shape) + " as on the other side")
          .notes.push_back({other.declared, "'" + name + "' is declared here"});
      return false;
    }
    if (mine.dtype != other.dtype) {
      diags_.Error(DiagnosticCode::kDtypeMismatch, mine.declared,
                   "'" + name + "' has dtype " + std::string(DTypeText(mine.dtype)) +
                       ", expected " + std::string(DTypeText(other.dtype)) +
                       " as on the other side")
          .notes.push_back({other.declared, "'" + name + "' is declared here"});
      return false;
    }
    return true;
  }

  void AppendSuper(SuperTensor super, const NameBox& box, std::optional<Pending> scale) {
    const auto id = static_cast<SuperId>(table_.supers.size());
    if (scale) {
      scale->super = id;
      pending_.push_back(std::move(*scale));
    }
    Entry entry;
    entry.super = id;
    entry.base = super.loop_begin;
    for (const NameBox::Slot& slot : box.slots) {
      entry.slots.push_back({slot.begin, slot.end, slot.range});
    }
    table_.supers.push_back(std::move(super));
    AddEntry(box, std::move(entry));
  }

  void AddEntry(const NameBox& box, Entry entry) {
    const bool ranged = std::any_of(entry.slots.begin(), entry.slots.end(),
                                    [](const Entry::Slot& slot) { return slot.axis >= 0; });
    if (ranged) {
      table_.by_skeleton[box.skeleton].push_back(std::move(entry));
      return;
    }
    table_.by_name[box.plain] = {entry.super, entry.base};
    singles_[box.skeleton].push_back(std::move(entry));
  }

  bool AddAlias(const AliasSpec& alias, const SpecScope& globals, bool* unknown) {
    LoopBoxes loops(globals, alias.loops, {&alias.name, &alias.of}, {}, &entries_left_);
    const NamePlan name_plan = PlanName(alias.name);
    const NamePlan of_plan = PlanName(alias.of);
    return loops.ForEach(&diags_, [&](const LoopBox& box) {
      NameBox name, of;
      if (!loops.Box(alias.name, name_plan, box, &diags_, &name)) return false;
      if (!loops.Box(alias.of, of_plan, box, &diags_, &of)) return false;
      return AddAliasBox(alias, name, of, unknown);
    });
  }

  bool TooManyAliases(const AliasSpec& alias) {
    diags_.Error(DiagnosticCode::kTooLarge, alias.span,
                 "the aliases up to '" + alias.name.source + "' lead to too many names");
    return false;
  }

  // `name` and `of` walk the same ranges.
  bool AddAliasBox(const AliasSpec& alias, const NameBox& name, const NameBox& of, bool* unknown) {
    const std::vector<Entry> targets = Known(of);
    const auto whole = std::find_if(targets.begin(), targets.end(),
                                    [&](const Entry& entry) { return Contains(entry, of); });
    if (whole == targets.end()) {
      for (size_t i = 0; i < of.slots.size(); ++i) {
        if (of.slots[i].range < 0) continue;
        // Several entries, or none: look at each tensor alone.
        bool good = true;
        for (int64_t v = 0; good && v < of.slots[i].end - of.slots[i].begin; ++v) {
          if (--entries_left_ < 0) return TooManyAliases(alias);
          good = AddAliasBox(alias, Pick(name, of.slots[i].range, v), Pick(of, of.slots[i].range, v),
                             unknown);
        }
        return good;
      }
      *unknown = true;
      return true;
    }
    Entry entry;
    entry.super = whole->super;
    entry.base = whole->base;
    for (const NameBox::Slot& slot : name.slots) entry.slots.push_back({slot.begin, slot.end, -1});
    for (size_t i = 0; i < of.slots.size(); ++i) {
      const int axis = whole->slots[i].axis;
      if (axis < 0) continue;
      entry.base[static_cast<size_t>(axis)] += of.slots[i].begin - whole->slots[i].begin;
      for (size_t k = 0; of.slots[i].range >= 0 && k < name.slots.size(); ++k) {
        if (name.slots[k].range == of.slots[i].range) entry.slots[k].axis = axis;
      }
    }
    const std::vector<Entry> same_name = Known(name);
    if (same_name.empty()) {
      AddEntry(name, std::move(entry));
      return true;
    }
    const Entry& first = same_name[0];
    const bool same = same_name.size() == 1 && first.super == entry.super &&
                      first.base == entry.base && Contains(first, name);
    if (same) return true;
    diags_.Error(DiagnosticCode::kDuplicateTensor, alias.span,
                 "'" + alias.name.source + "' is an alias and another tensor")
        .notes.push_back({table_.supers[first.super].declared, "the other tensor is declared here"});
    return false;
  }

  // The part of a box where one range has its value number `v` only.
  static NameBox Pick(const NameBox& box, int range, int64_t v) {
    NameBox part = box;
    bool ranged = false;
    for (NameBox::Slot& slot : part.slots) {
      if (slot.range == range) slot = {slot.begin + v, slot.begin + v + 1, -1};
      ranged |= slot.range >= 0;
    }
    if (!ranged) part.plain = PlainName(part);
    return part;
  }

  static std::string PlainName(const NameBox& box) {
    std::string name;
    size_t slot = 0;
    for (size_t i = 0; i < box.skeleton.size(); ++i) {
      if (box.skeleton[i] == '\\') {
        name += box.skeleton[++i];
      } else if (box.skeleton[i] == '#') {
        name += std::to_string(box.slots[slot++].begin);
      } else {
        name += box.skeleton[i];
      }
    }
    return name;
  }

  bool ReportUnresolved(const std::vector<const AliasSpec*>& aliases) {
    for (const AliasSpec* alias : aliases) {
      const std::string skeleton = PlanName(alias->of).skeleton;
      const auto next = std::find_if(aliases.begin(), aliases.end(), [&](const AliasSpec* other) {
        return PlanName(other->name).skeleton == skeleton;
      });
      if (next == aliases.end()) {
        diags_.Error(DiagnosticCode::kUnknownTensor, alias->of.span,
                     "no logical tensor is called '" + alias->of.source + "'" +
                         DidYouMean(alias->of.source, table_.SampleNames()));
        return false;
      }
    }
    diags_.Error(DiagnosticCode::kAliasCycle, aliases[0]->span,
                 "alias '" + aliases[0]->name.source + "' refers to itself through others")
        .notes.push_back({aliases.back()->span, "'" + aliases.back()->name.source +
                                                    "' is in the circle too"});
    return false;
  }

  bool ResolveScale(const Pending& pending) {
    SuperTensor& scale = table_.supers[pending.super];
    const std::string name = scale.name.Describe(scale.loop_begin, scale.loop_extent);
    const std::vector<Entry> known = Known(pending.tensor);
    const auto whole = std::find_if(known.begin(), known.end(), [&](const Entry& entry) {
      return Contains(entry, pending.tensor);
    });
    if (whole == known.end()) {
      diags_.Error(DiagnosticCode::kUnknownTensor, pending.span,
                   "'scale_of' of '" + name + "' does not name the tensors of one template");
      return false;
    }
    const SuperTensor& tensor = table_.supers[whole->super];
    SuperTensor::ScaleOf result;
    result.tensor = whole->super;
    result.block = pending.block;
    result.span = pending.span;
    result.loop_map.assign(scale.loop_count(), -1);
    bool fits = true;
    for (size_t i = 0; i < pending.tensor.slots.size(); ++i) {
      const LogicalTable::Entry::Slot& slot = whole->slots[i];
      if (slot.axis < 0) continue;
      const int range = pending.tensor.slots[i].range;
      fits &= range >= 0 && slot.begin == whole->base[static_cast<size_t>(slot.axis)];
      if (range >= 0) result.loop_map[static_cast<size_t>(range)] = slot.axis;
    }
    for (const int64_t axis : result.loop_map) fits &= axis >= 0;
    fits &= tensor.loop_count() == scale.loop_count();
    if (!fits) {
      diags_.Error(DiagnosticCode::kBadValue, pending.span,
                   "'" + name + "' and the tensor that it scales have different loops");
      return false;
    }
    return CheckScaleShape(pending, name, tensor, std::move(result), &scale);
  }

  bool CheckScaleShape(const Pending& pending, const std::string& name, const SuperTensor& tensor,
                       SuperTensor::ScaleOf result, SuperTensor* scale) {
    std::vector<int64_t> expected;
    const bool same_rank = pending.block.size() == tensor.shape.size();
    for (size_t d = 0; same_rank && d < tensor.shape.size(); ++d) {
      expected.push_back((tensor.shape[d] + pending.block[d] - 1) / pending.block[d]);
    }
    if (!same_rank || expected != scale->shape) {
      diags_.Error(DiagnosticCode::kShapeMismatch, pending.span,
                   "'" + name + "' has shape " + ShapeText(scale->shape) + ", expected " +
                       ShapeText(expected) + ": one element per block of " +
                       ShapeText(pending.block) + " of " + ShapeText(tensor.shape))
          .notes.push_back({tensor.declared, "the tensor that it scales is declared here"});
      return false;
    }
    scale->scale_of = std::move(result);
    return true;
  }

  Diagnostics& diags_;
  LogicalTable& table_;
  Side side_ = Side::kSource;
  size_t first_of_side_ = 0;
  int64_t entries_left_ = kMaxTableEntries;
  std::unordered_map<std::string, std::vector<Entry>> singles_;  // by skeleton
  std::vector<Pending> pending_;
};

}  // namespace

int64_t SuperTensor::tensor_count() const {
  int64_t count = 1;
  for (const int64_t extent : loop_extent) count *= extent;
  return count;
}

int64_t SuperTensor::tensor_bytes() const {
  int64_t bytes = DTypeBytes(dtype);
  for (const int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::optional<LogicalRef> LogicalTable::Find(std::string_view name) const {
  if (const auto it = by_name.find(std::string(name)); it != by_name.end()) return it->second;
  const NameSkeleton skeleton = SkeletonOf(name);
  const auto it = by_skeleton.find(skeleton.text);
  if (it == by_skeleton.end()) return std::nullopt;
  for (const Entry& entry : it->second) {
    LogicalRef ref{entry.super, entry.base};
    bool matches = true;
    for (size_t i = 0; matches && i < entry.slots.size(); ++i) {
      const Entry::Slot& slot = entry.slots[i];
      matches = slot.begin <= skeleton.slots[i] && skeleton.slots[i] < slot.end;
      if (matches && slot.axis >= 0) {
        ref.loop_values[static_cast<size_t>(slot.axis)] += skeleton.slots[i] - slot.begin;
      }
    }
    if (matches) return ref;
  }
  return std::nullopt;
}

std::vector<std::string> LogicalTable::SampleNames() const {
  constexpr size_t kMaxNames = 4000;
  std::vector<std::string> names;
  for (const SuperTensor& super : supers) {
    if (names.size() == kMaxNames) break;
    names.push_back(super.name.Instance(super.loop_begin));
  }
  for (const auto& [name, ref] : by_name) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > 2 * kMaxNames) names.resize(2 * kMaxNames);
  return names;
}

bool BuildLogicalTable(const LayoutSpec* source, const LayoutSpec* destination,
                       Diagnostics* diags, LogicalTable* out) {
  TableBuilder builder(diags, out);
  SpecScope source_scope, destination_scope;
  bool good = true;
  if (source != nullptr) good &= source_scope.Build(*source, diags);
  if (destination != nullptr) good &= destination_scope.Build(*destination, diags);
  if (!good) return false;
  if (source != nullptr) good &= builder.AddSide(*source, source_scope);
  if (destination != nullptr) good &= builder.AddSide(*destination, destination_scope);
  if (!good) return false;
  if (source != nullptr) good &= builder.AddAliases(*source, source_scope);
  if (destination != nullptr) good &= builder.AddAliases(*destination, destination_scope);
  return good && builder.ResolveScales();
}

}  // namespace reshard
