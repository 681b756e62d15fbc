// Poller: which sockets of a TcpPort have something to do.
#ifndef RESHARD_RUNTIME_EXEC_TCP_POLLER_H_
#define RESHARD_RUNTIME_EXEC_TCP_POLLER_H_

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/exec/tcp/socket.h"

namespace reshard {

class Poller {
 public:
  enum class What : uint32_t { kListener, kOutgoing, kIncoming };
  struct Event {
    What what = What::kListener;
    size_t index = 0;     // as it was given
    uint32_t events = 0;  // EPOLLIN, ...
  };

  explicit Poller(Descriptor epoll) : epoll_(std::move(epoll)) {}
  static StatusOr<Poller> Make();

  // `socket` is watched until it is closed. `index` is below 2^32.
  Status Add(const Descriptor& socket, uint32_t events, What what, size_t index);
  Status Change(const Descriptor& socket, uint32_t events, What what, size_t index);
  // What has happened, without waiting. As many as there is room for may not be all.
  static constexpr size_t kMaxEvents = 64;
  StatusOr<std::span<const Event>> Next();

 private:
  Status Control(int how, const Descriptor& socket, uint32_t events, What what, size_t index);

  Descriptor epoll_;
  std::array<Event, kMaxEvents> events_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_POLLER_H_
