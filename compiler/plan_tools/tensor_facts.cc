#include "compiler/plan_tools/tensor_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "compiler/plan_tools/tensor_parts.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// Counting parts ends here: nothing compares as many one by one.
constexpr int64_t kManyParts = int64_t{1} << 32;
// Pairs of a rank and a box that a text of how a template is sharded looks at.
constexpr int64_t kMaxHeldPairs = int64_t{1} << 25;

using Id = ContentIds::Id;
using Words = ContentIds::Words;

void SortUnique(Words* words) {
  std::sort(words->begin(), words->end());
  words->erase(std::unique(words->begin(), words->end()), words->end());
}

// How many different sets of boxes ranks hold, and how many ranks hold any.
std::pair<int64_t, int64_t> CountShards(std::vector<std::pair<Rank, Id>> held) {
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::set<std::vector<Id>> shards;
  int64_t ranks = 0;
  for (size_t begin = 0; begin < held.size(); ++ranks) {
    std::vector<Id> shard;
    const Rank rank = held[begin].first;
    for (; begin < held.size() && held[begin].first == rank; ++begin) {
      shard.push_back(held[begin].second);
    }
    shards.insert(std::move(shard));
  }
  return {static_cast<int64_t>(shards.size()), ranks};
}

// The axes along which boxes have different ranges: " on dims 0, 1".
std::string CutDims(const std::set<Id>& boxes, size_t axis_count, const ContentIds& ids) {
  std::string text;
  int cut = 0;
  for (size_t axis = 0; axis < axis_count; ++axis) {
    std::set<int64_t> ranges;
    for (const Id box : boxes) ranges.insert(ids.WordsOf(box)[axis]);
    if (ranges.size() < 2) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(axis);
    ++cut;
  }
  if (cut == 0) return "";
  return (cut == 1 ? " on dim " : " on dims ") + text;
}

// "33.3 %"; what is not nothing and not all is not said to be.
std::string PartText(ElementCount part, ElementCount whole) {
  if (part * 1000 < whole) return "under 0.1 %";
  if (part * 10'000 >= whole * 9'995) return "over 99.9 %";
  return FormatPercent(static_cast<double>(part) / static_cast<double>(whole));
}

// How many different elements the boxes have; nothing when it cannot be told.
std::optional<ElementCount> Covered(const std::vector<CoveredBox>& boxes, size_t loop_axes,
                                    const ContentIds& ids) {
  const CoverageChange all = CompareCoverage(boxes, {}, loop_axes, ids);
  if (!all.known) return std::nullopt;
  return all.lost_elements;
}

}  // namespace

std::vector<CoveredBox> BoxesOfParts(Id parts, const ContentIds& ids) {
  std::vector<CoveredBox> boxes;
  const std::span<const int64_t> words = ids.WordsOf(parts);
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::span<const int64_t> axes = ids.WordsOf(static_cast<Id>(words[i]));
    boxes.push_back({{}, words[i + 1]});
    for (const int64_t axis : axes) boxes.back().axes.push_back(static_cast<Id>(axis));
  }
  return boxes;
}

TensorFacts::TensorFacts(const Plan& plan, ContentIds* ids) : plan_(plan), ids_(ids) {
  for (const RankList& set : plan.rank_sets) {
    rank_sets_.push_back(ids->Of(Words(set.begin(), set.end())));
  }
  for (auto& side : places_) side.resize(plan.supers.size());
  for (uint32_t p = 0; p < plan.places.size(); ++p) {
    const PlanPlace& place = plan.places[p];
    const size_t side = static_cast<size_t>(plan.families[place.family].side);
    places_[side][place.super].push_back(p);
  }
  AddRoutes();
}

