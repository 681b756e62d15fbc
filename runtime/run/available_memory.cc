#include "runtime/run/available_memory.h"

#include <fstream>
#include <string>

#include "runtime/base/checked_math.h"

namespace reshard {

std::optional<int64_t> ParseAvailableMemory(std::istream& meminfo) {
  // "MemAvailable:   20971520 kB", where kB means 1024 bytes.
  std::string name, unit;
  for (int64_t value = 0; meminfo >> name >> value; meminfo >> std::ws) {
    if (name == "MemAvailable:") {
      meminfo >> unit;
      return unit == "kB" ? CheckedMul(value, 1024) : std::nullopt;
    }
    std::getline(meminfo, unit);
  }
  return std::nullopt;
}

std::optional<int64_t> AvailableMemoryBytes() {
  std::ifstream meminfo("/proc/meminfo");
  return ParseAvailableMemory(meminfo);
}

}  // namespace reshard
