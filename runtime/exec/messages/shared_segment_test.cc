#include "runtime/exec/messages/shared_segment.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// The exit status of `child` in a process of its own.
template <class Child>
int InChild(Child child) {
  const pid_t process = fork();
  if (process == 0) _exit(child());
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("another process sees the arena and the progress") {
  StatusOr<std::unique_ptr<SharedSegment>> made = SharedSegment::Create(1000);
  REQUIRE(made.ok());
  SharedSegment& own = **made;
  std::memset(own.arena(), 0x5A, 1000);
  own.progress().landed.store(7);
  own.progress().reads.store(9);
  const SegmentAddress address = own.address();
  CHECK(reinterpret_cast<uintptr_t>(own.arena()) % 256 == 0);
  CHECK(InChild([&] {
          // A mapping of its own, not the inherited one.
          const std::unique_ptr<const SharedSegment> other = SharedSegment::Open(address);
          if (!other) return 1;
          if (other->arena() == own.arena()) return 2;
          if (other->arena()[0] != 0x5A || other->arena()[999] != 0x5A) return 3;
          return other->progress().landed == 7 && other->progress().reads == 9 ? 0 : 4;
        }) == 0);
}

TEST_CASE("a mapping outlives the descriptor and the owner's object") {
  StatusOr<std::unique_ptr<SharedSegment>> made = SharedSegment::Create(64);
  REQUIRE(made.ok());
  (*made)->arena()[5] = 42;
  const SegmentAddress address = (*made)->address();
  const std::unique_ptr<const SharedSegment> other = SharedSegment::Open(address);
  REQUIRE(other);
  (*made)->CloseDescriptor();
  CHECK(SharedSegment::Open(address) == nullptr);
  made->reset();
  CHECK(other->arena()[5] == 42);
}

TEST_CASE("what is not this segment is not opened") {
  StatusOr<std::unique_ptr<SharedSegment>> made = SharedSegment::Create(64);
  REQUIRE(made.ok());
  const SegmentAddress address = (*made)->address();
  SegmentAddress other = address;
  other.token[1] ^= 1;
  CHECK(SharedSegment::Open(other) == nullptr);
  other = address;
  other.arena_bytes = 65;
  CHECK(SharedSegment::Open(other) == nullptr);
  other = address;
  other.descriptor += 1000;
  CHECK(SharedSegment::Open(other) == nullptr);
  other = address;
  other.process = -1;
  CHECK(SharedSegment::Open(other) == nullptr);
  other = address;
  other.arena_bytes = -5000;
  CHECK(SharedSegment::Open(other) == nullptr);
  CHECK(SharedSegment::Open(address) != nullptr);
}

TEST_CASE("an arena that does not fit into memory is an error at once") {
  const StatusOr<std::unique_ptr<SharedSegment>> huge = SharedSegment::Create(int64_t{1} << 50);
  CHECK(huge.status().code() == StatusCode::kLimitExceeded);
  CHECK(SharedSegment::Create(-1).status().code() == StatusCode::kInvalidArgument);
  const StatusOr<std::unique_ptr<SharedSegment>> empty = SharedSegment::Create(0);
  REQUIRE(empty.ok());
  CHECK(SharedSegment::Open((*empty)->address()) != nullptr);
}

}  // namespace
}  // namespace reshard
