// Exchange: a few bytes to and from each of some members, with a deadline.
//
// For the time in which a transport is made. Blocking collectives would wait for a dead rank
// without end, and would not say for which.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_EXCHANGE_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_EXCHANGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

struct ExchangePart {
  int member = 0;
  std::span<const uint8_t> out;
  std::span<uint8_t> in;  // exactly as many bytes as the other side has in `out`
};

struct ExchangeFailure {
  std::vector<int> late;        // whose bytes have not come, or who have not taken theirs
  bool buffers_in_use = false;  // the buffers must stay for the life of the process
};

// Sends and receives all parts. Past the deadline: kTimeout; when members are lost: kUnavailable.
Status Exchange(MessagePort* port, int tag, std::span<const ExchangePart> parts, Deadline deadline,
                ExchangeFailure* failure);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_EXCHANGE_H_
