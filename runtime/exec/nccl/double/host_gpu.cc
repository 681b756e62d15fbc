#include "runtime/exec/nccl/double/host_gpu.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/check.h"

namespace reshard::nccl {
namespace {

constexpr std::chrono::microseconds kPollInterval(20);
constexpr int64_t kAlignBytes = 256;
// Threads of a block of the host's kernels; the result may not depend on it.
constexpr uint32_t kHostBlockThreads = 2 * kWarpThreads;

using Clock = std::chrono::steady_clock;

thread_local const HostGpu* current_device = nullptr;

template <CopyKind kKind>
void RunTiles(const CopyTables& tables, TileRange range) {
  for (uint32_t tile = range.first; tile < range.first + range.count; ++tile) {
    for (uint32_t thread = 0; thread < kHostBlockThreads; ++thread) {
      RunTile<kKind>(tables, tile, thread, kHostBlockThreads);
    }
  }
}

bool IsStopped(const uint32_t* stop) {
  return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(stop)).load(std::memory_order_acquire) !=
         0;
}

struct HostEvent {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t done = 0;
  Clock::time_point time{};  // of the last that is done

  void Finish(uint64_t count) {
    {
      const std::lock_guard lock(mutex);
      done = std::max(done, count);
      time = Clock::now();
    }
    changed.notify_all();
  }
  void Await(uint64_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done >= count; });
  }
};

HostEvent* EventOf(EventHandle event) { return reinterpret_cast<HostEvent*>(event); }

}  // namespace

class HostStream {
 public:
  explicit HostStream(uint64_t jitter_seed) : jitter_(jitter_seed), worker_([this] { Drain(); }) {}
  ~HostStream() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void Append(const HostTask& task) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return count_ < kCapacity; });
      tasks_[(first_ + count_) % kCapacity] = task;
      ++count_;
    }
    changed_.notify_all();
  }
  void Synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  void Drain() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || count_ > 0; });
      if (count_ == 0) return;
      HostTask task = tasks_[first_];
      lock.unlock();
      Dawdle();
      task.Run();
      lock.lock();
      first_ = (first_ + 1) % kCapacity;
      --count_;
      changed_.notify_all();
    }
  }

  void Dawdle() {
    if (jitter_ == 0) return;
    jitter_ ^= jitter_ << 13;
    jitter_ ^= jitter_ >> 7;
    jitter_ ^= jitter_ << 17;
    if (jitter_ % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(jitter_ / 4 % 500));
  }

  // A caller that is further ahead waits, as with a real device.
  static constexpr size_t kCapacity = 256;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HostTask> tasks_ = std::vector<HostTask>(kCapacity);
  size_t first_ = 0;
  size_t count_ = 0;  // a task counts until it has run
  bool closing_ = false;
  uint64_t jitter_;     // the worker's: the state of a xorshift generator
  std::thread worker_;  // last: it starts when all the rest is there
};

namespace {

HostStream* StreamOf(StreamHandle stream) { return reinterpret_cast<HostStream*>(stream); }

}  // namespace

void Enqueue(StreamHandle stream, const HostTask& task) { StreamOf(stream)->Append(task); }

size_t HostMachine::blocks_in_use() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

size_t HostMachine::handles_open() const {
  const std::lock_guard lock(mutex_);
  return opened_.size();
}

Status HostGpu::MakeCurrent() {
  current_device = this;
  return Status();
}

int64_t HostGpu::Current() {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(current_device));
}

void HostGpu::Restore(int64_t current) {
  current_device = reinterpret_cast<const HostGpu*>(static_cast<intptr_t>(current));
}

