// CompileJob: from the inputs of a job to its plan, as it is read back and verified.
#ifndef RESHARD_TESTS_PROPERTY_COMPILED_JOB_H_
#define RESHARD_TESTS_PROPERTY_COMPILED_JOB_H_

#include <string>

#include "runtime/plan/load_plan.h"
#include "tests/property/job.h"

namespace reshard {

// What went wrong; "" when nothing did.
std::string CompileJob(const Job& job, LoadedPlan* out);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_COMPILED_JOB_H_
