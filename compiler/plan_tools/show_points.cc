#include "compiler/plan_tools/show_points.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/unravel.h"

namespace reshard {
namespace {

// One element of a param and the tensor element that it holds.
struct Point {
  std::vector<int64_t> at;
  std::string tensor;
  std::vector<int64_t> index;
  auto operator<=>(const Point&) const = default;
};

int64_t Product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

// The element of `place` that lies in `instance` and is its first or last in every dim that does
// not choose the instance. Nothing when the place has no part of that instance.
std::optional<Point> PointOf(const Plan& plan, const PlanPlace& place, int64_t instance,
                             bool last) {
  const PlanSuper& super = plan.supers[place.super];
  const PlanFamily& family = plan.families[place.family];
  std::vector<int64_t> axes(super.loop_begin.size() + super.shape.size(), 0);
  int64_t left = instance - place.base_instance;
  int64_t offset = place.base_bytes;
  // Dims that choose instances, the largest stride first, take what they can of the distance.
  std::vector<size_t> order;
  for (size_t d = 0; d < super.dims.size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return plan.place_dims[place.first_dim + a].instance_stride >
           plan.place_dims[place.first_dim + b].instance_stride;
  });
  for (const size_t d : order) {
    const PlanDimRange& range = plan.place_dims[place.first_dim + d];
    int64_t step = last ? range.extent - 1 : 0;
    if (range.instance_stride > 0) {
      step = std::min(left / range.instance_stride, range.extent - 1);
      left -= step * range.instance_stride;
    }
    axes[super.dims[d].axis] += (range.begin + step) * super.dims[d].weight;
    offset += step * range.stride_bytes;
  }
  if (left != 0) return std::nullopt;
  Point point;
  point.at = Unravel(offset / DTypeBytes(family.dtype), family.shape);
  const std::ptrdiff_t loops = static_cast<std::ptrdiff_t>(super.loop_begin.size());
  point.tensor = super.name.Instance({axes.begin(), axes.begin() + loops});
  point.index.assign(axes.begin() + loops, axes.end());
  return point;
}

void WriteIntegers(std::string_view name, const std::vector<int64_t>& values, JsonWriter* json) {
  json->BeginArray(name);
  for (const int64_t value : values) json->Item(value);
  json->End();
}

// One entry on one line; empty when the instance holds no tensor.
std::string EntryText(const Plan& plan, uint32_t family_index, int64_t instance, Rank rank,
                      const std::vector<uint32_t>& places) {
  const PlanFamily& family = plan.families[family_index];
  std::set<Point> points;
  for (const uint32_t place : places) {
    for (const bool last : {false, true}) {
      const std::optional<Point> point = PointOf(plan, plan.places[place], instance, last);
      if (point) points.insert(*point);
    }
  }
  if (points.empty()) return {};
  std::vector<int64_t> values = Unravel(instance, family.loop_extent);
  for (size_t i = 0; i < values.size(); ++i) values[i] += family.loop_begin[i];
  JsonWriter json;
  json.BeginObject();
  json.Field("rank", int64_t{rank});
  json.Field("param", family.name.Instance(values));
  WriteIntegers("shape", family.shape, &json);
  json.BeginArray("points");
  for (const Point& point : points) {
    json.BeginObject();
    WriteIntegers("at", point.at, &json);
    json.Field("tensor", point.tensor);
    WriteIntegers("index", point.index, &json);
    json.End();
  }
  json.End();
  json.End();
  return json.Line();
}

}  // namespace

void ShowPoints(const Plan& plan, PlanSide side, std::optional<Rank> rank, std::ostream& out) {
  std::vector<std::vector<uint32_t>> places(plan.families.size());
  for (uint32_t p = 0; p < plan.places.size(); ++p) places[plan.places[p].family].push_back(p);
  std::vector<std::string> entries;
  std::set<std::string> seen;  // templates, by their name with ranges, when no rank is asked for
  for (uint32_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    const RankList& ranks = plan.rank_sets[family.rank_set];
    if (family.side != side || ranks.empty() || places[f].empty()) continue;
    if (rank && !Contains(ranks, *rank)) continue;
    if (!rank && !seen.insert(family.name.Describe(family.loop_begin, family.loop_extent)).second) {
      continue;
    }
    const int64_t last = Product(family.loop_extent) - 1;
    const Rank shown = rank.value_or(ranks.front());
    entries.push_back(EntryText(plan, f, 0, shown, places[f]));
    if (last > 0) entries.push_back(EntryText(plan, f, last, shown, places[f]));
  }
  std::erase(entries, "");
  out << "[\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    out << "  " << entries[i] << (i + 1 < entries.size() ? ",\n" : "\n");
  }
  out << "]\n";
}

}  // namespace reshard
