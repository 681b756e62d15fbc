#include "compiler/report/report_page.h"

#include <doctest/doctest.h>

#include <string>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=\"a('b')\">";

std::string PageOf(const Plan& plan, const std::string& name) {
  const LoadedPlan loaded{plan, {}};
  const VerifyReport verified = VerifyPlan(plan, VerifyOptions{});
  const Timeline timeline = verified.ok() ? BuildTimeline(plan) : Timeline{};
  return ReportPage({{name, loaded, 1234, verified, timeline}}, nullptr);
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Puts `name` wherever a plan has a name.
void NameEverything(const std::string& name, Plan* plan) {
  for (PlanSuper& super : plan->supers) super.name.text[0] = name;
  for (PlanFamily& family : plan->families) {
    family.name.text[0] = name;
    for (NamePattern& share : family.shares) share.text[0] = name;
  }
  for (PlanNic& nic : plan->nics) nic.name = name;
  for (PlanDomain& domain : plan->domains) domain.name = name;
  for (PlanGroup& group : plan->groups) group.name = name;
  for (PlanSite& site : plan->sites) site.node = name;
  plan->header.options = {{name, name}};
}

TEST_CASE("no name becomes markup, whatever has it") {
  for (testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const std::string before = PageOf(named.plan, "plan.fb");
    NameEverything(kHostile, &named.plan);
    const std::string page = PageOf(named.plan, kHostile);
    CHECK(page.find("alert(1)") != std::string::npos);
    CHECK(page.find("<img") == std::string::npos);
    for (const char* tag : {"<script", "</script", "<style", "</title"}) {
      CHECK(CountOf(page, tag) == CountOf(before, tag));
    }
    // In HTML no quote of a name ends an attribute.
    CHECK(page.find("onerror=\"") == std::string::npos);
  }
}

TEST_CASE("a plan that breaks a rule says so first, and is shown all the same") {
  Plan plan = testing::ToyPlan();
  CHECK(PageOf(plan, "plan.fb").find("class=\"verdict sound\"") != std::string::npos);
  plan.header.totals.network_bytes += 1;
  const VerifyReport verified = VerifyPlan(plan, VerifyOptions{});
  REQUIRE(!verified.violations.empty());
  const std::string page = PageOf(plan, "plan.fb");
  CHECK(page.find("class=\"verdict sound\"") == std::string::npos);
  CHECK(page.find("class=\"verdict violated\"") != std::string::npos);
  CHECK(page.find("[" + std::string(RuleText(verified.violations[0].rule)) + "]") !=
        std::string::npos);
  CHECK(page.find("\"verdict\":\"violated\"") != std::string::npos);
}

TEST_CASE("a verifier that ran out of budget has proven nothing") {
  const LoadedPlan loaded{testing::ToyPlan(), {}};
  VerifyReport verified;
  verified.exhausted = true;
  const Timeline timeline;
  const std::string page = ReportPage({{"plan.fb", loaded, 1, verified, timeline}}, nullptr);
  CHECK(page.find("class=\"verdict sound\"") == std::string::npos);
  CHECK(page.find("Undecided") != std::string::npos);
}

TEST_CASE("the summary names ranks that only pass bytes on, where there are any") {
  const std::string carried = PageOf(testing::CarriedPlan(), "plan.fb");
  CHECK(carried.find("<th scope=\"row\">passed on</th>") != std::string::npos);
  CHECK(carried.find("by rank 1, which holds and needs nothing") != std::string::npos);
  const std::string toy = PageOf(testing::ToyPlan(), "plan.fb");
  CHECK(toy.find("<th scope=\"row\">passed on</th>") == std::string::npos);
  CHECK(toy.find("<th scope=\"row\">relays</th>") == std::string::npos);
}

TEST_CASE("two plans have a page that begins with what differs") {
  const LoadedPlan first{testing::ToyPlan(), {}};
  LoadedPlan second = first;
  second.root_digest[0] = 1;
  second.plan.header.options = {{"slice", "<b>"}};
  const VerifyReport verified;
  const Timeline timeline;
  DiffReport diff;
  diff.names = {"a.fb", "b.fb"};
  for (size_t s = 0; s < kDiffSectionCount; ++s) diff.sections.push_back(DiffSection(s));
  diff.diff = DiffPlans(first, second);
  const std::string page = ReportPage(
      {{"a.fb", first, 1, verified, timeline}, {"b.fb", second, 1, verified, timeline}}, &diff);
  CHECK(page.find("The plans are different.") != std::string::npos);
  CHECK(page.find("id=\"changes\"") < page.find("id=\"summary\""));
  CHECK(page.find("&lt;b&gt;") != std::string::npos);
  CHECK(CountOf(page, "class=\"certificate\"") == 2);

  diff.diff = DiffPlans(first, first);
  const std::string same = ReportPage(
      {{"a.fb", first, 1, verified, timeline}, {"b.fb", first, 1, verified, timeline}}, &diff);
  CHECK(same.find("The plans are equal.") != std::string::npos);
}

}  // namespace
}  // namespace reshard
