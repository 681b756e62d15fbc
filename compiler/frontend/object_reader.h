// ObjectReader: typed, strict access to the members of one JSON object.
//
// A reader of a format asks for the keys that the format has, and calls Finish(), which reports
// every key that was never asked for. "comment" is allowed in any object. All errors go to the
// Diagnostics; a getter that reported one returns an empty result, and ok() turns false.
//
//   ObjectReader object(node, "the node type", diags);
//   const JsonNode* nics = object.Required("nics", JsonNode::Kind::kArray);
//   const std::optional<int64_t> gpus = object.Integer("gpus", 1, kMaxGpus);
//   return object.Finish();
#ifndef RESHARD_COMPILER_FRONTEND_OBJECT_READER_H_
#define RESHARD_COMPILER_FRONTEND_OBJECT_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"

namespace reshard {

// "an object", "a string", "the number 4096.9": what stands there, for messages.
std::string DescribeJson(const JsonNode& node);
// "an object", "a string", "a number": for messages.
std::string_view KindText(JsonNode::Kind kind);

// Each reads one value; `what` names it in messages. On a mistake they report it and return false
// or nullopt.
[[nodiscard]] bool ExpectKind(const JsonNode& node, JsonNode::Kind kind, std::string_view what,
                              Diagnostics* diags);
// An integer literal in [lowest, highest]: no fraction, no exponent.
std::optional<int64_t> ReadInteger(const JsonNode& node, std::string_view what, int64_t lowest,
                                   int64_t highest, Diagnostics* diags);
// What a decimal may be: a whole number of 10^-decimals in [lowest, highest], both in those units.
// GB/s with 9 decimals are bytes/s, us with 3 are ns. `code` is that of an error about the value.
struct DecimalRule {
  int decimals = 0;
  int64_t lowest = 0;
  int64_t highest = INT64_MAX;
  std::string_view unit;  // of the text, for messages
  DiagnosticCode code = DiagnosticCode::kBadValue;
};
// The number in units of 10^-decimals.
std::optional<int64_t> ReadDecimal(const JsonNode& node, std::string_view what,
                                   const DecimalRule& rule, Diagnostics* diags);

// The span between the quotes of a string value.
Span InsideQuotes(const JsonNode& node);

class ObjectReader {
 public:
  // `what` names the object in messages, with its article: "the node type 'dgx'". Reports
  // wrong-type when the node is no object; then every getter is silent.
  ObjectReader(const JsonNode& node, std::string what, Diagnostics* diags);

  // The member, or nullptr when it is absent; of any kind, or of `kind` (else wrong-type).
  const JsonNode* Optional(std::string_view key);
  const JsonNode* Optional(std::string_view key, JsonNode::Kind kind);
  // The same, but an absent member is the error missing-key.
  const JsonNode* Required(std::string_view key);
  const JsonNode* Required(std::string_view key, JsonNode::Kind kind);

  // Optional members by type; nullopt when absent or wrong.
  std::optional<std::string> String(std::string_view key);
  std::optional<bool> Bool(std::string_view key);
  std::optional<int64_t> Integer(std::string_view key, int64_t lowest, int64_t highest);
  // One of `words`; another string is bad-value with "did you mean".
  std::optional<std::string> Word(std::string_view key, const std::vector<std::string>& words);

  bool Has(std::string_view key) const { return Lookup(key) != nullptr; }
  // Reports unknown keys. Returns ok().
  [[nodiscard]] bool Finish();
  // No error was reported by this reader so far; MarkBad() adds the caller's own verdict.
  bool ok() const { return ok_; }
  void MarkBad() { ok_ = false; }
  const JsonNode& node() const { return node_; }
  const std::string& what() const { return what_; }
  // "'key' of the node type 'dgx'", for messages about a member.
  std::string Describe(std::string_view key) const;

 private:
  const JsonNode* Lookup(std::string_view key) const;

  const JsonNode& node_;
  std::string what_;
  Diagnostics* diags_;
  bool ok_ = true;
  std::vector<std::string> asked_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_OBJECT_READER_H_
