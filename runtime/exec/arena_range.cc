#include "runtime/exec/arena_range.h"

#include <string>

namespace reshard {

Status CheckArenaRange(int64_t offset, int64_t extent, int64_t arena_bytes) {
  const bool inside = offset >= 0 && extent >= 0 && offset <= arena_bytes;
  if (inside && extent <= arena_bytes - offset) return Status();
  return Status(StatusCode::kInvalidArgument, "bytes " + std::to_string(offset) + " + " +
                                                  std::to_string(extent) + " leave the arena of " +
                                                  std::to_string(arena_bytes) + " bytes");
}

}  // namespace reshard
