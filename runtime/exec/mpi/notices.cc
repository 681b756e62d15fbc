#include "runtime/exec/mpi/notices.h"

#include <string>

#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

constexpr size_t kHeadBytes = sizeof(Notice) - Notice::kTextBytes;

}  // namespace

Notices::Notices(MPI_Comm comm, int tag, uint64_t transport, size_t max_sends)
    : comm_(comm),
      tag_(tag),
      transport_(transport),
      received_(kReceives),
      receives_(kReceives, MPI_REQUEST_NULL) {
  sends_.reserve(max_sends);
  for (size_t s = 0; s < max_sends; ++s) sends_.push_back(std::make_unique<Sending>());
}

Status Notices::Start() {
  for (size_t slot = 0; slot < kReceives; ++slot) RESHARD_RETURN_IF_ERROR(Post(slot));
  return Status();
}

Status Notices::Post(size_t slot) {
  return MpiStatus(MPI_Irecv(&received_[slot], sizeof(Notice), MPI_BYTE, MPI_ANY_SOURCE, tag_,
                             comm_, &receives_[slot]),
                   "MPI_Irecv");
}

StatusOr<Notices::Sending*> Notices::FreeSending() {
  for (const std::unique_ptr<Sending>& sending : sends_) {
    if (sending->request == MPI_REQUEST_NULL) return sending.get();
    const StatusOr<bool> sent = TestRequest(&sending->request, "MPI_Isend");
    if (!sent.ok()) return sent.status();
    if (*sent) return sending.get();
  }
  // Only where a peer takes nothing any more.
  sends_.push_back(std::make_unique<Sending>());
  return sends_.back().get();
}

Status Notices::Send(int member, const Notice& notice) {
  const StatusOr<Sending*> sending = FreeSending();
  if (!sending.ok()) return sending.status();
  (*sending)->notice = notice;
  (*sending)->notice.transport = transport_;
  return MpiStatus(MPI_Isend(&(*sending)->notice, static_cast<int>(kHeadBytes + notice.text_bytes),
                             MPI_BYTE, member, tag_, comm_, &(*sending)->request),
                   "MPI_Isend");
}

StatusOr<const Notice*> Notices::Next(int* sender) {
  if (repost_) {
    repost_ = false;
    RESHARD_RETURN_IF_ERROR(Post((next_ + kReceives - 1) % kReceives));
  }
  for (;;) {
    int done = 0;
    MPI_Status status;
    RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Test(&receives_[next_], &done, &status), "MPI_Irecv"));
    if (done == 0) return nullptr;
    const size_t slot = next_;
    next_ = (next_ + 1) % kReceives;
    int bytes = 0;
    RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count"));
    const Notice& notice = received_[slot];
    const bool ours = static_cast<size_t>(bytes) >= kHeadBytes &&
                      notice.text_bytes == static_cast<size_t>(bytes) - kHeadBytes &&
                      notice.transport == transport_;
    if (!ours) {
      RESHARD_RETURN_IF_ERROR(Post(slot));
      continue;
    }
    repost_ = true;
    *sender = status.MPI_SOURCE;
    return &notice;
  }
}

StatusOr<bool> Notices::AllSent() {
  for (const std::unique_ptr<Sending>& sending : sends_) {
    if (sending->request == MPI_REQUEST_NULL) continue;
    const StatusOr<bool> sent = TestRequest(&sending->request, "MPI_Isend");
    if (!sent.ok()) return sent.status();
    if (!*sent) return false;
  }
  return true;
}

bool Notices::Abandon() {
  for (MPI_Request& receive : receives_) AbandonRequest(&receive);
  const StatusOr<bool> sent = AllSent();
  for (const std::unique_ptr<Sending>& sending : sends_) AbandonRequest(&sending->request);
  return !sent.ok() || !*sent;
}

}  // namespace reshard
