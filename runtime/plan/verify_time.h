// The rule `time`: the time that a plan predicts for itself.
//
// It is the larger of two, both with the cost of every round: over the rounds, the busiest NIC or
// way of a rank to its NICs; and the bytes of the busiest scale-up port, memory of a rank, uplinks
// of a group or shared fabric, taken as if these were never idle. Through its memory goes what a
// rank packs and what it copies into its params. Parts of NICs and times are rounded, so that a few
// nanoseconds a round are free.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_TIME_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_TIME_H_

#include <cstdint>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// Nanoseconds that a plan may predict, both inclusive.
struct PredictedRange {
  int64_t least = 0;
  int64_t most = INT64_MAX;
};

// All other rules but those of cuts have been found to hold. The range is of no use when the log is
// exhausted.
PredictedRange FindPredictedRange(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

void VerifyTime(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_TIME_H_
