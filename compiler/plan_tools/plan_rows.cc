#include "compiler/plan_tools/plan_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/plan_tools/content_ids.h"
#include "compiler/plan_tools/tensor_parts.h"
#include "compiler/plan_tools/uncut_parts.h"

namespace reshard {
namespace {

using Id = ContentIds::Id;
using Words = ContentIds::Words;
using Rows = std::vector<Id>;

// Rows that are left over are compared part by part up to this many parts of each plan.
constexpr int64_t kMaxParts = int64_t{1} << 22;

void AppendList(const std::vector<int64_t>& values, Words* words) {
  words->push_back(static_cast<int64_t>(values.size()));
  words->insert(words->end(), values.begin(), values.end());
}

void AppendSorted(std::vector<Id> ids, Words* words) {
  std::sort(ids.begin(), ids.end());
  words->push_back(static_cast<int64_t>(ids.size()));
  words->insert(words->end(), ids.begin(), ids.end());
}

Id IdOfRanks(const RankList& ranks, ContentIds* ids) {
  return ids->Of(Words(ranks.begin(), ranks.end()));
}

Id IdOfPattern(const NamePattern& pattern, ContentIds* ids) {
  const auto& [texts, holes] = pattern;
  Words words;
  for (const std::string& text : texts) words.push_back(ids->OfText(text));
  for (const auto& [base, coef] : holes) {
    words.push_back(base);
    AppendList(coef, &words);
  }
  return ids->Of(words);
}

// The rows of one plan, as they stand.
class RowIds {
 public:
  RowIds(const Plan& plan, ContentIds* ids) : plan_(plan), ids_(ids) {
    for (const RankList& set : plan.rank_sets) rank_sets.push_back(IdOfRanks(set, ids));
    for (const PlanSuper& super : plan.supers) tensors.push_back(IdOf(super));
    AddFamilies();
    for (const PlanClass& cls : plan.classes) classes.push_back(IdOf(cls));
  }

  // Streams and their trees, once the classes have ids that both plans share.
  void AddStreams() {
    for (const PlanStream& stream : plan_.streams) {
      const auto& [first_piece, piece_count, bytes, local] = stream;
      Words words = {bytes, local};
      for (uint32_t p = 0; p < piece_count; ++p) {
        const auto& [cls, begin, extent] = plan_.pieces[first_piece + p];
        words.insert(words.end(), {classes[cls], begin, extent});
      }
      streams.push_back(ids_->Of(words));
    }
    AddTrees();
  }

  Rows rank_sets, tensors, fills, families, classes, streams, trees;  // by index

 private:
  Id IdOf(const PlanSuper& super) {
    const auto& [name, dtype, loop_begin, loop_extent, shape, dims] = super;
    Words words = {IdOfPattern(name, ids_), static_cast<int64_t>(dtype)};
    AppendList(loop_begin, &words);
    AppendList(loop_extent, &words);
    AppendList(shape, &words);
    for (const auto& [axis, weight] : dims) words.insert(words.end(), {axis, weight});
    return ids_->Of(words);
  }

  Id IdOf(const PlanPlace& place) {
    const auto& [super, family, base_bytes, base_instance, first_dim] = place;
    Words words = {tensors[super], base_bytes, base_instance};
    for (const PlanDimRange& range : DimsOf(plan_, place)) {
      const auto& [begin, extent, stride, instance] = range;
      words.insert(words.end(), {begin, extent, stride, instance});
    }
    return ids_->Of(words);
  }

  Id IdOf(const PlanFill& fill) {
    const auto& [family, rule, base_bytes, first_dim, dim_count] = fill;
    Words words = {static_cast<int64_t>(rule), base_bytes};
    for (uint32_t d = 0; d < dim_count; ++d) {
      const auto& [extent, stride] = plan_.fill_dims[first_dim + d];
      words.insert(words.end(), {extent, stride});
    }
    return ids_->Of(words);
  }

  void AddFamilies() {
    std::vector<std::vector<Id>> places(plan_.families.size()), fills_of(plan_.families.size());
    for (const PlanPlace& place : plan_.places) places[place.family].push_back(IdOf(place));
    for (const PlanFill& fill : plan_.fills) fills_of[fill.family].push_back(IdOf(fill));
    for (size_t f = 0; f < plan_.families.size(); ++f) {
      const auto& [side, name, shares, loop_begin, loop_extent, shape, dtype, bytes, set,
                   external] = plan_.families[f];
      Words fill_words;
      AppendSorted(std::move(fills_of[f]), &fill_words);
      fills.push_back(ids_->Of(fill_words));
      Words words = {static_cast<int64_t>(side),
                     IdOfPattern(name, ids_),
                     static_cast<int64_t>(dtype),
                     bytes,
                     rank_sets[set],
                     external,
                     fills.back()};
      std::vector<Id> share_ids;
      for (const NamePattern& share : shares) share_ids.push_back(IdOfPattern(share, ids_));
      AppendSorted(std::move(share_ids), &words);
      AppendList(loop_begin, &words);
      AppendList(loop_extent, &words);
      AppendList(shape, &words);
      AppendSorted(std::move(places[f]), &words);
      families.push_back(ids_->Of(words));
    }
  }

