#include "compiler/plan_tools/tensor_places.h"

#include <algorithm>
#include <tuple>

#include "compiler/plan_tools/unravel.h"

namespace reshard {
namespace {

std::vector<int64_t> LastValues(const std::vector<int64_t>& begin,
                                const std::vector<int64_t>& extent) {
  std::vector<int64_t> last;
  for (size_t i = 0; i < begin.size(); ++i) last.push_back(begin[i] + extent[i] - 1);
  return last;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The runs of digits in a text; those of more than 18 digits count as 0.
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && IsDigit(text[end])) ++end;
    if (end > i) {
      numbers.push_back(end - i > 18 ? 0 : std::stoll(std::string(text.substr(i, end - i))));
    }
    i = end + 1;
  }
  return numbers;
}

// Loop values that give a pattern's holes the numbers of `like`; values out of range become the
// nearest in range. Nothing when `like` has not as many numbers as the pattern's instances.
std::optional<std::vector<int64_t>> ValuesLike(const NamePattern& pattern,
                                               const std::vector<int64_t>& loop_begin,
                                               const std::vector<int64_t>& loop_extent,
                                               std::string_view like) {
  std::vector<size_t> place_of_hole;
  size_t places = 0;
  for (size_t part = 0; part < pattern.text.size(); ++part) {
    places += NumbersIn(pattern.text[part]).size();
    if (part < pattern.holes.size()) place_of_hole.push_back(places++);
  }
  const std::vector<int64_t> numbers = NumbersIn(like);
  if (numbers.size() != places) return std::nullopt;
  std::vector<int64_t> values = loop_begin;
  for (size_t h = 0; h < pattern.holes.size(); ++h) {
    const NamePattern::Hole& hole = pattern.holes[h];
    for (size_t i = 0; i < hole.coef.size(); ++i) {
      if (hole.coef[i] == 0) continue;
      const int64_t wanted = (numbers[place_of_hole[h]] - hole.base) / hole.coef[i];
      values[i] = std::clamp(wanted, loop_begin[i], loop_begin[i] + loop_extent[i] - 1);
    }
  }
  return values;
}

// Some instances of a pattern that may have been meant by `like`.
void AddNames(const NamePattern& pattern, const std::vector<int64_t>& loop_begin,
              const std::vector<int64_t>& loop_extent, std::string_view like,
              std::vector<std::string>* names) {
  if (const auto values = ValuesLike(pattern, loop_begin, loop_extent, like)) {
    names->push_back(pattern.Instance(*values));
    return;
  }
  names->push_back(pattern.Instance(loop_begin));
  names->push_back(pattern.Instance(LastValues(loop_begin, loop_extent)));
}

// Reads an integer as NamePattern writes them at `*place` of `text`.
std::optional<int64_t> ReadHole(std::string_view text, size_t* place) {
  size_t end = *place;
  if (end < text.size() && text[end] == '-') ++end;
  const size_t digits = end;
  while (end < text.size() && IsDigit(text[end])) ++end;
  if (end == digits || end - digits > 18) return std::nullopt;
  const int64_t value = std::stoll(std::string(text.substr(*place, end - *place)));
  *place = end;
  return value;
}

// The holes of `name` when it has the pattern's text around them.
std::optional<std::vector<int64_t>> MatchHoles(const NamePattern& pattern, std::string_view name) {
  std::vector<int64_t> holes;
  size_t place = 0;
  for (size_t part = 0;; ++part) {
    const std::string& text = pattern.text[part];
    if (name.substr(place, text.size()) != text) return std::nullopt;
    place += text.size();
    if (part == pattern.holes.size()) break;
    const std::optional<int64_t> value = ReadHole(name, &place);
    if (!value) return std::nullopt;
    holes.push_back(*value);
  }
  if (place != name.size()) return std::nullopt;
  return holes;
}

