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

// Names and (name, rank) pairs that are looked at one by one, over a whole layout.
constexpr int64_t kMaxComparedNames = 50'000'000;

struct NameUse {
  FamilyId family = 0;
  const NamePattern* pattern = nullptr;
  uint32_t skeleton = 0;  // number of it in the checker; kNoSkeleton: instances have several
};
constexpr uint32_t kNoSkeleton = UINT32_MAX;

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

// What is left of every instance's name without digits and signs: equal names have equal ones.
std::string LettersOf(const NamePattern& pattern) {
  std::string letters;
  for (const std::string& text : pattern.text) {
    for (const char c : text) {
      if (!IsDigit(c) && c != '-') letters += c;
    }
  }
  return letters;
}

// Whether different instances have different names because each loop has a hole of its own.
bool Injective(const ParamFamily& family, const NamePattern& pattern) {
  for (size_t loop = 0; loop < family.loop_extent.size(); ++loop) {
    if (family.loop_extent[loop] < 2) continue;
    const bool alone =
        std::any_of(pattern.holes.begin(), pattern.holes.end(), [&](const NamePattern::Hole& hole) {
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
    for (FamilyId f = 0; f < layout_.families.size(); ++f) {
      const ParamFamily& family = layout_.families[f];
      AddUse(f, 0, family.name);
      for (size_t i = 0; i < family.shares.size(); ++i) AddUse(f, i + 1, family.shares[i]);
    }
    bool good = true;
    for (const auto& [letters, uses] : groups_) good &= CheckGroup(uses);
    return good;
  }

 private:
  void AddUse(FamilyId f, size_t position, const NamePattern& pattern) {
    // Families of one template mostly have one pattern: what the family before had is kept.
    const ParamFamily& family = layout_.families[f];
    if (recent_.size() <= position) recent_.resize(position + 1);
    Recent& recent = recent_[position];
    if (recent.pattern == nullptr || *recent.pattern != pattern ||
        recent.loop_begin != family.loop_begin || recent.loop_extent != family.loop_extent) {
      const std::string skeleton = SkeletonOfPattern(family, pattern);
      recent.skeleton = kNoSkeleton;
      if (!skeleton.empty()) {
        const auto number = static_cast<uint32_t>(skeletons_.size());
        recent.skeleton = skeletons_.try_emplace(skeleton, number).first->second;
      }
      recent.uses = &groups_[LettersOf(pattern)];
      recent.loop_begin = family.loop_begin;
      recent.loop_extent = family.loop_extent;
    }
    recent.pattern = &pattern;
    recent.uses->push_back({f, &pattern, recent.skeleton});
  }

  // Looks at the uses on each rank; ranks with the same ones are looked at once.
  bool CheckGroup(const std::vector<NameUse>& uses) {
    std::vector<std::pair<Rank, uint32_t>> on_rank;
    for (uint32_t i = 0; i < uses.size(); ++i) {
      const ParamFamily& family = layout_.families[uses[i].family];
      const RankList& ranks = layout_.rank_sets[family.ranks];
      if (uses.size() == 1) return CheckUses({i}, uses, ranks.front());
      names_left_ -= static_cast<int64_t>(ranks.size());
      if (names_left_ < 0) return TooMany(family);
      for (const Rank rank : ranks) on_rank.emplace_back(rank, i);
    }
    std::sort(on_rank.begin(), on_rank.end());
    std::vector<bool> checked(uses.size(), false);  // uses that were alone on a rank
    std::set<std::vector<uint32_t>> seen;
    std::vector<uint32_t> list;
    for (size_t begin = 0; begin < on_rank.size();) {
      size_t end = begin;
      list.clear();
      const Rank rank = on_rank[begin].first;
      while (end < on_rank.size() && on_rank[end].first == rank)
        list.push_back(on_rank[end++].second);
      begin = end;
      if (list.size() == 1 ? checked[list[0]] : !seen.insert(list).second) continue;
      if (list.size() == 1) checked[list[0]] = true;
      if (!CheckUses(list, uses, rank)) return false;
    }
    return true;
  }

  // No two of the names in `list` are equal.
  bool CheckUses(const std::vector<uint32_t>& list, const std::vector<NameUse>& uses, Rank rank) {
    // Names with different skeletons differ; one without may equal any.
    std::map<uint32_t, std::vector<uint32_t>> parts;
    bool irregular = false;
    for (const uint32_t i : list) {
      parts[uses[i].skeleton].push_back(i);
      irregular |= uses[i].skeleton == kNoSkeleton;
    }
    if (irregular) return Enumerate(list, uses, rank);
    for (const auto& [skeleton, part] : parts) {
      const NameUse& first = uses[part[0]];
      if (part.size() == 1 && Injective(layout_.families[first.family], *first.pattern)) continue;
      if (!Enumerate(part, uses, rank)) return false;
    }
    return true;
  }

  bool Enumerate(const std::vector<uint32_t>& list, const std::vector<NameUse>& uses, Rank rank) {
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
    Diagnostic& error =
        diags_.Error(DiagnosticCode::kDuplicateParam, second.span,
                     "rank " + std::to_string(rank) + " has two params called '" + name + "'");
    if (first.template_index == second.template_index) {
      error.notes.push_back({second.span, "two values of the variables of this template give it"});
    } else {
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
  struct Recent {
    const NamePattern* pattern = nullptr;
    std::vector<int64_t> loop_begin, loop_extent;
    uint32_t skeleton = kNoSkeleton;
    std::vector<NameUse>* uses = nullptr;
  };
  std::vector<Recent> recent_;  // by position among the names of a family
  std::map<std::string, uint32_t> skeletons_;
  std::map<std::string, std::vector<NameUse>> groups_;  // by letters
  int64_t names_left_ = kMaxComparedNames;
};

}  // namespace

bool CheckParamNames(const Layout& layout, Diagnostics* diags) {
  return NameChecker(layout, diags).Check();
}

}  // namespace reshard
