// CallerControl: the caller's all_gather function as a control channel.
#ifndef RESHARD_RUNTIME_C_API_CALLER_CONTROL_H_
#define RESHARD_RUNTIME_C_API_CALLER_CONTROL_H_

#include <memory>

#include "reshard/reshard.h"
#include "runtime/base/status.h"
#include "runtime/exec/control.h"

namespace reshard::c_api {

// Null for null. The function and what `user` points to outlive the channel.
StatusOr<std::unique_ptr<ControlChannel>> ControlOf(const reshard_control* given);

}  // namespace reshard::c_api

#endif  // RESHARD_RUNTIME_C_API_CALLER_CONTROL_H_
