#include "runtime/exec/tcp/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace reshard {
namespace {

constexpr int kBacklog = 4096;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Status EveryAddress(const Endpoint& endpoint) {
  return Status(StatusCode::kInvalidArgument,
                "'" + endpoint.address +
                    "' stands for every address of a host: others need one to connect to");
}

StatusOr<SocketAddress> Resolve(const Endpoint& endpoint) {
  SocketAddress out;
  sockaddr_in v4{};
  if (inet_pton(AF_INET, endpoint.address.c_str(), &v4.sin_addr) == 1) {
    if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) return EveryAddress(endpoint);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&out.storage, &v4, sizeof(v4));
    out.bytes = sizeof(v4);
    return out;
  }
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, endpoint.address.c_str(), &v6.sin6_addr) == 1) {
    constexpr uint8_t kMappedV4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
    if (std::memcmp(&v6.sin6_addr, &in6addr_any, sizeof(in6addr_any)) == 0 ||
        std::memcmp(&v6.sin6_addr, kMappedV4, sizeof(kMappedV4)) == 0) {
      return EveryAddress(endpoint);
    }
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(&out.storage, &v6, sizeof(v6));
    out.bytes = sizeof(v6);
    return out;
  }
  return Status(StatusCode::kInvalidArgument,
                "'" + endpoint.address + "' is no numeric address of IPv4 or IPv6");
}

std::string Text(const Endpoint& endpoint) {
  return endpoint.address + " port " + std::to_string(endpoint.port);
}

StatusOr<Descriptor> NewSocket(const SocketAddress& address) {
  Descriptor made(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.is_open()) return SocketError("socket", errno);
  return made;
}

void SendAtOnce(const Descriptor& connection) {
  const int on = 1;
  (void)setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

void Descriptor::Close() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

Status SocketError(const std::string& what, int code) {
  const bool limit = code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS;
  return Status(limit ? StatusCode::kLimitExceeded : StatusCode::kIoError,
                what + ": " + std::strerror(code));
}

StatusOr<Descriptor> Listen(Endpoint* endpoint) {
  StatusOr<SocketAddress> address = Resolve(*endpoint);
  if (!address.ok()) return address.status();
  StatusOr<Descriptor> made = NewSocket(*address);
  if (!made.ok()) return made.status();
  const int on = 1;
  (void)setsockopt(made->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(made->get(), address->get(), address->bytes) != 0 ||
      listen(made->get(), kBacklog) != 0) {
    return SocketError("listening at " + Text(*endpoint), errno);
  }
  if (getsockname(made->get(), address->get(), &address->bytes) != 0) {
    return SocketError("getsockname", errno);
  }
  // The port is at the same place in the addresses of both families.
  endpoint->port = ntohs(reinterpret_cast<const sockaddr_in*>(&address->storage)->sin_port);
  return made;
}

StatusOr<Descriptor> Accept(const Descriptor& listener) {
  for (;;) {
    Descriptor made(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (made.is_open()) {
      SendAtOnce(made);
      return made;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Descriptor();
    // A connection that was given up before it was accepted.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    return SocketError("accept", errno);
  }
}

StatusOr<Descriptor> StartConnect(const Endpoint& endpoint) {
  const StatusOr<SocketAddress> address = Resolve(endpoint);
  if (!address.ok()) return address.status();
  StatusOr<Descriptor> made = NewSocket(*address);
  if (!made.ok()) return made.status();
  SendAtOnce(*made);
  if (connect(made->get(), address->get(), address->bytes) == 0) return made;
  if (errno == EINPROGRESS || errno == EINTR) return made;
  return SocketError("connecting to " + Text(endpoint), errno);
}

int ConnectError(const Descriptor& connection) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

}  // namespace reshard