  Id IdOf(const PlanClass& cls) {
    const auto& [holders, needers, bytes, first_cell, cell_count] = cls;
    Words words = {rank_sets[holders], rank_sets[needers], bytes};
    for (uint32_t c = 0; c < cell_count; ++c) {
      const auto& [super, first_dim] = plan_.cells[first_cell + c];
      words.push_back(tensors[super]);
      for (size_t d = 0; d < plan_.supers[super].dims.size(); ++d) {
        const auto& [begin, extent] = plan_.intervals[plan_.cell_dims[first_dim + d]];
        words.insert(words.end(), {begin, extent});
      }
    }
    return ids_->Of(words);
  }

  void AddTrees() {
    // Injects of a tree stand by source, then round: the same order in every plan.
    std::vector<Words> words(plan_.trees.size());
    for (size_t t = 0; t < plan_.trees.size(); ++t) {
      const auto& [stream, kind, first_member, member_count] = plan_.trees[t];
      words[t] = {static_cast<int64_t>(kind), streams[stream], member_count};
      for (uint32_t m = 0; m < member_count; ++m) {
        words[t].push_back(plan_.tree_members[first_member + m]);
      }
    }
    for (const PlanInject& inject : plan_.injects) {
      const auto& [round, tree, source, begin, extent] = inject;
      words[tree].insert(words[tree].end(), {round, source, begin, extent});
    }
    for (const Words& tree : words) trees.push_back(ids_->Of(tree));
  }

  const Plan& plan_;
  ContentIds* ids_;
};

// The rows of one plan that the other one does not have, tensor by tensor and buffer by buffer.
class FineRows {
 public:
  // `left` holds the ids that only one plan has. Families are looked at of some `sides`.
  FineRows(const Plan& plan, const RowIds& rows, const std::set<Id>& left,
           std::array<bool, 2> sides, ContentIds* ids)
      : plan_(plan), rows_(rows), left_(left), sides_(sides), ids_(ids), uncut_(ids) {}

  // False when there are too many parts to compare.
  bool Run(const std::vector<bool>& compare_classes) {
    if (CountParts(compare_classes) > kMaxParts) return false;
    names_.resize(plan_.supers.size());
    for (size_t s = 0; s < plan_.supers.size(); ++s) {
      if (IsLeft(rows_.tensors[s])) {
        for (const Id tensor : NamesOf(s)) tensors.push_back(tensor);
      }
    }
    AddParams();
    classes = rows_.classes;
    for (size_t c = 0; c < classes.size(); ++c) {
      if (compare_classes[c]) classes[c] = IdOf(plan_.classes[c]);
    }
    return true;
  }

  Rows tensors;                 // of templates that are left over
  std::array<Rows, 2> buffers;  // of families that are left over, by side
  Rows classes;                 // all, by index

 private:
  bool IsLeft(Id id) const { return left_.count(id) > 0; }
  bool IsLeftFamily(size_t f) const {
    return sides_[static_cast<size_t>(plan_.families[f].side)] && IsLeft(rows_.families[f]);
  }

  // Parts, and the tensors and buffers that they are parts of; ends above the limit.
  int64_t CountParts(const std::vector<bool>& compare_classes) const {
    std::vector<bool> counted(plan_.supers.size(), false);
    int64_t count = 0;
    const auto add_tensors = [&](uint32_t super) {
      if (!counted[super]) count += TensorCount(plan_.supers[super]);
      counted[super] = true;
    };
    for (uint32_t s = 0; s < plan_.supers.size() && count <= kMaxParts; ++s) {
      if (IsLeft(rows_.tensors[s])) add_tensors(s);
    }
    for (size_t f = 0; f < plan_.families.size() && count <= kMaxParts; ++f) {
      if (IsLeftFamily(f)) {
        count += static_cast<int64_t>(InstanceCount(plan_.families[f]));
      }
    }
    for (const PlanPlace& place : plan_.places) {
      if (!IsLeftFamily(place.family)) continue;
      if (count <= kMaxParts) add_tensors(place.super);
      if (count > kMaxParts) return count;
      count += PartCount(plan_.supers[place.super], DimsOf(plan_, place));
    }
    for (size_t c = 0; c < plan_.classes.size(); ++c) {
      if (!compare_classes[c]) continue;
      for (uint32_t i = 0; i < plan_.classes[c].cell_count; ++i) {
        const PlanCell& cell = plan_.cells[plan_.classes[c].first_cell + i];
        if (count <= kMaxParts) add_tensors(cell.super);
        if (count > kMaxParts) return count;
        count += PartCount(plan_.supers[cell.super], DimsOf(plan_, cell));
      }
    }
    return count;
  }

