// Rules about param buffers: place-size, place-dtype, param-coverage, param-names.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_PARAMS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_PARAMS_H_

#include <cstdint>
#include <optional>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// Of all params, or of those of one rank. The plan has passed VerifyBounds.
void VerifyParams(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_PARAMS_H_