void TensorFacts::AddRoutes() {
  std::vector<Words> sources(plan_.trees.size());
  tree_sources_.resize(plan_.trees.size());
  for (const PlanInject& inject : plan_.injects) {
    Words& of_tree = sources[inject.tree];
    if (of_tree.empty() || of_tree.back() != inject.source) of_tree.push_back(inject.source);
  }
  std::vector<Words> of_stream(plan_.streams.size());
  for (size_t t = 0; t < plan_.trees.size(); ++t) {
    const PlanTree& tree = plan_.trees[t];
    Words words = std::move(sources[t]);
    SortUnique(&words);
    for (const int64_t source : words) tree_sources_[t].push_back(static_cast<Rank>(source));
    words.insert(words.begin(), static_cast<int64_t>(words.size()));
    for (uint32_t m = 0; m < tree.member_count; ++m) {
      words.push_back(plan_.tree_members[tree.first_member + m]);
    }
    of_stream[tree.stream].push_back(ids_->Of(words));
  }
  std::vector<Words> of_class(plan_.classes.size());
  for (size_t s = 0; s < plan_.streams.size(); ++s) {
    SortUnique(&of_stream[s]);
    const Id route = ids_->Of(of_stream[s]);
    for (uint32_t p = 0; p < plan_.streams[s].piece_count; ++p) {
      of_class[plan_.pieces[plan_.streams[s].first_piece + p].cls].push_back(route);
    }
  }
  cells_.resize(plan_.supers.size());
  cell_routes_.resize(plan_.cells.size());
  cell_classes_.resize(plan_.cells.size());
  std::vector<Words> of_template(plan_.supers.size());
  for (size_t c = 0; c < plan_.classes.size(); ++c) {
    SortUnique(&of_class[c]);
    const Id route = ids_->Of(of_class[c]);
    for (uint32_t i = 0; i < plan_.classes[c].cell_count; ++i) {
      const uint32_t index = plan_.classes[c].first_cell + i;
      const PlanCell& cell = plan_.cells[index];
      cells_[cell.super].push_back(index);
      cell_routes_[index] = route;
      cell_classes_[index] = static_cast<uint32_t>(c);
      Words words = {route};
      for (const PlanDimRange& range : DimsOf(plan_, cell)) {
        words.insert(words.end(), {range.begin, range.extent});
      }
      of_template[cell.super].push_back(ids_->Of(words));
    }
  }
  for (Words& cells : of_template) {
    std::sort(cells.begin(), cells.end());
    template_routes_.push_back(ids_->Of(cells));
  }
}

Id TensorFacts::PlacingOfTemplate(PlanSide side, uint32_t super) {
  Words all;
  for (const uint32_t p : PlacesOf(side, super)) {
    const PlanPlace& place = plan_.places[p];
    const PlanFamily& family = plan_.families[place.family];
    Words words = {place.base_bytes, place.base_instance, rank_sets_[family.rank_set],
                   ids_->OfText(family.name.Describe(family.loop_begin, family.loop_extent))};
    for (const PlanDimRange& range : DimsOf(plan_, place)) {
      words.insert(words.end(),
                   {range.begin, range.extent, range.stride_bytes, range.instance_stride});
    }
    all.push_back(ids_->Of(words));
  }
  std::sort(all.begin(), all.end());
  return ids_->Of(all);
}

std::string TensorFacts::Describe(const PlanSuper& super, std::vector<HeldBox> held,
                                  int64_t tensors, std::optional<ElementCount> covered) {
  if (held.empty()) return "nowhere";
  double stored = 0;
  std::set<std::pair<uint32_t, Id>> boxes_of_set;
  std::set<Id> boxes;
  for (const HeldBox& box : held) {
    stored += box.elements * static_cast<double>(plan_.rank_sets[box.rank_set].size());
    boxes_of_set.insert({box.rank_set, box.box});
    boxes.insert(box.box);
  }
  int64_t pairs = 0;
  for (const auto& [set, box] : boxes_of_set) {
    pairs += static_cast<int64_t>(plan_.rank_sets[set].size());
  }
  if (pairs > kMaxHeldPairs) return "in " + FormatCount(pairs) + " parts of ranks";
  std::vector<std::pair<Rank, Id>> of_ranks;
  for (const auto& [set, box] : boxes_of_set) {
    for (const Rank rank : plan_.rank_sets[set]) of_ranks.emplace_back(rank, box);
  }
  const auto [shards, ranks] = CountShards(std::move(of_ranks));
  ElementCount whole = static_cast<ElementCount>(tensors);
  for (const int64_t extent : super.shape) whole *= static_cast<ElementCount>(extent);
  const bool partial = covered && *covered < whole;

  std::string text;
  if (shards > 1) {
    text = FormatCount(shards) + "-way" + CutDims(boxes, super.shape.size(), *ids_) + ", ";
  } else if (!partial) {
    text = covered ? "whole, " : "alike on all ranks, ";
  }
  if (partial) text += PartText(*covered, whole) + " of the elements, ";
  const std::string copies = FormatRatio(stored / static_cast<double>(partial ? *covered : whole));
  return text + copies.substr(0, copies.find(".000")) + (copies == "1.000" ? " copy" : " copies") +
         ", " + FormatCount(ranks) + (ranks == 1 ? " rank" : " ranks");
}

std::vector<CoveredBox> TensorFacts::BoxesOf(PlanSide side, uint32_t super_index) const {
  std::map<std::vector<Id>, RankList> ranks_of;
  for (const uint32_t p : PlacesOf(side, super_index)) {
    const PlanPlace& place = plan_.places[p];
    RankList& ranks =
        ranks_of[AxisRanges(plan_.supers[super_index], DimsOf(plan_, place), 0, ids_)];
    ranks = Union(ranks, plan_.rank_sets[plan_.families[place.family].rank_set]);
  }
  std::vector<CoveredBox> boxes;
  for (const auto& [axes, ranks] : ranks_of) {
    boxes.push_back({axes, static_cast<int64_t>(ranks.size())});
  }
  return boxes;
}

