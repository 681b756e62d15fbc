// GpuRuntime: what the NCCL backend asks of CUDA, for one device.
//
// cuda_runtime.h implements it with CUDA, double/host_gpu.h with threads and host memory, so that
// everything above it runs the same with and without a GPU. Handles belong to the runtime that made
// them and are given back to it. Calls that move bytes or launch work are ordered by their stream
// and return at once. One thread at a time, on which the device is current (CurrentDevice).
#ifndef RESHARD_RUNTIME_EXEC_NCCL_GPU_RUNTIME_H_
#define RESHARD_RUNTIME_EXEC_NCCL_GPU_RUNTIME_H_

#include <array>
#include <chrono>
#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/copy_kernel.h"

namespace reshard::nccl {

struct StreamTag;
struct EventTag;
using StreamHandle = StreamTag*;  // a cudaStream_t
using EventHandle = EventTag*;    // a cudaEvent_t

// Names device memory to another process of the same host (a cudaIpcMemHandle_t).
struct MemoryHandle {
  std::array<uint8_t, 64> bytes{};
};

// Who runs here: memory of equal hosts can be shared by MemoryHandle, of equal processes by
// address.
struct GpuIdentity {
  uint64_t host = 0;
  uint64_t process = 0;
  int32_t device = 0;
  friend bool operator==(const GpuIdentity&, const GpuIdentity&) = default;
};

// Tiles [first, first + count) of tables on the device.
struct TileRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Flags are 64-bit words in device memory that only grow. A list of their addresses lies on the
// device too.
struct FlagList {
  uint64_t* const* flags = nullptr;
  uint32_t count = 0;
};

// One word of host memory that the device reads as well.
struct SharedWord {
  uint32_t* host = nullptr;
  uint32_t* device = nullptr;
};

class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;

  virtual GpuIdentity identity() const = 0;
  // Which device the calling thread uses. Others than CurrentDevice need not call these.
  virtual Status MakeCurrent() = 0;
  virtual int64_t Current() = 0;
  virtual void Restore(int64_t current) = 0;

  // Device memory, aligned to 256 bytes; its first use finds zeros.
  virtual StatusOr<uint8_t*> Allocate(int64_t bytes) = 0;
  virtual void Free(uint8_t* block) = 0;
  virtual StatusOr<SharedWord> AllocateWord() = 0;
  virtual void FreeWord(const SharedWord& word) = 0;
  // Whether kernels of this device can use the memory at `pointer`.
  virtual StatusOr<bool> IsDeviceMemory(const uint8_t* pointer) = 0;
  // Over when they return, whatever runs on streams.
  virtual Status CopyToDevice(uint8_t* to, const void* from, int64_t bytes) = 0;
  virtual Status CopyToHost(void* to, const uint8_t* from, int64_t bytes) = 0;
  // A flag of this device, which others may raise at the same time.
  virtual StatusOr<uint64_t> ReadFlag(const uint64_t* flag) = 0;

  // Memory of another rank. Export wants a block as Allocate returned it. Open and Close are for
  // handles of another process; EnablePeer lets this device use memory of `device` of this process.
  virtual StatusOr<MemoryHandle> Export(uint8_t* block) = 0;
  virtual StatusOr<uint8_t*> Open(const MemoryHandle& handle) = 0;
  virtual void Close(uint8_t* opened) = 0;
  virtual Status EnablePeer(int32_t device) = 0;

  // `first`: its work goes before that of other streams where both could run.
  virtual StatusOr<StreamHandle> CreateStream(bool first) = 0;
  virtual void DestroyStream(StreamHandle stream) = 0;
  virtual Status Synchronize(StreamHandle stream) = 0;
  virtual StatusOr<EventHandle> CreateEvent() = 0;
  virtual void DestroyEvent(EventHandle event) = 0;
  // Null is the legacy stream, as in CUDA.
  virtual Status Record(EventHandle event, StreamHandle stream) = 0;
  // Work that `stream` gets from now on waits for what `event` recorded last, if it ever did.
  virtual Status AwaitEvent(StreamHandle stream, EventHandle event) = 0;
  // Whether what the event recorded last is over; an error of the device comes out here too.
  virtual StatusOr<bool> IsDone(EventHandle event) = 0;
  // Between two events that are over.
  virtual StatusOr<std::chrono::nanoseconds> Elapsed(EventHandle from, EventHandle to) = 0;

  // From one place of the device to another.
  virtual Status CopyOnDevice(uint8_t* to, const uint8_t* from, int64_t bytes,
                              StreamHandle stream) = 0;
  // Kernels.
  virtual Status LaunchCopies(CopyKind kind, const CopyTables& tables, TileRange tiles,
                              StreamHandle stream) = 0;
  // Raises every flag to `value`, after all that the stream did before, for the whole system; but
  // nothing when `*stop` is not zero: what came before may then have been given up half done.
  virtual Status LaunchSignal(const FlagList& list, uint64_t value, const uint32_t* stop,
                              StreamHandle stream) = 0;
  // The stream goes on when every flag is at least `value`, or when `*stop` is not zero.
  virtual Status LaunchAwait(const FlagList& list, uint64_t value, const uint32_t* stop,
                             StreamHandle stream) = 0;
};

// Makes the device current on this thread while it lives: the caller's threads keep theirs.
class CurrentDevice {
 public:
  explicit CurrentDevice(GpuRuntime* gpu)
      : gpu_(*gpu), before_(gpu->Current()), status_(gpu->MakeCurrent()) {}
  ~CurrentDevice() { gpu_.Restore(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  const Status& status() const { return status_; }

 private:
  GpuRuntime& gpu_;
  const int64_t before_;
  const Status status_;
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_GPU_RUNTIME_H_
