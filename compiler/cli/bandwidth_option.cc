#include "compiler/cli/bandwidth_option.h"

#include "compiler/import/gb_per_s.h"

namespace reshard {

std::string CheckBandwidth(const std::string& text) {
  if (ParseGbPerS(text)) return "";
  return "expected GB/s, more than 0 and at most 1000000 with at most 9 decimals";
}

}  // namespace reshard
