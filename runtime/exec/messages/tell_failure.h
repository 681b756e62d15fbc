// TellFailure: the last thing that a rank does when it has failed: it tells those it is connected
// to.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_TELL_FAILURE_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_TELL_FAILURE_H_

#include <span>

#include "runtime/base/status.h"
#include "runtime/exec/messages/message_port.h"
#include "runtime/exec/messages/notices.h"

namespace reshard {

// Sends kAbort to `members` except one of them: `failed` is the member that failed first, and why.
// Ends when all has left, at the latest after a fraction of a second: whoever cannot be told finds
// out by a deadline of its own.
void TellFailure(int failed, const Status& reason, std::span<const int> members, int except,
                 MessagePort* port, Notices* notices);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_TELL_FAILURE_H_
