// Communicator: one rank's end of a NCCL communicator, made here or lent by the caller.
//
// No call blocks past its deadline: calls return while NCCL still works on them and are polled, and
// where a lent communicator is of the kind that blocks, a watchdog ends the call.
// After a failure the communicator is stopped, which ends operations on the device too. What was
// made here is destroyed here; a lent one is only stopped. Not thread-safe; the stream and buffers
// given to it stay until the operations are over.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_COMMUNICATOR_H_
#define RESHARD_RUNTIME_EXEC_NCCL_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/nccl_library.h"
#include "runtime/exec/nccl/watchdog.h"

namespace reshard::nccl {

class Communicator {
 public:
  // Collective over the ranks of `config`.
  static StatusOr<std::unique_ptr<Communicator>> Make(NcclLibrary* library, const UniqueId& id,
                                                      const CommConfig& config, Deadline deadline);
  static StatusOr<std::unique_ptr<Communicator>> Lend(NcclLibrary* library, CommHandle comm);
  // Collective over the ranks that are not `excluded`, whatever became of this one.
  StatusOr<std::unique_ptr<Communicator>> Shrink(std::span<const int32_t> excluded,
                                                 Deadline deadline);
  ~Communicator();

  int32_t rank() const { return rank_; }
  int32_t rank_count() const { return rank_count_; }

  // Between the two: Send and Receive. The operations of a group run together, in no order.
  Status Begin();
  Status Send(const uint8_t* from, int64_t bytes, int32_t peer, StreamHandle stream) {
    return library_->Send(from, bytes, peer, comm_, stream);
  }
  Status Receive(uint8_t* to, int64_t bytes, int32_t peer, StreamHandle stream) {
    return library_->Receive(to, bytes, peer, comm_, stream);
  }
  Status End(Deadline deadline);
  Status AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each, StreamHandle stream,
                   Deadline deadline);

  // Whether operations have failed, for a reason that NCCL found by itself.
  Status Check();
  // Ends everything that waits on the device. Further calls fail.
  void Stop();

 private:
  Communicator(NcclLibrary* library, CommHandle comm, bool owned)
      : library_(library), comm_(comm), owned_(owned) {}
  Status AwaitReady(Deadline deadline);
  Status StopFor(const Status& reason);
  // Makes a call of NCCL that may block, then waits until it is done.
  template <class Call>
  Status Guarded(Deadline deadline, Call call);
  void AwaitRest(Deadline deadline);

  NcclLibrary* library_;
  CommHandle comm_;
  bool owned_;
  Status failure_;     // why it is stopped
  bool lost_ = false;  // the watchdog's Stop took the communicator with it
  int32_t rank_ = 0;
  int32_t rank_count_ = 0;
  std::unique_ptr<Watchdog> watchdog_;  // of a lent one
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_COMMUNICATOR_H_
