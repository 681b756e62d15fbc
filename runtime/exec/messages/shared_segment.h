// SharedSegment: the arena of one rank and its progress, in memory that other processes can map.
//
// The memory has no name: it is reached through the file descriptor of its owner, so that nothing
// is left behind when a process is killed, and no limit of /dev/shm applies. A process that cannot
// reach it (another host, another container) finds out by trying, not by host names, which lie in
// containers. The owner writes; others map it read-only, and keep it mapped as long as they like.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_SHARED_SEGMENT_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_SHARED_SEGMENT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/base/status.h"

namespace reshard {

// How another process finds a segment. Plain bytes, to be sent.
struct SegmentAddress {
  int64_t process = 0;
  int64_t descriptor = 0;
  uint64_t token[2] = {0, 0};  // random: tells this segment from all others
  int64_t arena_bytes = 0;
};

// Steps as RankTransport counts them. Each has a cache line of its own.
struct SegmentProgress {
  alignas(64) std::atomic<uint64_t> landed{0};
  alignas(64) std::atomic<uint64_t> reads{0};
};

class SharedSegment {
 public:
  // A segment of this process.
  static StatusOr<std::unique_ptr<SharedSegment>> Create(int64_t arena_bytes);
  // The segment of another process; null when it cannot be reached from here.
  static std::unique_ptr<const SharedSegment> Open(const SegmentAddress& address);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  const SegmentAddress& address() const { return address_; }
  uint8_t* arena() { return arena_; }
  const uint8_t* arena() const { return arena_; }
  SegmentProgress& progress() { return *progress_; }
  const SegmentProgress& progress() const { return *progress_; }

  // Nobody can open it from now on; those who have it keep it.
  void CloseDescriptor();

 private:
  SharedSegment() = default;

  SegmentAddress address_;
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  SegmentProgress* progress_ = nullptr;
  uint8_t* arena_ = nullptr;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_SHARED_SEGMENT_H_
