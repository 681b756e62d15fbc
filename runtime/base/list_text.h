// Lists of numbers as people read them in messages.
#ifndef RESHARD_RUNTIME_BASE_LIST_TEXT_H_
#define RESHARD_RUNTIME_BASE_LIST_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reshard {

// "[4, 1024]", "[]": an index, a shape, strides.
std::string ListText(const std::vector<int64_t>& numbers);

// "0-7,12", "": numbers that rise, all of them, those without gaps by their ends.
std::string RangesText(const std::vector<int64_t>& numbers);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_LIST_TEXT_H_
