// The rule of the option max-peers: ranks exchange messages with few enough others.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_PEERS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_PEERS_H_

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// Rule peers, where the plan states a limit. The plan has passed VerifyBounds.
void VerifyPeers(const Plan& plan, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_PEERS_H_
