#include "compiler/layout/template_runs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// A loop value of 0 need not exist, so what a hole would be there may not fit 64 bits: then the
// loop is written out.
Outcome PatternOf(const TemplateName& name, const std::vector<AffineHole>& holes,
                  const FamilyDraft& draft, EvalContext* context, NamePattern* out) {
  NamePattern& pattern = *out;
  pattern.text = {name.expr->text[0]};
  for (size_t h = 0; h < holes.size(); ++h) {
    const std::string& after = name.expr->text[h + 1];
    if (holes[h].coefs.empty()) {
      pattern.text.back() += std::to_string(holes[h].base) + after;
      continue;
    }
    NamePattern::Hole hole;
    hole.base = holes[h].base;
    for (size_t i = 0; i < draft.loop_variables.size(); ++i) {
      int64_t coef = 0;
      for (const auto& [v, c] : holes[h].coefs) coef = v == draft.loop_variables[i] ? c : coef;
      hole.coef.push_back(coef);
      const std::optional<int64_t> shift = CheckedMul(coef, LoopBegin(draft.loop_runs[i]));
      const std::optional<int64_t> base = shift ? CheckedSub(hole.base, *shift) : std::nullopt;
      if (!base) return context->Split(draft.loop_variables[i], 1);
      hole.base = *base;
    }
    pattern.holes.push_back(std::move(hole));
    pattern.text.push_back(after);
  }
  return Outcome::kDone;
}

}  // namespace

bool ForEachPart(const InstanceBox& box, EvalContext* context,
                 const std::function<Outcome()>& add) {
  std::vector<InstanceBox> waiting;  // the next one last; empty in the usual case of one part
  const InstanceBox* part = &box;
  InstanceBox current;
  while (true) {
    for (size_t v = 0; v < part->size(); ++v) context->Bind(v, (*part)[v]);
    const Outcome outcome = add();
    if (outcome == Outcome::kFailed) return false;
    if (outcome == Outcome::kSplit) {
      InstanceBox first = *part;
      InstanceBox rest = *part;
      Run& cut = first[context->split_variable];
      rest[context->split_variable] = {cut.at(context->split_count), cut.step,
                                       cut.count - context->split_count};
      cut.count = context->split_count;
      waiting.push_back(std::move(rest));
      waiting.push_back(std::move(first));
    }
    if (waiting.empty()) return true;
    current = std::move(waiting.back());
    waiting.pop_back();
    part = &current;
  }
}

Outcome MakeNames(const std::vector<TemplateName>& names, EvalContext* context,
                  FamilyDraft* draft) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<AffineHole> holes;
    Outcome outcome = EvalHoles(names[i], context, &holes);
    if (outcome != Outcome::kDone) return outcome;
    NamePattern pattern;
    outcome = PatternOf(names[i], holes, *draft, context, &pattern);
    if (outcome != Outcome::kDone) return outcome;
    if (i == 0) {
      draft->name = std::move(pattern);
    } else {
      draft->shares.push_back(std::move(pattern));
    }
  }
  return Outcome::kDone;
}

}  // namespace reshard
