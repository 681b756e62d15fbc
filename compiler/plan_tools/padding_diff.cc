#include "compiler/plan_tools/padding_diff.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/plan_tools/tensor_parts.h"

namespace reshard {
namespace {

// Params of templates that only one plan has are not listed beyond this many.
constexpr int64_t kMaxParams = int64_t{1} << 18;

using Rules = std::set<PlanFillRule>;

std::string RulesText(const Rules& rules) {
  if (rules.empty()) return "none";
  if (rules.size() > 1) return "zero and kept";
  return rules.contains(PlanFillRule::kZero) ? "zero" : "kept";
}

struct Template {
  const PlanFamily* family = nullptr;
  Rules rules;  // on any rank
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t extent : family->loop_extent) count *= extent;
    return count;
  }
};
using Templates = std::map<std::string, Template>;  // by name

Templates TemplatesOf(const Plan& plan) {
  std::vector<Rules> rules(plan.families.size());
  for (const PlanFill& fill : plan.fills) rules[fill.family].insert(fill.rule);
  Templates templates;
  for (size_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    if (family.side != PlanSide::kDestination) continue;
    Template& found = templates[family.name.Describe(family.loop_begin, family.loop_extent)];
    found.family = &family;
    found.rules.insert(rules[f].begin(), rules[f].end());
  }
  return templates;
}

TensorChange Change(std::vector<std::string> names, int64_t count, const Rules& had,
                    const Rules& has) {
  constexpr size_t kShownNames = 2;
  TensorChange change;
  change.kind = TensorChangeKind::kPadding;
  change.name = names[0];
  for (size_t i = 1; i < std::min(names.size(), kShownNames); ++i) change.name += ", " + names[i];
  if (names.size() > kShownNames) change.name += ", ...";
  change.count = count;
  change.names = std::move(names);
  change.before = RulesText(had);
  change.after = RulesText(has);
  return change;
}

// Takes those that both have out of `before` and `after`.
void DiffWhole(Templates* before, Templates* after, std::vector<TensorChange>* changes) {
  for (auto had = before->begin(); had != before->end();) {
    const auto has = after->find(had->first);
    if (has == after->end()) {
      ++had;
      continue;
    }
    if (had->second.rules != has->second.rules) {
      changes->push_back(
          Change({had->first}, had->second.count(), had->second.rules, has->second.rules));
    }
    after->erase(has);
    had = before->erase(had);
  }
}

// Whether any has padding, and all are few enough to be listed.
bool IsListed(const Templates& before, const Templates& after) {
  bool padded = false;
  int64_t count = 0;
  for (const Templates* templates : {&before, &after}) {
    for (const auto& [name, of] : *templates) {
      padded = padded || !of.rules.empty();
      if (of.count() > kMaxParams - count) return false;
      count += of.count();
    }
  }
  return padded;
}

}  // namespace

std::vector<TensorChange> DiffPadding(const Plan& before, const Plan& after) {
  std::vector<TensorChange> changes;
  Templates had = TemplatesOf(before), has = TemplatesOf(after);
  DiffWhole(&had, &has, &changes);
  if (!IsListed(had, has)) return changes;
  std::map<std::string, Rules> rules;  // of params
  const auto names_of = [](const Template& of) {
    return InstanceNames(of.family->name, of.family->loop_begin, of.family->loop_extent);
  };
  for (const auto& [name, of] : had) {
    for (const std::string& param : names_of(of)) {
      rules[param].insert(of.rules.begin(), of.rules.end());
    }
  }
  for (const auto& [name, of] : has) {
    std::map<Rules, std::vector<std::string>> changed;  // by what they were
    for (const std::string& param : names_of(of)) {
      const auto found = rules.find(param);
      if (found != rules.end() && found->second != of.rules) {
        changed[found->second].push_back(param);
      }
    }
    for (auto& [was, params] : changed) {
      const int64_t count = static_cast<int64_t>(params.size());
      changes.push_back(Change(std::move(params), count, was, of.rules));
    }
  }
  return changes;
}

}  // namespace reshard
