// JsonDoc: a layout or topology that an importer writes, as an ordered tree, and its text.
//
// Members keep the order in which they were set, so that the text of an import is the same for the
// same input. PrintDoc writes what a person would: a line for each key of the document, each entry
// of a list of objects, and each member of an object of objects; everything below on one line.
#ifndef RESHARD_COMPILER_IMPORT_JSON_DOC_H_
#define RESHARD_COMPILER_IMPORT_JSON_DOC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard {

class JsonDoc {
 public:
  enum class Kind : uint8_t { kScalar, kArray, kObject };

  JsonDoc(std::string_view text);  // a string
  JsonDoc(const char* text) : JsonDoc(std::string_view(text)) {}
  JsonDoc(const std::string& text) : JsonDoc(std::string_view(text)) {}
  JsonDoc(int64_t value) : literal_(std::to_string(value)) {}
  JsonDoc(int value) : literal_(std::to_string(value)) {}
  JsonDoc(uint32_t value) : literal_(std::to_string(value)) {}
  // A number as JSON writes it, such as "48.5", or true, false, null.
  static JsonDoc Literal(std::string text);
  static JsonDoc Object() { return JsonDoc(Kind::kObject); }
  static JsonDoc Array() { return JsonDoc(Kind::kArray); }
  template <typename T>
  static JsonDoc Array(const std::vector<T>& items) {
    JsonDoc array(Kind::kArray);
    for (const T& item : items) array.Add(JsonDoc(item));
    return array;
  }

  // Appends a member or an item; returns this document.
  JsonDoc& Set(std::string name, JsonDoc value);
  JsonDoc& Add(JsonDoc item);

  Kind kind() const { return kind_; }
  const std::vector<JsonDoc>& items() const { return items_; }
  const std::vector<std::pair<std::string, JsonDoc>>& members() const { return members_; }
  // The whole value on one line.
  std::string Line() const;

 private:
  explicit JsonDoc(Kind kind) : kind_(kind) {}
  void AppendLine(std::string* out) const;

  Kind kind_ = Kind::kScalar;
  std::string literal_;  // kScalar, as it stands in the text
  std::vector<JsonDoc> items_;
  std::vector<std::pair<std::string, JsonDoc>> members_;
};

// The text of a file, with a newline at the end.
std::string PrintDoc(const JsonDoc& doc);

// `name` as a name of a layout file that stands for just itself: its braces doubled.
std::string LiteralName(std::string_view name);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_JSON_DOC_H_
