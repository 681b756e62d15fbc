#include "runtime/plan/verify.h"

#include <array>
#include <optional>

#include "runtime/plan/verify_cells.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"
#include "runtime/plan/verify_params.h"
#include "runtime/plan/verify_routes.h"
#include "runtime/plan/verify_slots.h"
#include "runtime/plan/verify_totals.h"

namespace reshard {
namespace {

struct RuleFacts {
  std::string_view text;
  std::string_view meaning;
};

constexpr std::array kRules = {
#define RESHARD_RULE(name, text, meaning) RuleFacts{text, meaning},
#include "runtime/plan/verify_rules.def"
#undef RESHARD_RULE
};

}  // namespace

std::string_view RuleText(VerifyRule rule) { return kRules[static_cast<size_t>(rule)].text; }

std::string_view RuleMeaning(VerifyRule rule) { return kRules[static_cast<size_t>(rule)].meaning; }

std::string Describe(const Violation& violation) {
  return violation.where + ": error: " + violation.text + " [" +
         std::string(RuleText(violation.rule)) + "]";
}

// Families of rules run even when an earlier one found something, except where they would only
// repeat it: totals of a wrong plan are wrong too.
VerifyReport VerifyPlan(const Plan& plan, const VerifyOptions& options) {
  VerifyLog log(options);
  log.AddAll(VerifyBounds(plan, options));
  if (!log.clean()) return log.Take();
  VerifyParams(plan, std::nullopt, &log);
  if (log.CanGoOn()) VerifyCells(plan, &log);
  const VerifyFacts facts(plan);
  if (log.CanGoOn()) VerifyRoutes(plan, facts, &log);
  if (log.CanGoOn()) VerifySlots(plan, facts, &log);
  if (log.clean()) VerifyTotals(plan, facts, &log);
  return log.Take();
}

VerifyReport VerifyRank(const Plan& plan, uint32_t rank, const VerifyOptions& options) {
  VerifyLog log(options);
  VerifyParams(plan, rank, &log);
  if (log.CanGoOn()) VerifyCellsOfRank(plan, rank, &log);
  return log.Take();
}

}  // namespace reshard
