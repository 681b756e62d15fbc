// DomainReads: what the ranks of a domain read from each other's receive slots, from the side of
// the rank that landed it.
//
// A reader knows this from its own program. Only where the bytes go through NCCL does the lander
// have to know as well, and expands the programs of its neighbours for it.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_READS_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_READS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard::nccl {

struct DomainRead {
  uint32_t reader = 0;
  uint32_t round = 0;        // in which it landed
  int64_t arena_offset = 0;  // in the lander's arena
  int64_t extent = 0;
};

// What `readers` (rising) read from `lander`: by (round, reader), then in the order in which the
// reader's program has it.
std::vector<DomainRead> ReadsFrom(const Plan& plan, const ProgramIndex& index, uint32_t lander,
                                  std::span<const uint32_t> readers);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_READS_H_
