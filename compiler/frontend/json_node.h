// JsonNode: a JSON document with the byte span of every value and key.
//
// ReadJson is strict: duplicate keys, trailing text, invalid UTF-8, depth and size limits are
// errors with positions. Numbers keep their exact text, so that fractions and overflow can be
// judged where a count or a bandwidth is expected. Nodes own their children; immutable once read.
#ifndef RESHARD_COMPILER_FRONTEND_JSON_NODE_H_
#define RESHARD_COMPILER_FRONTEND_JSON_NODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

struct JsonMember;

struct JsonNode {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  Span span;
  bool boolean = false;
  std::string text;                 // kString: decoded text; kNumber: the literal as written
  std::vector<JsonNode> items;      // kArray
  std::vector<JsonMember> members;  // kObject, in the order written

  // The member called `key`, or nullptr.
  const JsonNode* Find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  Span key_span;
  JsonNode value;
};

inline constexpr size_t kMaxJsonBytes = size_t{64} << 20;
inline constexpr int kMaxJsonDepth = 64;

// Reads file number `file` of `sources`, of at most `max_bytes`. Returns false after at least one
// error was reported.
[[nodiscard]] bool ReadJson(const SourceMap& sources, uint32_t file, Diagnostics* diags,
                            JsonNode* out, size_t max_bytes = kMaxJsonBytes);

// The document with keys sorted, "comment" members left out and no white space: equal for equal
// inputs whatever their formatting. Arrays at `unordered` are sorted, too: the order of their items
// has no meaning. These are paths of keys ("params", "explicit.pieces"), of `*` for any key, and of
// `[]` for the arrays in an array ("f.[]"). The input digests of a plan are SHA-256 of this text.
std::string CanonicalJson(const JsonNode& node, std::span<const std::string_view> unordered = {});

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_JSON_NODE_H_
