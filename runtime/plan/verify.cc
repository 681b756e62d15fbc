#include "runtime/plan/verify.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/plan/program.h"
#include "runtime/plan/verify_cells.h"
#include "runtime/plan/verify_cuts.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"
#include "runtime/plan/verify_names.h"
#include "runtime/plan/verify_params.h"
#include "runtime/plan/verify_peers.h"
#include "runtime/plan/verify_programs.h"
#include "runtime/plan/verify_routes.h"
#include "runtime/plan/verify_slots.h"
#include "runtime/plan/verify_time.h"
#include "runtime/plan/verify_totals.h"

namespace reshard {
namespace {

constexpr std::array kRuleTexts = {
#define RESHARD_RULE(name, text, meaning) std::string_view(text),
#include "runtime/plan/verify_rules.def"
#undef RESHARD_RULE
};

// The expansion of every rank is checked where that takes a fraction of a second. The rules above
// hold for plans of any size without it.
constexpr uint64_t kMaxExpandedSteps = uint64_t{1} << 20;

void ExpandAll(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  uint64_t steps = 0;
  for (uint32_t r = 0; r < plan.ranks.size(); ++r) {
    steps += ProgramSteps(plan, facts, r);
    if (steps > kMaxExpandedSteps) return;
  }
  if (!log->Charge(steps)) return;
  std::vector<Program> programs;
  for (const PlanRank& rank : plan.ranks) {
    programs.push_back(ExpandProgram(plan, facts.index(), rank.rank));
  }
  VerifyPrograms(plan, facts, programs, log);
}

}  // namespace

std::string_view RuleText(VerifyRule rule) { return kRuleTexts[static_cast<size_t>(rule)]; }

std::string Describe(const Violation& violation) {
  return violation.where + ": error: " + violation.text + " [" +
         std::string(RuleText(violation.rule)) + "]";
}

// One family of rules after the other: what breaks one breaks those that build on it too, and one
// cause should be named once.
VerifyReport VerifyPlan(const Plan& plan, const VerifyOptions& options) {
  VerifyLog log(options);
  log.AddAll(VerifyBounds(plan, options));
  if (log.clean()) VerifyParams(plan, std::nullopt, &log);
  if (log.clean()) VerifyNames(plan, std::nullopt, &log);
  if (log.clean()) VerifyCells(plan, &log);
  if (!log.clean()) return log.Take();
  const VerifyFacts facts(plan);
  VerifyRoutes(plan, facts, &log);
  if (log.clean()) VerifySlots(plan, facts, &log);
  if (log.clean()) VerifyPeers(plan, &log);
  if (log.clean()) VerifyTotals(plan, facts, &log);
  if (log.clean()) VerifyTime(plan, facts, &log);
  if (log.clean()) VerifyCuts(plan, facts, &log);
  if (log.clean()) ExpandAll(plan, facts, &log);
  return log.Take();
}

VerifyReport VerifyRank(const Plan& plan, uint32_t rank, const VerifyOptions& options,
                        Program* program) {
  VerifyLog log(options);
  VerifyParams(plan, rank, &log);
  if (log.clean()) VerifyNames(plan, rank, &log);
  if (log.clean()) VerifyCellsOfRank(plan, rank, &log);
  if (log.clean()) VerifyStreams(plan, &log);
  if (!log.clean()) return log.Take();
  const VerifyFacts facts(plan);
  const uint32_t rank_index = facts.index().RankIndex(plan, rank);
  if (rank_index == kNoId || !log.Charge(ProgramSteps(plan, facts, rank_index))) return log.Take();
  Program expanded = ExpandProgram(plan, facts.index(), rank);
  VerifyPrograms(plan, facts, {&expanded, 1}, &log);
  if (program != nullptr) *program = std::move(expanded);
  return log.Take();
}

}  // namespace reshard
