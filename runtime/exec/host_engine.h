// HostEngine: runs the program of one rank with the processor, over a RankTransport.
//
// Everything is prepared beforehand: which bytes each message gathers or scatters, in which order,
// and what each round waits for. It overlaps the network of round r with the copies of round r - 1
// and the packing of round r + 1, as far as the transport moves bytes by itself. Every wait of
// round r is for something that another rank does in an earlier round, or earlier in the order
// pack, start, copy, pack ahead, finish, publish of the same round: no circle can form. Ranks need
// no thread each, but Execute of all ranks has to run at the same time.
#ifndef RESHARD_RUNTIME_EXEC_HOST_ENGINE_H_
#define RESHARD_RUNTIME_EXEC_HOST_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/prepared_program.h"

namespace reshard {

// Error when the transport's arena is smaller than the plan says.
StatusOr<std::unique_ptr<ExecutionEngine>> MakeHostEngine(const EngineSpec& spec,
                                                          std::shared_ptr<RankTransport> transport);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_HOST_ENGINE_H_
