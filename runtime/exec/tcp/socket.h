// Sockets of TCP, as far as TcpPort needs them: nothing here waits, and nothing raises a signal.
#ifndef RESHARD_RUNTIME_EXEC_TCP_SOCKET_H_
#define RESHARD_RUNTIME_EXEC_TCP_SOCKET_H_

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace reshard {

// A file descriptor, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void Close();

 private:
  int number_ = -1;
};

// `address` is numeric, of IPv4 or IPv6, and of one host: "10.0.0.5", "fd00::5".
struct Endpoint {
  std::string address;
  uint16_t port = 0;
};

// Accepts connections at `endpoint`, to which the port in use is written when it was 0.
StatusOr<Descriptor> Listen(Endpoint* endpoint);
// A connection that has come; none when none has.
StatusOr<Descriptor> Accept(const Descriptor& listener);
// Begins to connect. The descriptor becomes writable when that is over; ConnectError tells how.
StatusOr<Descriptor> StartConnect(const Endpoint& endpoint);
// An errno, or 0.
int ConnectError(const Descriptor& connection);

// kLimitExceeded where there are no more files or memory, else kIoError.
Status SocketError(const std::string& what, int code);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_SOCKET_H_
