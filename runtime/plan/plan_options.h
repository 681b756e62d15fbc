// The options that a plan records of its compilation, where they are numbers.
#ifndef RESHARD_RUNTIME_PLAN_PLAN_OPTIONS_H_
#define RESHARD_RUNTIME_PLAN_PLAN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/plan/plan.h"

namespace reshard {

// nullopt: the plan does not state the option, or not as a number.
std::optional<int64_t> OptionNumber(const Plan& plan, std::string_view name);

// How many bytes a rank may stage, and with how many ranks it may exchange messages; unbounded
// where the plan states none. Both are rules of the verifier.
inline constexpr std::string_view kMaxStagingOption = "max-staging";
inline constexpr std::string_view kMaxPeersOption = "max-peers";

// What the prediction charges for each round, in nanoseconds; nullopt: kDefaultRoundNs.
inline constexpr std::string_view kRoundCostOption = "round-cost";
inline constexpr int64_t kDefaultRoundNs = 20'000;
int64_t RoundCostNs(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_PLAN_OPTIONS_H_