std::string TensorFacts::ShardingText(PlanSide side, uint32_t super_index) {
  const PlanSuper& super = plan_.supers[super_index];
  std::vector<HeldBox> held;
  for (const uint32_t p : PlacesOf(side, super_index)) {
    const PlanPlace& place = plan_.places[p];
    HeldBox box{BoxOf(super, DimsOf(plan_, place), ids_), plan_.families[place.family].rank_set, 1};
    for (const PlanDimRange& range : DimsOf(plan_, place)) {
      box.elements *= static_cast<double>(range.extent);
    }
    held.push_back(box);
  }
  return Describe(super, std::move(held), TensorCount(super),
                  Covered(BoxesOf(side, super_index), super.loop_extent.size(), *ids_));
}

std::string TensorFacts::ShardingText(PlanSide side, uint32_t super_index,
                                      const std::vector<bool>& chosen) {
  const int64_t tensors = std::count(chosen.begin(), chosen.end(), true);
  const PlanSuper& super = plan_.supers[super_index];
  if (tensors == TensorCount(super)) return ShardingText(side, super_index);
  std::map<std::pair<Id, uint32_t>, double> elements;  // by box and rank set
  std::vector<Words> boxes(chosen.size());             // by tensor
  for (const uint32_t p : PlacesOf(side, super_index)) {
    const PlanPlace& place = plan_.places[p];
    ForEachPart(super, DimsOf(plan_, place), ids_, [&](const TensorPart& part) {
      if (!chosen[static_cast<size_t>(part.tensor)]) return;
      elements[{part.box, plan_.families[place.family].rank_set}] +=
          static_cast<double>(part.elements);
      boxes[static_cast<size_t>(part.tensor)].insert(boxes[static_cast<size_t>(part.tensor)].end(),
                                                     {int64_t{part.box}, 1});
    });
  }
  std::vector<HeldBox> held;
  for (const auto& [key, count] : elements) held.push_back({key.first, key.second, count});
  std::map<Words, int64_t> alike;  // tensors by their boxes
  for (Words& of_tensor : boxes) ++alike[std::move(of_tensor)];
  std::optional<ElementCount> covered = 0;
  for (const auto& [words, count] : alike) {
    const auto part = Covered(BoxesOfParts(ids_->Of(words), *ids_), 0, *ids_);
    if (covered && part) *covered += *part * static_cast<ElementCount>(count);
    if (!part) covered.reset();
  }
  return Describe(super, std::move(held), tensors, covered);
}

int64_t TensorFacts::PlacedParts(PlanSide side, uint32_t super) const {
  int64_t count = 0;
  for (const uint32_t p : PlacesOf(side, super)) {
    count += PartCount(plan_.supers[super], DimsOf(plan_, plan_.places[p]));
    if (count > kManyParts) break;
  }
  return count;
}

int64_t TensorFacts::RoutedParts(uint32_t super) const {
  int64_t count = 0;
  for (const uint32_t c : cells_[super]) {
    count += PartCount(plan_.supers[super], DimsOf(plan_, plan_.cells[c]));
    if (count > kManyParts) break;
  }
  return count;
}

std::vector<TensorHolding> TensorFacts::Holdings(PlanSide side, uint32_t super_index) {
  const PlanSuper& super = plan_.supers[super_index];
  // What is held, and the rank set that holds it.
  using Held = std::vector<std::pair<Id, uint32_t>>;
  std::vector<Held> boxes(static_cast<size_t>(TensorCount(super))), places(boxes.size());
  std::map<uint32_t, std::vector<Id>> params;  // names of a family's buffers
  for (const uint32_t p : PlacesOf(side, super_index)) {
    const PlanPlace& place = plan_.places[p];
    const PlanFamily& family = plan_.families[place.family];
    std::vector<Id>& names = params[place.family];
    if (names.empty()) {
      for (const std::string& name :
           InstanceNames(family.name, family.loop_begin, family.loop_extent)) {
        names.push_back(ids_->OfText(name));
      }
    }
    ForEachPart(super, DimsOf(plan_, place), ids_, [&](const TensorPart& part) {
      const size_t tensor = static_cast<size_t>(part.tensor);
      const size_t instance = static_cast<size_t>(place.base_instance + part.instance);
      if (instance >= names.size()) return;
      boxes[tensor].emplace_back(part.box, family.rank_set);
      places[tensor].emplace_back(ids_->Of(Words{part.box, part.lines, names[instance],
                                                 place.base_bytes + part.offset_bytes}),
                                  family.rank_set);
    });
  }
  // Each different item with how many ranks hold it, and with the ranks themselves.
  const auto counted = [&](Held held, bool with_ranks) {
    std::sort(held.begin(), held.end());
    Words words;
    for (size_t begin = 0; begin < held.size();) {
      size_t end = begin + 1;
      RankList ranks;
      while (end < held.size() && held[end].first == held[begin].first) ++end;
      if (end - begin > 1) {
        for (size_t i = begin; i < end; ++i) ranks = Union(ranks, plan_.rank_sets[held[i].second]);
      }
      words.push_back(held[begin].first);
      if (with_ranks) {
        words.push_back(end - begin > 1 ? ids_->Of(Words(ranks.begin(), ranks.end()))
                                        : rank_sets_[held[begin].second]);
      } else {
        words.push_back(static_cast<int64_t>(
            end - begin > 1 ? ranks.size() : plan_.rank_sets[held[begin].second].size()));
      }
      begin = end;
    }
    return ids_->Of(words);
  };
  std::vector<TensorHolding> holdings(boxes.size());
  for (size_t i = 0; i < holdings.size(); ++i) {
    holdings[i].held = !boxes[i].empty();
    holdings[i].parts = counted(boxes[i], false);
    holdings[i].of_ranks = counted(std::move(boxes[i]), true);
    holdings[i].placing = counted(std::move(places[i]), true);
  }
  return holdings;
}