  // The id of each tensor of a template: name, dtype and shape.
  const Rows& NamesOf(size_t super_index) {
    Rows& names = names_[super_index];
    if (!names.empty()) return names;
    const PlanSuper& super = plan_.supers[super_index];
    for (const std::string& name : InstanceNames(super.name, super.loop_begin, super.loop_extent)) {
      Words words = {ids_->OfText(name), static_cast<int64_t>(super.dtype)};
      AppendList(super.shape, &words);
      names.push_back(ids_->Of(words));
    }
    return names;
  }

  void AddParams() {
    // By family, instance and the tensor's name.
    std::vector<std::vector<Held>> held(plan_.families.size());
    for (const PlanPlace& place : plan_.places) {
      if (!IsLeftFamily(place.family)) continue;
      auto& instances = held[place.family];
      instances.resize(InstanceCount(plan_.families[place.family]));
      const Rows& names = NamesOf(place.super);
      ForEachPart(
          plan_.supers[place.super], DimsOf(plan_, place), ids_, [&](const TensorPart& part) {
            const size_t instance = static_cast<size_t>(place.base_instance + part.instance);
            if (instance >= instances.size()) return;
            instances[instance][names[static_cast<size_t>(part.tensor)]].push_back(
                {part.box, part.lines, place.base_bytes + part.offset_bytes});
          });
    }
    std::array<std::map<Id, RankList>, 2> ranks_of;  // of a buffer
    for (size_t f = 0; f < plan_.families.size(); ++f) {
      if (!IsLeftFamily(f)) continue;
      const PlanFamily& family = plan_.families[f];
      held[f].resize(InstanceCount(family));
      const std::vector<Id> buffers_of_family = BuffersOf(f, std::move(held[f]));
      for (const Id buffer : buffers_of_family) {
        RankList& ranks = ranks_of[static_cast<size_t>(family.side)][buffer];
        ranks = Union(ranks, plan_.rank_sets[family.rank_set]);
      }
    }
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      for (const auto& [buffer, ranks] : ranks_of[static_cast<size_t>(side)]) {
        buffers[static_cast<size_t>(side)].push_back(
            ids_->Of(Words{buffer, IdOfRanks(ranks, ids_)}));
      }
    }
  }

  static size_t InstanceCount(const PlanFamily& family) {
    int64_t count = 1;
    for (const int64_t extent : family.loop_extent) count *= extent;
    return static_cast<size_t>(count);
  }

  using Held = std::map<Id, std::vector<LyingPart>>;  // parts of a buffer by tensor

  // The id of each instance of a family, whose parts are given.
  std::vector<Id> BuffersOf(size_t family_index, std::vector<Held> parts) {
    const PlanFamily& family = plan_.families[family_index];
    std::vector<std::vector<std::string>> names;  // the own one and the further ones
    names.push_back(InstanceNames(family.name, family.loop_begin, family.loop_extent));
    for (const NamePattern& share : family.shares) {
      names.push_back(InstanceNames(share, family.loop_begin, family.loop_extent));
    }
    std::vector<Id> found;
    for (size_t i = 0; i < parts.size(); ++i) {
      Words words = {ids_->OfText(names[0][i]), static_cast<int64_t>(family.dtype), family.bytes,
                     family.external, rows_.fills[family_index]};
      AppendList(family.shape, &words);
      std::vector<Id> further;
      for (size_t n = 1; n < names.size(); ++n) further.push_back(ids_->OfText(names[n][i]));
      AppendSorted(std::move(further), &words);
      for (auto& [tensor, of_tensor] : parts[i]) {
        words.insert(words.end(), {tensor, uncut_.OfLying(std::move(of_tensor))});
      }
      found.push_back(ids_->Of(words));
    }
    return found;
  }

