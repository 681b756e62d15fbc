// LoopbackControl: the control channel between ranks of one process.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_CONTROL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/control.h"

namespace reshard {

// The channels of a new group of `member_count` members, by member. They live on their own, in any
// order of destruction.
std::vector<std::unique_ptr<ControlChannel>> MakeLoopbackControl(uint32_t member_count);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_CONTROL_H_
