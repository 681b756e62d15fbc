// Every rule of the verifier catches what breaks it, under its own code and no other.
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"
#include "runtime/plan/verify_programs.h"
#include "tests/mutation/rule_mutations.h"

namespace reshard::testing {
namespace {

// "cell-origin cell-target", and the whole texts for the log.
std::string Codes(const VerifyReport& report) {
  std::set<std::string> codes;
  if (report.exhausted) codes.insert("exhausted");
  for (const Violation& violation : report.violations) {
    codes.insert(std::string(RuleText(violation.rule)));
    INFO(Describe(violation));
  }
  std::string text;
  for (const std::string& code : codes) text += (text.empty() ? "" : " ") + code;
  return text;
}

VerifyReport Judge(const PlanMutation& mutation) {
  if (!mutation.rank) return VerifyPlan(mutation.plan, {});
  // A rank's rules count on what LoadPlan has checked.
  const VerifyReport bounds = VerifyBounds(mutation.plan, {});
  return bounds.violations.empty() ? VerifyRank(mutation.plan, *mutation.rank, {}) : bounds;
}

VerifyReport Judge(const Plan& plan, const std::vector<Program>& programs) {
  VerifyLog log({});
  const VerifyFacts facts(plan);
  VerifyPrograms(plan, facts, programs, &log);
  return log.Take();
}

std::vector<Program> ExpandAll(const Plan& plan) {
  const ProgramIndex index = BuildProgramIndex(plan);
  std::vector<Program> programs;
  for (const PlanRank& rank : plan.ranks) {
    programs.push_back(ExpandProgram(plan, index, rank.rank));
  }
  return programs;
}

TEST_CASE("plans are right before they are mutated") {
  CHECK(Codes(VerifyPlan(WidePlan(), {})) == "");
  CHECK(Codes(VerifyPlan(GatheredPlan(), {})) == "");
  CHECK(Codes(VerifyPlan(CutPlan(), {})) == "");
}

TEST_CASE("every kind of cut has a witness that is mutated") {
  std::set<PlanCutKind> kinds;
  for (const PlanCut& cut : CutPlan().cuts) kinds.insert(cut.kind);
  CHECK(kinds.size() == kCutKinds.size());
}

TEST_CASE("mutated plans are caught by the rule that they break") {
  for (const PlanMutation& mutation : PlanMutations()) {
    CAPTURE(mutation.name);
    CHECK(Codes(Judge(mutation)) == RuleText(mutation.rule));
  }
}

TEST_CASE("mutated programs are caught by the rule that they break") {
  for (const ProgramMutation& mutation : ProgramMutations()) {
    CAPTURE(mutation.name);
    std::vector<Program> programs = ExpandAll(mutation.plan);
    CHECK(Codes(Judge(mutation.plan, programs)) == "");
    mutation.mutate(&programs);
    CHECK(Codes(Judge(mutation.plan, programs)) == RuleText(mutation.rule));
  }
}

TEST_CASE("every rule has a mutation") {
  std::set<VerifyRule> covered;
  for (const PlanMutation& mutation : PlanMutations()) covered.insert(mutation.rule);
  for (const ProgramMutation& mutation : ProgramMutations()) covered.insert(mutation.rule);
  const VerifyRule rules[] = {
#define RESHARD_RULE(name, text, meaning) VerifyRule::name,
#include "runtime/plan/verify_rules.def"
#undef RESHARD_RULE
  };
  for (const VerifyRule rule : rules) {
    CAPTURE(RuleText(rule));
    CHECK(covered.count(rule) == 1);
  }
}

TEST_CASE("a budget that runs out claims nothing") {
  VerifyOptions options;
  options.work_budget = 100;
  const VerifyReport report = VerifyPlan(WidePlan(), options);
  CHECK(report.exhausted);
  CHECK(report.violations.empty());
  CHECK(!report.ok());
}

}  // namespace
}  // namespace reshard::testing
