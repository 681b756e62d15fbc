// MessageControl: the control channel over a MessagePort.
//
// The first member of a group collects what all say and passes the result on along a binary tree.
// So it knows who is missing, and tells the others before their own deadline. Confirmations come
// back along the tree: a member succeeds only when all below it have the result, the first one when
// all have it. A process that was stopped so long that the others gave up does not take what they
// said before for an answer.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

// Members are those of `port`, in which nobody else uses kControlTag or the two tags after it.
// `port` outlives the channel.
inline constexpr int kControlTag = 10;
std::unique_ptr<ControlChannel> MakeMessageControl(MessagePort* port);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_CONTROL_H_
