#include "compiler/layout/duplicates.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/layout/name_skeleton.h"

namespace reshard {
namespace {

// Names that are compared one by one, over a whole layout.
constexpr int64_t kMaxComparedNames = 20'000'000;

struct NameUse {
  FamilyId family = 0;
  const NamePattern* pattern = nullptr;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The pattern's skeleton, or "" when its instances may have different ones: a hole that touches a
// digit or another hole, or that can be negative.
std::string SkeletonOfPattern(const ParamFamily& family, const NamePattern& pattern) {
  std::string skeleton;
  for (size_t part = 0; part < pattern.text.size(); ++part) {
    const std::string& text = pattern.text[part];
    if (part > 0 && (text.empty() ? part + 1 < pattern.text.size() : IsDigit(text.front()))) {
      return "";
    }
    if (part + 1 < pattern.text.size() && !text.empty() && IsDigit(text.back())) return "";
    skeleton += SkeletonOf(text).text;
    if (part + 1 == pattern.text.size()) break;
    const NamePattern::Hole& hole = pattern.holes[part];
    int64_t lowest = hole.base;
    for (size_t i = 0; i < hole.coef.size(); ++i) {
      const int64_t last = family.loop_begin[i] + family.loop_extent[i] - 1;
      lowest += std::min(hole.coef[i] * family.loop_begin[i], hole.coef[i] * last);
    }
    if (lowest < 0) return "";
    skeleton += '#';
  }
  return skeleton;
}

// Whether different instances have different names because each loop has a hole of its own.
bool Injective(const ParamFamily& family, const NamePattern& pattern) {
  for (size_t loop = 0; loop < family.loop_extent.size(); ++loop) {
    if (family.loop_extent[loop] < 2) continue;
    const bool alone = std::any_of(
        pattern.holes.begin(), pattern.holes.end(), [&](const NamePattern::Hole& hole) {
          for (size_t i = 0; i < hole.coef.size(); ++i) {
            if ((hole.coef[i] != 0) != (i == loop)) return false;
          }
          return true;
        });
    if (!alone) return false;
  }
  return true;
}

class NameChecker {
 public:
  NameChecker(const Layout& layout, Diagnostics* diags) : layout_(layout), diags_(*diags) {}

  bool Check() {
    std::map<std::string, std::vector<NameUse>> groups;
    std::vector<NameUse> irregular;
    for (FamilyId f = 0; f < layout_.families.size(); ++f) {
      const ParamFamily& family = layout_.families[f];
      AddUse(f, family.name, &groups, &irregular);
      for (const NamePattern& share : family.shares) AddUse(f, share, &groups, &irregular);
    }
    // A name without a skeleton may equal any other: then everything is one group.
    if (!irregular.empty()) {
      for (const auto& [skeleton, uses] : groups) {
        irregular.insert(irregular.end(), uses.begin(), uses.end());
      }
      return CheckGroup(irregular);
    }
    bool good = true;
    for (const auto& [skeleton, uses] : groups) good &= CheckGroup(uses);
    return good;
  }

 private:
  void AddUse(FamilyId f, const NamePattern& pattern,
              std::map<std::string, std::vector<NameUse>>* groups,
              std::vector<NameUse>* irregular) const {
    const std::string skeleton = SkeletonOfPattern(layout_.families[f], pattern);
    (skeleton.empty() ? *irregular : (*groups)[skeleton]).push_back({f, &pattern});
  }

  bool CheckGroup(const std::vector<NameUse>& uses) {
    // The uses on each rank; ranks with the same ones are looked at once.
    std::unordered_map<Rank, std::vector<uint32_t>> by_rank;
    if (uses.size() == 1) return CheckUses({0}, uses, 0);
    for (uint32_t i = 0; i < uses.size(); ++i) {
      for (const Rank rank : layout_.rank_sets[layout_.families[uses[i].family].ranks]) {
        by_rank[rank].push_back(i);
      }
    }
    std::map<std::vector<uint32_t>, Rank> distinct;
    for (auto& [rank, list] : by_rank) {
      const auto [it, is_new] = distinct.try_emplace(std::move(list), rank);
      if (!is_new) it->second = std::min(it->second, rank);
    }
    for (const auto& [list, rank] : distinct) {
      if (!CheckUses(list, uses, rank)) return false;
    }
    return true;
  }

  bool CheckUses(const std::vector<uint32_t>& list, const std::vector<NameUse>& uses, Rank rank) {
    if (list.size() == 1) {
      const NameUse& use = uses[list[0]];
      if (Injective(layout_.families[use.family], *use.pattern)) return true;
    }
    std::unordered_map<std::string, FamilyId> seen;
    for (const uint32_t i : list) {
      const ParamFamily& family = layout_.families[uses[i].family];
      std::vector<int64_t> at = family.loop_begin;
      const int64_t count = family.instance_count();
      for (int64_t n = 0; n < count; ++n) {
        if (--names_left_ < 0) return TooMany(family);
        std::string name = uses[i].pattern->Instance(at);
        const auto [it, is_new] = seen.try_emplace(std::move(name), uses[i].family);
        if (!is_new) return Duplicate(it->first, rank, layout_.families[it->second], family);
        for (size_t loop = at.size(); loop-- > 0;) {
          if (++at[loop] < family.loop_begin[loop] + family.loop_extent[loop]) break;
          at[loop] = family.loop_begin[loop];
        }
      }
    }
    return true;
  }

  bool Duplicate(const std::string& name, Rank rank, const ParamFamily& first,
                 const ParamFamily& second) {
    const Rank example = rank != 0 ? rank : layout_.rank_sets[second.ranks].front();
    Diagnostic& error = diags_.Error(
        DiagnosticCode::kDuplicateParam, second.span,
        "rank " + std::to_string(example) + " has two params called '" + name + "'");
    if (first.template_index != second.template_index) {
      error.notes.push_back({first.span, "the other one is made here"});
    }
    return false;
  }

  bool TooMany(const ParamFamily& family) {
    diags_.Error(DiagnosticCode::kTooManyPieces, family.span,
                 "the param names of one rank cannot be told apart within " +
                     std::to_string(kMaxComparedNames) + " comparisons");
    return false;
  }

  const Layout& layout_;
  Diagnostics& diags_;
  int64_t names_left_ = kMaxComparedNames;
};

}  // namespace

bool CheckParamNames(const Layout& layout, Diagnostics* diags) {
  return NameChecker(layout, diags).Check();
}

}  // namespace reshard
