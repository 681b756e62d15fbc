#include "runtime/exec/testing/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> allocation_count{0};
}  // namespace

void* operator new(size_t bytes) {
  ++allocation_count;
  if (void* block = std::malloc(bytes > 0 ? bytes : 1)) return block;
  throw std::bad_alloc();
}
// std::stable_sort takes its buffer from this one and returns it to the common delete.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocation_count;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace reshard::testing {

int64_t AllocationCount() { return allocation_count; }

}  // namespace reshard::testing
