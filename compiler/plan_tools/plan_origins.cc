#include "compiler/plan_tools/plan_origins.h"

#include <algorithm>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

constexpr size_t kMaxRefinedPieces = 1 << 20;

void EraseDigit(size_t index, NaivePiece* piece) {
  piece->digits.erase(piece->digits.begin() + static_cast<std::ptrdiff_t>(index));
}

// The part of `piece` whose digit `index` counts from `first` on.
NaivePiece From(const NaivePiece& piece, size_t index, int64_t first) {
  NaivePiece rest = piece;
  NaiveDigit& digit = rest.digits[index];
  rest.at[digit.dim] += first * digit.step;
  rest.from[0] += first * digit.tensor_step;
  digit.extent -= first;
  if (digit.extent == 1) EraseDigit(index, &rest);
  return rest;
}

}  // namespace

PlanOrigins::PlanOrigins(const Plan& plan)
    : plan_(plan), family_places_(plan.families.size()), family_fills_(plan.families.size()) {
  for (uint32_t i = 0; i < plan.places.size(); ++i) {
    family_places_[plan.places[i].family].push_back(i);
  }
  for (uint32_t i = 0; i < plan.fills.size(); ++i) {
    family_fills_[plan.fills[i].family].push_back(i);
  }
}

bool PlanOrigins::Connect(const NaiveTensors& tensors, std::string* error) {
  entries_.assign(tensors.tensors().size(), {});
  dims_.clear();
  for (uint32_t super = 0; super < plan_.supers.size(); ++super) {
    if (!AddSuper(super, tensors, error)) return false;
  }
  return true;
}

bool PlanOrigins::AddSuper(uint32_t super, const NaiveTensors& tensors, std::string* error) {
  const PlanSuper& plan_super = plan_.supers[super];
  AxisWeights weights(plan_super.loop_begin.size() + plan_super.shape.size());
  for (const PlanSuper::Dim& dim : plan_super.dims) weights[dim.axis].push_back(dim.weight);
  return DimsOf(plan_super, weights, &dims_.emplace_back(), error) &&
         AddTensors(super, weights, tensors, error);
}

bool PlanOrigins::DimsOf(const PlanSuper& super, const AxisWeights& weights, SuperDims* dims,
                         std::string* error) {
  const size_t loops = super.loop_begin.size();
  for (size_t axis = 0; axis < weights.size(); ++axis) {
    bool chain = !weights[axis].empty() && weights[axis].back() == 1;
    for (size_t i = 1; i < weights[axis].size(); ++i) {
      chain = chain && weights[axis][i - 1] % weights[axis][i] == 0;
    }
    if (!chain) {
      *error =
          "the dims of '" + super.name.Instance(super.loop_begin) + "' do not divide each other";
      return false;
    }
    if (axis < loops) {
      dims->loop_dims += weights[axis].size();
      continue;
    }
    dims->plain = dims->plain && weights[axis].size() == 1;
    const int64_t above = super.shape[axis - loops];
    for (size_t i = 0; i < weights[axis].size(); ++i) {
      dims->extents.push_back(i == 0 ? *CheckedCeilDiv(above, weights[axis][0])
                                     : weights[axis][i - 1] / weights[axis][i]);
    }
  }
  // The row-major linear space over all refined dims; an axis moves in it by the unit of its last.
  dims->axis_units.assign(super.shape.size(), 1);
  int64_t unit = 1;
  size_t dim = dims->extents.size();
  for (size_t axis = super.shape.size(); axis-- > 0;) {
    dims->axis_units[axis] = unit;
    for (size_t i = 0; i < weights[loops + axis].size(); ++i) unit *= dims->extents[--dim];
  }
  return true;
}

