#include "compiler/plan_tools/tensor_diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/plan_tools/canonical_plan.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

// Templates whose loops differ are matched tensor by tensor up to this many names each.
constexpr int64_t kMaxNamedTensors = int64_t{1} << 20;

int64_t CountOf(const PlanSuper& super) {
  int64_t count = 1;
  for (const int64_t extent : super.loop_extent) count *= extent;
  return count;
}

void Append(int64_t value, std::string* text) { *text += std::to_string(value) + ","; }

// How the tensors of a template lie on the ranks of one side.
struct Sharding {
  std::string text = "nowhere";      // "4-way on dim 0, 2 copies, 8 ranks"
  std::set<std::string> boxes;       // of the shape, as numbers
  std::vector<std::string> placing;  // every place with its param and ranks
};

// What the comparison needs of one plan, by super-tensor.
struct PlanFacts {
  const Plan& plan;
  std::vector<std::string> names;
  std::array<std::vector<std::vector<uint32_t>>, 2> places;  // by side
  std::vector<std::string> routes;                           // equal for equal routes
  std::vector<std::string> rank_hashes;                      // of rank sets, equal for equal ranks
};

// The ranges of a place in the dims whose axis is at least `first_axis`.
std::string BoxText(const Plan& plan, const PlanPlace& place, size_t first_axis) {
  const PlanSuper& super = plan.supers[place.super];
  std::string text;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    if (super.dims[d].axis < first_axis) continue;
    Append(plan.place_dims[place.first_dim + d].begin, &text);
    Append(plan.place_dims[place.first_dim + d].extent, &text);
  }
  return text;
}

std::string PlacingText(const PlanFacts& facts, const PlanPlace& place) {
  const Plan& plan = facts.plan;
  const PlanSuper& super = plan.supers[place.super];
  const PlanFamily& family = plan.families[place.family];
  std::string text = BoxText(plan, place, 0);
  Append(place.base_bytes, &text);
  Append(place.base_instance, &text);
  for (size_t d = 0; d < super.dims.size(); ++d) {
    Append(plan.place_dims[place.first_dim + d].stride_bytes, &text);
    Append(plan.place_dims[place.first_dim + d].instance_stride, &text);
  }
  text += family.name.Describe(family.loop_begin, family.loop_extent);
  return text + " on " + facts.rank_hashes[family.rank_set];
}

