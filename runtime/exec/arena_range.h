// Whether bytes lie in an arena: what every transport checks of what it is to send or receive.
#ifndef RESHARD_RUNTIME_EXEC_ARENA_RANGE_H_
#define RESHARD_RUNTIME_EXEC_ARENA_RANGE_H_

#include <cstdint>

#include "runtime/base/status.h"

namespace reshard {

// kInvalidArgument unless [offset, offset + extent) lies in [0, arena_bytes).
Status CheckArenaRange(int64_t offset, int64_t extent, int64_t arena_bytes);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_ARENA_RANGE_H_
