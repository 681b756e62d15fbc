// Lists of numbers and of host names in short form, as Slurm writes them: "0-63,70" and
// "su0n[00-31,40],login1". A few bytes can stand for millions of entries, so every list is charged
// to a budget that its file shares, before it is expanded.
#ifndef RESHARD_COMPILER_FRONTEND_NUMBER_LIST_H_
#define RESHARD_COMPILER_FRONTEND_NUMBER_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

inline constexpr size_t kMaxHosts = size_t{1} << 20;  // in one list
inline constexpr size_t kMaxHostNameBytes = 255;

// What all lists of one file may still expand to.
struct ListBudget {
  size_t entries = size_t{1} << 21;
  size_t name_bytes = size_t{1} << 26;
};

// "0-63,70": rising or not, in the order written. `span` is that of the text without quotes.
// Reports bad-range (form, a number beyond `highest`) or too-large.
[[nodiscard]] bool ExpandNumberList(std::string_view text, Span span, uint32_t highest,
                                    ListBudget* budget, Diagnostics* diags,
                                    std::vector<uint32_t>* out);

// "su0n[00-31,40]", "a,b[1-2]", "r[0-1]n[0-3]" (the last brackets vary fastest). The width of the
// first number of a range is kept: 08, 09, 10. Reports bad-host-list or too-large.
[[nodiscard]] bool ExpandHostList(std::string_view text, Span span, ListBudget* budget,
                                  Diagnostics* diags, std::vector<std::string>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_NUMBER_LIST_H_
