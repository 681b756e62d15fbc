// Counts the allocations of all threads of the process.
//
// Replaces operator new of the program that it is linked into.
#ifndef RESHARD_RUNTIME_EXEC_TESTING_ALLOCATION_COUNT_H_
#define RESHARD_RUNTIME_EXEC_TESTING_ALLOCATION_COUNT_H_

#include <cstdint>

namespace reshard::testing {

// Of the process so far.
int64_t AllocationCount();

}  // namespace reshard::testing

#endif  // RESHARD_RUNTIME_EXEC_TESTING_ALLOCATION_COUNT_H_
