// Limits of layouts: what passes them is an error with a code, never a crash or a long wait.
#ifndef RESHARD_COMPILER_LAYOUT_LIMITS_H_
#define RESHARD_COMPILER_LAYOUT_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace reshard {

inline constexpr int64_t kMaxPieces = 10'000'000;
inline constexpr int64_t kMaxLoopValues = 1'000'000;
// Entries of a table of logical tensors: templates, and tensors that stand alone.
inline constexpr int64_t kMaxTableEntries = 400'000;
// Of one template of tensors, all instances: extents times strides stay far inside 64 bits.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 56;
inline constexpr int64_t kMaxMeshRanks = int64_t{1} << 20;
inline constexpr size_t kMaxAxes = 8;
inline constexpr size_t kMaxDims = 12;

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LIMITS_H_
