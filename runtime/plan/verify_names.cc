#include "runtime/plan/verify_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reshard {
namespace {

constexpr char kSlot = '\x01';

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The numbers that a slot takes: of a hole, or one that is part of the text.
struct Slot {
  int64_t low = 0;
  int64_t high = 0;
};

// A name pattern as a skeleton, in which each run of digits is a slot, and the slots. Equal names
// have equal skeletons and equal numbers in all slots, and the other way round, unless the pattern
// is irregular: a hole beside a digit or another hole, a negative number, a number with leading
// zeros or beyond 64 bits.
struct ParsedName {
  const PlanFamily* family = nullptr;
  const NamePattern* pattern = nullptr;
  std::string skeleton;
  std::vector<Slot> slots;
  bool regular = true;
  bool injective = true;  // each loop shows in a slot of its own
  int64_t instances = 1;
};

// Appends text; digits become slots.
void ParseText(const std::string& text, ParsedName* name) {
  for (size_t i = 0; i < text.size();) {
    if (!IsDigit(text[i])) {
      name->regular = name->regular && text[i] != kSlot;
      name->skeleton += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsDigit(text[end])) ++end;
    if (end - i > 18 || (text[i] == '0' && end - i > 1)) {
      name->regular = false;
    } else {
      const int64_t number = std::stoll(text.substr(i, end - i));
      name->slots.push_back({number, number});
    }
    name->skeleton += kSlot;
    i = end;
  }
}

// Bounds have found that the numbers of a hole fit.
void ParseHole(size_t hole_index, ParsedName* name) {
  const NamePattern::Hole& hole = name->pattern->holes[hole_index];
  Slot slot{hole.base, hole.base};
  for (size_t i = 0; i < hole.coef.size(); ++i) {
    const int64_t first = hole.coef[i] * name->family->loop_begin[i];
    const int64_t last =
        hole.coef[i] * (name->family->loop_begin[i] + name->family->loop_extent[i] - 1);
    slot.low += std::min(first, last);
    slot.high += std::max(first, last);
  }
  const std::string& before = name->pattern->text[hole_index];
  const std::string& after = name->pattern->text[hole_index + 1];
  const bool beside_hole = before.empty() && hole_index > 0;
  if (slot.low < 0 || beside_hole || (!before.empty() && IsDigit(before.back())) ||
      (!after.empty() && IsDigit(after.front()))) {
    name->regular = false;
  }
  name->skeleton += kSlot;
  name->slots.push_back(slot);
}

bool IsInjective(const ParsedName& name) {
  for (size_t loop = 0; loop < name.family->loop_extent.size(); ++loop) {
    if (name.family->loop_extent[loop] == 1) continue;
    const bool shown = std::any_of(
        name.pattern->holes.begin(), name.pattern->holes.end(), [&](const NamePattern::Hole& hole) {
          for (size_t i = 0; i < hole.coef.size(); ++i) {
            if (name.family->loop_extent[i] > 1 && (hole.coef[i] != 0) != (i == loop)) return false;
          }
          return true;
        });
    if (!shown) return false;
  }
  return true;
}

ParsedName Parse(const PlanFamily& family, const NamePattern& pattern) {
  ParsedName name;
  name.family = &family;
  name.pattern = &pattern;
  for (const int64_t extent : family.loop_extent) name.instances *= extent;
  for (size_t i = 0; i < pattern.text.size(); ++i) {
    ParseText(pattern.text[i], &name);
    if (i < pattern.holes.size()) ParseHole(i, &name);
  }
  name.injective = IsInjective(name);
  return name;
}

bool MayMeet(const ParsedName& a, const ParsedName& b) {
  for (size_t s = 0; s < a.slots.size(); ++s) {
    if (a.slots[s].high < b.slots[s].low || b.slots[s].high < a.slots[s].low) return false;
  }
  return true;
}

class NameChecker {
 public:
  NameChecker(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log)
      : plan_(plan), log_(*log), names_(plan.families.size()) {
    std::map<std::string, uint32_t> skeletons;
    for (size_t f = 0; f < plan.families.size(); ++f) {
      const PlanFamily& family = plan.families[f];
      if (rank && !Contains(plan.rank_sets[family.rank_set], *rank)) continue;
      std::vector<std::pair<uint32_t, ParsedName>>& names = names_[f];
      const auto add = [&](const NamePattern& pattern) {
        ParsedName name = Parse(family, pattern);
        const auto id = static_cast<uint32_t>(skeletons.size());
        names.emplace_back(skeletons.try_emplace(name.skeleton, id).first->second, std::move(name));
      };
      add(family.name);
      for (const NamePattern& pattern : family.shares) add(pattern);
    }
  }

