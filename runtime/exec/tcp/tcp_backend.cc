#include "runtime/exec/tcp/tcp_backend.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/exec/messages/message_backend.h"
#include "runtime/exec/tcp/socket.h"
#include "runtime/exec/tcp/tcp_port.h"

namespace reshard {
namespace {

// What every member tells the others. Plain bytes; text without a zero at the end where it is full.
struct Introduction {
  std::array<uint64_t, 2> secret{};
  uint32_t port = 0;  // 0: it cannot listen, and `text` says why
  uint32_t reserved = 0;
  std::array<char, 168> text{};  // its address
};
static_assert(sizeof(Introduction) == 192);

void SetText(const std::string& text, Introduction* out) {
  std::copy_n(text.begin(), std::min(text.size(), out->text.size()), out->text.begin());
}

std::string TextOf(const Introduction& introduction) {
  const auto end = std::find(introduction.text.begin(), introduction.text.end(), '\0');
  return {introduction.text.begin(), end};
}

Status Introduce(const TcpBackendOptions& options, Descriptor* listener, Introduction* own) {
  if (getrandom(own->secret.data(), sizeof(own->secret), 0) !=
      static_cast<ssize_t>(sizeof(own->secret))) {
    return Status(StatusCode::kIoError, "no random bytes");
  }
  if (options.address.size() > own->text.size()) {
    return Status(StatusCode::kInvalidArgument,
                  "an address of " + std::to_string(options.address.size()) + " characters");
  }
  Endpoint endpoint{options.address, options.port};
  StatusOr<Descriptor> listening = Listen(&endpoint);
  if (!listening.ok()) return listening.status();
  *listener = *std::move(listening);
  own->port = endpoint.port;
  SetText(endpoint.address, own);
  return Status();
}

StatusOr<std::vector<Introduction>> Gather(ControlChannel* bootstrap, const Introduction& own,
                                           Deadline deadline) {
  std::vector<uint32_t> everybody(bootstrap->member_count());
  std::iota(everybody.begin(), everybody.end(), 0U);
  std::vector<uint8_t> mine(sizeof(own));
  std::memcpy(mine.data(), &own, sizeof(own));
  std::vector<uint8_t> all(everybody.size() * sizeof(own));
  RESHARD_RETURN_IF_ERROR(bootstrap->AllGather(everybody, mine, all, deadline));
  std::vector<Introduction> out(everybody.size());
  std::memcpy(out.data(), all.data(), all.size());
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<Backend>> MakeTcpBackend(ControlChannel* bootstrap,
                                                  const TcpBackendOptions& options) {
  const Deadline deadline = DeadlineIn(options.timeout);
  Introduction own;
  Descriptor listener;
  const Status introduced = Introduce(options, &listener, &own);
  if (!introduced.ok()) {
    own.port = 0;
    SetText(introduced.message(), &own);
  }
  const StatusOr<std::vector<Introduction>> all = Gather(bootstrap, own, deadline);
  if (!introduced.ok()) return introduced;
  if (!all.ok()) return all.status();
  std::vector<TcpMember> members;
  for (size_t m = 0; m < all->size(); ++m) {
    const Introduction& said = (*all)[m];
    if (said.port == 0 || said.port > UINT16_MAX) {
      return Status(StatusCode::kAborted,
                    "member " + std::to_string(m) + " failed: " + TextOf(said));
    }
    members.push_back({{TextOf(said), static_cast<uint16_t>(said.port)}, said.secret});
  }
  StatusOr<std::unique_ptr<MessagePort>> port =
      MakeTcpPort(static_cast<int>(bootstrap->member()), std::move(members), std::move(listener));
  if (!port.ok()) return port.status();
  MessageBackendSpec spec;
  spec.name = "tcp";
  spec.port = *std::move(port);
  spec.shared_memory = options.shared_memory;
  return MakeMessageBackend(std::move(spec), deadline);
}

}  // namespace reshard
