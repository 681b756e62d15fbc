#include "runtime/exec/messages/tell_failure.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/exec/messages/idle_wait.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

// How long a rank that has failed tries to tell the others.
constexpr std::chrono::milliseconds kLinger{200};

Notice AbortNotice(int failed, const Status& reason) {
  Notice abort;
  abort.kind = NoticeKind::kAbort;
  abort.value = static_cast<uint64_t>(failed);
  abort.code = static_cast<uint32_t>(reason.code());
  abort.text_bytes = static_cast<uint32_t>(std::min(reason.message().size(), Notice::kTextBytes));
  std::copy_n(reason.message().begin(), abort.text_bytes, abort.text.begin());
  return abort;
}

}  // namespace

void TellFailure(int failed, const Status& reason, std::span<const int> members, int except,
                 MessagePort* port, Notices* notices) {
  const Notice abort = AbortNotice(failed, reason);
  for (const int member : members) {
    if (member != except) (void)notices->Send(member, abort);
  }
  const Clock::time_point end = Clock::now() + kLinger;
  IdleWait idle;
  while (Clock::now() < end && port->Progress().ok()) {
    const StatusOr<int> unsent = notices->FirstUnsent();
    if (!unsent.ok() || *unsent < 0) return;
    idle.Pause();
  }
}

}  // namespace reshard