StatusOr<uint8_t*> HostGpu::Allocate(int64_t bytes) {
  RESHARD_CHECK(current_device == this, "another device is current");
  const int64_t units = std::max<int64_t>((bytes + kAlignBytes - 1) / kAlignBytes, 1);
  if (memory_left_.fetch_sub(units * kAlignBytes) < units * kAlignBytes) {
    return Status(StatusCode::kLimitExceeded, "no memory for " + std::to_string(bytes) + " bytes");
  }
  auto* const block = static_cast<uint8_t*>(std::aligned_alloc(
      static_cast<size_t>(kAlignBytes), static_cast<size_t>(units * kAlignBytes)));
  if (block == nullptr) {
    return Status(StatusCode::kLimitExceeded, "no memory for " + std::to_string(bytes) + " bytes");
  }
  std::memset(block, 0, static_cast<size_t>(units * kAlignBytes));
  const std::lock_guard lock(machine_.mutex_);
  machine_.blocks_[block] = {units * kAlignBytes, identity_};
  return block;
}

void HostGpu::Free(uint8_t* block) {
  {
    const std::lock_guard lock(machine_.mutex_);
    const auto found = machine_.blocks_.find(block);
    RESHARD_CHECK(found != machine_.blocks_.end(), "freed what is no block of the device");
    // Who still reads it shall notice.
    std::memset(block, 0xDD, static_cast<size_t>(found->second.bytes));
    machine_.blocks_.erase(found);
  }
  std::free(block);
}

StatusOr<SharedWord> HostGpu::AllocateWord() {
  auto* const word = new uint32_t(0);
  return SharedWord{word, word};
}

void HostGpu::FreeWord(const SharedWord& word) { delete word.host; }

StatusOr<bool> HostGpu::IsDeviceMemory(const uint8_t* pointer) {
  if (machine_.unified_) return true;
  const std::lock_guard lock(machine_.mutex_);
  auto after = machine_.blocks_.upper_bound(const_cast<uint8_t*>(pointer));
  if (after == machine_.blocks_.begin()) return false;
  --after;
  return pointer < after->first + after->second.bytes;
}

Status HostGpu::CopyToDevice(uint8_t* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  return Status();
}

Status HostGpu::CopyToHost(void* to, const uint8_t* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  return Status();
}

StatusOr<uint64_t> HostGpu::ReadFlag(const uint64_t* flag) {
  return std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(flag)).load(std::memory_order_acquire);
}

StatusOr<MemoryHandle> HostGpu::Export(uint8_t* block) {
  const std::lock_guard lock(machine_.mutex_);
  if (machine_.blocks_.count(block) == 0) {
    return Status(StatusCode::kInvalidArgument, "only whole blocks have a handle");
  }
  MemoryHandle handle;
  std::memcpy(handle.bytes.data(), &block, sizeof(block));
  return handle;
}

StatusOr<uint8_t*> HostGpu::Open(const MemoryHandle& handle) {
  uint8_t* block = nullptr;
  std::memcpy(&block, handle.bytes.data(), sizeof(block));
  const std::lock_guard lock(machine_.mutex_);
  const auto found = machine_.blocks_.find(block);
  if (found == machine_.blocks_.end() || found->second.owner.host != identity_.host ||
      found->second.owner.process == identity_.process) {
    return Status(StatusCode::kInvalidArgument, "no handle of another process of this host");
  }
  machine_.opened_.emplace(block, identity_);
  return block;
}

void HostGpu::Close(uint8_t* opened) {
  const std::lock_guard lock(machine_.mutex_);
  const auto [first, end] = machine_.opened_.equal_range(opened);
  const auto mine =
      std::find_if(first, end, [&](const auto& entry) { return entry.second == identity_; });
  RESHARD_CHECK(mine != end, "closed a handle that is not open");
  machine_.opened_.erase(mine);
}

Status HostGpu::EnablePeer(int32_t) { return Status(); }

StatusOr<StreamHandle> HostGpu::CreateStream(bool) {
  RESHARD_CHECK(current_device == this, "another device is current");
  uint64_t seed = 0;
  if (machine_.jitter_seed_ != 0) {
    seed = machine_.jitter_seed_ * 1000003 + identity_.process * 1009 +
           static_cast<uint64_t>(identity_.device) * 31 + ++stream_count_;
  }
  return reinterpret_cast<StreamHandle>(new HostStream(seed));
}

void HostGpu::DestroyStream(StreamHandle stream) { delete StreamOf(stream); }

