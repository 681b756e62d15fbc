#include "runtime/base/quantity_text.h"

#include <array>
#include <cstdio>
#include <span>
#include <string_view>

namespace reshard {
namespace {

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

struct Unit {
  std::string_view text;
  int digits;  // after the point
};

// In the first unit in which the text has less than `factor` before the point, or in the last.
std::string InUnits(int64_t bytes, int64_t factor, std::span<const Unit> units) {
  if (bytes < factor && bytes > -factor) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  for (const Unit& unit : units) {
    value /= static_cast<double>(factor);
    // Half of the last digit: what is rounded to the factor takes the next unit.
    const double half = unit.digits == 1 ? 0.05 : 0.005;
    const bool fits = (value < 0 ? -value : value) < static_cast<double>(factor) - half;
    if (!fits && &unit != &units.back()) continue;
    return Fixed(value, unit.digits) + " " + std::string(unit.text);
  }
  return "";
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<Unit, 6> kUnits = {
      {{"kB", 1}, {"MB", 1}, {"GB", 1}, {"TB", 2}, {"PB", 2}, {"EB", 2}}};
  return InUnits(bytes, 1000, kUnits);
}

std::string FormatBinary(int64_t bytes) {
  constexpr std::array<Unit, 5> kUnits = {
      {{"KiB", 1}, {"MiB", 1}, {"GiB", 1}, {"TiB", 1}, {"PiB", 1}}};
  std::string text = InUnits(bytes, 1024, kUnits);
  if (const size_t zero = text.find(".0 "); zero != std::string::npos) text.erase(zero, 2);
  return text;
}

}  // namespace reshard