// In how many different ways ranks hold parts of the shape.
int64_t CountParts(const std::map<uint32_t, std::set<std::string>>& boxes_of_set, const Plan& plan,
                   int64_t* rank_count) {
  std::map<std::string, uint32_t> ids;
  std::vector<std::pair<Rank, uint32_t>> held;  // a rank and a box
  for (const auto& [set, boxes] : boxes_of_set) {
    for (const std::string& box : boxes) {
      const uint32_t id = ids.try_emplace(box, static_cast<uint32_t>(ids.size())).first->second;
      for (const Rank rank : plan.rank_sets[set]) held.emplace_back(rank, id);
    }
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::set<std::vector<uint32_t>> parts;
  *rank_count = 0;
  for (size_t begin = 0; begin < held.size();) {
    std::vector<uint32_t> part;
    const Rank rank = held[begin].first;
    for (; begin < held.size() && held[begin].first == rank; ++begin) {
      part.push_back(held[begin].second);
    }
    parts.insert(std::move(part));
    ++*rank_count;
  }
  return static_cast<int64_t>(parts.size());
}

// The dims of the shape that places cut, as text: " on dims 0, 1".
std::string CutDims(const Plan& plan, const std::vector<uint32_t>& places, size_t loops) {
  const PlanSuper& super = plan.supers[plan.places[places.front()].super];
  std::string text;
  int cut = 0;
  for (size_t axis = loops; axis < loops + super.shape.size(); ++axis) {
    std::set<std::string> ranges;
    for (const uint32_t p : places) {
      std::string range;
      for (size_t d = 0; d < super.dims.size(); ++d) {
        if (super.dims[d].axis != axis) continue;
        const PlanDimRange& of_dim = plan.place_dims[plan.places[p].first_dim + d];
        Append(of_dim.begin, &range);
        Append(of_dim.extent, &range);
      }
      ranges.insert(std::move(range));
    }
    if (ranges.size() < 2) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(axis - loops);
    ++cut;
  }
  if (cut == 0) return "";
  return (cut == 1 ? " on dim " : " on dims ") + text;
}

Sharding ShardingOf(const PlanFacts& facts, PlanSide side, uint32_t super_index) {
  const Plan& plan = facts.plan;
  const std::vector<uint32_t>& places = facts.places[static_cast<size_t>(side)][super_index];
  Sharding sharding;
  if (places.empty()) return sharding;
  const PlanSuper& super = plan.supers[super_index];
  const size_t loops = super.loop_begin.size();
  std::map<uint32_t, std::set<std::string>> boxes_of_set;
  double stored = 0;  // elements, only for the number of copies in the text
  for (const uint32_t p : places) {
    const PlanPlace& place = plan.places[p];
    const uint32_t set = plan.families[place.family].rank_set;
    std::string box = BoxText(plan, place, loops);
    sharding.boxes.insert(box);
    boxes_of_set[set].insert(std::move(box));
    sharding.placing.push_back(PlacingText(facts, place));
    double elements = static_cast<double>(plan.rank_sets[set].size());
    for (size_t d = 0; d < super.dims.size(); ++d) {
      elements *= static_cast<double>(plan.place_dims[place.first_dim + d].extent);
    }
    stored += elements;
  }
  std::sort(sharding.placing.begin(), sharding.placing.end());

  double whole = static_cast<double>(CountOf(super));
  for (const int64_t extent : super.shape) whole *= static_cast<double>(extent);
  int64_t ranks = 0;
  const int64_t parts = CountParts(boxes_of_set, plan, &ranks);
  sharding.text = parts == 1 ? "whole" : std::to_string(parts) + "-way";
  if (parts > 1) sharding.text += CutDims(plan, places, loops);
  const std::string copies = FormatRatio(stored / whole);
  const size_t fraction = copies.find(".000");
  sharding.text += ", " + copies.substr(0, fraction) + (copies == "1.000" ? " copy" : " copies") +
                   ", " + FormatCount(ranks) + (ranks == 1 ? " rank" : " ranks");
  return sharding;
}

// For each super-tensor, a hash of its cells with the trees and sources that carry them.
std::vector<std::string> RoutesOf(const Plan& plan) {
  std::vector<std::set<Rank>> sources(plan.trees.size());
  for (const PlanInject& inject : plan.injects) sources[inject.tree].insert(inject.source);
  std::vector<std::set<std::string>> of_stream(plan.streams.size());
  for (size_t t = 0; t < plan.trees.size(); ++t) {
    const PlanTree& tree = plan.trees[t];
    std::string text = "landers ";
    for (uint32_t m = 0; m < tree.member_count; ++m) {
      Append(plan.tree_members[tree.first_member + m], &text);
    }
    text += "sources ";
    for (const Rank rank : sources[t]) Append(rank, &text);
    of_stream[tree.stream].insert(std::move(text));
  }
  std::vector<std::set<std::string>> of_class(plan.classes.size());
  for (const PlanStream& stream : plan.streams) {
    const size_t index = static_cast<size_t>(&stream - plan.streams.data());
    for (uint32_t p = 0; p < stream.piece_count; ++p) {
      of_class[plan.pieces[stream.first_piece + p].cls].insert(of_stream[index].begin(),
                                                               of_stream[index].end());
    }
  }
  std::vector<std::vector<std::string>> of_super(plan.supers.size());
  for (size_t c = 0; c < plan.classes.size(); ++c) {
    Sha256 hasher;
    for (const std::string& route : of_class[c]) hasher.Update(route);
    const std::string hash = ToHex(hasher.Finish());
    for (uint32_t i = 0; i < plan.classes[c].cell_count; ++i) {
      const PlanCell& cell = plan.cells[plan.classes[c].first_cell + i];
      std::string text;
      for (size_t d = 0; d < plan.supers[cell.super].dims.size(); ++d) {
        const PlanInterval& interval = plan.intervals[plan.cell_dims[cell.first_dim + d]];
        Append(interval.begin, &text);
        Append(interval.extent, &text);
      }
      of_super[cell.super].push_back(text + hash);
    }
  }
  std::vector<std::string> routes;
  for (std::vector<std::string>& cells : of_super) {
    std::sort(cells.begin(), cells.end());
    Sha256 hasher;
    for (const std::string& cell : cells) hasher.Update(cell);
    routes.push_back(ToHex(hasher.Finish()));
  }
  return routes;
}

PlanFacts FactsOf(const Plan& plan) {
  PlanFacts facts{plan, SuperNames(plan), {}, RoutesOf(plan), {}};
  for (const RankList& set : plan.rank_sets) {
    std::string text;
    for (const Rank rank : set) Append(rank, &text);
    facts.rank_hashes.push_back(ToHex(Sha256Of(text)));
  }
  for (auto& side : facts.places) side.resize(plan.supers.size());
  for (uint32_t p = 0; p < plan.places.size(); ++p) {
    const PlanPlace& place = plan.places[p];
    const size_t side = static_cast<size_t>(plan.families[place.family].side);
    facts.places[side][place.super].push_back(p);
  }
  return facts;
}

bool IsDelivered(const PlanFacts& facts, uint32_t super) {
  return !facts.places[static_cast<size_t>(PlanSide::kDestination)][super].empty();
}

std::string ShapeText(const PlanSuper& super) {
  std::string text(DTypeText(super.dtype));
  text += " [";
  for (size_t i = 0; i < super.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(super.shape[i]);
  }
  return text + "]";
}

std::string WholeText(const PlanFacts& facts, uint32_t super) {
  return ShapeText(facts.plan.supers[super]) + ", held " +
         ShardingOf(facts, PlanSide::kSource, super).text + ", needed " +
         ShardingOf(facts, PlanSide::kDestination, super).text;
}

bool SameDims(const PlanSuper& a, const PlanSuper& b) {
  const auto same = [](const PlanSuper::Dim& x, const PlanSuper::Dim& y) {
    return x.axis == y.axis && x.weight == y.weight;
  };
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same);
}

