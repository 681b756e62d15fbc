// Any bytes as a layout file: the reader, the tables and the builder with all their checks. What is
// accepted and small is also interpreted naively, and every element has to come from the same place.
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
         BuildLayout(spec, table, &diags, &layout);
    if (ok) {
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
