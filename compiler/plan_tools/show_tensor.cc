#include "compiler/plan_tools/show_tensor.h"

#include <optional>
#include <vector>

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/tensor_places.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

// "[0:192, 0:4096:2]": begin:end:step as array slices are written.
std::string Slices(const std::vector<IndexRun>& box) {
  std::string text;
  for (const IndexRun& run : box) {
    const int64_t end = run.begin + (run.count - 1) * run.step + 1;
    text += (text.empty() ? "" : ", ") + std::to_string(run.begin) + ":" + std::to_string(end);
    if (run.step > 1) text += ":" + std::to_string(run.step);
  }
  return "[" + text + "]";
}

}  // namespace

bool ShowTensorText(const Plan& plan, const std::string& name, const TextStyle& style,
                    std::ostream& out) {
  const std::optional<TensorId> tensor = FindTensor(plan, name);
  if (!tensor) return false;
  const PlanSuper& super = plan.supers[tensor->super];
  PrintLine(style, name + " " + std::string(DTypeText(super.dtype)) + " " + ListText(super.shape),
            out);
  const std::vector<TensorPlace> places = PlacesOfTensor(plan, *tensor);
  for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
    PrintLine(style, side == PlanSide::kSource ? "held by" : "needed by", out);
    TextTable table({"ranks", "elements", ">bytes", "param", "shape", "at", ">offset"});
    for (const TensorPlace& place : places) {
      if (place.side != side) continue;
      table.Add({DescribeRanks(plan.rank_sets[place.rank_set]), Slices(place.box),
                 FormatCount(place.bytes), place.param, ListText(place.param_shape),
                 ListText(place.at), FormatCount(place.offset_bytes)});
    }
    table.Print(style, out);
  }
  return true;
}

bool ShowTensorJson(const Plan& plan, const std::string& name, std::ostream& out) {
  const std::optional<TensorId> tensor = FindTensor(plan, name);
  if (!tensor) return false;
  const PlanSuper& super = plan.supers[tensor->super];
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-show-tensor/1");
  json.Field("tensor", name);
  json.Field("dtype", DTypeText(super.dtype));
  json.BeginArray("shape");
  for (const int64_t extent : super.shape) json.Item(extent);
  json.End();
  json.BeginArray("places");
  for (const TensorPlace& place : PlacesOfTensor(plan, *tensor)) {
    json.BeginObject();
    json.Field("side", place.side == PlanSide::kSource ? "source" : "destination");
    json.Field("param", place.param);
    json.BeginArray("ranks");
    for (const Rank rank : plan.rank_sets[place.rank_set]) json.Item(int64_t{rank});
    json.End();
    json.BeginArray("elements");
    for (const IndexRun& run : place.box) {
      json.BeginObject();
      json.Field("begin", run.begin);
      json.Field("count", run.count);
      json.Field("step", run.step);
      json.End();
    }
    json.End();
    json.Field("offset_bytes", place.offset_bytes);
    json.BeginArray("stride_bytes");
    for (const int64_t stride : place.stride_bytes) json.Item(stride);
    json.End();
    json.Field("bytes", place.bytes);
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
  return true;
}

}  // namespace reshard
