#include "runtime/exec/messages/exchange.h"

#include <algorithm>
#include <chrono>

#include "runtime/exec/messages/idle_wait.h"

namespace reshard {
namespace {

struct Pending {
  int member = 0;
  bool sends = false;
  MessageRequest request;
};

bool Lost(const MessagePort& port, const Pending& one) {
  return one.sends ? port.LostForSends(one.member) : port.LostForReceives(one.member);
}

Status Start(MessagePort* port, int tag, std::span<const ExchangePart> parts,
             std::vector<Pending>* pending) {
  for (const ExchangePart& part : parts) {
    if (part.in.empty()) continue;
    pending->push_back({part.member, false, {}});
    RESHARD_RETURN_IF_ERROR(port->Receive(part.member, tag, part.in, &pending->back().request));
  }
  for (const ExchangePart& part : parts) {
    if (part.out.empty()) continue;
    pending->push_back({part.member, true, {}});
    RESHARD_RETURN_IF_ERROR(port->Send(part.member, tag, part.out, &pending->back().request));
  }
  return Status();
}

Status Finish(MessagePort* port, Deadline deadline, std::vector<Pending>* pending) {
  IdleWait idle;
  for (;;) {
    RESHARD_RETURN_IF_ERROR(port->Progress());
    size_t kept = 0;
    bool lost = false;
    for (size_t p = 0; p < pending->size(); ++p) {
      Pending& one = (*pending)[p];
      const StatusOr<bool> done = port->Test(&one.request);
      if (!done.ok()) return done.status();
      if (*done) continue;
      lost = lost || Lost(*port, one);
      (*pending)[kept++] = one;
    }
    const bool moved = kept < pending->size();
    pending->resize(kept);
    if (pending->empty()) return Status();
    if (lost) return Status(StatusCode::kUnavailable, "connection closed");
    if (std::chrono::steady_clock::now() >= deadline) {
      return Status(StatusCode::kTimeout, "no answer");
    }
    if (moved) idle.Reset();
    idle.Pause();
  }
}

}  // namespace

Status Exchange(MessagePort* port, int tag, std::span<const ExchangePart> parts, Deadline deadline,
                ExchangeFailure* failure) {
  std::vector<Pending> pending;
  Status status = Start(port, tag, parts, &pending);
  if (status.ok()) status = Finish(port, deadline, &pending);
  if (status.ok()) return status;
  *failure = ExchangeFailure();
  for (Pending& one : pending) {
    if (status.code() != StatusCode::kUnavailable || Lost(*port, one)) {
      failure->late.push_back(one.member);
    }
    failure->buffers_in_use = port->Abandon(&one.request) || failure->buffers_in_use;
  }
  std::sort(failure->late.begin(), failure->late.end());
  failure->late.erase(std::unique(failure->late.begin(), failure->late.end()), failure->late.end());
  return status;
}

}  // namespace reshard
