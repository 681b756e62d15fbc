#include "compiler/layout/logical_aliases.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/limits.h"
#include "compiler/layout/logical_boxes.h"
#include "compiler/layout/name_skeleton.h"

namespace reshard {
namespace {

using Entry = LogicalTable::Entry;

class AliasAdder {
 public:
  AliasAdder(int64_t* entries_left, LogicalIndex* index, Diagnostics* diags)
      : entries_left_(*entries_left), index_(*index), diags_(*diags) {}

  // Aliases may build on each other in any order: try those that are left until none gets on.
  bool AddAll(const LayoutSpec& spec, const SpecScope& globals) {
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

 private:
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
    const std::vector<Entry> targets = index_.Known(of);
    const auto whole = std::find_if(targets.begin(), targets.end(),
                                    [&](const Entry& entry) { return Contains(entry, of); });
    if (whole == targets.end()) {
      for (size_t i = 0; i < of.slots.size(); ++i) {
        if (of.slots[i].range < 0) continue;
        // Several entries, or none: look at each tensor alone.
        bool good = true;
        for (int64_t v = 0; good && v < of.slots[i].end - of.slots[i].begin; ++v) {
          if (--entries_left_ < 0) return TooManyAliases(alias);
          good = AddAliasBox(alias, Pick(name, of.slots[i].range, v),
                             Pick(of, of.slots[i].range, v), unknown);
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
    const std::vector<Entry> same_name = index_.Known(name);
    if (same_name.empty()) {
      index_.AddEntry(name, std::move(entry));
      return true;
    }
    const Entry& first = same_name[0];
    const bool same = same_name.size() == 1 && first.super == entry.super &&
                      first.base == entry.base && Contains(first, name);
    if (same) return true;
    diags_
        .Error(DiagnosticCode::kDuplicateTensor, alias.span,
               "'" + alias.name.source + "' is an alias and another tensor")
        .notes.push_back(
            {index_.table().supers[first.super].declared, "the other tensor is declared here"});
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
                         DidYouMean(alias->of.source, index_.table().SampleNames()));
        return false;
      }
    }
    diags_
        .Error(DiagnosticCode::kAliasCycle, aliases[0]->span,
               "alias '" + aliases[0]->name.source + "' refers to itself through others")
        .notes.push_back(
            {aliases.back()->span, "'" + aliases.back()->name.source + "' is in the circle too"});
    return false;
  }

  int64_t& entries_left_;
  LogicalIndex& index_;
  Diagnostics& diags_;
};

}  // namespace

bool AddAliases(const LayoutSpec& spec, const SpecScope& globals, int64_t* entries_left,
                LogicalIndex* index, Diagnostics* diags) {
  return AliasAdder(entries_left, index, diags).AddAll(spec, globals);
}

}  // namespace reshard
