// SerializePlan: a Plan as the bytes of a plan file.
#ifndef RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_
#define RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

// The bytes of the file, with section, root and envelope digests. Equal plans give equal bytes, and
// LoadPlan gives an equal plan back. Error when they would not fit a FlatBuffer (2 GiB).
StatusOr<std::vector<uint8_t>> SerializePlan(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_SERIALIZE_PLAN_H_
