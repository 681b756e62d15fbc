#include "compiler/plan_tools/gate_limit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "compiler/plan_tools/units.h"
#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

struct Unit {
  std::string_view text;
  int64_t factor;
};
constexpr std::array<Unit, 4> kTimeUnits = {
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
constexpr std::array<Unit, 10> kByteUnits = {{{"B", 1},
                                              {"kB", 1'000},
                                              {"MB", 1'000'000},
                                              {"GB", 1'000'000'000},
                                              {"TB", 1'000'000'000'000},
                                              {"KiB", int64_t{1} << 10},
                                              {"MiB", int64_t{1} << 20},
                                              {"GiB", int64_t{1} << 30},
                                              {"TiB", int64_t{1} << 40},
                                              {"", 1}}};

// What a figure of this unit is measured in.
struct Measure {
  std::span<const Unit> units;  // none: counts
  std::string_view names;       // of them
  std::string_view whole;       // "is no whole number of ..."
  std::string_view example;     // of limits
  int64_t most;
  std::string_view most_text;
};

Measure MeasureOf(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::kTime:
      return {kTimeUnits,
              "ns, us, ms or s",
              "nanoseconds",
              "+5%, +20us or 4s",
              int64_t{10'000} * 1'000'000'000,
              "10,000 s"};
    case FigureUnit::kBytes:
    case FigureUnit::kMemory:
      return {kByteUnits,       "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
              "bytes",          "+1%, +64MiB or 2GB",
              int64_t{1} << 62, "2^62 bytes"};
    case FigureUnit::kCount:
      break;
  }
  return {{}, "", "things that are counted", "+1%, +10 or 5000", int64_t{1} << 62, "2^62"};
}

Status Bad(std::string what) { return Status(StatusCode::kInvalidArgument, std::move(what)); }

// A decimal number: whole + fraction / 10^decimals.
struct Number {
  Wide whole = 0;  // at most kMostWhole, which is beyond every limit
  Wide fraction = 0;
  int decimals = 0;
  std::string_view text;
};

constexpr Wide kMostWhole = Wide{INT64_MAX} + 1;
constexpr int kMostDecimals = 18;  // the largest limit with so many fits 128 bits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads the number that `text` starts with and removes it; nothing when there is none.
std::optional<Number> ReadNumber(std::string_view* text) {
  Number number;
  size_t end = 0;
  bool point = false;
  for (; end < text->size(); ++end) {
    const char c = (*text)[end];
    if (c == '.' && !point && end > 0 && end + 1 < text->size() && IsDigit((*text)[end + 1])) {
      point = true;
      continue;
    }
    if (!IsDigit(c)) break;
    if (!point) {
      number.whole = std::min(number.whole * 10 + (c - '0'), kMostWhole);
    } else if (++number.decimals <= kMostDecimals) {
      number.fraction = number.fraction * 10 + (c - '0');
    }
  }
  if (end == 0) return std::nullopt;
  number.text = text->substr(0, end);
  *text = WithoutSpaces(text->substr(end));
  return number;
}

Wide PowerOfTen(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

StatusOr<int64_t> PercentOf(const Number& number) {
  constexpr int kDecimals = 3;
  constexpr int64_t kMost = 1'000'000'000;
  if (number.decimals > kDecimals) {
    return Bad("has more than three decimals of a percent: '" + std::string(number.text) + "'");
  }
  const Wide value =
      number.whole * kPercentUnits + number.fraction * PowerOfTen(kDecimals - number.decimals);
  if (value > Wide{kMost} * kPercentUnits) {
    return Bad("has a limit over " + FormatCount(kMost) + " %: '" + std::string(number.text) + "'");
  }
  return static_cast<int64_t>(value);
}

StatusOr<int64_t> AmountOf(const Number& number, std::string_view unit, const Measure& measure) {
  int64_t factor = 0;
  for (const Unit& known : measure.units) {
    if (known.text == unit) factor = known.factor;
  }
  if (measure.units.empty() && unit.empty()) factor = 1;
  const std::string text(number.text);
  if (factor == 0 && measure.units.empty()) {
    return Bad("has a count with a unit: '" + text + std::string(unit) + "'");
  }
  if (factor == 0) {
    return Bad((unit.empty() ? "needs a unit behind '" + text + "': "
                             : "has no unit '" + std::string(unit) + "', but ") +
               std::string(measure.names) + ", or, after a sign, %");
  }
  if (number.decimals > kMostDecimals) return Bad("has too many decimals: '" + text + "'");
  const Wide parts = PowerOfTen(number.decimals);
  const bool over = number.whole > measure.most / factor;
  const Wide scaled = over ? 0 : (number.whole * parts + number.fraction) * factor;
  if (over || scaled > measure.most * parts) {
    return Bad("has a limit over " + std::string(measure.most_text) + ": '" + text +
               std::string(unit) + "'");
  }
  if (scaled % parts != 0) {
    return Bad("has a limit that is no whole number of " + std::string(measure.whole) + ": '" +
               text + std::string(unit) + "'");
  }
  return static_cast<int64_t>(scaled / parts);
}

}  // namespace

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && IsGateSpace(text.front())) text.remove_prefix(1);
  return text;
}

StatusOr<GateLimit> ParseGateLimit(FigureUnit unit, std::string_view text) {
  const Measure measure = MeasureOf(unit);
  GateLimit limit;
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    limit.relative = true;
    negative = text.front() == '-';
    text = WithoutSpaces(text.substr(1));
  }
  const std::optional<Number> number = ReadNumber(&text);
  if (!number) return Bad("has no limit such as " + std::string(measure.example));
  limit.percent = text == "%";
  if (limit.percent && !limit.relative) {
    const std::string percent = std::string(number->text) + "%";
    return Bad("has a percentage without a sign: '+" + percent + "' or '-" + percent +
               "' of the first plan");
  }
  const StatusOr<int64_t> value =
      limit.percent ? PercentOf(*number) : AmountOf(*number, text, measure);
  if (!value.ok()) return value.status();
  limit.value = negative ? -*value : *value;
  return limit;
}

}  // namespace reshard
