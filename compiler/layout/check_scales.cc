// Block scales: on each rank, every param P with elements of a scaled tensor needs a param Q with
// Q[i // block] = scale[x // block] for every P[i] = tensor[x].
//
// Places are separable: their position is a sum of one function per axis. So both what a place of P
// needs and what a place of Q holds are compared axis by axis, in the sum of their extents.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/layout.h"
#include "compiler/layout/rank_params.h"

namespace reshard {
namespace {

// One index of an axis of the scale, and where Q must hold it: how far that moves in each dim of Q
// and among the instances of P.
struct Need {
  int64_t index = 0;
  std::vector<int64_t> position;  // per dim
  int64_t instance = 0;
};
// Per axis of the scale; every combination is needed.
using NeedBox = std::vector<std::vector<Need>>;

std::vector<int64_t> RowStrides(const ParamFamily& family) {
  std::vector<int64_t> strides(family.shape.size(), DTypeBytes(family.dtype));
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * family.shape[d];
  return strides;
}

// Every index of one axis of a place, with its position in the param.
class AxisWalk {
 public:
  AxisWalk(const ParamFamily& family, const PlaceAxis& axis)
      : strides_(RowStrides(family)), rank_(family.shape.size()) {
    entries_.push_back({axis.begin, std::vector<int64_t>(rank_, 0), 0});
    for (const PlaceDigit& digit : axis.digits) AddDigit(digit);
  }
  std::vector<Need>& entries() { return entries_; }
  // The only dim that the axis moves along, or -1: none, -2: several.
  int dim() const { return dim_; }

 private:
  void AddDigit(const PlaceDigit& digit) {
    // A digit moves along the innermost dim of which its stride is a multiple.
    size_t dim = 0;
    while (digit.stride_bytes != 0 && digit.stride_bytes < strides_[dim]) ++dim;
    if (digit.stride_bytes != 0) {
      dim_ = dim_ == -1 || dim_ == static_cast<int>(dim) ? static_cast<int>(dim) : -2;
    }
    std::vector<Need> next;
    next.reserve(entries_.size() * static_cast<size_t>(digit.extent));
    for (const Need& entry : entries_) {
      for (int64_t k = 0; k < digit.extent; ++k) {
        next.push_back(entry);
        next.back().index += k * digit.step;
        next.back().instance += k * digit.instance_stride;
        if (digit.stride_bytes != 0) {
          next.back().position[dim] += k * digit.stride_bytes / strides_[dim];
        }
      }
    }
    entries_ = std::move(next);
  }

  const std::vector<int64_t> strides_;
  const size_t rank_;
  std::vector<Need> entries_;
  int dim_ = -1;
};

// Where a place holds one index of an axis.
struct Held {
  int64_t offset_bytes = 0;
  int64_t instance = 0;
};
std::optional<Held> HeldAt(const PlaceAxis& axis, int64_t index) {
  Held held;
  int64_t rest = index - axis.begin;
  for (const PlaceDigit& digit : axis.digits) {  // heaviest first, each above all lighter ones
    int64_t lighter = 0;
    for (const PlaceDigit* after = &digit + 1; after != axis.digits.data() + axis.digits.size();
         ++after) {
      lighter += (after->extent - 1) * after->step;
    }
    const int64_t k = std::clamp<int64_t>(rest / digit.step, 0, digit.extent - 1);
    rest -= k * digit.step;
    if (rest < 0 || rest > lighter) return std::nullopt;
    held.offset_bytes += k * digit.stride_bytes;
    held.instance += k * digit.instance_stride;
  }
  if (rest != 0) return std::nullopt;
  return held;
}

class ScaleChecker {
 public:
  ScaleChecker(const LogicalTable& table, const Layout& layout, SuperId scale, Diagnostics* diags)
      : layout_(layout),
        scale_id_(scale),
        scale_(table.supers[scale]),
        of_(*scale_.scale_of),
        tensor_(table.supers[of_.tensor]),
        diags_(*diags) {
    for (const Place& place : layout.places) {
      if (place.super != scale) continue;
      for (const Rank rank : layout.rank_sets[layout.families[place.family].ranks]) {
        std::vector<FamilyId>& families = scale_families_[rank];
        if (families.empty() || families.back() != place.family) families.push_back(place.family);
      }
    }
  }

