#include "compiler/frontend/topo_reader.h"

namespace reshard {

namespace {

constexpr DecimalRule kBandwidthRule = {9, 1'000, kMaxBytesPerSecond, "GB/s",
                                        DiagnosticCode::kBadBandwidth};
// A second: beyond any network, and far from overflow.
constexpr DecimalRule kLatencyRule = {3, 0, 1'000'000'000, "us", DiagnosticCode::kBadValue};

}  // namespace

int64_t TopoReader::Bandwidth(std::string_view key, ObjectReader* object) const {
  const JsonNode* node = object->Optional(key);
  if (node == nullptr) return 0;
  const std::optional<int64_t> value =
      ReadDecimal(*node, object->Describe(key), kBandwidthRule, diags);
  if (!value) object->MarkBad();
  return value.value_or(0);
}

int64_t TopoReader::RequiredBandwidth(std::string_view key, ObjectReader* object) const {
  const bool is_object = object->node().kind == JsonNode::Kind::kObject;
  if (object->Has(key) || !is_object) return Bandwidth(key, object);
  const Span span = object->node().span;
  diags->Error(DiagnosticCode::kBadBandwidth, {span.file, span.begin, span.begin + 1},
               object->what() + " has no bandwidth, expected '" + std::string(key) + "' in GB/s");
  object->MarkBad();
  return 0;
}

std::optional<int64_t> TopoReader::Latency(std::string_view key, ObjectReader* object) const {
  const JsonNode* node = object->Optional(key);
  if (node == nullptr) return std::nullopt;
  const std::optional<int64_t> value =
      ReadDecimal(*node, object->Describe(key), kLatencyRule, diags);
  if (!value) object->MarkBad();
  return value;
}

std::optional<LocatedText> TopoReader::OptionalText(std::string_view key,
                                                    ObjectReader* object) const {
  const JsonNode* node = object->Optional(key, JsonNode::Kind::kString);
  if (node == nullptr) return std::nullopt;
  if (node->text.empty()) {
    diags->Error(DiagnosticCode::kBadValue, node->span, object->Describe(key) + " is empty");
    object->MarkBad();
  }
  return LocatedText{node->text, node->span};
}

LocatedText TopoReader::RequiredText(std::string_view key, ObjectReader* object) const {
  if (object->Required(key) == nullptr) return {};
  return OptionalText(key, object).value_or(LocatedText());
}

std::optional<HostList> TopoReader::OptionalHosts(std::string_view key, ObjectReader* object) {
  const JsonNode* node = object->Optional(key, JsonNode::Kind::kString);
  if (node == nullptr) return std::nullopt;
  HostList hosts;
  hosts.span = node->span;
  if (!ExpandHostList(node->text, InsideQuotes(*node), &lists, diags, &hosts.names)) {
    object->MarkBad();
  }
  return hosts;
}

HostList TopoReader::RequiredHosts(std::string_view key, ObjectReader* object) {
  if (object->Required(key) == nullptr) return {};
  return OptionalHosts(key, object).value_or(HostList());
}

std::vector<uint32_t> TopoReader::Numbers(std::string_view key, uint32_t highest,
                                          ObjectReader* object) {
  std::vector<uint32_t> numbers;
  const JsonNode* node = object->Optional(key, JsonNode::Kind::kString);
  if (node != nullptr &&
      !ExpandNumberList(node->text, InsideQuotes(*node), highest, &lists, diags, &numbers)) {
    object->MarkBad();
  }
  return numbers;
}

void TopoReader::IgnoreText(std::string_view key, ObjectReader* object) const {
  static_cast<void>(object->Optional(key, JsonNode::Kind::kString));
}

void TopoReader::IgnoreBool(std::string_view key, ObjectReader* object) const {
  static_cast<void>(object->Optional(key, JsonNode::Kind::kBool));
}

void TopoReader::IgnoreNumber(std::string_view key, ObjectReader* object) const {
  static_cast<void>(object->Optional(key, JsonNode::Kind::kNumber));
}

}  // namespace reshard
