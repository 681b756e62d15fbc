// MessageTransport: the RankTransport of one process among processes connected by a MessagePort.
//
// Network messages go in chunks, in order, and only when their receiver has posted them (kCredit);
// reads inside a domain go through shared memory where they can (domain_links.h). A port moves
// bytes only inside calls, so every wait polls all of it, and Progress does so between copies. No
// call blocks in the port: past its deadline, or when the rank that it is for is lost, a wait ends
// with an error that names this rank and the one that it waits for in the end. The port is only
// ever given staging memory, never a param; after a failure that memory is kept for the life of the
// process where the port may still use it.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_TRANSPORT_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_TRANSPORT_H_

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/messages/domain_links.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

struct MessageTransportSpec {
  const EngineSpec* engine = nullptr;
  MessagePort* port = nullptr;  // outlives the transport
  uint64_t number = 0;          // of this transport, the same on all ranks, never used again
  DomainLinkOptions links;
};

// Collective over the ranks of the plan. Has exchanged a first message with every peer and every
// neighbour when it returns.
StatusOr<std::shared_ptr<RankTransport>> MakeMessageTransport(const MessageTransportSpec& spec,
                                                              Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_TRANSPORT_H_
