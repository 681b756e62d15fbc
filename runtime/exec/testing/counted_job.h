// Counts the allocations of all threads of the process while small plans are executed.
//
// Replaces operator new of the program that it is linked into (allocation_count.h).
#ifndef RESHARD_RUNTIME_EXEC_TESTING_COUNTED_JOB_H_
#define RESHARD_RUNTIME_EXEC_TESTING_COUNTED_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/backend.h"

namespace reshard::testing {

using MakeJobBackends = std::function<std::vector<std::shared_ptr<Backend>>(uint32_t member_count)>;

// Executes every small plan three times, with and without a trace. "", or the first plan that
// failed or allocated something between the first start and the last wait.
std::string ExecuteCounted(const MakeJobBackends& make_backends);

}  // namespace reshard::testing

#endif  // RESHARD_RUNTIME_EXEC_TESTING_COUNTED_JOB_H_
