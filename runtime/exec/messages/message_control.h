// MessageControl: the control channel over a MessagePort.
//
// The first member of a group collects what all say and passes the result on along a binary tree.
// So it knows who is missing, and tells the others before their own deadline.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

// Members are those of `port`, in which nobody else uses kControlTag or the tag after it. `port`
// outlives the channel.
inline constexpr int kControlTag = 10;
std::unique_ptr<ControlChannel> MakeMessageControl(MessagePort* port);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_