Status HostGpu::Synchronize(StreamHandle stream) {
  StreamOf(stream)->Synchronize();
  return Status();
}

StatusOr<EventHandle> HostGpu::CreateEvent() {
  RESHARD_CHECK(current_device == this, "another device is current");
  return reinterpret_cast<EventHandle>(new HostEvent());
}

void HostGpu::DestroyEvent(EventHandle event) { delete EventOf(event); }

Status HostGpu::Record(EventHandle event, StreamHandle stream) {
  RESHARD_CHECK(current_device == this, "another device is current");
  HostEvent* const host = EventOf(event);
  uint64_t count = 0;
  {
    const std::lock_guard lock(host->mutex);
    count = ++host->recorded;
  }
  if (stream == nullptr) {
    host->Finish(count);  // nothing ever runs on the legacy stream
  } else {
    Enqueue(stream, HostTask([host, count] { host->Finish(count); }));
  }
  return Status();
}

Status HostGpu::AwaitEvent(StreamHandle stream, EventHandle event) {
  HostEvent* const host = EventOf(event);
  uint64_t count = 0;
  {
    const std::lock_guard lock(host->mutex);
    count = host->recorded;
  }
  Enqueue(stream, HostTask([host, count] { host->Await(count); }));
  return Status();
}

StatusOr<bool> HostGpu::IsDone(EventHandle event) {
  HostEvent* const host = EventOf(event);
  const std::lock_guard lock(host->mutex);
  return host->done == host->recorded;
}

StatusOr<std::chrono::nanoseconds> HostGpu::Elapsed(EventHandle from, EventHandle to) {
  const auto time_of = [](HostEvent* host) {
    const std::lock_guard lock(host->mutex);
    return host->time;
  };
  return std::chrono::nanoseconds(time_of(EventOf(to)) - time_of(EventOf(from)));
}

Status HostGpu::CopyOnDevice(uint8_t* to, const uint8_t* from, int64_t bytes, StreamHandle stream) {
  Enqueue(stream, HostTask([to, from, bytes] {
            if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
          }));
  return Status();
}

Status HostGpu::LaunchCopies(CopyKind kind, const CopyTables& tables, TileRange tiles,
                             StreamHandle stream) {
  RESHARD_CHECK(current_device == this, "another device is current");
  if (launches_left_-- <= 0) return Status(StatusCode::kIoError, "the device is broken");
  Enqueue(stream, HostTask([kind, tables, tiles, delay = delay_] {
            if (delay.count() > 0) std::this_thread::sleep_for(delay);
            switch (kind) {
              case CopyKind::kGather:
                return RunTiles<CopyKind::kGather>(tables, tiles);
              case CopyKind::kScatter:
                return RunTiles<CopyKind::kScatter>(tables, tiles);
              case CopyKind::kZero:
                return RunTiles<CopyKind::kZero>(tables, tiles);
            }
          }));
  return Status();
}

Status HostGpu::LaunchSignal(const FlagList& list, uint64_t value, const uint32_t* stop,
                             StreamHandle stream) {
  RESHARD_CHECK(current_device == this, "another device is current");
  Enqueue(stream, HostTask([list, value, stop] {
            if (IsStopped(stop)) return;
            for (uint32_t i = 0; i < list.count; ++i) {
              std::atomic_ref<uint64_t>(*list.flags[i]).store(value, std::memory_order_release);
            }
          }));
  return Status();
}

Status HostGpu::LaunchAwait(const FlagList& list, uint64_t value, const uint32_t* stop,
                            StreamHandle stream) {
  RESHARD_CHECK(current_device == this, "another device is current");
  Enqueue(stream, HostTask([list, value, stop] {
            for (uint32_t i = 0; i < list.count; ++i) {
              const std::atomic_ref<uint64_t> flag(*list.flags[i]);
              while (flag.load(std::memory_order_acquire) < value && !IsStopped(stop)) {
                std::this_thread::sleep_for(kPollInterval);
              }
            }
          }));
  return Status();
}

}  // namespace reshard::nccl
