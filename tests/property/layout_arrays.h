// What the compiler's Layout says is stored, written out element by element.
#ifndef RESHARD_TESTS_PROPERTY_LAYOUT_ARRAYS_H_
#define RESHARD_TESTS_PROPERTY_LAYOUT_ARRAYS_H_

#include <string>
#include <vector>

#include "tests/property/job.h"

namespace reshard {

// The params of both sides (external ones left out) as BuildLayout finds them, numbered as
// NaiveJobParams does. An empty `infer` leaves that side out. False once `error` says why not.
bool LayoutJobParams(const std::string& train, const std::string& infer, std::vector<JobParam>* out,
                     std::string* error);

// The first difference between two lists of params, in words; "" when they say the same.
std::string DifferenceOf(const std::vector<JobParam>& found, const std::vector<JobParam>& expected);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_LAYOUT_ARRAYS_H_
