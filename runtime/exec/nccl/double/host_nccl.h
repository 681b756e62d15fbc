// HostNccl: NCCL between threads of one process, for tests of the NCCL backend.
//
// A group is one operation of its stream: it offers all its sends and receives, in seeded random
// order, and ends when all are over. Messages match first in, first out, per source and
// destination. Stricter than NCCL on purpose: a send ends only when it was received, another size
// than expected is an error of both ranks, and what does not match within a time is an error that
// lists the operations. Calls of one communicator come from one thread.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_NCCL_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_NCCL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/exec/nccl/nccl_library.h"

namespace reshard::nccl {

struct HostNcclOptions {
  uint64_t seed = 1;
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(20);
  bool can_revoke = true;             // Stop keeps the communicator
  std::chrono::nanoseconds delay{0};  // before every group
  bool blocking = false;              // GroupEnd returns when the group is over
};

class HostComm;
class HostClique;

class HostNccl final : public NcclLibrary {
 public:
  explicit HostNccl(const HostNcclOptions& options = {});
  ~HostNccl() override;

  int32_t version() const override { return 22809; }
  StatusOr<UniqueId> NewUniqueId() override;
  Status Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) override;
  Status Shrink(CommHandle comm, std::span<const int32_t> excluded, CommHandle* shrunk) override;
  StatusOr<CommDescription> Describe(CommHandle comm) override;
  StatusOr<bool> IsPending(CommHandle comm) override;
  void Destroy(CommHandle comm) override;
  bool Stop(CommHandle comm) override;
  Status GroupStart() override;
  Status Send(const uint8_t* from, int64_t bytes, int32_t peer, CommHandle comm,
              StreamHandle stream) override;
  Status Receive(uint8_t* to, int64_t bytes, int32_t peer, CommHandle comm,
                 StreamHandle stream) override;
  Status GroupEnd() override;
  Status AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each, CommHandle comm,
                   StreamHandle stream) override;

  // From now on `rank` of every communicator sends a byte less than it is asked to.
  void Shorten(int32_t rank) { shortened_ = rank; }

  // Groups that were issued, on all communicators.
  uint64_t group_count() const { return group_count_; }

 private:
  Status Join(const std::string& clique, const CommConfig& config, CommHandle* comm);

  const HostNcclOptions options_;
  std::atomic<uint64_t> group_count_{0};
  std::atomic<int32_t> shortened_{-1};
  std::mutex mutex_;
  uint64_t ids_ = 0;
  std::map<std::string, std::shared_ptr<HostClique>> cliques_;  // by what its members agree on
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_NCCL_H_
