#include "runtime/exec/mpi/mpi_exchange.h"

#include <algorithm>
#include <string>

#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

struct Pending {
  int member = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

Status Start(MPI_Comm comm, int tag, std::span<const ExchangePart> parts,
             std::vector<Pending>* pending) {
  for (const ExchangePart& part : parts) {
    if (std::max(part.in.size(), part.out.size()) > static_cast<size_t>(kMaxMpiBytes)) {
      return Status(StatusCode::kLimitExceeded, "too many bytes for one MPI message");
    }
    if (part.in.empty()) continue;
    pending->push_back({part.member});
    RESHARD_RETURN_IF_ERROR(
        MpiStatus(MPI_Irecv(part.in.data(), static_cast<int>(part.in.size()), MPI_BYTE, part.member,
                            tag, comm, &pending->back().request),
                  "MPI_Irecv"));
  }
  for (const ExchangePart& part : parts) {
    if (part.out.empty()) continue;
    pending->push_back({part.member});
    RESHARD_RETURN_IF_ERROR(
        MpiStatus(MPI_Isend(part.out.data(), static_cast<int>(part.out.size()), MPI_BYTE,
                            part.member, tag, comm, &pending->back().request),
                  "MPI_Isend"));
  }
  return Status();
}

}  // namespace

Status Exchange(MPI_Comm comm, int tag, std::span<const ExchangePart> parts, Deadline deadline,
                std::vector<int>* late) {
  std::vector<Pending> pending;
  RESHARD_RETURN_IF_ERROR(Start(comm, tag, parts, &pending));
  IdleWait idle;
  for (;;) {
    size_t kept = 0;
    for (Pending& one : pending) {
      const StatusOr<bool> done = TestRequest(&one.request, "exchange");
      if (!done.ok()) return done.status();
      if (!*done) pending[kept++] = one;
    }
    const bool moved = kept < pending.size();
    pending.resize(kept);
    if (pending.empty()) return Status();
    if (std::chrono::steady_clock::now() >= deadline) break;
    if (moved) idle.Reset();
    idle.Pause();
  }
  late->clear();
  for (Pending& one : pending) {
    late->push_back(one.member);
    AbandonRequest(&one.request);
  }
  std::sort(late->begin(), late->end());
  late->erase(std::unique(late->begin(), late->end()), late->end());
  return Status(StatusCode::kTimeout, "no answer");
}

}  // namespace reshard
