// Bandwidths as topology files write them: GB/s with at most 9 decimals, and as whole bytes per
// second.
#ifndef RESHARD_COMPILER_IMPORT_GB_PER_S_H_
#define RESHARD_COMPILER_IMPORT_GB_PER_S_H_

#include <cstdint>
#include <optional>
#include <string>

namespace reshard {

// Bytes per second; nullopt where `text` is no bandwidth that a topology file takes.
std::optional<int64_t> ParseGbPerS(const std::string& text);

// The shortest text of that many bytes per second, which are not negative: "48.5".
std::string GbPerSText(int64_t bytes_per_s);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_GB_PER_S_H_
