#include "compiler/frontend/json_node.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/utf8.h"
#include "compiler/frontend/json_number.h"

namespace reshard {

namespace {

// A tree takes about 100 bytes a node: without a limit a text of 64 MiB of "1," takes gigabytes.
constexpr size_t kMaxJsonNodes = 8'000'000;
// More of these help nobody, and a hostile file can have millions.
constexpr size_t kMaxDuplicateKeys = 100;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.' ||
         c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// Bytes of the number literal that `text` starts with.
size_t NumberBytes(std::string_view text) {
  size_t i = 0;
  const auto skip = [&](std::string_view chars) {
    if (i < text.size() && chars.find(text[i]) != std::string_view::npos) ++i;
  };
  const auto skip_digits = [&] {
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
  };
  skip("-");
  skip_digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    skip_digits();
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    skip("+-");
    skip_digits();
  }
  return i;
}

// Receives nlohmann's events and builds the tree. The library gives no positions with values, so
// the handler walks the text beside it: from the end of the last token over white space and
// separators to the start of the next, whose form the library has just checked.
class TreeBuilder {
 public:
  using Base = nlohmann::json;

  TreeBuilder(std::string_view text, uint32_t file, Diagnostics* diags, JsonNode* root)
      : text_(text), file_(file), diags_(diags), root_(root) {}

  bool failed() const { return failed_; }

  // The library's event interface, under its names.
  bool null() { return Literal(JsonNode::Kind::kNull, 4, false); }
  bool boolean(bool value) { return Literal(JsonNode::Kind::kBool, value ? 4 : 5, value); }
  bool number_integer(Base::number_integer_t) { return Number(); }
  bool number_unsigned(Base::number_unsigned_t) { return Number(); }
  bool number_float(Base::number_float_t, const Base::string_t&) { return Number(); }
  bool string(Base::string_t& value) {
    JsonNode* node = Add(JsonNode::Kind::kString);
    if (node == nullptr) return false;
    node->span = Take(StringBytes(cursor_));
    node->text = std::move(value);
    return CheckText(node->text, node->span);
  }
  bool binary(Base::binary_t&) { return false; }  // not in texts
  bool start_object(size_t) { return Open(JsonNode::Kind::kObject); }
  bool start_array(size_t) { return Open(JsonNode::Kind::kArray); }
  bool end_object() {
    ReportDuplicates(*open_.back());
    return Close();
  }
  bool end_array() { return Close(); }
  bool key(Base::string_t& name) {
    SkipTo(',');
    open_.back()->members.emplace_back();
    JsonMember& member = open_.back()->members.back();
    member.key_span = Take(StringBytes(cursor_));
    member.key = std::move(name);
    has_key_ = true;
    return CheckText(member.key, member.key_span);
  }
  // `position` counts the bytes read, the end of the text as one more.
  bool parse_error(size_t position, const std::string&, const Base::exception& error) {
    const size_t last = std::min(position == 0 ? 0 : position - 1, text_.size());
    const std::string_view message = error.what();
    // The library's own words for a malformed string or number; the rest is said in ours.
    const size_t begin =
        std::min(message.find("invalid string: "), message.find("invalid number; "));
    const size_t end = message.find("; last read:");
    if (message.find("missing closing quote") != std::string_view::npos) {
      const size_t quote = std::min(text_.find('"', cursor_), text_.size());
      Report({file_, Narrow(quote), Narrow(text_.size())}, "the string has no closing quote");
    } else if (last == text_.size()) {
      Report({file_, Narrow(last), Narrow(last)}, "the text ends here, expected " + Expected(last));
    } else if (message.find("number overflow") != std::string_view::npos) {
      SkipTo(has_key_ ? ':' : ',');
      Report(Take(NumberBytes(text_.substr(cursor_))), "the number is too large");
    } else if (begin < end && end != std::string_view::npos) {
      Report({file_, Narrow(last), Narrow(last + 1)},
             std::string(message.substr(begin, end - begin)));
    } else {
      ReportUnexpected(last);
    }
    return false;
  }

 private:
  static uint32_t Narrow(size_t offset) { return static_cast<uint32_t>(offset); }

  void SkipSpace() {
    while (cursor_ < text_.size() && IsSpace(text_[cursor_])) ++cursor_;
  }
  // Moves the cursor to the next token, past white space and one `separator`.
  void SkipTo(char separator) {
    SkipSpace();
    if (cursor_ < text_.size() && text_[cursor_] == separator) {
      ++cursor_;
      SkipSpace();
    }
  }
  // The span of the token of this many bytes at the cursor, which moves behind it.
  Span Take(size_t bytes) {
    const Span span = {file_, Narrow(cursor_), Narrow(std::min(cursor_ + bytes, text_.size()))};
    cursor_ = span.end;
    return span;
  }
  // Bytes of the string literal at `begin`, with both quotes.
  size_t StringBytes(size_t begin) const {
    size_t i = begin + 1;
    while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? 2 : 1;
    return i + 1 - begin;
  }

