// TcpPort: messages over connections of TCP, without any other library.
//
// There is one connection for each direction between two members, made when the first message goes
// that way. A message is a head and its bytes; it is read straight into the receive that was posted
// for it, or kept until one is. The end of the connection from a member makes it lost, after
// everything that had come over it has been taken; the end of the one to it only for sends, and for
// receives where none ever comes from it. Whoever connects has to know the secret of the one it
// connects to; other connections are closed, and those that do not say in time who they
// are. Bytes are neither encrypted nor signed.
#ifndef RESHARD_RUNTIME_EXEC_TCP_TCP_PORT_H_
#define RESHARD_RUNTIME_EXEC_TCP_TCP_PORT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/messages/message_port.h"
#include "runtime/exec/tcp/socket.h"

namespace reshard {

struct TcpMember {
  Endpoint endpoint;
  std::array<uint64_t, 2> secret{};
};

// `listener` accepts connections at members[own].endpoint.
StatusOr<std::unique_ptr<MessagePort>> MakeTcpPort(int own, std::vector<TcpMember> members,
                                                   Descriptor listener);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_TCP_PORT_H_
