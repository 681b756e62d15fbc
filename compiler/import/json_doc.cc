#include "compiler/import/json_doc.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace reshard {
namespace {

std::string Quoted(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool IsObject(const JsonDoc& doc) { return doc.kind() == JsonDoc::Kind::kObject; }

// A list of objects, or an object of objects: written one entry a line.
bool IsTall(const JsonDoc& doc) {
  if (doc.kind() == JsonDoc::Kind::kArray) {
    return !doc.items().empty() && std::all_of(doc.items().begin(), doc.items().end(), IsObject);
  }
  return IsObject(doc) && !doc.members().empty() &&
         std::all_of(doc.members().begin(), doc.members().end(),
                     [](const auto& member) { return IsObject(member.second); });
}

void AppendTall(const JsonDoc& doc, std::string* out) {
  const bool array = doc.kind() == JsonDoc::Kind::kArray;
  *out += array ? "[" : "{";
  bool first = true;
  const auto begin = [&] {
    *out += first ? "\n    " : ",\n    ";
    first = false;
  };
  for (const JsonDoc& item : doc.items()) {
    begin();
    *out += item.Line();
  }
  for (const auto& [name, value] : doc.members()) {
    begin();
    *out += Quoted(name) + ": " + value.Line();
  }
  *out += array ? "\n  ]" : "\n  }";
}

}  // namespace

JsonDoc::JsonDoc(std::string_view text) : literal_(Quoted(text)) {}

JsonDoc JsonDoc::Literal(std::string text) {
  JsonDoc doc(Kind::kScalar);
  doc.literal_ = std::move(text);
  return doc;
}

JsonDoc& JsonDoc::Set(std::string name, JsonDoc value) {
  members_.emplace_back(std::move(name), std::move(value));
  return *this;
}

JsonDoc& JsonDoc::Add(JsonDoc item) {
  items_.push_back(std::move(item));
  return *this;
}

void JsonDoc::AppendLine(std::string* out) const {
  if (kind_ == Kind::kScalar) {
    *out += literal_;
    return;
  }
  *out += kind_ == Kind::kArray ? '[' : '{';
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i != 0) *out += ", ";
    items_[i].AppendLine(out);
  }
  for (size_t i = 0; i < members_.size(); ++i) {
    if (i != 0) *out += ", ";
    *out += Quoted(members_[i].first) + ": ";
    members_[i].second.AppendLine(out);
  }
  *out += kind_ == Kind::kArray ? ']' : '}';
}

std::string JsonDoc::Line() const {
  std::string out;
  AppendLine(&out);
  return out;
}

std::string PrintDoc(const JsonDoc& doc) {
  if (!IsObject(doc)) return doc.Line() + "\n";
  std::string out = "{";
  for (const auto& [name, value] : doc.members()) {
    out += (out.size() == 1 ? "\n  " : ",\n  ") + Quoted(name) + ": ";
    if (IsTall(value)) {
      AppendTall(value, &out);
    } else {
      out += value.Line();
    }
  }
  return out + "\n}\n";
}

std::string LiteralName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return out;
}

}  // namespace reshard