  // The params of one side of a rank.
  void Check(uint32_t rank, PlanSide side, const std::vector<uint32_t>& families) {
    std::vector<std::pair<uint32_t, const ParsedName*>> names;
    bool regular = true;
    for (const uint32_t f : families) {
      if (plan_.families[f].side != side) continue;
      for (const auto& [skeleton, name] : names_[f]) {
        names.emplace_back(skeleton, &name);
        regular = regular && name.regular;
      }
    }
    if (!log_.Charge(8 * names.size() + 1)) return;
    if (!regular) {
      // Any name may be equal to any other.
      for (auto& name : names) name.first = 0;
    }
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t first = 0; first < names.size() && log_.CanGoOn();) {
      size_t last = first + 1;
      while (last < names.size() && names[last].first == names[first].first) ++last;
      if (!regular || !AreApart(&names[first], last - first)) {
        List(rank, side, &names[first], last - first);
      }
      first = last;
    }
  }

 private:
  using Entry = std::pair<uint32_t, const ParsedName*>;

  // Numbers tell that no two names are equal: those without a range are sorted, the others, few,
  // are compared with all.
  static bool AreApart(const Entry* names, size_t count) {
    constexpr size_t kMaxRanges = 16;
    std::vector<const ParsedName*> numbers;
    std::vector<const ParsedName*> ranges;
    for (size_t i = 0; i < count; ++i) {
      if (!names[i].second->injective) return false;
      (names[i].second->instances == 1 ? numbers : ranges).push_back(names[i].second);
    }
    if (ranges.size() > kMaxRanges) return false;
    const auto below = [](const ParsedName* a, const ParsedName* b) {
      return std::lexicographical_compare(
          a->slots.begin(), a->slots.end(), b->slots.begin(), b->slots.end(),
          [](const Slot& x, const Slot& y) { return x.low < y.low; });
    };
    std::sort(numbers.begin(), numbers.end(), below);
    for (size_t i = 1; i < numbers.size(); ++i) {
      if (!below(numbers[i - 1], numbers[i])) return false;
    }
    for (size_t i = 0; i < ranges.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (MayMeet(*ranges[i], *ranges[k])) return false;
      }
      for (const ParsedName* number : numbers) {
        if (MayMeet(*ranges[i], *number)) return false;
      }
    }
    return true;
  }

  void List(uint32_t rank, PlanSide side, const Entry* names, size_t count) {
    constexpr uint64_t kStepsPerName = 1024;  // memory, too
    std::set<std::string> seen;
    for (size_t i = 0; i < count; ++i) {
      const PlanFamily& family = *names[i].second->family;
      std::vector<int64_t> values = family.loop_begin;
      for (int64_t instance = 0; instance < names[i].second->instances; ++instance) {
        if (!log_.Charge(kStepsPerName)) return;
        const auto [name, added] = seen.insert(names[i].second->pattern->Instance(values));
        if (!added) {
          log_.Add(VerifyRule::kParamNames, "rank " + std::to_string(rank),
                   std::string("two ") + (side == PlanSide::kSource ? "source" : "destination") +
                       " params are called '" + *name + "'");
          return;
        }
        for (size_t d = values.size(); d-- > 0;) {
          if (++values[d] < family.loop_begin[d] + family.loop_extent[d]) break;
          values[d] = family.loop_begin[d];
        }
      }
    }
  }

  const Plan& plan_;
  VerifyLog& log_;
  std::vector<std::vector<std::pair<uint32_t, ParsedName>>> names_;  // per family, with skeletons
};

}  // namespace

void VerifyNames(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log) {
  NameChecker checker(plan, rank, log);
  std::map<uint32_t, std::vector<uint32_t>> families_of_rank;
  for (uint32_t f = 0; f < plan.families.size(); ++f) {
    const RankList& ranks = plan.rank_sets[plan.families[f].rank_set];
    if (rank && Contains(ranks, *rank)) families_of_rank[*rank].push_back(f);
    if (rank) continue;
    if (!log->Charge(64 * ranks.size())) return;
    for (const Rank r : ranks) families_of_rank[r].push_back(f);
  }
  // Ranks with the same families have the same names.
  std::set<std::vector<uint32_t>> seen;
  for (auto& [r, families] : families_of_rank) {
    if (!log->CanGoOn()) return;
    const auto [role, added] = seen.insert(std::move(families));
    if (!added) continue;
    checker.Check(r, PlanSide::kSource, *role);
    checker.Check(r, PlanSide::kDestination, *role);
  }
}

}  // namespace reshard
