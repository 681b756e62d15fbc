#include "compiler/frontend/json_number.h"

#include <algorithm>
#include <cstddef>

#include "runtime/base/checked_math.h"

namespace reshard {

namespace {

// value = (-1)^negative * digits * 10^exponent; digits has no zero at either end, and is empty for
// the value 0.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};

// The exponent part, kept within +-10^15: a number that needs more is out of every range anyway,
// and adding the count of digits to it must not overflow.
int64_t ParseExponent(std::string_view text) {
  constexpr int64_t kLimit = 1'000'000'000'000'000;
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int64_t value = 0;
  for (const char c : text) value = std::min(kLimit, value * 10 + (c - '0'));
  return negative ? -value : value;
}

Decimal ParseDecimal(std::string_view literal) {
  Decimal out;
  if (!literal.empty() && literal[0] == '-') {
    out.negative = true;
    literal.remove_prefix(1);
  }
  const size_t e = std::min(literal.find_first_of("eE"), literal.size());
  const std::string_view mantissa = literal.substr(0, e);
  if (e < literal.size()) out.exponent = ParseExponent(literal.substr(e + 1));
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  out.digits = mantissa.substr(0, point);
  if (point < mantissa.size()) {
    out.digits += mantissa.substr(point + 1);
    out.exponent -= static_cast<int64_t>(mantissa.size() - point - 1);
  }
  const size_t last = out.digits.find_last_not_of('0');
  if (last == std::string::npos) return {};
  out.exponent += static_cast<int64_t>(out.digits.size() - last - 1);
  out.digits.resize(last + 1);
  out.digits.erase(0, out.digits.find_first_not_of('0'));
  return out;
}

}  // namespace

ExactNumber ScaledDecimal(std::string_view literal, int decimals) {
  const Decimal decimal = ParseDecimal(literal);
  if (decimal.digits.empty()) return {};
  const int64_t exponent = decimal.exponent + decimals;
  if (exponent < 0) return {0, NumberError::kNotWhole};
  if (exponent > 19 || decimal.digits.size() > 19) return {0, NumberError::kTooLarge};
  // Built with its sign, so that the lowest integer is reached too.
  std::optional<int64_t> value = 0;
  const auto append = [&](int digit) {
    if (value) value = CheckedMul(*value, 10);
    if (value) value = CheckedAdd(*value, decimal.negative ? -digit : digit);
  };
  for (const char c : decimal.digits) append(c - '0');
  for (int64_t i = 0; i < exponent; ++i) append(0);
  if (!value) return {0, NumberError::kTooLarge};
  return {*value, NumberError::kNone};
}

ExactNumber WholeNumber(std::string_view literal) {
  if (literal.find_first_of(".eE") != std::string_view::npos) return {0, NumberError::kNotWhole};
  return ScaledDecimal(literal, 0);
}

std::string CanonicalNumber(std::string_view literal) {
  const Decimal decimal = ParseDecimal(literal);
  if (decimal.digits.empty()) return "0";
  std::string out = decimal.negative ? "-" : "";
  out += decimal.digits;
  if (decimal.exponent != 0) out += "e" + std::to_string(decimal.exponent);
  return out;
}

}  // namespace reshard
