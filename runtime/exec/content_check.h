// ContentCheck: after an execution, do sources and destinations hold the same bytes?
//
// Every rank hashes (XXH3) the bytes of every tensor that it holds or needs, class by class, in the
// order that both sides share; all ranks compare over the control channel. It sees what structure
// cannot: memory that was changed while it was read, a transport that lost a byte, source replicas
// that differ. It costs a pass over all params and memory of its own: for the first executions of a
// job, not for every one.
#ifndef RESHARD_RUNTIME_EXEC_CONTENT_CHECK_H_
#define RESHARD_RUNTIME_EXEC_CONTENT_CHECK_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct ContentCheckSpec {
  const Plan* plan = nullptr;
  uint32_t rank = 0;
  bool host_memory = true;  // false: params are read through the engine
  const PreparedProgram* program = nullptr;
  ExecutionEngine* engine = nullptr;
  ControlChannel* control = nullptr;
  std::span<const uint32_t> ranks_of_members;
};

// Collective over all ranks, right after an execution that succeeded. The same error on every rank
// (kCorruptData) names tensors and ranks that differ.
Status CheckContent(const ContentCheckSpec& spec, Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_CONTENT_CHECK_H_