// Loop values with those holes. Holes of tensor names are one loop variable each, or constants; a
// hole that mixes several is searched for by trying the values of its loops.
std::optional<std::vector<int64_t>> SolveLoops(const NamePattern& pattern,
                                               const std::vector<int64_t>& loop_begin,
                                               const std::vector<int64_t>& loop_extent,
                                               std::string_view name) {
  const std::optional<std::vector<int64_t>> holes = MatchHoles(pattern, name);
  if (!holes) return std::nullopt;
  std::vector<int64_t> values = loop_begin;
  for (size_t h = 0; h < holes->size(); ++h) {
    const NamePattern::Hole& hole = pattern.holes[h];
    for (size_t i = 0; i < hole.coef.size(); ++i) {
      if (hole.coef[i] == 0) continue;
      if (((*holes)[h] - hole.base) % hole.coef[i] != 0) return std::nullopt;
      values[i] = ((*holes)[h] - hole.base) / hole.coef[i];
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < loop_begin[i] || values[i] >= loop_begin[i] + loop_extent[i]) {
      return std::nullopt;
    }
  }
  if (pattern.Instance(values) != name) return std::nullopt;
  return values;
}

// Where the tensor's elements start in a place whose loop axes are fixed.
struct LoopsFixed {
  bool holds = true;  // the place holds elements of this tensor
  int64_t instance = 0;
  int64_t offset_bytes = 0;
};

// Fixes loop axis `axis` at `value`, which is split over the axis's dims, heaviest first.
void FixLoop(const PlanSuper& super, const PlanDimRange* dims, uint32_t axis, int64_t value,
             LoopsFixed* fixed) {
  for (size_t d = 0; d < super.dims.size(); ++d) {
    if (super.dims[d].axis != axis) continue;
    const int64_t index = value / super.dims[d].weight;
    value -= index * super.dims[d].weight;
    const PlanDimRange& range = dims[d];
    if (index < range.begin || index >= range.begin + range.extent) {
      fixed->holds = false;
      return;
    }
    fixed->instance += (index - range.begin) * range.instance_stride;
    fixed->offset_bytes += (index - range.begin) * range.stride_bytes;
  }
}

struct AxisRun {
  IndexRun run;
  int64_t offset_bytes = 0;
  int64_t stride_bytes = 0;
};

// An axis of the shape as runs of indices. Dims that continue each other in the tensor and in the
// param are one run; an outer dim that does not is gone through index by index.
std::vector<AxisRun> AxisRuns(const PlanSuper& super, const PlanDimRange* dims, uint32_t axis) {
  std::vector<AxisRun> runs = {AxisRun{{0, 1, 1}, 0, 0}};
  for (size_t d = super.dims.size(); d-- > 0;) {  // lightest first
    if (super.dims[d].axis != axis) continue;
    const PlanDimRange& range = dims[d];
    const int64_t weight = super.dims[d].weight;
    for (AxisRun& run : runs) run.run.begin += range.begin * weight;
    if (range.extent == 1) continue;
    const IndexRun& inner = runs.front().run;
    const int64_t inner_stride = runs.front().stride_bytes;
    if (runs.size() == 1 && inner.count == 1) {
      runs.front().run.count = range.extent;
      runs.front().run.step = weight;
      runs.front().stride_bytes = range.stride_bytes;
    } else if (runs.size() == 1 && weight == inner.step * inner.count &&
               range.stride_bytes == inner_stride * inner.count) {
      runs.front().run.count *= range.extent;
    } else {
      std::vector<AxisRun> repeated;
      for (int64_t i = 0; i < range.extent; ++i) {
        for (AxisRun run : runs) {
          run.run.begin += i * weight;
          run.offset_bytes += i * range.stride_bytes;
          repeated.push_back(run);
        }
      }
      runs = std::move(repeated);
    }
  }
  return runs;
}

// Adds one axis to every box so far.
std::vector<TensorPlace> WithAxis(const std::vector<TensorPlace>& boxes,
                                  const std::vector<AxisRun>& runs) {
  std::vector<TensorPlace> out;
  for (const TensorPlace& box : boxes) {
    for (const AxisRun& run : runs) {
      out.push_back(box);
      out.back().box.push_back(run.run);
      out.back().stride_bytes.push_back(run.stride_bytes);
      out.back().offset_bytes += run.offset_bytes;
      out.back().bytes *= run.run.count;
    }
  }
  return out;
}

}  // namespace

std::optional<TensorId> FindTensor(const Plan& plan, std::string_view name) {
  for (uint32_t s = 0; s < plan.supers.size(); ++s) {
    std::optional<std::vector<int64_t>> values = SolveLoops(
        plan.supers[s].name, plan.supers[s].loop_begin, plan.supers[s].loop_extent, name);
    if (values) return TensorId{s, *std::move(values)};
  }
  return std::nullopt;
}