  // The place for the next value, with the cursor moved to its start; nullptr past a limit.
  JsonNode* Add(JsonNode::Kind kind) {
    JsonNode* node = root_;
    if (!open_.empty() && has_key_) {
      SkipTo(':');
      node = &open_.back()->members.back().value;
      has_key_ = false;
    } else {
      SkipTo(',');
      if (!open_.empty()) node = &open_.back()->items.emplace_back();
    }
    node->kind = kind;
    if (++node_count_ <= kMaxJsonNodes) return node;
    Report({file_, Narrow(cursor_), Narrow(cursor_ + 1)},
           "the file has more than " + std::to_string(kMaxJsonNodes) + " values",
           DiagnosticCode::kTooLarge);
    return nullptr;
  }
  bool Literal(JsonNode::Kind kind, size_t bytes, bool value) {
    JsonNode* node = Add(kind);
    if (node == nullptr) return false;
    node->span = Take(bytes);
    node->boolean = value;
    return true;
  }
  bool Number() {
    JsonNode* node = Add(JsonNode::Kind::kNumber);
    if (node == nullptr) return false;
    const size_t bytes = NumberBytes(text_.substr(cursor_));
    node->text = text_.substr(cursor_, bytes);
    node->span = Take(bytes);
    return true;
  }
  bool Open(JsonNode::Kind kind) {
    JsonNode* node = Add(kind);
    if (node == nullptr) return false;
    node->span = Take(1);
    open_.push_back(node);
    if (open_.size() <= kMaxJsonDepth) return true;
    Report(node->span, "values are nested deeper than " + std::to_string(kMaxJsonDepth) + " levels",
           DiagnosticCode::kTooLarge);
    return false;
  }
  bool Close() {
    SkipSpace();
    JsonNode* const node = open_.back();
    node->span.end = Take(1).end;
    // Trees are large, and most of their objects small: a quarter of the room that they grew to is
    // empty.
    node->items.shrink_to_fit();
    node->members.shrink_to_fit();
    open_.pop_back();
    return true;
  }

  // No name of anything contains a NUL, and C interfaces would cut the name there.
  bool CheckText(const std::string& text, Span span) {
    if (text.find('\0') != std::string::npos) Report(span, "the string holds a NUL character");
    return true;
  }

  void ReportDuplicates(const JsonNode& object) {
    const std::vector<JsonMember>& members = object.members;
    std::vector<size_t> order(members.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    for (size_t i = 1, first = 0; i < order.size(); ++i) {
      if (members[order[i]].key != members[order[first]].key) {
        first = i;
        continue;
      }
      failed_ = true;
      if (++duplicate_count_ > kMaxDuplicateKeys) return;
      diags_
          ->Error(DiagnosticCode::kDuplicateKey, members[order[i]].key_span,
                  "the key '" + members[order[i]].key + "' is given twice")
          .notes.push_back({members[order[first]].key_span, "it is given first here"});
    }
  }

  // What the grammar allows where the last good token ends, given that the text stops making sense
  // at `offset`: only one separator can lie between.
  std::string Expected(size_t offset) const {
    size_t i = cursor_;
    while (i < offset && IsSpace(text_[i])) ++i;
    const bool separated = i < offset && (text_[i] == ',' || text_[i] == ':');
    if (open_.empty()) return node_count_ == 0 ? "a value" : "the end of the text";
    if (has_key_) return separated ? "a value" : "':'";
    const JsonNode& parent = *open_.back();
    const bool object = parent.kind == JsonNode::Kind::kObject;
    if (separated) return object ? "a key in quotes" : "a value";
    if (parent.members.empty() && parent.items.empty()) {
      return object ? "a key in quotes or '}'" : "a value or ']'";
    }
    return object ? "',' or '}'" : "',' or ']'";
  }

  // The token that holds the byte `last` is well formed (or no token at all), but not here.
  void ReportUnexpected(size_t last) {
    size_t begin = last;
    size_t end = last + 1;
    if (text_[last] == '"' && last > cursor_) {
      // The end of a string: it starts at the first quote after the last good token.
      const size_t quote = text_.find('"', cursor_);
      if (quote < last) begin = quote;
    } else {
      if (!IsWord(text_[begin]) && begin > cursor_ && IsWord(text_[begin - 1])) --begin;
      if (IsWord(text_[begin])) {
        while (begin > cursor_ && IsWord(text_[begin - 1])) --begin;
        end = begin;
        while (end < text_.size() && IsWord(text_[end])) ++end;
      }
    }
    constexpr size_t kShownBytes = 40;
    std::string found(text_.substr(begin, std::min(end - begin, kShownBytes)));
    if (end - begin > kShownBytes) found += "...";
    Report({file_, Narrow(begin), Narrow(end)}, "expected " + Expected(begin) + ", found " + found);
  }

  void Report(Span span, std::string text, DiagnosticCode code = DiagnosticCode::kBadJson) {
    failed_ = true;
    diags_->Error(code, span, std::move(text));
  }

  std::string_view text_;
  uint32_t file_;
  Diagnostics* diags_;
  JsonNode* root_;
  size_t cursor_ = 0;            // end of the last token
  std::vector<JsonNode*> open_;  // containers around the cursor, outermost first
  bool has_key_ = false;         // a key waits for its value
  size_t node_count_ = 0;
  size_t duplicate_count_ = 0;
  bool failed_ = false;
};

// What the library reads too leniently: it skips a byte order mark and takes a NUL for the end.
bool CheckBytes(std::string_view text, uint32_t file, size_t max_bytes, Diagnostics* diags) {
  const auto error = [&](size_t begin, size_t end, std::string message,
                         DiagnosticCode code = DiagnosticCode::kBadJson) {
    diags->Error(code, {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)},
                 std::move(message));
    return false;
  };
  if (text.size() > max_bytes) {
    return error(0, 0,
                 "the file has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(max_bytes) + " are read",
                 DiagnosticCode::kTooLarge);
  }
  if (std::all_of(text.begin(), text.end(), IsSpace)) return error(0, 0, "the file is empty");
  if (text.starts_with("\xEF\xBB\xBF")) {
    return error(0, 3, "the text starts with a byte order mark, expected UTF-8 without one");
  }
  const size_t nul = text.find('\0');
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid < std::min(nul, text.size())) {
    return error(invalid, invalid + 1, "the text is not UTF-8 from this byte on");
  }
  if (nul != std::string_view::npos) return error(nul, nul + 1, "the text holds a NUL byte");
  return true;
}

