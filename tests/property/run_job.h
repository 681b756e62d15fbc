// RunJob: a job taken the whole way: compile, write, load, verify, run with a thread per rank,
// compare every byte.
#ifndef RESHARD_TESTS_PROPERTY_RUN_JOB_H_
#define RESHARD_TESTS_PROPERTY_RUN_JOB_H_

#include <cstdint>
#include <string>

#include "tests/property/job.h"

namespace reshard {

struct JobResult {
  std::string problem;  // "" when all is right
  int64_t network_bytes = 0;
  uint32_t rounds = 0;
};

// Each execution fills the sources with other values, so that stale bytes are seen too.
JobResult RunJob(const Job& job, uint32_t executions);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_RUN_JOB_H_
