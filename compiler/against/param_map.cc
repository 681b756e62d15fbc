#include "compiler/against/param_map.h"

#include <algorithm>
#include <utility>

#include "runtime/base/dtype.h"

namespace reshard {
namespace {

int64_t SpanFrom(const std::vector<MapDigit>& digits, size_t first) {
  int64_t span = 1;
  for (size_t i = first; i < digits.size(); ++i) span += (digits[i].extent - 1) * digits[i].stride;
  return span;
}

// Two digits that count on as one.
bool CountOn(const MapDigit& outer, const MapDigit& inner) {
  return outer.stride == inner.stride * inner.extent && outer.axis == inner.axis &&
         outer.step == inner.step * inner.extent;
}

void SortAndMerge(std::vector<MapDigit>* digits) {
  std::erase_if(*digits, [](const MapDigit& digit) { return digit.extent == 1; });
  std::stable_sort(digits->begin(), digits->end(),
                   [](const MapDigit& a, const MapDigit& b) { return a.stride > b.stride; });
  for (size_t i = digits->size(); i-- > 1;) {
    MapDigit& outer = (*digits)[i - 1];
    const MapDigit inner = (*digits)[i];
    if (!CountOn(outer, inner)) continue;
    outer = {outer.extent * inner.extent, inner.stride, inner.axis, inner.step};
    digits->erase(digits->begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Advance(MapPiece* piece, const MapDigit& digit, int64_t count) {
  piece->offset += count * digit.stride;
  if (digit.step != 0) piece->index[digit.axis] += count * digit.step;
}

// Collects the pieces of one instance of a family.
class MapBuilder {
 public:
  MapBuilder(int64_t* budget, ParamMap* out) : budget_(*budget), out_(*out) {}

  // Chooses the place's digits that move instances so that they move `instances` in all.
  bool AddPlace(const Place& place, int64_t dtype_bytes, int64_t instance) {
    MapPiece piece;
    piece.super = place.super;
    piece.offset = place.base_bytes / dtype_bytes;
    std::vector<std::pair<MapDigit, int64_t>> choosing;  // with instances that a step moves
    for (size_t axis = 0; axis < place.axes.size(); ++axis) {
      piece.index.push_back(place.axes[axis].begin);
      for (const PlaceDigit& digit : place.axes[axis].digits) {
        const MapDigit mine = {digit.extent, digit.stride_bytes / dtype_bytes, axis, digit.step};
        if (digit.instance_stride == 0) {
          piece.digits.push_back(mine);
        } else {
          choosing.emplace_back(mine, digit.instance_stride);
        }
      }
    }
    std::stable_sort(choosing.begin(), choosing.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return Choose(choosing, 0, instance - place.base_instance, std::move(piece));
  }

  bool AddFill(const Fill& fill, int64_t dtype_bytes) {
    MapPiece piece;
    piece.offset = fill.base_bytes / dtype_bytes;
    for (const Fill::Dim& dim : fill.dims) {
      const bool bytes = &dim == &fill.dims.back();
      piece.digits.push_back({bytes ? dim.extent / dtype_bytes : dim.extent,
                              bytes ? 1 : dim.stride_bytes / dtype_bytes, 0, 0});
    }
    return Add(std::move(piece));
  }

 private:
  bool Choose(const std::vector<std::pair<MapDigit, int64_t>>& choosing, size_t level,
              int64_t instances, MapPiece piece) {
    if (level == choosing.size()) return instances != 0 || Add(std::move(piece));
    const auto& [digit, stride] = choosing[level];
    int64_t rest = 0;
    for (size_t i = level + 1; i < choosing.size(); ++i) {
      rest += (choosing[i].first.extent - 1) * choosing[i].second;
    }
    const int64_t low = instances - rest;
    const int64_t first = low <= 0 ? 0 : (low + stride - 1) / stride;
    const int64_t last = instances < 0 ? -1 : std::min(digit.extent - 1, instances / stride);
    for (int64_t k = first; k <= last; ++k) {
      MapPiece chosen = piece;
      Advance(&chosen, digit, k);
      if (!Choose(choosing, level + 1, instances - k * stride, std::move(chosen))) return false;
    }
    return true;
  }

  // Writes digits out that are not nested.
  bool Add(MapPiece piece) {
    if (--budget_ < 0) return false;
    SortAndMerge(&piece.digits);
    for (size_t i = piece.digits.size(); i-- > 0;) {
      const MapDigit digit = piece.digits[i];
      if (digit.stride >= SpanFrom(piece.digits, i + 1)) continue;
      piece.digits.erase(piece.digits.begin() + static_cast<std::ptrdiff_t>(i));
      for (int64_t k = 0; k < digit.extent; ++k) {
        MapPiece part = piece;
        Advance(&part, digit, k);
        if (!Add(std::move(part))) return false;
      }
      return true;
    }
    out_.push_back(std::move(piece));
    return true;
  }

  int64_t& budget_;
  ParamMap& out_;
};

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// A piece of which the digits from `level` on are still to be walked.
struct Walk {
  MapPiece piece;
  size_t level = 0;
  int64_t stride() const { return level < piece.digits.size() ? piece.digits[level].stride : 0; }
  int64_t extent() const { return piece.digits[level].extent; }
  int64_t span() const { return SpanFrom(piece.digits, level); }
  int64_t inner_span() const { return SpanFrom(piece.digits, level + 1); }
  Walk Inner(int64_t k) const {
    Walk inner = *this;
    Advance(&inner.piece, piece.digits[level], k);
    ++inner.level;
    return inner;
  }
};

// Where two pieces overlap in the buffer, and the first element of that in which they differ.
class Meeting {
 public:
  Meeting(int64_t* budget, MapComparison* out) : budget_(*budget), out_(*out) {}

  void Meet(const Walk& a, const Walk& b) {
    if (out_.exhausted || --budget_ < 0) {
      out_.exhausted = true;
      return;
    }
    const int64_t begin = std::max(a.piece.offset, b.piece.offset);
    const int64_t end = std::min(a.piece.offset + a.span(), b.piece.offset + b.span());
    if (begin >= end || (out_.first_difference && *out_.first_difference <= begin)) return;
    if (a.stride() == 0 && b.stride() == 0) {
      Judge(a.piece, b.piece);
    } else if (a.stride() == b.stride()) {
      MeetInStep(a, b);
    } else if (a.stride() > b.stride()) {
      MeetFiner(a, b, false);
    } else {
      MeetFiner(b, a, true);
    }
  }

 private:
  // Digits walked together, of which the two sides' steps differ.
  struct Drift {
    int64_t stride = 0;
  };

  // The elements at one offset, and at those that the digits walked together reach from there.
  void Judge(const MapPiece& a, const MapPiece& b) {
    std::optional<int64_t> found;
    if (a.super != b.super || a.index != b.index) {
      found = a.offset;
    } else {
      for (const Drift& drift : drifts_) {
        if (!found || a.offset + drift.stride < *found) found = a.offset + drift.stride;
      }
    }
    if (found && (!out_.first_difference || *found < *out_.first_difference)) {
      out_.first_difference = found;
    }
  }

  // Both outer digits have one stride: block i of `a` meets the blocks i + shift of `b`.
  void MeetInStep(const Walk& a, const Walk& b) {
    const int64_t stride = a.stride();
    const int64_t distance = b.piece.offset - a.piece.offset;
    const int64_t least = FloorDiv(-b.inner_span() - distance, stride) + 1;
    const int64_t most = FloorDiv(a.inner_span() - 1 - distance, stride);
    const MapDigit& mine = a.piece.digits[a.level];
    const MapDigit& theirs = b.piece.digits[b.level];
    const bool same_step = mine.step == theirs.step && (mine.step == 0 || mine.axis == theirs.axis);
    for (int64_t shift = least; shift <= most; ++shift) {
      const int64_t first = std::max<int64_t>(0, -shift);
      const int64_t end = std::min(mine.extent, theirs.extent - shift);
      if (first >= end) continue;
      const bool drifts = end - first > 1 && !same_step;
      if (drifts) drifts_.push_back({stride});
      Meet(a.Inner(first), b.Inner(first + shift));
      if (drifts) drifts_.pop_back();
    }
  }

  // The outer digit of `coarse` has the larger stride, or `fine` has no digit left.
  void MeetFiner(const Walk& coarse, const Walk& fine, bool swapped) {
    const int64_t stride = coarse.stride();
    const int64_t distance = fine.piece.offset - coarse.piece.offset;
    const int64_t first =
        std::max<int64_t>(0, FloorDiv(distance - coarse.inner_span(), stride) + 1);
    const int64_t last =
        std::min(coarse.extent() - 1, FloorDiv(distance + fine.span() - 1, stride));
    if (last - first > 1 && stride % fine.stride() == 0 && fine.extent() > stride / fine.stride()) {
      const int64_t block = stride / fine.stride();
      const int64_t blocks = fine.extent() / block;
      const MapDigit digit = fine.piece.digits[fine.level];
      const auto at = static_cast<std::ptrdiff_t>(fine.level);
      Walk whole = fine;
      whole.piece.digits[fine.level].extent = block;
      whole.piece.digits.insert(whole.piece.digits.begin() + at,
                                {blocks, stride, digit.axis, digit.step * block});
      MeetIn(coarse, whole, swapped);
      if (const int64_t left = fine.extent() % block; left > 0) {
        Walk rest = fine;
        Advance(&rest.piece, digit, blocks * block);
        rest.piece.digits[fine.level].extent = left;
        MeetIn(coarse, rest, swapped);
      }
      return;
    }
    for (int64_t i = first; i <= last && !out_.exhausted; ++i)
      MeetIn(coarse.Inner(i), fine, swapped);
  }

  void MeetIn(const Walk& a, const Walk& b, bool swapped) { swapped ? Meet(b, a) : Meet(a, b); }

  int64_t& budget_;
  MapComparison& out_;
  std::vector<Drift> drifts_;
};

}  // namespace

int64_t MapPiece::span() const { return SpanFrom(digits, 0); }

std::optional<ParamMap> MapOf(const Layout& layout, const ParamInstance& param, int64_t* budget) {
  const int64_t dtype_bytes = DTypeBytes(layout.families[param.family].dtype);
  ParamMap map;
  MapBuilder builder(budget, &map);
  for (const Place& place : PlacesOf(layout, param.family)) {
    if (!builder.AddPlace(place, dtype_bytes, param.instance)) return std::nullopt;
  }
  for (const Fill& fill : FillsOf(layout, param.family)) {
    if (!builder.AddFill(fill, dtype_bytes)) return std::nullopt;
  }
  std::sort(map.begin(), map.end(),
            [](const MapPiece& a, const MapPiece& b) { return a.offset < b.offset; });
  return map;
}

MapComparison CompareMaps(const ParamMap& mine, const ParamMap& theirs, int64_t* budget) {
  MapComparison result;
  if (mine == theirs) return result;
  Meeting meeting(budget, &result);
  for (const MapPiece& a : mine) {
    for (const MapPiece& b : theirs) {
      if (b.offset >= a.offset + a.span()) break;
      if (b.offset + b.span() > a.offset) meeting.Meet({a, 0}, {b, 0});
      if (--*budget < 0) result.exhausted = true;
      if (result.exhausted) return result;
    }
  }
  return result;
}

}  // namespace reshard
