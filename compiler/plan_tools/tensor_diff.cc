#include "compiler/plan_tools/tensor_diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/plan_tools/canonical_plan.h"
#include "compiler/plan_tools/element_coverage.h"
#include "compiler/plan_tools/held_parts.h"
#include "compiler/plan_tools/tensor_facts.h"
#include "compiler/plan_tools/tensor_names.h"
#include "compiler/plan_tools/tensor_parts.h"

namespace reshard {
namespace {

// Templates that stand in both plans are compared tensor by tensor up to this many parts, larger
// ones as a whole where that already shows a difference.
constexpr int64_t kMaxPartsOfTemplate = int64_t{1} << 18;
// No comparison tensor by tensor goes beyond this many tensors or parts of a template.
constexpr int64_t kMaxParts = int64_t{1} << 21;

std::string ShapeText(const PlanSuper& super) {
  std::string text(DTypeText(super.dtype));
  text += " [";
  for (size_t i = 0; i < super.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(super.shape[i]);
  }
  return text + "]";
}

bool SameDims(const PlanSuper& a, const PlanSuper& b) {
  const auto same = [](const PlanSuper::Dim& x, const PlanSuper::Dim& y) {
    return x.axis == y.axis && x.weight == y.weight;
  };
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same);
}

// One plan with what was found out about its templates so far.
struct Side {
  Side(const Plan& plan, ContentIds* ids) : facts(plan, ids), names(SuperNames(plan)) {}

  const PlanSuper& super(uint32_t s) const { return facts.plan().supers[s]; }
  bool IsDelivered(uint32_t s) const { return !facts.PlacesOf(PlanSide::kDestination, s).empty(); }
  const std::vector<TensorHolding>& Holdings(PlanSide side, uint32_t s) {
    std::vector<TensorHolding>& found = holdings[static_cast<size_t>(side)][s];
    if (found.empty()) found = facts.Holdings(side, s);
    return found;
  }
  const std::vector<ContentIds::Id>& Routes(uint32_t s) {
    std::vector<ContentIds::Id>& found = routes[s];
    if (found.empty()) found = facts.Routes(s);
    return found;
  }
  std::string WholeText(uint32_t s) {
    return ShapeText(super(s)) + ", held " + facts.ShardingText(PlanSide::kSource, s) +
           ", needed " + facts.ShardingText(PlanSide::kDestination, s);
  }

  TensorFacts facts;
  std::vector<std::string> names;  // of templates
  std::array<std::map<uint32_t, std::vector<TensorHolding>>, 2> holdings;
  std::map<uint32_t, std::vector<ContentIds::Id>> routes;
};

// Tensors that are of template `b` before and `a` after.
struct Pair {
  uint32_t b = 0, a = 0;
  std::vector<std::pair<int64_t, int64_t>> tensors;  // before, after; rising
  bool whole = false;  // all tensors of both, which have the same names
};

class TensorComparison {
 public:
  TensorComparison(const Plan& before, const Plan& after)
      : before_(before, &ids_), after_(after, &ids_) {}

