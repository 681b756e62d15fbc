// HostGpu: a GPU made of threads and host memory, for tests of the NCCL backend.
//
// A stream is a queue that one thread drains in order; an event is a counter, and waiting for it
// means waiting for what it had recorded last when the wait was asked for. Kernels run their host
// form, thread after thread of each block. Device memory is host memory that a HostMachine keeps a
// list of, so that a pointer that is no device memory, a handle opened in its own process, and
// memory that nobody gave back are found, and so is work asked for on a thread on which another
// device is current. Nothing is allocated once streams are warm.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_GPU_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_GPU_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

// The memory of all devices of a test. Thread-safe; outlives the HostGpus.
class HostMachine {
 public:
  // `unified`: all memory of the process is device memory, too. `jitter_seed`: unless it is zero,
  // streams dawdle now and then, so that work without an order between it comes in any order.
  explicit HostMachine(bool unified = false, uint64_t jitter_seed = 0)
      : unified_(unified), jitter_seed_(jitter_seed) {}

  // Blocks and opened handles that were not given back.
  size_t blocks_in_use() const;
  size_t handles_open() const;

 private:
  friend class HostGpu;
  struct Block {
    int64_t bytes = 0;
    GpuIdentity owner;
  };
  const bool unified_;
  const uint64_t jitter_seed_;
  mutable std::mutex mutex_;
  std::map<uint8_t*, Block> blocks_;
  std::multimap<uint8_t*, GpuIdentity> opened_;
};

class HostStream;

class HostGpu final : public GpuRuntime {
 public:
  HostGpu(HostMachine* machine, const GpuIdentity& identity)
      : machine_(*machine), identity_(identity) {}

  // Copies after the next `launch_count` cannot be launched: the device is broken.
  void BreakAfter(int64_t launch_count) { launches_left_ = launch_count; }
  // It has so much memory, for all that is allocated from now on.
  void LimitMemory(int64_t bytes) { memory_left_ = bytes; }
  // Every copy kernel begins so much later.
  void SlowDown(std::chrono::nanoseconds delay) { delay_ = delay; }

  GpuIdentity identity() const override { return identity_; }
  Status MakeCurrent() override;
  int64_t Current() override;
  void Restore(int64_t current) override;
  StatusOr<uint8_t*> Allocate(int64_t bytes) override;
  void Free(uint8_t* block) override;
  StatusOr<SharedWord> AllocateWord() override;
  void FreeWord(const SharedWord& word) override;
  StatusOr<bool> IsDeviceMemory(const uint8_t* pointer) override;
  Status CopyToDevice(uint8_t* to, const void* from, int64_t bytes) override;
  Status CopyToHost(void* to, const uint8_t* from, int64_t bytes) override;
  StatusOr<uint64_t> ReadFlag(const uint64_t* flag) override;
  StatusOr<MemoryHandle> Export(uint8_t* block) override;
  StatusOr<uint8_t*> Open(const MemoryHandle& handle) override;
  void Close(uint8_t* opened) override;
  Status EnablePeer(int32_t device) override;
  StatusOr<StreamHandle> CreateStream(bool first) override;
  void DestroyStream(StreamHandle stream) override;
  Status Synchronize(StreamHandle stream) override;
  StatusOr<EventHandle> CreateEvent() override;
  void DestroyEvent(EventHandle event) override;
  Status Record(EventHandle event, StreamHandle stream) override;
  Status AwaitEvent(StreamHandle stream, EventHandle event) override;
  StatusOr<bool> IsDone(EventHandle event) override;
  StatusOr<std::chrono::nanoseconds> Elapsed(EventHandle from, EventHandle to) override;
  Status CopyOnDevice(uint8_t* to, const uint8_t* from, int64_t bytes,
                      StreamHandle stream) override;
  Status LaunchCopies(CopyKind kind, const CopyTables& tables, TileRange tiles,
                      StreamHandle stream) override;
  Status LaunchSignal(const FlagList& list, uint64_t value, const uint32_t* stop,
                      StreamHandle stream) override;
  Status LaunchAwait(const FlagList& list, uint64_t value, const uint32_t* stop,
                     StreamHandle stream) override;

 private:
  HostMachine& machine_;
  const GpuIdentity identity_;
  std::atomic<int64_t> memory_left_ = INT64_MAX;
  int64_t launches_left_ = INT64_MAX;
  std::chrono::nanoseconds delay_{0};
  uint64_t stream_count_ = 0;
};

// One piece of work of a stream: a small function object that is copied bit by bit.
class HostTask {
 public:
  HostTask() = default;
  template <class Work>
  explicit HostTask(const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= sizeof(work_));
    new (work_) Work(work);
    run_ = [](std::byte* stored) { (*std::launder(reinterpret_cast<Work*>(stored)))(); };
  }
  void Run() { run_(work_); }

 private:
  alignas(std::max_align_t) std::byte work_[96];
  void (*run_)(std::byte* stored) = nullptr;
};

// Appends work to a stream of any HostGpu.
void Enqueue(StreamHandle stream, const HostTask& task);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_GPU_H_
