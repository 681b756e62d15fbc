#include "compiler/import/numbered_name.h"

#include <algorithm>
#include <cstddef>

#include "compiler/import/json_doc.h"

namespace reshard {
namespace {

constexpr size_t kMaxNumbers = 6;
constexpr size_t kMaxDigits = 9;

bool IsNumber(std::string_view part) {
  if (part.empty() || part.size() > kMaxDigits || (part.size() > 1 && part[0] == '0')) return false;
  return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

NumberedName CutName(std::string_view name) {
  NumberedName cut;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (cut.numbers.size() < kMaxNumbers && IsNumber(part)) {
      cut.form.parts.push_back({true, ""});
      cut.numbers.push_back(std::stoll(std::string(part)));
    } else {
      cut.form.parts.push_back({false, std::string(part)});
    }
    begin = end + 1;
  }
  return cut;
}

std::string WriteName(const NameForm& form, const std::vector<std::string>& texts) {
  std::string name;
  size_t number = 0;
  for (const NameForm::Part& part : form.parts) {
    if (&part != &form.parts.front()) name += '.';
    name += part.is_number ? texts[number++] : LiteralName(part.word);
  }
  return name;
}

}  // namespace reshard
