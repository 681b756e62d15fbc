// What the bytes of a job's params are, before and after an execution: every element of the model
// has a value of its own, and another one in every execution.
#ifndef RESHARD_TESTS_PROPERTY_JOB_CONTENT_H_
#define RESHARD_TESTS_PROPERTY_JOB_CONTENT_H_

#include <cstdint>
#include <vector>

#include "tests/oracle/element_array.h"
#include "tests/property/job.h"

namespace reshard {

// The bytes of a param before an execution or `after` it. Destination params hold stale values
// before.
std::vector<uint8_t> ParamContent(const JobParam& param, const ElementArray& array,
                                  uint32_t execution, bool after);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_JOB_CONTENT_H_
