#include "runtime/exec/tcp/poller.h"

#include <cerrno>

namespace reshard {

StatusOr<Poller> Poller::Make() {
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return SocketError("epoll_create1", errno);
  return Poller(std::move(epoll));
}

Status Poller::Add(const Descriptor& socket, uint32_t events, What what, size_t index) {
  return Control(EPOLL_CTL_ADD, socket, events, what, index);
}

Status Poller::Change(const Descriptor& socket, uint32_t events, What what, size_t index) {
  return Control(EPOLL_CTL_MOD, socket, events, what, index);
}

Status Poller::Control(int how, const Descriptor& socket, uint32_t events, What what,
                       size_t index) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(what) << 32 | index;
  if (epoll_ctl(epoll_.get(), how, socket.get(), &event) == 0) return Status();
  return SocketError("epoll_ctl", errno);
}

StatusOr<std::span<const Poller::Event>> Poller::Next() {
  std::array<epoll_event, kMaxEvents> found;
  const int count = epoll_wait(epoll_.get(), found.data(), static_cast<int>(found.size()), 0);
  if (count < 0 && errno != EINTR) return SocketError("epoll_wait", errno);
  for (int e = 0; e < count; ++e) {
    const epoll_event& event = found[static_cast<size_t>(e)];
    events_[static_cast<size_t>(e)] = {static_cast<What>(event.data.u64 >> 32),
                                       static_cast<size_t>(event.data.u64 & UINT32_MAX),
                                       event.events};
  }
  return std::span<const Event>(events_.data(), static_cast<size_t>(count < 0 ? 0 : count));
}

}  // namespace reshard