void AppendString(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += "\\u00";
      *out += kHex[static_cast<unsigned char>(c) >> 4];
      *out += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

// Paths to arrays: keys with dots between them, where "*" is any key and "[]" an array right inside
// an array ("node_types.*.numa.[]").
//
// Those that lead through the key or array `name`, without it; "" is the value itself.
std::vector<std::string_view> Below(const std::vector<std::string_view>& paths,
                                    std::string_view name) {
  std::vector<std::string_view> below;
  for (const std::string_view path : paths) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view head = path.substr(0, dot);
    if (head != name && (head != "*" || name == "[]")) continue;
    below.push_back(dot == path.size() ? std::string_view() : path.substr(dot + 1));
  }
  return below;
}

// Writes the canonical text of a document. `unordered`: the paths to sorted arrays from the node at
// hand; items of an array are at the array's own path.
class CanonicalWriter {
 public:
  using Paths = std::vector<std::string_view>;
  explicit CanonicalWriter(std::string* out) : out_(*out) {}

  void Append(const JsonNode& node, const Paths& unordered) {
    switch (node.kind) {
      case JsonNode::Kind::kNull:
        out_ += "null";
        break;
      case JsonNode::Kind::kBool:
        out_ += node.boolean ? "true" : "false";
        break;
      case JsonNode::Kind::kNumber:
        out_ += CanonicalNumber(node.text);
        break;
      case JsonNode::Kind::kString:
        AppendString(node.text, &out_);
        break;
      case JsonNode::Kind::kArray:
        AppendItems(node, unordered);
        break;
      case JsonNode::Kind::kObject:
        AppendMembers(node, unordered);
        break;
    }
  }

 private:
  void AppendItems(const JsonNode& node, const Paths& unordered) {
    const bool sorts = std::find(unordered.begin(), unordered.end(), "") != unordered.end();
    const Paths arrays = Below(unordered, "[]");
    std::vector<std::string> texts;  // of sorted items
    const size_t begin = out_.size() + 1;
    out_ += '[';
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (i != 0 && !sorts) out_ += ',';
      const JsonNode& item = node.items[i];
      Append(item, item.kind == JsonNode::Kind::kArray ? arrays : unordered);
      if (!sorts) continue;
      texts.push_back(out_.substr(begin));
      out_.resize(begin);
    }
    std::sort(texts.begin(), texts.end());
    for (const std::string& text : texts) {
      if (out_.size() > begin) out_ += ',';
      out_ += text;
    }
    out_ += ']';
  }

  void AppendMembers(const JsonNode& node, const Paths& unordered) {
    std::vector<const JsonMember*> sorted;
    for (const JsonMember& member : node.members) {
      if (member.key != "comment") sorted.push_back(&member);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const JsonMember* a, const JsonMember* b) { return a->key < b->key; });
    out_ += '{';
    for (const JsonMember* member : sorted) {
      if (member != sorted.front()) out_ += ',';
      AppendString(member->key, &out_);
      out_ += ':';
      Append(member->value, Below(unordered, member->key));
    }
    out_ += '}';
  }

  std::string& out_;
};

}  // namespace

const JsonNode* JsonNode::Find(std::string_view key) const {
  for (const JsonMember& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool ReadJson(const SourceMap& sources, uint32_t file, Diagnostics* diags, JsonNode* out,
              size_t max_bytes) {
  *out = JsonNode();
  const std::string_view text = sources.text(file);
  if (!CheckBytes(text, file, max_bytes, diags)) return false;
  TreeBuilder builder(text, file, diags, out);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return parsed && !builder.failed();
}

std::string CanonicalJson(const JsonNode& node, std::span<const std::string_view> unordered) {
  std::string out;
  CanonicalWriter(&out).Append(node, {unordered.begin(), unordered.end()});
  return out;
}

}  // namespace reshard
