#include "compiler/frontend/object_reader.h"

#include <algorithm>
#include <utility>

#include "compiler/frontend/json_number.h"

namespace reshard {

namespace {

// Prints units of 10^-decimals as the number that was written.
std::string DecimalText(int64_t value, int decimals) {
  std::string digits = std::to_string(value);
  const bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  const auto places = static_cast<size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  std::string fraction = digits.substr(digits.size() - places);
  digits.resize(digits.size() - places);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (!fraction.empty()) digits += "." + fraction;
  return negative ? "-" + digits : digits;
}

std::string ExpectedRange(int64_t lowest, int64_t highest, int decimals) {
  if (highest == INT64_MAX) return "at least " + DecimalText(lowest, decimals);
  return DecimalText(lowest, decimals) + " to " + DecimalText(highest, decimals);
}

}  // namespace

std::string_view KindText(JsonNode::Kind kind) {
  switch (kind) {
    case JsonNode::Kind::kNull:
      return "null";
    case JsonNode::Kind::kBool:
      return "true or false";
    case JsonNode::Kind::kNumber:
      return "a number";
    case JsonNode::Kind::kString:
      return "a string";
    case JsonNode::Kind::kArray:
      return "an array";
    case JsonNode::Kind::kObject:
      return "an object";
  }
  return "";
}

std::string DescribeJson(const JsonNode& node) {
  constexpr size_t kShownBytes = 40;
  if (node.kind == JsonNode::Kind::kBool) return node.boolean ? "true" : "false";
  const bool short_text = node.text.size() <= kShownBytes;
  if (node.kind == JsonNode::Kind::kNumber && short_text) return node.text;
  if (node.kind == JsonNode::Kind::kString && short_text) return "the string '" + node.text + "'";
  return std::string(KindText(node.kind));
}

bool ExpectKind(const JsonNode& node, JsonNode::Kind kind, std::string_view what,
                Diagnostics* diags) {
  if (node.kind == kind) return true;
  diags->Error(DiagnosticCode::kWrongType, node.span,
               std::string(what) + " is " + DescribeJson(node) + ", expected " +
                   std::string(KindText(kind)));
  return false;
}

std::optional<int64_t> ReadInteger(const JsonNode& node, std::string_view what, int64_t lowest,
                                   int64_t highest, Diagnostics* diags) {
  if (node.kind != JsonNode::Kind::kNumber) {
    diags->Error(DiagnosticCode::kWrongType, node.span,
                 std::string(what) + " is " + DescribeJson(node) + ", expected an integer");
    return std::nullopt;
  }
  const ExactNumber number = WholeNumber(node.text);
  if (number.error == NumberError::kNotWhole) {
    diags->Error(DiagnosticCode::kBadValue, node.span,
                 std::string(what) + " is " + DescribeJson(node) +
                     ", expected an integer without fraction or exponent");
    return std::nullopt;
  }
  const bool in_range =
      number.error == NumberError::kNone && number.value >= lowest && number.value <= highest;
  if (in_range) return number.value;
  diags->Error(DiagnosticCode::kBadValue, node.span,
               std::string(what) + " is " + DescribeJson(node) + ", expected " +
                   (number.error == NumberError::kTooLarge && highest == INT64_MAX
                        ? "an integer of 64 bits"
                        : ExpectedRange(lowest, highest, 0)));
  return std::nullopt;
}

std::optional<int64_t> ReadDecimal(const JsonNode& node, std::string_view what,
                                   const DecimalRule& rule, Diagnostics* diags) {
  if (!ExpectKind(node, JsonNode::Kind::kNumber, what, diags)) return std::nullopt;
  const ExactNumber number = ScaledDecimal(node.text, rule.decimals);
  if (number.error == NumberError::kNotWhole) {
    diags->Error(rule.code, node.span,
                 std::string(what) + " is " + DescribeJson(node) + ", expected at most " +
                     std::to_string(rule.decimals) + " decimals");
    return std::nullopt;
  }
  const bool in_range = number.error == NumberError::kNone && number.value >= rule.lowest &&
                        number.value <= rule.highest;
  if (in_range) return number.value;
  diags->Error(rule.code, node.span,
               std::string(what) + " is " + DescribeJson(node) + ", expected " +
                   ExpectedRange(rule.lowest, rule.highest, rule.decimals) +
                   (rule.unit.empty() ? "" : " " + std::string(rule.unit)));
  return std::nullopt;
}

Span InsideQuotes(const JsonNode& node) {
  Span span = node.span;
  if (span.end >= span.begin + 2) {
    ++span.begin;
    --span.end;
  }
  return span;
}

ObjectReader::ObjectReader(const JsonNode& node, std::string what, Diagnostics* diags)
    : node_(node), what_(std::move(what)), diags_(diags) {
  ok_ = ExpectKind(node, JsonNode::Kind::kObject, what_, diags);
}

const JsonNode* ObjectReader::Lookup(std::string_view key) const { return node_.Find(key); }

std::string ObjectReader::Describe(std::string_view key) const {
  return "'" + std::string(key) + "' of " + what_;
}

const JsonNode* ObjectReader::Optional(std::string_view key) {
  asked_.emplace_back(key);
  return Lookup(key);
}

const JsonNode* ObjectReader::Optional(std::string_view key, JsonNode::Kind kind) {
  const JsonNode* value = Optional(key);
  if (value == nullptr || ExpectKind(*value, kind, Describe(key), diags_)) return value;
  ok_ = false;
  return nullptr;
}

const JsonNode* ObjectReader::Required(std::string_view key) {
  const JsonNode* value = Optional(key);
  if (value == nullptr && node_.kind == JsonNode::Kind::kObject) {
    ok_ = false;
    // Points at the brace: the object may span many lines.
    const Span span = {node_.span.file, node_.span.begin, node_.span.begin + 1};
    diags_->Error(DiagnosticCode::kMissingKey, span, what_ + " has no '" + std::string(key) + "'");
  }
  return value;
}

const JsonNode* ObjectReader::Required(std::string_view key, JsonNode::Kind kind) {
  const JsonNode* value = Required(key);
  if (value == nullptr || ExpectKind(*value, kind, Describe(key), diags_)) return value;
  ok_ = false;
  return nullptr;
}

std::optional<std::string> ObjectReader::String(std::string_view key) {
  const JsonNode* value = Optional(key, JsonNode::Kind::kString);
  if (value == nullptr) return std::nullopt;
  return value->text;
}

std::optional<bool> ObjectReader::Bool(std::string_view key) {
  const JsonNode* value = Optional(key, JsonNode::Kind::kBool);
  if (value == nullptr) return std::nullopt;
  return value->boolean;
}

std::optional<int64_t> ObjectReader::Integer(std::string_view key, int64_t lowest,
                                             int64_t highest) {
  const JsonNode* value = Optional(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = ReadInteger(*value, Describe(key), lowest, highest, diags_);
  if (!number) ok_ = false;
  return number;
}

std::optional<std::string> ObjectReader::Word(std::string_view key,
                                              const std::vector<std::string>& words) {
  const JsonNode* value = Optional(key, JsonNode::Kind::kString);
  if (value == nullptr) return std::nullopt;
  if (std::find(words.begin(), words.end(), value->text) != words.end()) return value->text;
  ok_ = false;
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "" : word == words.back() ? " or " : ", ") + word;
  }
  diags_->Error(DiagnosticCode::kBadValue, value->span,
                Describe(key) + " is '" + value->text + "', expected " + list +
                    DidYouMean(value->text, words));
  return std::nullopt;
}

bool ObjectReader::Finish() {
  if (node_.kind != JsonNode::Kind::kObject) return false;
  std::sort(asked_.begin(), asked_.end());
  // Past a few the file is of another kind, and a hostile one can have millions.
  constexpr size_t kMaxReported = 20;
  size_t reported = 0;
  for (const JsonMember& member : node_.members) {
    const bool known = std::binary_search(asked_.begin(), asked_.end(), member.key);
    if (known || member.key == "comment") continue;
    ok_ = false;
    if (++reported > kMaxReported) break;
    diags_->Error(DiagnosticCode::kUnknownKey, member.key_span,
                  what_ + " has no key '" + member.key + "'" + DidYouMean(member.key, asked_));
  }
  return ok_;
}

}  // namespace reshard
