// Wide: an integer of 128 bits, for products of numbers of 64 and for sums of many.
//
// Sums of a plan's numbers (below kMaxPlanBytes, at most as many as a file has records) fit, and
// their products with the nanoseconds of a second.
#ifndef RESHARD_RUNTIME_BASE_WIDE_INT_H_
#define RESHARD_RUNTIME_BASE_WIDE_INT_H_

#include <string>

namespace reshard {

__extension__ typedef __int128 Wide;

// In decimal digits, as std::to_string.
std::string WideText(Wide number);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_WIDE_INT_H_
