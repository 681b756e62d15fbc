#include "compiler/against/compare_layouts.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/against/param_map.h"
#include "compiler/layout/name_skeleton.h"
#include "compiler/layout/rank_params.h"
#include "runtime/base/dtype.h"
#include "runtime/base/list_text.h"
#include "runtime/base/rank_set.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 7> kTexts = {
#define RESHARD_DIFFERENCE_KIND(name, text, heading) text,
#include "compiler/against/difference_kinds.def"
#undef RESHARD_DIFFERENCE_KIND
};
constexpr std::array<std::string_view, 7> kHeadings = {
#define RESHARD_DIFFERENCE_KIND(name, text, heading) heading,
#include "compiler/against/difference_kinds.def"
#undef RESHARD_DIFFERENCE_KIND
};

// A param of one layout, with the ranks on which the other layout has its names too.
struct Candidate {
  ParamInstance param;
  std::vector<std::string> names;
  std::vector<RankList> named;  // per name
  RankList matched;             // by any of them
};

struct NamedCandidate {
  size_t candidate = 0;
  size_t name = 0;  // which of its names it is
  Rank first_rank{};
  Rank last_rank{};  // the highest of this one and of those before it in a list
};

// Ranks of lists that are walked along in the time of one step of comparing.
constexpr int64_t kRanksPerStep = 16;

