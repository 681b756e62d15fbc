// Members of one process, connected by TCP over this host's loopback interface.
#ifndef RESHARD_RUNTIME_EXEC_TCP_TESTING_LOCAL_MEMBERS_H_
#define RESHARD_RUNTIME_EXEC_TCP_TESTING_LOCAL_MEMBERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/backend.h"
#include "runtime/exec/messages/message_port.h"
#include "runtime/exec/tcp/tcp_backend.h"

namespace reshard::testing {

// By member. Empty when one of them could not be made.
std::vector<std::shared_ptr<Backend>> LocalTcpBackends(uint32_t member_count,
                                                       const TcpBackendOptions& options = {});
std::vector<std::unique_ptr<MessagePort>> LocalTcpPorts(uint32_t member_count);

}  // namespace reshard::testing

#endif  // RESHARD_RUNTIME_EXEC_TCP_TESTING_LOCAL_MEMBERS_H_