  bool Check() {
    // One cause, one error: other ranks and pieces would fail in the same way.
    for (const Place& place : layout_.places) {
      if (place.super == of_.tensor && !CheckPlace(place)) return false;
    }
    return true;
  }

 private:
  bool CheckPlace(const Place& place) {
    NeedBox need;
    const ParamFamily& family = layout_.families[place.family];
    if (!MakeNeed(place, &need)) {
      return Report(family, layout_.rank_sets[family.ranks].front(), "cuts through a block");
    }
    RankList left = layout_.rank_sets[family.ranks];
    while (!left.empty()) {
      const Rank rank = left.front();
      bool found = false;
      const auto families = scale_families_.find(rank);
      if (families == scale_families_.end()) {
        return Report(family, rank, "is stored without the scale");
      }
      for (const FamilyId candidate : families->second) {
        if (!Holds(candidate, need)) continue;
        left = Difference(left, layout_.rank_sets[layout_.families[candidate].ranks]);
        found = true;
        break;
      }
      if (!found) return Report(family, rank, "has its scale nowhere at the matching blocks");
    }
    return true;
  }

  bool Report(const ParamFamily& family, Rank rank, const std::string& what) {
    std::string block;
    for (const int64_t extent : of_.block) {
      block += (block.empty() ? "[" : ", ") + std::to_string(extent);
    }
    diags_
        .Error(DiagnosticCode::kScaleMisaligned, family.span,
               "'" + tensor_.name.Describe(tensor_.loop_begin, tensor_.loop_extent) + "' in '" +
                   family.name.Describe(family.loop_begin, family.loop_extent) + "' on rank " +
                   std::to_string(rank) + " " + what + ": '" +
                   scale_.name.Describe(scale_.loop_begin, scale_.loop_extent) +
                   "' scales blocks of " + block + "]")
        .notes.push_back({of_.span, "the blocks are given here"});
    return false;
  }

  // What a place of the tensor needs of the scale. False when one block of the param would need two
  // blocks of the scale.
  bool MakeNeed(const Place& place, NeedBox* need) const {
    const ParamFamily& family = layout_.families[place.family];
    const std::vector<int64_t> strides = RowStrides(family);
    need->resize(scale_.axis_count());
    std::vector<int64_t> base(strides.size());
    int64_t rest = place.base_bytes;
    for (size_t d = 0; d < strides.size(); ++d) {
      base[d] = rest / strides[d];
      rest %= strides[d];
    }
    std::vector<int> walked_by(strides.size(), -1);  // which blocked axis moves along a dim
    for (size_t axis = 0; axis < place.axes.size(); ++axis) {
      AxisWalk walk(family, place.axes[axis]);
      const size_t loops = tensor_.loop_count();
      const int64_t block = axis < loops ? 1 : of_.block[axis - loops];
      if (block > 1 && !Blocked(&walk, block, &base)) return false;
      if (walk.dim() >= 0) {
        int& walker = walked_by[static_cast<size_t>(walk.dim())];
        if (walker >= 0 && block > 1) return false;
        walker = static_cast<int>(axis);
      }
      size_t scale_axis = axis;
      for (size_t i = 0; axis < loops && i < of_.loop_map.size(); ++i) {
        if (of_.loop_map[i] == static_cast<int64_t>(axis)) scale_axis = i;
      }
      (*need)[scale_axis] = std::move(walk.entries());
    }
    // The base position counts once: put it into the first axis. (A scalar scale has no blocks.)
    if (need->empty()) return true;
    for (Need& entry : (*need)[0]) {
      for (size_t d = 0; d < base.size(); ++d) entry.position[d] += base[d];
    }
    return true;
  }

