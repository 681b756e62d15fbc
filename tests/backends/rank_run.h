// RankRun: one rank of a job on one backend: its buffers, and whether every byte is right after
// each execution. The ranks of a job do so at the same time, on threads or in processes.
#ifndef RESHARD_TESTS_BACKENDS_RANK_RUN_H_
#define RESHARD_TESTS_BACKENDS_RANK_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/backend.h"
#include "runtime/exec/executor.h"
#include "runtime/plan/load_plan.h"
#include "tests/property/job.h"

namespace reshard {

struct CompiledCase {
  Job job;
  std::shared_ptr<const SharedPlan> plan;
};
// What went wrong; "" when nothing did.
std::string CompileCase(Job job, CompiledCase* out);

// How many allocations the process has made; null where nobody counts.
using CountAllocations = int64_t (*)();

// What went wrong on this rank; "" when all bytes were right in all executions, and none but the
// first, which checks contents, allocated anything.
std::string RunRank(const CompiledCase& compiled, uint32_t rank, std::shared_ptr<Backend> backend,
                    uint32_t executions, CountAllocations allocations = nullptr);

// The backends of all members of a new job in this process.
using MakeBackends = std::function<std::vector<std::shared_ptr<Backend>>(uint32_t member_count)>;
// RunRank of all ranks, each on a thread: the first problem, or "".
std::string RunOnThreads(Job job, const MakeBackends& make_backends, uint32_t executions);

}  // namespace reshard

#endif  // RESHARD_TESTS_BACKENDS_RANK_RUN_H_
