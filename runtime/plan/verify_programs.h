// Rules about expanded programs: what ExpandProgram yields is followed byte by byte through the
// arenas, as if it came from anywhere else.
//
// match, progress, slot-reuse, slot-size, message-unique, ops-per-round, empty-op, provenance,
// locality, delivery, write-race. The rules that count from trees (verify_slots.h, verify_routes.h)
// say the same for plans of any size; this checks in addition that the expansion does what they
// assume.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_PROGRAMS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_PROGRAMS_H_

#include <span>

#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// `programs` rise by rank and are of ranks of the plan. What a rule needs of a rank without a
// program is taken to be right. The plan has passed VerifyBounds and its class and stream bytes are
// right.
void VerifyPrograms(const Plan& plan, const VerifyFacts& facts, std::span<const Program> programs,
                    VerifyLog* log);

// About the steps that expanding and checking the program of plan.ranks[rank_index] takes.
uint64_t ProgramSteps(const Plan& plan, const VerifyFacts& facts, uint32_t rank_index);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_PROGRAMS_H_