class TensorComparison {
 public:
  TensorComparison(const Plan& before, const Plan& after)
      : before_(FactsOf(before)), after_(FactsOf(after)) {}

  std::vector<TensorChange> Run() {
    std::map<std::string, uint32_t> by_name;
    for (uint32_t s = 0; s < after_.names.size(); ++s) by_name[after_.names[s]] = s;
    std::vector<uint32_t> left_before, left_after;
    for (uint32_t s = 0; s < before_.names.size(); ++s) {
      const auto found = by_name.find(before_.names[s]);
      if (found == by_name.end() ||
          before_.plan.supers[s].name != after_.plan.supers[found->second].name ||
          before_.plan.supers[s].loop_extent != after_.plan.supers[found->second].loop_extent) {
        left_before.push_back(s);
        continue;
      }
      ComparePair(s, found->second, CountOf(before_.plan.supers[s]), true);
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
  void Add(TensorChangeKind kind, std::string name, int64_t count, std::string before,
           std::string after, bool loses_coverage) {
    changes_.push_back(
        {kind, std::move(name), count, std::move(before), std::move(after), loses_coverage});
  }

  // `count` tensors that are of template `b` before and `a` after; all of both when `exact`.
  void ComparePair(uint32_t b, uint32_t a, int64_t count, bool exact) {
    const PlanSuper& before = before_.plan.supers[b];
    const PlanSuper& after = after_.plan.supers[a];
    const std::string& name = after_.names[a];
    const bool lost = IsDelivered(before_, b) && !IsDelivered(after_, a);
    if (before.shape != after.shape || before.dtype != after.dtype) {
      Add(TensorChangeKind::kReshaped, name, count, ShapeText(before), ShapeText(after),
          IsDelivered(before_, b));
      return;
    }
    bool placed = false;  // differently
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      const bool source = side == PlanSide::kSource;
      const Sharding had = ShardingOf(before_, side, b);
      const Sharding has = ShardingOf(after_, side, a);
      const bool comparable = exact && SameDims(before, after);
      if (had.text != has.text || (comparable && had.boxes != has.boxes)) {
        Add(source ? TensorChangeKind::kSourceSharding : TensorChangeKind::kDestinationSharding,
            name, count, had.text, has.text, !source && lost);
        placed = true;
      } else if (comparable && had.placing != has.placing) {
        Add(source ? TensorChangeKind::kSourceMoved : TensorChangeKind::kDestinationMoved, name,
            count, had.text, has.text, false);
        placed = true;
      }
    }
    if (exact && !placed && SameDims(before, after) && before_.routes[b] != after_.routes[a]) {
      Add(TensorChangeKind::kRerouted, name, count, "", "", false);
    }
  }

  // The tensors of `supers` by name; those of templates that are too large stay in `large`.
  static std::map<std::string, uint32_t> NamesOf(const PlanFacts& facts,
                                                 const std::vector<uint32_t>& supers,
                                                 std::vector<uint32_t>* large) {
    std::map<std::string, uint32_t> names;
    for (const uint32_t s : supers) {
      const PlanSuper& super = facts.plan.supers[s];
      if (CountOf(super) > kMaxNamedTensors) {
        large->push_back(s);
        continue;
      }
      std::vector<int64_t> values = super.loop_begin;
      for (int64_t i = 0; i < CountOf(super); ++i) {
        names[super.name.Instance(values)] = s;
        for (size_t d = values.size(); d-- > 0;) {
          if (++values[d] < super.loop_begin[d] + super.loop_extent[d]) break;
          values[d] = super.loop_begin[d];
        }
      }
    }
    return names;
  }

  void CompareByName(const std::vector<uint32_t>& left_before,
                     const std::vector<uint32_t>& left_after) {
    std::vector<uint32_t> large_before, large_after;
    const auto before = NamesOf(before_, left_before, &large_before);
    const auto after = NamesOf(after_, left_after, &large_after);
    std::map<std::pair<uint32_t, uint32_t>, int64_t> pairs;
    std::map<uint32_t, std::pair<int64_t, std::string>> removed, added;  // how many, the first
    const auto count = [](std::pair<int64_t, std::string>* entry, const std::string& name) {
      if (entry->first++ == 0) entry->second = name;
    };
    for (const auto& [name, s] : before) {
      const auto found = after.find(name);
      if (found == after.end()) {
        count(&removed[s], name);
      } else {
        ++pairs[{s, found->second}];
      }
    }
    for (const auto& [name, s] : after) {
      if (before.count(name) == 0) count(&added[s], name);
    }
    for (const auto& [pair, tensors] : pairs) ComparePair(pair.first, pair.second, tensors, false);
    const auto label = [](const PlanFacts& facts, uint32_t s,
                          const std::pair<int64_t, std::string>& entry) {
      return entry.first == CountOf(facts.plan.supers[s]) ? facts.names[s]
             : entry.first == 1                           ? entry.second
                                                          : entry.second + " and others";
    };
    for (const uint32_t s : large_before) removed[s] = {CountOf(before_.plan.supers[s]), ""};
    for (const uint32_t s : large_after) added[s] = {CountOf(after_.plan.supers[s]), ""};
    for (const auto& [s, entry] : removed) {
      Add(TensorChangeKind::kRemoved, label(before_, s, entry), entry.first, WholeText(before_, s),
          "", IsDelivered(before_, s));
    }
    for (const auto& [s, entry] : added) {
      Add(TensorChangeKind::kAdded, label(after_, s, entry), entry.first, "", WholeText(after_, s),
          false);
    }
  }

  PlanFacts before_, after_;
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