std::string BufferText(const std::vector<std::string>& names) {
  std::string text = "one buffer for ";
  for (size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
  return text;
}

std::vector<std::string> NamesOf(const Layout& layout, const ParamInstance& param) {
  const ParamFamily& family = layout.families[param.family];
  std::vector<int64_t> values(family.loop_begin.size());
  int64_t rest = param.instance;
  for (size_t i = values.size(); i-- > 0;) {
    values[i] = family.loop_begin[i] + rest % family.loop_extent[i];
    rest /= family.loop_extent[i];
  }
  std::vector<std::string> names = {family.name.Instance(values)};
  for (const NamePattern& share : family.shares) names.push_back(share.Instance(values));
  return names;
}

class Comparer {
 public:
  Comparer(const LogicalTable& table, const Layout& mine, const Layout& theirs, int64_t budget)
      : table_(table), mine_(mine), theirs_(theirs), budget_(budget) {}

  LayoutComparison Run() {
    result_.only_mine = Difference(mine_.ranks, theirs_.ranks);
    result_.only_theirs = Difference(theirs_.ranks, mine_.ranks);
    IndexTheirs();
    for (FamilyId family = 0; family < mine_.families.size(); ++family) {
      const int64_t count = mine_.families[family].instance_count();
      for (int64_t i = 0; i < count && !result_.exhausted; ++i) Find({family, i});
    }
    if (result_.exhausted) return std::move(result_);
    for (const Candidate& candidate : candidates_) AddOnlyTheirs(candidate);
    return std::move(result_);
  }

 private:
  void IndexTheirs() {
    for (FamilyId family = 0; family < theirs_.families.size(); ++family) {
      const int64_t count = theirs_.families[family].instance_count();
      for (int64_t i = 0; i < count; ++i) {
        std::vector<std::string> names = NamesOf(theirs_, {family, i});
        for (size_t n = 0; n < names.size(); ++n) {
          const RankList& ranks = theirs_.rank_sets[theirs_.families[family].ranks];
          if (ranks.empty()) continue;
          by_name_[names[n]].push_back({candidates_.size(), n, ranks.front(), ranks.back()});
        }
        std::vector<RankList> named(names.size());
        candidates_.push_back({{family, i}, std::move(names), std::move(named), {}});
      }
    }
    for (auto& [name, list] : by_name_) {
      std::stable_sort(list.begin(), list.end(),
                       [](const NamedCandidate& x, const NamedCandidate& y) {
                         return x.first_rank < y.first_rank;
                       });
      for (size_t i = 1; i < list.size(); ++i) {
        list[i].last_rank = std::max(list[i].last_rank, list[i - 1].last_rank);
      }
    }
  }

  // Compares one of our params with those of the other layout that have its names.
  void Find(const ParamInstance& param) {
    const ParamFamily& family = mine_.families[param.family];
    const RankList& own_ranks = mine_.rank_sets[family.ranks];
    if (own_ranks.empty()) return;
    RankList matched;                     // ranks on which any of the names is found
    std::unordered_set<size_t> compared;  // candidates
    const std::vector<std::string> names = NamesOf(mine_, param);
    std::vector<RankList> named(names.size());
    std::optional<ParamMap> map;
    for (size_t n = 0; n < names.size(); ++n) {
      const auto found = by_name_.find(names[n]);
      if (found == by_name_.end()) continue;
      // Without those that end before our ranks or begin behind them.
      auto at = std::partition_point(
          found->second.begin(), found->second.end(),
          [&](const NamedCandidate& one) { return one.last_rank < own_ranks.front(); });
      for (; at != found->second.end() && at->first_rank <= own_ranks.back(); ++at) {
        const size_t number = at->candidate;
        Candidate& candidate = candidates_[number];
        const RankSetId their_ranks = theirs_.families[candidate.param.family].ranks;
        const RankList& other_ranks = theirs_.rank_sets[their_ranks];
        budget_ -= 1 + static_cast<int64_t>(own_ranks.size() + other_ranks.size()) / kRanksPerStep;
        if (budget_ < 0) {
          result_.exhausted = true;
          return;
        }
        const RankList both = Intersection(own_ranks, other_ranks);
        if (both.empty()) continue;
        named[n] = Union(named[n], both);
        candidate.named[at->name] = Union(candidate.named[at->name], both);
        if (!compared.insert(number).second) continue;
        // Ranks on which one buffer of one side is met by several of the other.
        const RankList several =
            Union(Intersection(candidate.matched, both), Intersection(matched, both));
        if (!several.empty()) {
          Add(DifferenceKind::kShares, names[n], several, {}, {family.span, BufferText(names)},
              {theirs_.families[candidate.param.family].span, BufferText(candidate.names)});
        }
        matched = Union(matched, both);
        candidate.matched = Union(candidate.matched, both);
        result_.params += static_cast<int64_t>(both.size());
        if (!map && !family.external) map = MapOf(mine_, param, &budget_);
        if (!Compare(names[n], both, param, map, candidate.param)) result_.exhausted = true;
      }
    }
    AddOnlyMine(family, names, named, matched);
  }

  // A buffer that the other layout lacks counts once, under its first name; one that it has is
  // missing each name that it does not have there.
  void AddOnlyMine(const ParamFamily& family, const std::vector<std::string>& names,
                   const std::vector<RankList>& named, const RankList& matched) {
    const RankList left =
        Difference(Difference(mine_.rank_sets[family.ranks], matched), result_.only_mine);
    result_.params += static_cast<int64_t>(left.size());
    for (size_t n = 0; n < names.size(); ++n) {
      RankList missing = Difference(matched, named[n]);
      if (n == 0) missing = Union(missing, left);
      if (missing.empty()) continue;
      Add(DifferenceKind::kOnlyMine, names[n], missing, {}, {family.span, Describe(family)}, {});
    }
  }

  void AddOnlyTheirs(const Candidate& candidate) {
    const ParamFamily& family = theirs_.families[candidate.param.family];
    const RankList left = Difference(Difference(theirs_.rank_sets[family.ranks], candidate.matched),
                                     result_.only_theirs);
    for (size_t n = 0; n < candidate.names.size(); ++n) {
      RankList missing = Difference(candidate.matched, candidate.named[n]);
      if (n == 0) missing = Union(missing, left);
      if (missing.empty()) continue;
      StoredThere stored = {family.span, Describe(family)};
      Add(DifferenceKind::kOnlyTheirs, candidate.names[n], missing, {}, {}, std::move(stored));
    }
  }

  // Returns false when the budget has run out.
  bool Compare(const std::string& name, const RankList& ranks, const ParamInstance& param,
               const std::optional<ParamMap>& map, const ParamInstance& other) {
    const ParamFamily& a = mine_.families[param.family];
    const ParamFamily& b = theirs_.families[other.family];
    const auto differ = [&](DifferenceKind kind, std::string mine, std::string theirs) {
      Add(kind, name, ranks, {}, {a.span, std::move(mine)}, {b.span, std::move(theirs)});
      return true;
    };
    if (a.dtype != b.dtype) {
      return differ(DifferenceKind::kDtype, std::string(DTypeText(a.dtype)),
                    std::string(DTypeText(b.dtype)));
    }
    if (a.shape != b.shape) {
      return differ(DifferenceKind::kShape, ListText(a.shape), ListText(b.shape));
    }
    if (a.external != b.external) {
      return differ(DifferenceKind::kExternal, a.external ? "external" : "a value",
                    b.external ? "external" : "a value");
    }
    if (a.external) return true;
    const std::optional<ParamMap> their_map = MapOf(theirs_, other, &budget_);
    if (!map || !their_map) return false;
    const MapComparison maps = CompareMaps(*map, *their_map, &budget_);
    if (maps.exhausted) return false;
    if (!maps.first_difference) return true;
    const int64_t offset_bytes = *maps.first_difference * DTypeBytes(a.dtype);
    std::vector<int64_t> index(a.shape.size());
    int64_t rest = *maps.first_difference;
    for (size_t i = index.size(); i-- > 0;) {
      index[i] = rest % a.shape[i];
      rest /= a.shape[i];
    }
    Add(DifferenceKind::kElement, name, ranks, std::move(index),
        {a.span, Element(mine_, param, offset_bytes)},
        {b.span, Element(theirs_, other, offset_bytes)});
    return true;
  }

  static std::string Describe(const ParamFamily& family) {
    return std::string(DTypeText(family.dtype)) + ListText(family.shape);
  }

  std::string Element(const Layout& layout, const ParamInstance& param, int64_t offset_bytes) {
    const std::optional<StoredElement> element = ElementAt(layout, param, offset_bytes);
    if (!element) return "padding";
    const SuperTensor& super = table_.supers[element->super];
    const auto loops = static_cast<std::ptrdiff_t>(super.loop_count());
    const auto begin = element->index.begin();
    return super.name.Instance({begin, begin + loops}) +
           ListText({begin + loops, element->index.end()});
  }

  void Add(DifferenceKind kind, const std::string& name, const RankList& ranks,
           std::vector<int64_t> index, StoredThere mine, StoredThere theirs) {
    const auto key = std::make_pair(kind, SkeletonOf(name).text);
    const auto [group, added] = groups_.try_emplace(key, result_.differences.size());
    if (added) {
      result_.differences.push_back(
          {kind, name, ranks, std::move(index), std::move(mine), std::move(theirs), 0, {}});
    }
    ParamDifferences& differences = result_.differences[group->second];
    ++differences.params;
    differences.all_ranks = Union(differences.all_ranks, ranks);
  }

  const LogicalTable& table_;
  const Layout& mine_;
  const Layout& theirs_;
  int64_t budget_;
  std::vector<Candidate> candidates_;  // all params of `theirs_`
  // The candidates that have a name, by their first ranks.
  std::unordered_map<std::string, std::vector<NamedCandidate>> by_name_;
  std::map<std::pair<DifferenceKind, std::string>, size_t> groups_;
  LayoutComparison result_;
};

}  // namespace

std::string_view DifferenceText(DifferenceKind kind) { return kTexts[static_cast<size_t>(kind)]; }

std::string_view DifferenceHeading(DifferenceKind kind) {
  return kHeadings[static_cast<size_t>(kind)];
}

LayoutComparison CompareLayouts(const LogicalTable& table, const Layout& mine, const Layout& theirs,
                                int64_t budget) {
  return Comparer(table, mine, theirs, budget).Run();
}

}  // namespace reshard
