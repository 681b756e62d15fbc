#include "compiler/layout/name_order.h"

#include <cstddef>

namespace reshard {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits that `text` starts with, without leading zeros; they are taken off it.
std::string_view TakeNumber(std::string_view* text) {
  size_t end = 0, zeros = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  while (zeros + 1 < end && (*text)[zeros] == '0') ++zeros;
  const std::string_view number = text->substr(zeros, end - zeros);
  text->remove_prefix(end);
  return number;
}

}  // namespace

std::string NameWithHoles(const NamePattern& name) {
  std::string result;
  const auto add_hole = [&result] {
    if (!result.ends_with("{}")) result += "{}";
  };
  for (size_t part = 0; part < name.text.size(); ++part) {
    if (part > 0) add_hole();
    for (const char c : name.text[part]) {
      if (IsDigit(c)) {
        add_hole();
      } else {
        result += c;
      }
    }
  }
  return result;
}

bool NameLess(std::string_view a, std::string_view b) {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (IsDigit(left[0]) && IsDigit(right[0])) {
      const std::string_view one = TakeNumber(&left), other = TakeNumber(&right);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      continue;
    }
    if (left[0] != right[0]) {
      return static_cast<unsigned char>(left[0]) < static_cast<unsigned char>(right[0]);
    }
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;
}

}  // namespace reshard
