// Strategy: which family of routings a compilation may choose from.
#ifndef RESHARD_COMPILER_ROUTE_STRATEGY_H_
#define RESHARD_COMPILER_ROUTE_STRATEGY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reshard {

enum class Strategy : uint8_t {
#define RESHARD_STRATEGY(name, text, meaning) name,
#include "compiler/route/strategies.def"
#undef RESHARD_STRATEGY
};

inline constexpr std::array kStrategyTexts = {
#define RESHARD_STRATEGY(name, text, meaning) std::string_view(text),
#include "compiler/route/strategies.def"
#undef RESHARD_STRATEGY
};

constexpr std::string_view StrategyText(Strategy strategy) {
  return kStrategyTexts[static_cast<size_t>(strategy)];
}

constexpr std::optional<Strategy> ParseStrategy(std::string_view text) {
  for (size_t i = 0; i < kStrategyTexts.size(); ++i) {
    if (kStrategyTexts[i] == text) return static_cast<Strategy>(i);
  }
  return std::nullopt;
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_STRATEGY_H_
