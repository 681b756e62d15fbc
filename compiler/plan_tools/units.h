// Numbers for people: sizes, times and counts in text, and sizes read from options.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_UNITS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/quantity_text.h"  // FormatBytes and FormatBinary: part of these

namespace reshard {

// "64MiB", "1.5 GB" is refused: a whole number and B, KiB, MiB, GiB, kB, MB or GB; bytes without a
// unit. nullopt when malformed, negative or over 2^62.
std::optional<int64_t> ParseBytes(std::string_view text);

// "20us", "1500 ns": a whole number and ns, us, ms or s. nullopt when malformed, without a unit or
// over 10,000 s.
std::optional<int64_t> ParseNanoseconds(std::string_view text);

std::string FormatCount(int64_t count);       // "36,945"
std::string FormatNanoseconds(int64_t ns);    // "3.362 s", "20.0 us"
std::string FormatRate(int64_t bytes_per_s);  // "50 GB/s"
std::string FormatPercent(double part);       // "98.4 %"
// The same with a sign and two digits that tell something: "+5.0 %", "-0.039 %", "+under 0.001 %".
std::string FormatChange(double part);
std::string FormatRatio(double ratio);  // "1.021"

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_UNITS_H_