std::vector<Id> TensorFacts::Routes(uint32_t super_index) {
  const PlanSuper& super = plan_.supers[super_index];
  std::vector<Words> routed(static_cast<size_t>(TensorCount(super)));
  for (const uint32_t c : cells_[super_index]) {
    ForEachPart(super, DimsOf(plan_, plan_.cells[c]), ids_, [&](const TensorPart& part) {
      routed[static_cast<size_t>(part.tensor)].push_back(
          ids_->Of(Words{part.box, cell_routes_[c]}));
    });
  }
  std::vector<Id> routes;
  for (Words& parts : routed) {
    std::sort(parts.begin(), parts.end());
    routes.push_back(ids_->Of(parts));
  }
  return routes;
}

std::set<std::string> TensorFacts::Locations(PlanSide side, uint32_t super_index, int64_t tensor) {
  std::set<std::string> locations;
  for (const uint32_t p : PlacesOf(side, super_index)) {
    const PlanPlace& place = plan_.places[p];
    const PlanFamily& family = plan_.families[place.family];
    std::vector<std::string> names;
    ForEachPart(plan_.supers[super_index], DimsOf(plan_, place), ids_, [&](const TensorPart& part) {
      if (part.tensor != tensor) return;
      if (names.empty()) {
        names = InstanceNames(family.name, family.loop_begin, family.loop_extent);
      }
      const size_t instance = static_cast<size_t>(place.base_instance + part.instance);
      if (instance >= names.size()) return;
      locations.insert(names[instance] + " at " +
                       FormatCount(place.base_bytes + part.offset_bytes) + " on " +
                       DescribeRanks(plan_.rank_sets[family.rank_set]));
    });
  }
  return locations;
}

std::string TensorFacts::TreeText(uint32_t tree) const {
  constexpr uint32_t kShown = 6;
  const PlanTree& of = plan_.trees[tree];
  if (plan_.streams[of.stream].local) {
    return "inside rank " + std::to_string(plan_.tree_members[of.first_member]);
  }
  std::string text = "from " + DescribeRanks(tree_sources_[tree]) + " to ";
  for (uint32_t m = 0; m < std::min(of.member_count, kShown); ++m) {
    text += (m == 0 ? "" : " > ") + std::to_string(plan_.tree_members[of.first_member + m]);
  }
  if (of.member_count > kShown) text += " > ... (" + FormatCount(of.member_count) + " ranks)";
  return text;
}

std::set<std::string> TensorFacts::RouteTexts(uint32_t super, std::optional<int64_t> tensor) {
  std::vector<bool> travels(plan_.classes.size(), false);
  for (const uint32_t c : cells_[super]) {
    bool has = !tensor;
    if (tensor) {
      ForEachPart(plan_.supers[super], DimsOf(plan_, plan_.cells[c]), ids_,
                  [&](const TensorPart& part) { has = has || part.tensor == *tensor; });
    }
    if (has) travels[cell_classes_[c]] = true;
  }
  std::vector<bool> streams(plan_.streams.size(), false);
  for (size_t s = 0; s < plan_.streams.size(); ++s) {
    const PlanStream& stream = plan_.streams[s];
    for (uint32_t p = 0; p < stream.piece_count; ++p) {
      if (travels[plan_.pieces[stream.first_piece + p].cls]) streams[s] = true;
    }
  }
  std::set<std::string> texts;
  for (uint32_t t = 0; t < plan_.trees.size(); ++t) {
    if (streams[plan_.trees[t].stream]) texts.insert(TreeText(t));
  }
  return texts;
}

}  // namespace reshard
