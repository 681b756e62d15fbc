// The trace of executions, in the format of `reshardc simulate --trace`, for the same viewers.
#ifndef RESHARD_RUNTIME_EXEC_TRACE_H_
#define RESHARD_RUNTIME_EXEC_TRACE_H_

#include <cstdint>
#include <ostream>
#include <span>

#include "runtime/exec/stats.h"

namespace reshard {

struct RankRecord {
  uint32_t rank = 0;
  const ExecutionRecord* record = nullptr;  // prepared with trace
};

// Messages and copies are named, categorized and described as in a simulation, other steps by their
// stage. One process "executed", per rank a track for what it receives and one for what it does.
// Times count from the first beginning among the records.
void WriteTrace(std::span<const RankRecord> ranks, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TRACE_H_
