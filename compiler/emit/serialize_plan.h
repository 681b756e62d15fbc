// SerializePlan: a Plan as the bytes of a plan file.
#ifndef RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_
#define RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

// What FlatBuffers' signed 32-bit offsets reach, less room for the envelope.
inline constexpr uint64_t kMaxPlanFileBytes = (uint64_t{1} << 31) - (uint64_t{1} << 20);

// The bytes of the file, with section, root and envelope digests. Equal plans give equal bytes, and
// LoadPlan gives an equal plan back. Error when the sections need more than `max_bytes`.
StatusOr<std::vector<uint8_t>> SerializePlan(const Plan& plan,
                                             uint64_t max_bytes = kMaxPlanFileBytes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_
