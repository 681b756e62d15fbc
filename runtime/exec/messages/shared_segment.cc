#include "runtime/exec/messages/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// What a mapping begins with; the arena follows at kArenaOffset.
struct SegmentHead {
  uint64_t token[2] = {0, 0};
  SegmentProgress progress;
};
constexpr int64_t kArenaOffset = 4096;
static_assert(sizeof(SegmentHead) <= kArenaOffset && kArenaOffset % kSlotAlignBytes == 0);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

Status SystemError(const std::string& what, int code) {
  const StatusCode kind = code == ENOMEM || code == ENOSPC || code == EMFILE || code == ENFILE
                              ? StatusCode::kLimitExceeded
                              : StatusCode::kIoError;
  return Status(kind, what + ": " + std::strerror(code));
}

}  // namespace

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Create(int64_t arena_bytes) {
  if (arena_bytes < 0 || arena_bytes > kMaxPlanBytes) {
    return Status(StatusCode::kInvalidArgument,
                  "an arena of " + std::to_string(arena_bytes) + " bytes");
  }
  const std::string what = "staging memory of " + std::to_string(arena_bytes) + " bytes";
  std::unique_ptr<SharedSegment> segment(new SharedSegment());
  const int descriptor = memfd_create("reshard-arena", MFD_CLOEXEC);
  if (descriptor < 0) return SystemError(what, errno);
  segment->address_ = {getpid(), descriptor, {0, 0}, arena_bytes};
  const int64_t total_bytes = kArenaOffset + arena_bytes;
  if (ftruncate(descriptor, total_bytes) != 0) return SystemError(what, errno);
  if (getrandom(segment->address_.token, sizeof(segment->address_.token), 0) !=
      static_cast<ssize_t>(sizeof(segment->address_.token))) {
    return SystemError("no random bytes", errno);
  }
  void* const mapping = mmap(nullptr, static_cast<size_t>(total_bytes), PROT_READ | PROT_WRITE,
                             MAP_SHARED, descriptor, 0);
  if (mapping == MAP_FAILED) return SystemError(what, errno);
  segment->mapping_ = mapping;
  segment->mapped_bytes_ = static_cast<size_t>(total_bytes);
  // Takes all pages now and not in the first execution. Kernels before 5.14 cannot.
  if (madvise(mapping, static_cast<size_t>(total_bytes), MADV_POPULATE_WRITE) != 0 &&
      errno != EINVAL) {
    return SystemError(what, errno);
  }
  SegmentHead* const head = new (mapping) SegmentHead();
  std::memcpy(head->token, segment->address_.token, sizeof(head->token));
  segment->progress_ = &head->progress;
  segment->arena_ = static_cast<uint8_t*>(mapping) + kArenaOffset;
  return segment;
}

std::unique_ptr<const SharedSegment> SharedSegment::Open(const SegmentAddress& address) {
  if (address.arena_bytes < 0 || address.arena_bytes > kMaxPlanBytes) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return nullptr;
  const int64_t total_bytes = kArenaOffset + address.arena_bytes;
  struct stat found {};
  void* mapping = MAP_FAILED;
  if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == total_bytes) {
    mapping = mmap(nullptr, static_cast<size_t>(total_bytes), PROT_READ, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (mapping == MAP_FAILED) return nullptr;
  std::unique_ptr<SharedSegment> segment(new SharedSegment());
  segment->address_ = address;
  segment->address_.descriptor = -1;
  segment->mapping_ = mapping;
  segment->mapped_bytes_ = static_cast<size_t>(total_bytes);
  auto* const head = static_cast<SegmentHead*>(mapping);
  if (std::memcmp(head->token, address.token, sizeof(head->token)) != 0) return nullptr;
  segment->progress_ = &head->progress;
  segment->arena_ = static_cast<uint8_t*>(mapping) + kArenaOffset;
  return segment;
}

SharedSegment::~SharedSegment() {
  CloseDescriptor();
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

void SharedSegment::CloseDescriptor() {
  if (address_.descriptor < 0) return;
  close(static_cast<int>(address_.descriptor));
  address_.descriptor = -1;
}

}  // namespace reshard