  Id IdOf(const PlanClass& cls) {
    Words words = {rows_.rank_sets[cls.holders], rows_.rank_sets[cls.needers], cls.bytes};
    for (uint32_t i = 0; i < cls.cell_count; ++i) {
      const PlanCell& cell = plan_.cells[cls.first_cell + i];
      const Rows& names = NamesOf(cell.super);
      ForEachPart(plan_.supers[cell.super], DimsOf(plan_, cell), ids_, [&](const TensorPart& part) {
        words.push_back(names[static_cast<size_t>(part.tensor)]);
        words.push_back(part.box);
      });
    }
    return ids_->Of(words);
  }

  const Plan& plan_;
  const RowIds& rows_;
  const std::set<Id>& left_;
  const std::array<bool, 2> sides_;
  ContentIds* ids_;
  UncutParts uncut_;
  std::vector<Rows> names_;
};

TableChange Compare(std::string_view name, Rows before, Rows after) {
  TableChange change{name};
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  CountUnequal(before, after, &change);
  return change;
}

Rows OfSide(const Plan& plan, const Rows& families, PlanSide side) {
  Rows rows;
  for (size_t f = 0; f < families.size(); ++f) {
    if (plan.families[f].side == side) rows.push_back(families[f]);
  }
  return rows;
}

// Ids that one list has more often than the other.
void AddUnequal(Rows before, Rows after, std::set<Id>* left) {
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(),
                                std::inserter(*left, left->end()));
}

std::vector<bool> AreLeft(const Rows& rows, const std::set<Id>& left) {
  std::vector<bool> are;
  for (const Id row : rows) are.push_back(left.count(row) > 0);
  return are;
}

// Bytes of all buffers of families that are left over, by side: unequal ones need no closer look.
std::array<int64_t, 2> BytesLeft(const Plan& plan, const RowIds& rows, const std::set<Id>& left) {
  std::array<int64_t, 2> bytes = {0, 0};
  for (size_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    if (left.count(rows.families[f]) == 0) continue;
    int64_t all = family.bytes * static_cast<int64_t>(plan.rank_sets[family.rank_set].size());
    for (const int64_t extent : family.loop_extent) all *= extent;
    bytes[static_cast<size_t>(family.side)] += all;
  }
  return bytes;
}

}  // namespace

PlanRowChanges CompareRows(const Plan& before, const Plan& after) {
  ContentIds ids;
  RowIds had(before, &ids), has(after, &ids);
  PlanRowChanges changes;
  std::set<Id> left;
  AddUnequal(had.tensors, has.tensors, &left);
  AddUnequal(had.families, has.families, &left);
  AddUnequal(had.classes, has.classes, &left);
  const auto side = [&](const char* name, PlanSide which) {
    return Compare(name, OfSide(before, had.families, which), OfSide(after, has.families, which));
  };
  changes.tensors = Compare("tensors", had.tensors, has.tensors);
  changes.source_params = side("source params", PlanSide::kSource);
  changes.destination_params = side("destination params", PlanSide::kDestination);

  // A side whose bytes are others has changed, and classes with it.
  const std::array<int64_t, 2> bytes = BytesLeft(before, had, left);
  const std::array<int64_t, 2> bytes_after = BytesLeft(after, has, left);
  const std::array<bool, 2> sides = {bytes[0] == bytes_after[0], bytes[1] == bytes_after[1]};
  const std::set<Id> left_classes = sides[0] && sides[1] ? left : std::set<Id>{};
  FineRows fine_before(before, had, left, sides, &ids), fine_after(after, has, left, sides, &ids);
  if (!left.empty() && (sides[0] || sides[1]) &&
      fine_before.Run(AreLeft(had.classes, left_classes)) &&
      fine_after.Run(AreLeft(has.classes, left_classes))) {
    const auto settle = [](const Rows& a, const Rows& b, TableChange* change) {
      if (!Compare("", a, b).changed()) *change = TableChange{change->name};
    };
    settle(fine_before.tensors, fine_after.tensors, &changes.tensors);
    const auto [source, destination] = sides;
    if (source) settle(fine_before.buffers[0], fine_after.buffers[0], &changes.source_params);
    if (destination) {
      settle(fine_before.buffers[1], fine_after.buffers[1], &changes.destination_params);
    }
    had.classes = std::move(fine_before.classes);
    has.classes = std::move(fine_after.classes);
  }
  had.AddStreams();
  has.AddStreams();
  changes.classes = Compare("classes", had.classes, has.classes);
  changes.streams = Compare("streams", had.streams, has.streams);
  changes.trees = Compare("trees", had.trees, has.trees);
  changes.renumbered = !changes.streams.changed() && !changes.trees.changed() &&
                       (had.streams != has.streams || had.trees != has.trees);
  return changes;
}

}  // namespace reshard
