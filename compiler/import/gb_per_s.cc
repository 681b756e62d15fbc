#include "compiler/import/gb_per_s.h"

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/object_reader.h"
#include "compiler/frontend/topo_spec.h"

namespace reshard {
namespace {

constexpr int kDecimals = 9;
constexpr int64_t kBytesPerGb = 1'000'000'000;

}  // namespace

std::optional<int64_t> ParseGbPerS(const std::string& text) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode node;
  if (!ReadJson(sources, sources.Add("", text), &diags, &node)) return std::nullopt;
  if (node.kind != JsonNode::Kind::kNumber) return std::nullopt;
  return ReadDecimal(node, "the bandwidth", {kDecimals, 1, kMaxBytesPerSecond, "GB/s"}, &diags);
}

std::string GbPerSText(int64_t bytes_per_s) {
  std::string text = std::to_string(bytes_per_s / kBytesPerGb);
  const int64_t rest = bytes_per_s % kBytesPerGb;
  if (rest == 0) return text;
  const std::string digits = std::to_string(rest);
  std::string decimals = std::string(kDecimals - digits.size(), '0') + digits;
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text + "." + decimals;
}

}  // namespace reshard
