// Any bytes as a layout file: the reader, the tables and the builder with all their checks. What is
// accepted and small is also interpreted naively, and every element has to come from the same
// place.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout.h"
#include "compiler/plan_tools/naive_layout.h"
#include "runtime/base/check.h"
#include "tests/vectors/expanded_params.h"

namespace reshard {
namespace {

constexpr int64_t kMaxElements = 20'000;  // of all tensors, and of all params of a side
constexpr size_t kMaxRanks = 12;
constexpr int64_t kMaxSteps = 20'000;
constexpr int64_t kMaxPiecesHere = 100'000;  // keeps one input short

bool IsSmall(const LogicalTable& table, const Layout& layout) {
  int64_t elements = 0;
  for (const SuperTensor& super : table.supers) {
    if (super.tensor_count() > kMaxElements || super.tensor_bytes() > kMaxElements) return false;
    elements += super.tensor_count() * (1 + super.tensor_bytes());
    if (elements > kMaxElements) return false;
  }
  for (const ParamFamily& family : layout.families) {
    if (family.instance_count() > kMaxElements || family.bytes > kMaxElements) return false;
    elements += family.instance_count() * (1 + family.bytes);
    if (elements > kMaxElements) return false;
  }
  return layout.ranks.size() <= kMaxRanks;
}

int64_t LastIndex(const PlaceAxis& axis) {
  int64_t last = axis.begin;
  for (const PlaceDigit& digit : axis.digits) last += (digit.extent - 1) * digit.step;
  return last;
}

void CheckPlaceBounds(const LogicalTable& table, const Layout& layout, const Place& place) {
  RESHARD_CHECK(place.super < table.supers.size() && place.family < layout.families.size(),
                "a place refers to nothing");
  const SuperTensor& super = table.supers[place.super];
  const ParamFamily& family = layout.families[place.family];
  RESHARD_CHECK(place.axes.size() == super.axis_count(), "a place has other axes than its tensor");
  int64_t last_byte = place.base_bytes + DTypeBytes(super.dtype);
  int64_t last_instance = place.base_instance;
  for (size_t a = 0; a < place.axes.size(); ++a) {
    const size_t loops = super.loop_count();
    const int64_t begin = a < loops ? super.loop_begin[a] : 0;
    const int64_t extent = a < loops ? super.loop_extent[a] : super.shape[a - loops];
    RESHARD_CHECK(place.axes[a].begin >= begin && LastIndex(place.axes[a]) < begin + extent,
                  "a place leaves its tensor");
    for (const PlaceDigit& digit : place.axes[a].digits) {
      RESHARD_CHECK(digit.extent > 1 && digit.step > 0, "a digit does not count up");
      last_byte += (digit.extent - 1) * digit.stride_bytes;
      last_instance += (digit.extent - 1) * digit.instance_stride;
    }
  }
  RESHARD_CHECK(place.base_bytes >= 0 && last_byte <= family.bytes, "a place leaves its param");
  RESHARD_CHECK(place.base_instance >= 0 && last_instance < family.instance_count(),
                "a place leaves its family");
}

void CompareWithNaive(const LayoutSpec& spec, const LogicalTable& table, const Layout& layout) {
  NaiveTensors tensors;
  NaiveLayout naive;
  std::string error;
  RESHARD_CHECK(tensors.Make(&spec, nullptr, &error), error);
  RESHARD_CHECK(naive.Make(spec, tensors, &error), error);
  RESHARD_CHECK(naive.ranks() == layout.ranks, "the ranks differ");
  for (const uint32_t rank : layout.ranks) {
    std::vector<NaiveParam> params;
    if (!naive.Params(rank, &params, &error, kMaxSteps)) {
      // Loops whose values nearly all fail their conditions are beyond the naive way.
      RESHARD_CHECK(error.find("too many") != std::string::npos, error);
      return;
    }
    const std::optional<ExpandedParams> expected = ExpandNaive(tensors, naive, rank, &error);
    RESHARD_CHECK(expected == ExpandBuilt(table, layout, tensors, rank),
                  "an element comes from elsewhere on rank " + std::to_string(rank));
  }
}

void Run(std::string text) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  LayoutSpec spec;
  const uint32_t file = sources.Add("input", std::move(text));
  bool ok = ReadJson(sources, file, &diags, &root);
  if (ok) {
    ok = ReadLayoutSpec(root, &diags, &spec);
    LogicalTable table;
    Layout layout;
    ok = ok && BuildLogicalTable(&spec, nullptr, &diags, &table) &&
         BuildLayout(spec, table, &diags, &layout, kMaxPiecesHere);
    if (ok) {
      for (const Place& place : layout.places) CheckPlaceBounds(table, layout, place);
      ok = CheckExpectations(spec, table, layout, &diags);
      ok = CheckScales(table, layout, &diags) && ok;
      if (IsSmall(table, layout)) CompareWithNaive(spec, table, layout);
    }
  }
  RESHARD_CHECK(ok != diags.has_errors(), "a failure without an error, or the reverse");
  std::ostringstream out;
  diags.Print(sources, 20, out);
}

}  // namespace
}  // namespace reshard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reshard::Run(std::string(data, data + size));
  return 0;
}
