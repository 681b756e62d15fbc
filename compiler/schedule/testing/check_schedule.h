// CheckSchedule: the rules of a plan (runtime/plan/plan.h, program.h), proved for a small schedule
// by writing down every message and every delivered byte range. Shares no code with the passes.
#ifndef RESHARD_COMPILER_SCHEDULE_TESTING_CHECK_SCHEDULE_H_
#define RESHARD_COMPILER_SCHEDULE_TESTING_CHECK_SCHEDULE_H_

#include <string>

#include "compiler/route/testing/job.h"
#include "compiler/schedule/schedule.h"

namespace reshard::testing {

// Empty, or the first rule that does not hold and where.
std::string CheckSchedule(const Job& job, const ScheduleOptions& options, const Schedule& schedule);

// Messages between ranks, all hops counted.
int64_t CountMessages(const Schedule& schedule);

}  // namespace reshard::testing

#endif  // RESHARD_COMPILER_SCHEDULE_TESTING_CHECK_SCHEDULE_H_
