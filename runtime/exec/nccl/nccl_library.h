// NcclLibrary: what the NCCL backend asks of NCCL.
//
// open_nccl.h implements it with the library that a process has loaded or can load, double/
// host_nccl.h with threads of one process. Ranks here are ranks of a communicator.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_NCCL_LIBRARY_H_
#define RESHARD_RUNTIME_EXEC_NCCL_NCCL_LIBRARY_H_

#include <array>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

struct CommTag;
using CommHandle = CommTag*;  // a ncclComm_t

struct UniqueId {
  std::array<uint8_t, 128> bytes{};
};

struct CommConfig {
  int32_t rank = 0;
  int32_t rank_count = 0;
  // Network channels between two ranks; 0: as NCCL decides.
  int32_t channels_per_peer = 0;
};

struct CommDescription {
  int32_t rank = 0;
  int32_t rank_count = 0;
  int32_t device = 0;  // number of the CUDA device
};

class NcclLibrary {
 public:
  virtual ~NcclLibrary() = default;

  virtual int32_t version() const = 0;  // 22809 is 2.28.9
  virtual StatusOr<UniqueId> NewUniqueId() = 0;
  // Communicators made here do not block: a call may return before it is done (IsPending). The
  // handle is written at once, so that what is pending can be aborted.
  virtual Status Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) = 0;
  // A communicator of the ranks that are not `excluded`, in their order. Every one of them calls
  // it; the others need not be alive. `comm` has nothing to do, or was stopped; it is not
  // destroyed.
  virtual Status Shrink(CommHandle comm, std::span<const int32_t> excluded, CommHandle* shrunk) = 0;
  virtual StatusOr<CommDescription> Describe(CommHandle comm) = 0;
  // Whether a call is still being carried out; error when an operation failed.
  virtual StatusOr<bool> IsPending(CommHandle comm) = 0;
  virtual void Destroy(CommHandle comm) = 0;
  // Ends all operations of this rank, also those that wait on the device. True: the communicator
  // can still be shrunk and has to be destroyed. False: it is gone (libraries before 2.28).
  virtual bool Stop(CommHandle comm) = 0;

  virtual Status GroupStart() = 0;
  virtual Status Send(const uint8_t* from, int64_t bytes, int32_t peer, CommHandle comm,
                      StreamHandle stream) = 0;
  virtual Status Receive(uint8_t* to, int64_t bytes, int32_t peer, CommHandle comm,
                         StreamHandle stream) = 0;
  virtual Status GroupEnd() = 0;
  // Every rank gets what all sent, in their order.
  virtual Status AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each, CommHandle comm,
                           StreamHandle stream) = 0;
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_NCCL_LIBRARY_H_
