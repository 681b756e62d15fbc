// Rules about streams, trees and injects: stream-bytes, delivery, tree-shape, provenance, locality,
// no-nic, cut-align, empty-op. Slice-coverage is part of VerifyBounds.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_ROUTES_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_ROUTES_H_

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// The plan has passed VerifyBounds and its class bytes are right.
void VerifyRoutes(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

// Only stream-bytes and the cuts between pieces, which concern whoever moves a part of a stream.
void VerifyStreams(const Plan& plan, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_ROUTES_H_
