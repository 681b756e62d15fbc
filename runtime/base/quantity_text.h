// Sizes for people, the same in all programs.
//
// What moves, is stored or lies in a file has decimal units, as rates of links have. Memory that
// the library allocates (staging, slots, slices) has binary ones, as the options that limit it.
#ifndef RESHARD_RUNTIME_BASE_QUANTITY_TEXT_H_
#define RESHARD_RUNTIME_BASE_QUANTITY_TEXT_H_

#include <cstdint>
#include <string>

namespace reshard {

// "32 B", "965.0 kB", "470.2 GB", "7.39 TB": a unit begins at 1.
std::string FormatBytes(int64_t bytes);
// "64 MiB", "192.5 MiB".
std::string FormatBinary(int64_t bytes);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_QUANTITY_TEXT_H_
