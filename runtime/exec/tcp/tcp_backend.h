// The TCP backend: every rank is a process, or a thread of one, params lie in host memory.
//
// Needs no library of anybody else: the ranks have to be able to reach each other by address, and
// to tell each other these addresses once, over the caller's control channel.
#ifndef RESHARD_RUNTIME_EXEC_TCP_TCP_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_TCP_TCP_BACKEND_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/control.h"

namespace reshard {

struct TcpBackendOptions {
  // Of this host, numeric, as the other members reach it. It listens there and nowhere else.
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any that is free
  // How long to wait for the other members while the backend is made.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  // False: also ranks of one host exchange what they have landed by messages.
  bool shared_memory = true;
};

// Collective over all members of `bootstrap`, which is not used any more afterwards. What keeps one
// of them from listening is an error of all.
StatusOr<std::shared_ptr<Backend>> MakeTcpBackend(ControlChannel* bootstrap,
                                                  const TcpBackendOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_TCP_BACKEND_H_
