#include "runtime/plan/verify_names.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

PlanFamily Family(NamePattern name, std::vector<int64_t> loop_begin,
                  std::vector<int64_t> loop_extent) {
  PlanFamily family;
  family.name = std::move(name);
  family.loop_begin = std::move(loop_begin);
  family.loop_extent = std::move(loop_extent);
  return family;
}

Plan PlanOf(std::vector<PlanFamily> families) {
  Plan plan;
  plan.rank_sets = {{0}, {1}, {0, 1}};
  plan.families = std::move(families);
  return plan;
}

bool AreUnique(const Plan& plan) {
  VerifyLog log({});
  VerifyNames(plan, std::nullopt, &log);
  const VerifyReport report = log.Take();
  CHECK(!report.exhausted);
  for (const Violation& violation : report.violations) {
    CHECK(violation.rule == VerifyRule::kParamNames);
  }
  return report.violations.empty();
}

// Every name of a rank, one by one.
bool AreUniqueOneByOne(const Plan& plan, uint32_t rank) {
  std::set<std::string> seen;
  for (const PlanFamily& family : plan.families) {
    if (!Contains(plan.rank_sets[family.rank_set], rank)) continue;
    std::vector<NamePattern> patterns = family.shares;
    patterns.push_back(family.name);
    std::vector<int64_t> values = family.loop_begin;
    for (bool more = true; more;) {
      for (const NamePattern& pattern : patterns) {
        if (!seen.insert(pattern.Instance(values)).second) return false;
      }
      more = false;
      for (size_t d = values.size(); !more && d-- > 0;) {
        more = ++values[d] < family.loop_begin[d] + family.loop_extent[d];
        if (!more) values[d] = family.loop_begin[d];
      }
    }
  }
  return true;
}

NamePattern RandomPattern(std::mt19937& random, size_t loop_count) {
  const char* const texts[] = {"", "a", "1", ".", "b0", "a.", "01", "-"};
  NamePattern pattern;
  pattern.text = {texts[random() % 8]};
  for (size_t h = random() % 3; h > 0; --h) {
    NamePattern::Hole hole;
    hole.base = static_cast<int64_t>(random() % 4) - (random() % 8 == 0 ? 2 : 0);
    for (size_t i = 0; i < loop_count; ++i) {
      hole.coef.push_back(static_cast<int64_t>(random() % 3) * (random() % 2 == 0 ? 1 : 0));
    }
    pattern.holes.push_back(hole);
    pattern.text.push_back(texts[random() % 8]);
  }
  return pattern;
}

TEST_CASE("names found by hand") {
  const NamePattern layers = {{"l.", ".w"}, {{0, {1}}}};
  CHECK(AreUnique(PlanOf({Family(layers, {0}, {4}), Family(layers, {4}, {4})})));
  CHECK(!AreUnique(PlanOf({Family(layers, {0}, {5}), Family(layers, {4}, {4})})));
  CHECK(!AreUnique(PlanOf({Family(layers, {0}, {5}), Family({{"l.3.w"}, {}}, {}, {})})));
  CHECK(AreUnique(PlanOf({Family(layers, {0}, {5}), Family({{"l.5.w"}, {}}, {}, {})})));
  CHECK(AreUnique(PlanOf({Family(layers, {0}, {5}), Family({{"l.03.w"}, {}}, {}, {})})));
  // Digits beside a hole.
  CHECK(!AreUnique(
      PlanOf({Family({{"l1", ""}, {{0, {1}}}}, {0}, {4}), Family({{"l13"}, {}}, {}, {})})));
  // A loop that the name does not show.
  CHECK(!AreUnique(PlanOf({Family({{"w"}, {}}, {0}, {2})})));
  // One buffer may not have one name twice, and other sides and ranks do not matter.
  std::vector<PlanFamily> families = {Family({{"w"}, {}}, {}, {}), Family({{"w"}, {}}, {}, {})};
  CHECK(!AreUnique(PlanOf(families)));
  families[1].side = PlanSide::kDestination;
  CHECK(AreUnique(PlanOf(families)));
  families[1].side = PlanSide::kSource;
  families[1].rank_set = 1;
  CHECK(AreUnique(PlanOf(families)));
  families[1].rank_set = 2;
  CHECK(!AreUnique(PlanOf(families)));
}

TEST_CASE("many plain names need no listing") {
  std::vector<PlanFamily> families;
  for (int i = 0; i < 1000; ++i)
    families.push_back(Family({{"w" + std::to_string(i)}, {}}, {}, {}));
  VerifyOptions options;
  options.work_budget = 100'000;
  VerifyLog log(options);
  VerifyNames(PlanOf(families), std::nullopt, &log);
  CHECK(log.Take().ok());
  families.push_back(families[500]);
  CHECK(!AreUnique(PlanOf(families)));
}

TEST_CASE("random patterns agree with listing every name") {
  const unsigned seed = 3;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int unique = 0;
  int repeated = 0;
  for (int round = 0; round < 20000; ++round) {
    CAPTURE(round);
    std::vector<PlanFamily> families;
    for (size_t f = 1 + random() % 3; f > 0; --f) {
      std::vector<int64_t> begin;
      std::vector<int64_t> extent;
      for (size_t loop = random() % 3; loop > 0; --loop) {
        begin.push_back(static_cast<int64_t>(random() % 12));
        extent.push_back(1 + static_cast<int64_t>(random() % 3));
      }
      families.push_back(Family(RandomPattern(random, begin.size()), begin, extent));
      families.back().rank_set = static_cast<uint32_t>(random() % 3);
      if (random() % 4 == 0) families.back().shares = {RandomPattern(random, begin.size())};
    }
    const Plan plan = PlanOf(families);
    const bool expected = AreUniqueOneByOne(plan, 0) && AreUniqueOneByOne(plan, 1);
    CHECK(AreUnique(plan) == expected);
    ++(expected ? unique : repeated);
  }
  CHECK(unique > 2000);
  CHECK(repeated > 2000);
}

}  // namespace
}  // namespace reshard
