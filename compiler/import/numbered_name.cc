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

// Where the number of an expert begins in "weight7" or "bias7"; npos when the part is none.
size_t ExpertNumber(std::string_view part) {
  for (const std::string_view word : {"weight", "bias"}) {
    if (part.starts_with(word) && IsNumber(part.substr(word.size()))) return word.size();
  }
  return std::string_view::npos;
}

}  // namespace

NumberedName CutName(std::string_view name) {
  NumberedName cut;
  const auto add_number = [&](std::string_view digits, bool joined) {
    cut.form.parts.push_back({true, joined, ""});
    cut.numbers.push_back(std::stoll(std::string(digits)));
  };
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool room = cut.numbers.size() < kMaxNumbers;
    const size_t expert = ExpertNumber(part);
    if (room && IsNumber(part)) {
      add_number(part, false);
    } else if (room && expert != std::string_view::npos) {
      cut.form.parts.push_back({false, false, std::string(part.substr(0, expert))});
      add_number(part.substr(expert), true);
    } else {
      cut.form.parts.push_back({false, false, std::string(part)});
    }
    begin = end + 1;
  }
  return cut;
}

std::string WriteName(const NameForm& form, const std::vector<std::string>& texts) {
  std::string name;
  size_t number = 0;
  for (const NameForm::Part& part : form.parts) {
    if (&part != &form.parts.front() && !part.joined) name += '.';
    name += part.is_number ? texts[number++] : LiteralName(part.word);
  }
  return name;
}

}  // namespace reshard
