#include "compiler/plan_tools/units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace reshard {
namespace {

struct Unit {
  std::string_view text;
  int64_t factor;
};
constexpr std::array<Unit, 8> kByteUnits = {{{"", 1},
                                             {"B", 1},
                                             {"KiB", int64_t{1} << 10},
                                             {"MiB", int64_t{1} << 20},
                                             {"GiB", int64_t{1} << 30},
                                             {"kB", 1'000},
                                             {"MB", 1'000'000},
                                             {"GB", 1'000'000'000}}};
constexpr std::array<Unit, 4> kTimeUnits = {
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
constexpr int64_t kMaxParsedNs = 10'000'000'000'000;
constexpr int64_t kMaxParsedBytes = int64_t{1} << 62;

// A whole number and one of `units`; at most `limit`.
std::optional<int64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                     int64_t limit) {
  size_t digits = 0;
  int64_t value = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == 18) return std::nullopt;  // more would not fit
    value = value * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (unit != known.text) continue;
    if (value > limit / known.factor) return std::nullopt;
    return value * known.factor;
  }
  return std::nullopt;
}

// `value` with up to `digits` digits after the point, without trailing zeros.
std::string Trimmed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  std::string out = text;
  if (out.find('.') == std::string::npos) return out;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

std::optional<int64_t> ParseBytes(std::string_view text) {
  return ParseWithUnit(text, kByteUnits, kMaxParsedBytes);
}

std::optional<int64_t> ParseNanoseconds(std::string_view text) {
  return ParseWithUnit(text, kTimeUnits, kMaxParsedNs);
}

std::string FormatCount(int64_t count) {
  const std::string digits = std::to_string(count);
  const size_t first = digits[0] == '-' ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatNanoseconds(int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return std::to_string(ns) + " ns";
  if (ns < 999'950) return Fixed(value / 1e3, 1) + " us";
  if (ns < 999'995'000) return Fixed(value / 1e6, 2) + " ms";
  const int64_t thousandths = ns / 1'000'000 + (ns % 1'000'000 >= 500'000 ? 1 : 0);
  const std::string rest = std::to_string(1'000 + thousandths % 1'000);
  return FormatCount(thousandths / 1'000) + "." + rest.substr(1) + " s";
}

std::string FormatRate(int64_t bytes_per_s) {
  return Trimmed(static_cast<double>(bytes_per_s) / 1e9, 3) + " GB/s";
}

std::string FormatPercent(double part) { return Fixed(part * 100, 1) + " %"; }

std::string FormatChange(double part) {
  const std::string sign = part < 0 ? "-" : "+";
  const double percent = (part < 0 ? -part : part) * 100;
  int digits = 1;
  for (double least = 1; percent < least && digits < 4; least /= 10) ++digits;
  // What is not all is not said to be.
  for (double most = 99.95; part < 0 && percent >= most && percent < 100 && digits < 3;) {
    most += (100 - most) * 0.9;
    ++digits;
  }
  if (part < 0 && percent < 100 && percent >= 99.9995) return "-over 99.999 %";
  if (digits == 4) return sign + (percent < 0.001 ? "under 0.001 %" : Fixed(percent, 4) + " %");
  return sign + Fixed(percent, digits) + " %";
}

std::string FormatRatio(double ratio) { return Fixed(ratio, 3); }

}  // namespace reshard