// All instances of a super-tensor are tensors of the inputs.
bool PlanOrigins::AddTensors(uint32_t super, const AxisWeights& weights,
                             const NaiveTensors& tensors, std::string* error) {
  const PlanSuper& plan_super = plan_.supers[super];
  const size_t loops = plan_super.loop_begin.size();
  std::vector<int64_t> values = plan_super.loop_begin;
  for (size_t count = 0;; ++count) {
    const std::string name = plan_super.name.Instance(values);
    const std::optional<uint32_t> tensor = tensors.Find(name);
    // The names differ from each other, so there are at most as many as tensors.
    if (!tensor || count > tensors.tensors().size()) {
      *error = "the plan has a tensor '" + name + "', which the inputs do not have";
      return false;
    }
    const NaiveTensor& expected = tensors.tensors()[*tensor];
    if (expected.shape != plan_super.shape || expected.dtype != plan_super.dtype) {
      *error = "tensor '" + name + "' has shape " + ListText(plan_super.shape) + " and dtype " +
               std::string(DTypeText(plan_super.dtype)) + " in the plan, " +
               ListText(expected.shape) + " and " + std::string(DTypeText(expected.dtype)) +
               " in the inputs";
      return false;
    }
    Entry& entry = entries_[*tensor];
    entry.super = super;
    entry.loop_dims.clear();
    for (size_t axis = 0; axis < loops; ++axis) {
      int64_t rest = values[axis];
      for (const int64_t weight : weights[axis]) {
        entry.loop_dims.push_back(*CheckedFloorDiv(rest, weight));
        rest = *CheckedFloorMod(rest, weight);
      }
    }
    size_t axis = loops;
    while (axis > 0 && ++values[axis - 1] ==
                           plan_super.loop_begin[axis - 1] + plan_super.loop_extent[axis - 1]) {
      values[axis - 1] = plan_super.loop_begin[axis - 1];
      --axis;
    }
    if (axis == 0) return true;
  }
}

std::vector<uint32_t> PlanOrigins::FamiliesOf(uint32_t rank, PlanSide side) const {
  std::vector<uint32_t> families;
  for (uint32_t i = 0; i < plan_.families.size(); ++i) {
    const PlanFamily& family = plan_.families[i];
    if (family.side == side && Contains(plan_.rank_sets[family.rank_set], rank)) {
      families.push_back(i);
    }
  }
  return families;
}

int64_t PlanOrigins::TensorBytes(uint32_t family) const {
  int64_t bytes = 0;
  for (const uint32_t index : family_places_[family]) {
    const PlanPlace& place = plan_.places[index];
    int64_t elements = 1;
    for (size_t d = 0; d < plan_.supers[place.super].dims.size(); ++d) {
      elements *= DimOf(place, d).extent;
    }
    bytes += elements * DTypeBytes(plan_.supers[place.super].dtype);
  }
  return bytes;
}

int64_t PlanOrigins::FillBytes(uint32_t family, PlanFillRule rule) const {
  int64_t bytes = 0;
  for (const uint32_t index : family_fills_[family]) {
    const PlanFill& fill = plan_.fills[index];
    if (fill.rule != rule) continue;
    int64_t count = 1;
    for (uint32_t d = 0; d < fill.dim_count; ++d) {
      count *= plan_.fill_dims[fill.first_dim + d].extent;
    }
    bytes += count;
  }
  return bytes;
}

