// What the naive interpreter says of a layout, written out element by element.
#ifndef RESHARD_TESTS_PROPERTY_NAIVE_ARRAYS_H_
#define RESHARD_TESTS_PROPERTY_NAIVE_ARRAYS_H_

#include <string>
#include <vector>

#include "tests/property/job.h"

namespace reshard {

// The params of both sides as the naive interpreter finds them. False once `error` says why not.
// Elements are numbered by tensor in the order of the files, then row-major.
bool NaiveJobParams(const std::string& train, const std::string& infer, std::vector<JobParam>* out,
                    std::string* error);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_NAIVE_ARRAYS_H_
