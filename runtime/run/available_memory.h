// How much memory this machine can give to a program without swapping.
#ifndef RESHARD_RUNTIME_RUN_AVAILABLE_MEMORY_H_
#define RESHARD_RUNTIME_RUN_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <istream>
#include <optional>

namespace reshard {

// nullopt where the system does not say.
std::optional<int64_t> AvailableMemoryBytes();

// The same from the text of /proc/meminfo.
std::optional<int64_t> ParseAvailableMemory(std::istream& meminfo);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_AVAILABLE_MEMORY_H_
