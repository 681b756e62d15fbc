#include "compiler/layout/name_skeleton.h"

namespace reshard {
namespace {

constexpr size_t kMaxSlotDigits = 18;  // always fits 64 bits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendSkeleton(std::string_view name, NameSkeleton* out) {
  for (size_t i = 0; i < name.size();) {
    if (!IsDigit(name[i])) {
      // A literal '#' or '\' is escaped, so that equal skeletons mean equal texts between slots.
      if (name[i] == '#' || name[i] == '\\') out->text += '\\';
      out->text += name[i++];
      continue;
    }
    size_t end = i;
    while (end < name.size() && IsDigit(name[end])) ++end;
    if ((name[i] == '0' && end - i > 1) || end - i > kMaxSlotDigits) {
      out->text += name.substr(i, end - i);
    } else {
      int64_t value = 0;
      for (size_t k = i; k < end; ++k) value = value * 10 + (name[k] - '0');
      out->text += '#';
      out->slots.push_back(value);
    }
    i = end;
  }
}

}  // namespace

NameSkeleton SkeletonOf(std::string_view name) {
  NameSkeleton skeleton;
  AppendSkeleton(name, &skeleton);
  return skeleton;
}

NamePlan PlanName(const NameExpr& name) {
  NamePlan plan;
  for (size_t part = 0; part < name.text.size(); ++part) {
    const std::string& text = name.text[part];
    NameSkeleton skeleton;
    AppendSkeleton(text, &skeleton);
    plan.skeleton += skeleton.text;
    for (const int64_t value : skeleton.slots) plan.slots.push_back({-1, value});
    const bool hole_before = part > 0;
    const bool hole_after = part + 1 < name.text.size();
    if (hole_before && hole_after && text.empty()) plan.glued = true;
    if (hole_before && !text.empty() && IsDigit(text.front())) plan.glued = true;
    if (hole_after && !text.empty() && IsDigit(text.back())) plan.glued = true;
    if (hole_after) {
      plan.skeleton += '#';
      plan.slots.push_back({static_cast<int>(part), 0});
    }
  }
  return plan;
}

}  // namespace reshard