std::optional<std::vector<std::pair<int64_t, int64_t>>> PlanOrigins::FillRanges(
    uint32_t family, PlanFillRule rule, size_t limit) const {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const uint32_t index : family_fills_[family]) {
    const PlanFill& fill = plan_.fills[index];
    if (fill.rule != rule) continue;
    std::vector<std::pair<int64_t, int64_t>> part = {{fill.base_bytes, fill.base_bytes + 1}};
    // From the last dim outwards; the last one has stride 1 and makes runs.
    for (uint32_t d = fill.dim_count; d-- > 0;) {
      const PlanFillDim& dim = plan_.fill_dims[fill.first_dim + d];
      const bool joins = part.size() == 1 && part[0].second - part[0].first == dim.stride_bytes;
      if (joins) {
        part[0].second = part[0].first + dim.extent * dim.stride_bytes;
        continue;
      }
      const size_t inner = part.size();
      for (int64_t k = 1; k < dim.extent; ++k) {
        if (part.size() + inner > limit) return std::nullopt;
        for (size_t i = 0; i < inner; ++i) {
          part.emplace_back(part[i].first + k * dim.stride_bytes,
                            part[i].second + k * dim.stride_bytes);
        }
      }
    }
    ranges.insert(ranges.end(), part.begin(), part.end());
    if (ranges.size() > limit) return std::nullopt;
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<int64_t, int64_t>> merged;
  for (const auto& range : ranges) {
    if (!merged.empty() && merged.back().second == range.first) {
      merged.back().second = range.second;
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

std::vector<PlanOrigins::Window> PlanOrigins::WindowsOf(uint32_t family, int64_t instance,
                                                        const Entry& entry) const {
  std::vector<Window> windows;
  for (const uint32_t index : family_places_[family]) {
    const PlanPlace& place = plan_.places[index];
    if (place.super != entry.super) continue;
    Window window = {&place, place.base_bytes};
    int64_t at_instance = place.base_instance;
    bool inside = true;
    for (size_t d = 0; inside && d < entry.loop_dims.size(); ++d) {
      const PlanDimRange& dim = DimOf(place, d);
      const int64_t k = entry.loop_dims[d] - dim.begin;
      inside = k >= 0 && k < dim.extent;
      window.base_bytes += k * dim.stride_bytes;
      at_instance += k * dim.instance_stride;
    }
    if (inside && at_instance == instance) windows.push_back(window);
  }
  return windows;
}

// Pieces over the refined dims of the tensor; `from` is then the byte in the param.
bool PlanOrigins::Refine(const SuperDims& dims, const NaiveParam& param, const NaivePiece& piece,
                         std::vector<NaivePiece>* out) const {
  const int64_t element_bytes = DTypeBytes(param.view.dtype);
  std::vector<int64_t> strides(param.view.shape.size(), element_bytes);
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * param.view.shape[d];
  int64_t byte = 0;
  for (size_t d = 0; d < strides.size(); ++d) byte += piece.at[d] * strides[d];
  if (dims.plain) {
    NaivePiece& refined = out->emplace_back();
    refined.at = piece.from;
    refined.from = {byte};
    for (const NaiveDigit& digit : piece.digits) {
      refined.digits.push_back(
          {digit.extent, digit.axis, digit.tensor_step, 0, digit.step * strides[digit.dim]});
    }
    return true;
  }
  LinearPiece linear;
  linear.from = {byte};
  for (size_t axis = 0; axis < piece.from.size(); ++axis) {
    linear.base += piece.from[axis] * dims.axis_units[axis];
  }
  for (const NaiveDigit& digit : piece.digits) {
    linear.digits.push_back({digit.extent, digit.tensor_step * dims.axis_units[digit.axis], 0,
                             digit.step * strides[digit.dim]});
  }
  return FitToShape(std::move(linear), dims.extents, kMaxRefinedPieces, out);
}

std::optional<OriginDifference> PlanOrigins::CompareRefined(const SuperDims& dims,
                                                            const std::vector<Window>& windows,
                                                            uint32_t super, NaivePiece piece,
                                                            int64_t* work) const {
  std::vector<NaivePiece> todo;
  todo.push_back(std::move(piece));
  while (!todo.empty() && --*work > 0) {
    // Strides are positive: the least first byte of all parts is where to look first.
    const auto lowest = std::min_element(
        todo.begin(), todo.end(),
        [](const NaivePiece& a, const NaivePiece& b) { return a.from[0] < b.from[0]; });
    NaivePiece next = std::move(*lowest);
    todo.erase(lowest);
    // The window that has the first element at its byte.
    const auto holds = [&](const Window& window) {
      int64_t byte = window.base_bytes;
      for (size_t d = 0; d < next.at.size(); ++d) {
        const PlanDimRange& dim = DimOf(*window.place, dims.loop_dims + d);
        const int64_t k = next.at[d] - dim.begin;
        if (k < 0 || k >= dim.extent || dim.instance_stride != 0) return false;
        byte += k * dim.stride_bytes;
      }
      return byte == next.from[0];
    };
    const auto window = std::find_if(windows.begin(), windows.end(), holds);
    if (window == windows.end()) {
      OriginDifference difference;
      difference.byte = next.from[0];
      // Back from refined dims to the axes of the tensor.
      const PlanSuper& plan_super = plan_.supers[super];
      difference.index.assign(plan_super.shape.size(), 0);
      for (size_t d = 0; d < next.at.size(); ++d) {
        const PlanSuper::Dim& dim = plan_super.dims[dims.loop_dims + d];
        difference.index[dim.axis - plan_super.loop_begin.size()] += next.at[d] * dim.weight;
      }
      return difference;
    }
    // What follows along each digit is in the window too, or is compared on its own.
    std::vector<int64_t> reach = next.at;
    for (size_t i = 0; i < next.digits.size();) {
      const NaiveDigit& digit = next.digits[i];
      const PlanDimRange& dim = DimOf(*window->place, dims.loop_dims + digit.dim);
      const bool same_stride = digit.tensor_step == digit.step * dim.stride_bytes;
      const int64_t room = dim.begin + dim.extent - 1 - reach[digit.dim];
      const int64_t inside =
          same_stride && room >= 0 ? std::min(digit.extent, room / digit.step + 1) : 1;
      if (inside < digit.extent) todo.push_back(From(next, i, inside));
      if (inside == 1) {
        EraseDigit(i, &next);
        continue;
      }
      reach[digit.dim] += (inside - 1) * digit.step;
      next.digits[i].extent = inside;
      ++i;
    }
  }
  return std::nullopt;
}

std::optional<OriginDifference> PlanOrigins::Compare(uint32_t family, int64_t instance,
                                                     const NaiveParam& param,
                                                     const NaivePiece& piece, int64_t* work) const {
  const Entry& entry = entries_[piece.tensor];
  OriginDifference first;
  first.index = piece.from;
  if (entry.super == UINT32_MAX) return first;
  const SuperDims& dims = dims_[entry.super];
  const std::vector<Window> windows = WindowsOf(family, instance, entry);
  std::vector<NaivePiece> refined;
  if (!Refine(dims, param, piece, &refined)) *work = 0;
  std::optional<OriginDifference> least;
  for (NaivePiece& part : refined) {
    std::optional<OriginDifference> found =
        CompareRefined(dims, windows, entry.super, std::move(part), work);
    if (found && (!least || found->byte < least->byte)) least = std::move(found);
  }
  return least;
}

std::string PlanOrigins::Describe(uint32_t family, int64_t instance, int64_t byte) const {
  for (const uint32_t index : family_places_[family]) {
    const PlanPlace& place = plan_.places[index];
    const PlanSuper& super = plan_.supers[place.super];
    // Furthest dims first, instances before bytes: digits of a place do not overlap.
    std::vector<size_t> order(super.dims.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const PlanDimRange& left = DimOf(place, a);
      const PlanDimRange& right = DimOf(place, b);
      return std::pair(left.instance_stride, left.stride_bytes) >
             std::pair(right.instance_stride, right.stride_bytes);
    });
    int64_t rest_instance = instance - place.base_instance;
    int64_t rest_bytes = byte - place.base_bytes;
    std::vector<int64_t> axes(super.loop_begin.size() + super.shape.size(), 0);
    for (const size_t d : order) {
      const PlanDimRange& dim = DimOf(place, d);
      int64_t k = 0;
      if (dim.instance_stride > 0) {
        k = rest_instance / dim.instance_stride;
      } else if (dim.stride_bytes > 0) {
        k = rest_bytes / dim.stride_bytes;
      }
      k = std::clamp<int64_t>(k, 0, dim.extent - 1);
      rest_instance -= k * dim.instance_stride;
      rest_bytes -= k * dim.stride_bytes;
      axes[super.dims[d].axis] += (dim.begin + k) * super.dims[d].weight;
    }
    const bool here = rest_instance == 0 && rest_bytes >= 0 && rest_bytes < DTypeBytes(super.dtype);
    if (!here) continue;
    const auto shape_begin = axes.begin() + static_cast<std::ptrdiff_t>(super.loop_begin.size());
    return "'" + super.name.Instance({axes.begin(), shape_begin}) + "' " +
           ListText({shape_begin, axes.end()});
  }
  return FillBytes(family, PlanFillRule::kZero) + FillBytes(family, PlanFillRule::kKeep) > 0
             ? "a fill"
             : "nothing";
}

}  // namespace reshard
