#include "runtime/run/element_walk.h"

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// "loops:element@instance+offset" of every element, in order.
std::vector<std::string> Elements(const Plan& plan, uint32_t place) {
  std::vector<std::string> elements;
  std::string tensor;
  ForEachElementRun(
      plan, plan.places[place],
      [&](const std::vector<int64_t>& loop_values) {
        tensor.clear();
        for (const int64_t value : loop_values) tensor += std::to_string(value) + ":";
      },
      [&](const ElementRun& run) {
        for (int64_t k = 0; k < run.count; ++k) {
          elements.push_back(tensor + std::to_string(run.element + k * run.element_step) + "@" +
                             std::to_string(run.instance) + "+" +
                             std::to_string(run.offset_bytes + k * run.stride_bytes));
        }
      });
  return elements;
}

TEST_CASE("a box of a matrix: index in the tensor against offset in the buffer") {
  // Columns 2 and 3 of an 8x8 matrix of 4-byte elements.
  const std::vector<std::string> elements = Elements(testing::ToyPlan(), 3);
  REQUIRE(elements.size() == 16);
  CHECK(elements[0] == "2@0+0");
  CHECK(elements[1] == "3@0+4");
  CHECK(elements[2] == "10@0+8");
  CHECK(elements[15] == "59@0+60");
}

TEST_CASE("loops choose tensors by absolute values, split dims add up, strides are followed") {
  const Plan plan = testing::ExpertPlan();
  // The odd experts, stacked and transposed: layer 1 and 2, experts 1 and 3.
  const std::vector<std::string> elements = Elements(plan, 3);
  REQUIRE(elements.size() == 2 * 2 * 48);
  CHECK(elements[0] == "1:1:0@0+0");
  CHECK(elements[1] == "1:1:1@0+12");
  CHECK(elements[8] == "1:1:8@0+2");
  CHECK(elements[48] == "1:3:0@0+96");
  CHECK(elements[96] == "2:1:0@1+0");
  CHECK(elements[191] == "2:3:47@1+190");
  // Experts 2 and 3 as instances of their own.
  const std::vector<std::string> held = Elements(plan, 1);
  CHECK(held[0] == "1:2:0@0+0");
  CHECK(held[48] == "1:3:0@1+0");
  CHECK(held[96] == "2:2:0@2+0");
}

TEST_CASE("scalars, and an innermost dim that goes over instances") {
  Plan plan;
  plan.supers.push_back({{{"s.", ""}, {{0, {1}}}}, DType::kF32, {5}, {2}, {}, {{0, 1}}});
  plan.supers.push_back({{{"v"}, {}}, DType::kF32, {}, {}, {6}, {{0, 1}}});
  plan.supers.push_back({{{"x"}, {}}, DType::kF32, {}, {}, {}, {}});
  plan.place_dims = {{5, 2, 0, 1}, {2, 3, 0, 1}};
  plan.places = {{0, 0, 8, 0, 0}, {1, 0, 4, 10, 1}, {2, 0, 12, 3, 2}};
  CHECK(Elements(plan, 0) == std::vector<std::string>{"5:0@0+8", "6:0@1+8"});
  CHECK(Elements(plan, 1) == std::vector<std::string>{"2@10+4", "3@11+4", "4@12+4"});
  CHECK(Elements(plan, 2) == std::vector<std::string>{"0@3+12"});
}

}  // namespace
}  // namespace reshard