  std::vector<TensorChange> Run() {
    std::map<std::string, uint32_t> by_name;
    for (uint32_t s = 0; s < after_.names.size(); ++s) by_name[after_.names[s]] = s;
    std::vector<uint32_t> left_before, left_after;
    for (uint32_t b = 0; b < before_.names.size(); ++b) {
      const auto found = by_name.find(before_.names[b]);
      if (found == by_name.end() || !SameNames(before_.super(b), after_.super(found->second))) {
        left_before.push_back(b);
        continue;
      }
      ComparePair({b, found->second, {}, true});
      by_name.erase(found);
    }
    for (const auto& [name, s] : by_name) left_after.push_back(s);
    CompareByName(left_before, left_after);
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const TensorChange& a, const TensorChange& b) {
                       return std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
                     });
    return std::move(changes_);
  }

 private:
  static bool SameNames(const PlanSuper& b, const PlanSuper& a) {
    return b.name == a.name && b.loop_begin == a.loop_begin && b.loop_extent == a.loop_extent;
  }

  // Tensors of a template of `side`; all of them unless they are listed.
  struct Some {
    const Side& side;
    uint32_t super = 0;
    const std::vector<int64_t>* listed = nullptr;

    int64_t count() const {
      return listed == nullptr ? TensorCount(side.super(super))
                               : static_cast<int64_t>(listed->size());
    }
    std::vector<std::string> Names() const {
      if (count() == TensorCount(side.super(super))) return {side.names[super]};
      return TensorNames(side.super(super), *listed);
    }
  };

  void Add(TensorChangeKind kind, const Some& tensors, std::string before, std::string after,
           const CoverageChange& coverage = {}) {
    constexpr size_t kShownNames = 2;
    std::vector<std::string> names = tensors.Names();
    std::string name = names[0];
    for (size_t i = 1; i < std::min(names.size(), kShownNames); ++i) name += ", " + names[i];
    if (names.size() > kShownNames) name += ", ...";
    changes_.push_back({kind, std::move(name), tensors.count(), std::move(names), std::move(before),
                        std::move(after), coverage.lost, coverage.fewer, coverage.known});
  }

  // Of tensors that the second plan does not have like this, if the first one delivers them.
  CoverageChange AllLost(uint32_t b, int64_t count) const {
    if (!before_.IsDelivered(b)) return {};
    return {true, count, count, 0};
  }

  // The second plan's numbers of the tensors of a pair.
  static std::vector<int64_t> NumbersAfter(
      const std::vector<std::pair<int64_t, int64_t>>& tensors) {
    std::vector<int64_t> numbers;
    for (const auto& [b, a] : tensors) numbers.push_back(a);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  void ComparePair(Pair pair) {
    const PlanSuper& before = before_.super(pair.b);
    const PlanSuper& after = after_.super(pair.a);
    const std::vector<int64_t> numbers = NumbersAfter(pair.tensors);
    const Some all{after_, pair.a, pair.whole ? nullptr : &numbers};
    if (before.shape != after.shape || before.dtype != after.dtype) {
      Add(TensorChangeKind::kReshaped, all, ShapeText(before), ShapeText(after),
          AllLost(pair.b, all.count()));
      return;
    }
    const bool comparable = pair.whole && SameDims(before, after);
    std::set<int64_t> placed;  // tensors of `after` that are placed in another way
    bool all_placed = false;
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      if (comparable && before_.facts.PlacingOfTemplate(side, pair.b) ==
                            after_.facts.PlacingOfTemplate(side, pair.a)) {
        continue;
      }
      const int64_t parts =
          std::max({before_.facts.PlacedParts(side, pair.b), after_.facts.PlacedParts(side, pair.a),
                    TensorCount(before), TensorCount(after)});
      if (parts > kMaxParts || (comparable && parts > kMaxPartsOfTemplate)) {
        const std::string had = before_.facts.ShardingText(side, pair.b);
        const std::string has = after_.facts.ShardingText(side, pair.a);
        if (had != has || parts > kMaxParts) {
          AddWhole(pair, all, side, had, has);
          all_placed = true;
          continue;
        }
      }
      CompareHoldings(&pair, side, &placed);
    }
    if (all_placed) return;
    if (comparable &&
        before_.facts.RoutesOfTemplate(pair.b) == after_.facts.RoutesOfTemplate(pair.a)) {
      return;
    }
    CompareRoutes(&pair, placed, comparable);
  }

  // All tensors of a pair, which is too large to be compared one by one.
  void AddWhole(const Pair& pair, const Some& all, PlanSide side, const std::string& had,
                const std::string& has) {
    const bool source = side == PlanSide::kSource;
    TensorChangeKind kind =
        source ? TensorChangeKind::kSourceSharding : TensorChangeKind::kDestinationSharding;
    if (had == has) {
      kind = source ? TensorChangeKind::kSourceMoved : TensorChangeKind::kDestinationMoved;
    }
    CoverageChange coverage;
    if (!source && pair.whole) {
      coverage =
          CompareCoverage(before_.facts.BoxesOf(side, pair.b), after_.facts.BoxesOf(side, pair.a),
                          after_.super(pair.a).loop_extent.size(), ids_);
    } else if (!source) {
      coverage.known = !before_.IsDelivered(pair.b);
    }
    Add(kind, all, had, has, coverage);
  }

  static void ListTensors(const PlanSuper& super, Pair* pair) {
    if (!pair->whole || !pair->tensors.empty()) return;
    for (int64_t i = 0; i < TensorCount(super); ++i) pair->tensors.emplace_back(i, i);
  }

  void CompareHoldings(Pair* pair, PlanSide side, std::set<int64_t>* placed) {
    ListTensors(after_.super(pair->a), pair);
    const bool source = side == PlanSide::kSource;
    const std::vector<TensorHolding>& had = before_.Holdings(side, pair->b);
    const std::vector<TensorHolding>& has = after_.Holdings(side, pair->a);
    std::vector<bool> sharded_before(had.size()), sharded_after(has.size());
    std::vector<std::pair<int64_t, int64_t>> sharded, moved;
    CoverageChange coverage;
    for (const auto& [b, a] : pair->tensors) {
      const TensorHolding& x = had[static_cast<size_t>(b)];
      const TensorHolding& y = has[static_cast<size_t>(a)];
      if (held_.SamePlacing(x, y)) continue;
      placed->insert(a);
      const bool same_parts = held_.SameParts(x, y);
      (same_parts ? moved : sharded).emplace_back(b, a);
      if (same_parts) continue;
      if (!source) Count(CoverageOfParts(x.parts, y.parts), &coverage);
      sharded_before[static_cast<size_t>(b)] = true;
      sharded_after[static_cast<size_t>(a)] = true;
    }
    if (!sharded.empty()) {
      const std::vector<int64_t> numbers = NumbersAfter(sharded);
      Add(source ? TensorChangeKind::kSourceSharding : TensorChangeKind::kDestinationSharding,
          {after_, pair->a, &numbers}, before_.facts.ShardingText(side, pair->b, sharded_before),
          after_.facts.ShardingText(side, pair->a, sharded_after), coverage);
    }
    if (moved.empty()) return;
    const std::vector<int64_t> numbers = NumbersAfter(moved);
    const auto& [b, a] = moved.front();
    const std::set<std::string> was = before_.facts.Locations(side, pair->b, b);
    const std::set<std::string> is = after_.facts.Locations(side, pair->a, a);
    Add(source ? TensorChangeKind::kSourceMoved : TensorChangeKind::kDestinationMoved,
        {after_, pair->a, &numbers}, FirstLacking(was, is), FirstLacking(is, was));
  }

  static void Count(const CoverageChange& of_tensor, CoverageChange* all) {
    all->known = all->known && of_tensor.known;
    all->lost += of_tensor.lost;
    all->fewer += of_tensor.fewer;
  }

  // Of one tensor; tensors of a template are mostly placed alike.
  const CoverageChange& CoverageOfParts(ContentIds::Id had, ContentIds::Id has) {
    const auto [found, is_new] = coverage_.try_emplace({had, has});
    if (is_new) {
      found->second = CompareCoverage(BoxesOfParts(had, ids_), BoxesOfParts(has, ids_), 0, ids_);
    }
    return found->second;
  }

  // The first text that `others` does not have, else the first.
  static std::string FirstLacking(const std::set<std::string>& texts,
                                  const std::set<std::string>& others) {
    for (const std::string& text : texts) {
      if (others.count(text) == 0) return text;
    }
    return texts.empty() ? "" : *texts.begin();
  }

  void CompareRoutes(Pair* pair, const std::set<int64_t>& placed, bool comparable) {
    const int64_t parts =
        std::max({before_.facts.RoutedParts(pair->b), after_.facts.RoutedParts(pair->a),
                  TensorCount(before_.super(pair->b)), TensorCount(after_.super(pair->a))});
    std::vector<std::pair<int64_t, int64_t>> rerouted;
    const bool all = parts > (comparable ? kMaxPartsOfTemplate : kMaxParts);
    if (!all) {
      ListTensors(after_.super(pair->a), pair);
      const std::vector<ContentIds::Id>& had = before_.Routes(pair->b);
      const std::vector<ContentIds::Id>& has = after_.Routes(pair->a);
      for (const auto& [b, a] : pair->tensors) {
        if (placed.count(a) > 0 || had[static_cast<size_t>(b)] == has[static_cast<size_t>(a)]) {
          continue;
        }
        rerouted.emplace_back(b, a);
      }
    }
    if (all ? !placed.empty() || !comparable : rerouted.empty()) return;
    const std::vector<int64_t> numbers = NumbersAfter(rerouted);
    const std::set<std::string> went = before_.facts.RouteTexts(
        pair->b, all ? std::nullopt : std::optional(rerouted.front().first));
    const std::set<std::string> goes = after_.facts.RouteTexts(
        pair->a, all ? std::nullopt : std::optional(rerouted.front().second));
    Add(TensorChangeKind::kRerouted, {after_, pair->a, all ? nullptr : &numbers},
        FirstLacking(went, goes), FirstLacking(goes, went));
  }

  // A tensor: its template and its number in it.
  using Tensor = std::pair<uint32_t, int64_t>;

  // The tensors of `supers` by name; templates that have too many stay in `large`.
  static std::map<std::string, Tensor> NamesOf(const Side& side,
                                               const std::vector<uint32_t>& supers,
                                               std::vector<uint32_t>* large) {
    std::map<std::string, Tensor> names;
    for (const uint32_t s : supers) {
      const PlanSuper& super = side.super(s);
      if (TensorCount(super) > kMaxParts) {
        large->push_back(s);
        continue;
      }
      int64_t tensor = 0;
      for (const std::string& name :
           InstanceNames(super.name, super.loop_begin, super.loop_extent)) {
        names[name] = {s, tensor++};
      }
    }
    return names;
  }

  void CompareByName(const std::vector<uint32_t>& left_before,
                     const std::vector<uint32_t>& left_after) {
    std::vector<uint32_t> large_before, large_after;
    const auto before = NamesOf(before_, left_before, &large_before);
    const auto after = NamesOf(after_, left_after, &large_after);
    std::map<std::pair<uint32_t, uint32_t>, Pair> pairs;
    std::map<uint32_t, std::vector<int64_t>> removed, added;  // tensors of templates
    for (const auto& [name, tensor] : before) {
      const auto found = after.find(name);
      if (found == after.end()) {
        removed[tensor.first].push_back(tensor.second);
        continue;
      }
      Pair& pair = pairs[{tensor.first, found->second.first}];
      pair.b = tensor.first;
      pair.a = found->second.first;
      pair.tensors.emplace_back(tensor.second, found->second.second);
    }
    for (const auto& [name, tensor] : after) {
      if (before.count(name) == 0) added[tensor.first].push_back(tensor.second);
    }
    for (auto& [key, pair] : pairs) {
      std::sort(pair.tensors.begin(), pair.tensors.end());
      ComparePair(std::move(pair));
    }
    for (auto& [s, tensors] : removed) std::sort(tensors.begin(), tensors.end());
    for (auto& [s, tensors] : added) std::sort(tensors.begin(), tensors.end());
    const auto remove = [&](const Some& some) {
      Add(TensorChangeKind::kRemoved, some, before_.WholeText(some.super), "",
          AllLost(some.super, some.count()));
    };
    const auto add = [&](const Some& some) {
      Add(TensorChangeKind::kAdded, some, "", after_.WholeText(some.super));
    };
    for (const auto& [s, tensors] : removed) remove({before_, s, &tensors});
    for (const uint32_t s : large_before) remove({before_, s});
    for (const auto& [s, tensors] : added) add({after_, s, &tensors});
    for (const uint32_t s : large_after) add({after_, s});
  }

  ContentIds ids_;
  std::map<std::pair<ContentIds::Id, ContentIds::Id>, CoverageChange> coverage_;  // by parts
  HeldParts held_{&ids_};
  Side before_, after_;
  std::vector<TensorChange> changes_;
};

}  // namespace

std::string_view TensorChangeText(TensorChangeKind kind) {
  switch (kind) {
#define RESHARD_TENSOR_CHANGE(name, text, meaning) \
  case TensorChangeKind::name:                     \
    return text;
#include "compiler/plan_tools/tensor_changes.def"
#undef RESHARD_TENSOR_CHANGE
  }
  return "";
}

std::vector<TensorChange> DiffTensors(const Plan& before, const Plan& after) {
  return TensorComparison(before, after).Run();
}

}  // namespace reshard
