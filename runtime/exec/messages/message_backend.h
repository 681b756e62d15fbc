// MessageBackend: the backend of ranks that are processes connected by a MessagePort.
//
// It owns the port, makes the control channel and one transport after another over it. Execution
// runs on a thread of the executor unless the port belongs to the caller's thread.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_BACKEND_H_

#include <memory>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

struct MessageBackendSpec {
  std::string_view name;  // of the backend; lives for ever
  std::unique_ptr<MessagePort> port;
  bool needs_callers_thread = false;
  // False: also ranks of one host exchange what they have landed by messages.
  bool shared_memory = true;
};

// Collective over all members of the port.
StatusOr<std::shared_ptr<Backend>> MakeMessageBackend(MessageBackendSpec spec, Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_BACKEND_H_
