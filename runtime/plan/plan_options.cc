#include "runtime/plan/plan_options.h"

#include <charconv>
#include <string>
#include <system_error>

namespace reshard {

std::optional<int64_t> OptionNumber(const Plan& plan, std::string_view name) {
  for (const auto& [key, value] : plan.header.options) {
    if (key != name) continue;
    int64_t number = 0;
    const char* const last = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), last, number);
    if (error == std::errc() && end == last) return number;
  }
  return std::nullopt;
}

int64_t RoundCostNs(const Plan& plan) {
  return OptionNumber(plan, kRoundCostOption).value_or(kDefaultRoundNs);
}

}  // namespace reshard
