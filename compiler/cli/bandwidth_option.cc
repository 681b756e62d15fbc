#include "compiler/cli/bandwidth_option.h"

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/object_reader.h"

namespace reshard {

std::string CheckBandwidth(const std::string& text) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode node;
  const bool is_number = ReadJson(sources, sources.Add("", text), &diags, &node) &&
                         node.kind == JsonNode::Kind::kNumber;
  constexpr DecimalRule kRule = {9, 1, int64_t{1'000'000} * 1'000'000'000, "GB/s"};
  if (is_number && ReadDecimal(node, "the bandwidth", kRule, &diags)) return "";
  return "expected GB/s, more than 0 and at most 1000000 with at most 9 decimals";
}

}  // namespace reshard