  // Divides an axis and the dim that it moves along by the block.
  static bool Blocked(AxisWalk* walk, int64_t block, std::vector<int64_t>* base) {
    std::vector<Need>& entries = walk->entries();
    if (walk->dim() == -2) return false;
    if (walk->dim() == -1) {
      for (Need& entry : entries) entry.index /= block;
      return true;
    }
    const auto dim = static_cast<size_t>(walk->dim());
    std::sort(entries.begin(), entries.end(), [&](const Need& a, const Need& b) {
      return std::pair(a.instance, a.position[dim]) < std::pair(b.instance, b.position[dim]);
    });
    std::vector<Need> blocks;
    for (Need entry : entries) {
      entry.index /= block;
      entry.position[dim] = ((*base)[dim] + entry.position[dim]) / block;
      if (!blocks.empty() && blocks.back().instance == entry.instance &&
          blocks.back().position[dim] == entry.position[dim]) {
        if (blocks.back().index != entry.index) return false;
        continue;
      }
      blocks.push_back(std::move(entry));
    }
    entries = std::move(blocks);
    (*base)[dim] = 0;
    return true;
  }

  // Whether the params of one family hold all that is needed.
  bool Holds(FamilyId family, const NeedBox& need) const {
    std::vector<NeedBox> waiting = {need};
    int64_t tries_left = 1000;
    while (!waiting.empty()) {
      if (--tries_left < 0) return false;
      const NeedBox box = std::move(waiting.back());
      waiting.pop_back();
      bool progress = false;
      for (const Place& place : PlacesOf(layout_, family)) {
        if (place.super != scale_id_) continue;
        progress = Take(family, place, box, &waiting);
        if (progress) break;
      }
      if (!progress) return false;
    }
    return true;
  }

  // Checks the part of `box` that a place holds, in which the first combination has to be, and puts
  // the rest into `waiting`.
  bool Take(FamilyId family, const Place& place, const NeedBox& box,
            std::vector<NeedBox>* waiting) const {
    const std::vector<int64_t> strides = RowStrides(layout_.families[family]);
    std::vector<NeedBox> rest;
    NeedBox inside = box;
    int64_t offset = place.base_bytes;
    int64_t wanted = 0;
    for (size_t axis = 0; axis < box.size(); ++axis) {
      const std::vector<Need>& needs = box[axis];
      if (needs[0].position.size() != strides.size()) return false;
      const std::optional<Held> first = HeldAt(place.axes[axis], needs[0].index);
      if (!first) return false;
      offset += first->offset_bytes;
      wanted += Bytes(needs[0].position, layout_.families[family], strides);
      std::vector<Need> here, elsewhere;
      for (const Need& need : needs) {
        const std::optional<Held> held = HeldAt(place.axes[axis], need.index);
        const bool same = held &&
                          Bytes(need.position, layout_.families[family], strides) -
                                  Bytes(needs[0].position, layout_.families[family], strides) ==
                              held->offset_bytes - first->offset_bytes &&
                          (need.instance != needs[0].instance || held->instance == first->instance);
        (same ? here : elsewhere).push_back(need);
      }
      if (!elsewhere.empty()) {
        rest.push_back(inside);
        rest.back()[axis] = std::move(elsewhere);
      }
      inside[axis] = std::move(here);
    }
    if (offset != wanted) return false;
    for (NeedBox& part : rest) waiting->push_back(std::move(part));
    return true;
  }

  static int64_t Bytes(const std::vector<int64_t>& position, const ParamFamily& family,
                       const std::vector<int64_t>& strides) {
    int64_t bytes = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      // Outside the param: no place holds that.
      if (position[d] >= family.shape[d]) return -1;
      bytes += position[d] * strides[d];
    }
    return bytes;
  }

  const Layout& layout_;
  const SuperId scale_id_;
  const SuperTensor& scale_;
  const SuperTensor::ScaleOf& of_;
  const SuperTensor& tensor_;
  Diagnostics& diags_;
  std::map<Rank, std::vector<FamilyId>> scale_families_;  // that hold some of the scale
};

}  // namespace

bool CheckScales(const LogicalTable& table, const Layout& layout, Diagnostics* diags) {
  bool good = true;
  for (SuperId super = 0; super < table.supers.size(); ++super) {
    if (!table.supers[super].scale_of) continue;
    good &= ScaleChecker(table, layout, super, diags).Check();
  }
  return good;
}

}  // namespace reshard