std::optional<ParamId> FindParam(const Plan& plan, PlanSide side, Rank rank,
                                 std::string_view name) {
  for (uint32_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    if (family.side != side || !Contains(plan.rank_sets[family.rank_set], rank)) continue;
    std::vector<const NamePattern*> patterns = {&family.name};
    for (const NamePattern& share : family.shares) patterns.push_back(&share);
    for (const NamePattern* pattern : patterns) {
      const auto values = SolveLoops(*pattern, family.loop_begin, family.loop_extent, name);
      if (!values) continue;
      int64_t instance = 0;
      for (size_t i = 0; i < values->size(); ++i) {
        instance = instance * family.loop_extent[i] + (*values)[i] - family.loop_begin[i];
      }
      return ParamId{f, instance};
    }
  }
  return std::nullopt;
}

RankList RanksWithParam(const Plan& plan, PlanSide side, std::string_view name) {
  RankList ranks;
  for (const PlanFamily& family : plan.families) {
    if (family.side != side) continue;
    std::vector<const NamePattern*> patterns = {&family.name};
    for (const NamePattern& share : family.shares) patterns.push_back(&share);
    for (const NamePattern* pattern : patterns) {
      if (!SolveLoops(*pattern, family.loop_begin, family.loop_extent, name)) continue;
      ranks = Union(ranks, plan.rank_sets[family.rank_set]);
      break;
    }
  }
  return ranks;
}

std::vector<std::string> SomeParamNames(const Plan& plan, PlanSide side, Rank rank,
                                        std::string_view like) {
  std::vector<std::string> names;
  for (const PlanFamily& family : plan.families) {
    if (family.side != side || !Contains(plan.rank_sets[family.rank_set], rank)) continue;
    AddNames(family.name, family.loop_begin, family.loop_extent, like, &names);
  }
  return names;
}

std::vector<std::string> SomeTensorNames(const Plan& plan, std::string_view like) {
  std::vector<std::string> names;
  for (const PlanSuper& super : plan.supers) {
    AddNames(super.name, super.loop_begin, super.loop_extent, like, &names);
  }
  return names;
}

std::vector<TensorPlace> PlacesOfTensor(const Plan& plan, const TensorId& tensor) {
  const PlanSuper& super = plan.supers[tensor.super];
  const uint32_t loops = static_cast<uint32_t>(super.loop_begin.size());
  std::vector<TensorPlace> found;
  for (const PlanPlace& place : plan.places) {
    if (place.super != tensor.super) continue;
    const PlanDimRange* dims = plan.place_dims.data() + place.first_dim;
    LoopsFixed fixed;
    fixed.instance = place.base_instance;
    fixed.offset_bytes = place.base_bytes;
    for (uint32_t axis = 0; axis < loops && fixed.holds; ++axis) {
      FixLoop(super, dims, axis, tensor.loop_values[axis], &fixed);
    }
    if (!fixed.holds) continue;
    const PlanFamily& family = plan.families[place.family];
    std::vector<int64_t> values = Unravel(fixed.instance, family.loop_extent);
    for (size_t i = 0; i < values.size(); ++i) values[i] += family.loop_begin[i];

    TensorPlace whole;
    whole.side = family.side;
    whole.param = family.name.Instance(values);
    whole.param_shape = family.shape;
    whole.rank_set = family.rank_set;
    whole.offset_bytes = fixed.offset_bytes;
    whole.bytes = DTypeBytes(super.dtype);
    std::vector<TensorPlace> boxes = {std::move(whole)};
    for (uint32_t axis = 0; axis < super.shape.size(); ++axis) {
      boxes = WithAxis(boxes, AxisRuns(super, dims, loops + axis));
    }
    for (TensorPlace& box : boxes) {
      box.at = Unravel(box.offset_bytes / DTypeBytes(family.dtype), family.shape);
      found.push_back(std::move(box));
    }
  }
  const auto key = [&](const TensorPlace& place) {
    return std::tie(place.side, plan.rank_sets[place.rank_set], place.param, place.offset_bytes);
  };
  std::sort(found.begin(), found.end(),
            [&](const TensorPlace& a, const TensorPlace& b) { return key(a) < key(b); });
  return found;
}

}  // namespace reshard
