#include "compiler/plan_tools/tensor_names.h"

#include <random>
#include <set>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// layers.{3..6}.experts.{0..4}.w
PlanSuper Experts() {
  PlanSuper super;
  super.name.text = {"layers.", ".experts.", ".w"};
  super.name.holes = {{0, {1, 0}}, {0, {0, 1}}};
  super.loop_begin = {3, 0};
  super.loop_extent = {4, 5};
  return super;
}

using Names = std::vector<std::string>;

// The names that a name with lists stands for.
void Expand(const std::string& name, std::multiset<std::string>* all) {
  const size_t begin = name.find('{');
  if (begin == std::string::npos) {
    all->insert(name);
    return;
  }
  const size_t end = name.find('}');
  const std::string list = name.substr(begin + 1, end - begin - 1) + ",";
  for (size_t at = 0; at < list.size();) {
    const size_t comma = list.find(',', at);
    const std::string range = list.substr(at, comma - at);
    const size_t dots = range.find("..");
    const int first = std::stoi(range);
    const int last = dots == std::string::npos ? first : std::stoi(range.substr(dots + 2));
    for (int value = first; value <= last; ++value) {
      Expand(name.substr(0, begin) + std::to_string(value) + name.substr(end + 1), all);
    }
    at = comma + 1;
  }
}

TEST_CASE("products are one name") {
  CHECK(TensorNames(Experts(), {7}) == Names{"layers.4.experts.2.w"});
  CHECK(TensorNames(Experts(), {0, 1, 2, 3, 4}) == Names{"layers.3.experts.{0..4}.w"});
  CHECK(TensorNames(Experts(), {1, 3, 11, 13}) == Names{"layers.{3,5}.experts.{1,3}.w"});
  CHECK(TensorNames(Experts(), {0, 5, 10, 11}) ==
        Names{"layers.{3..4}.experts.0.w", "layers.5.experts.{0..1}.w"});
  CHECK(TensorNames(Experts(), {}).empty());
}

TEST_CASE("any set is named exactly") {
  const PlanSuper super = Experts();
  std::mt19937 random(3);
  for (int run = 0; run < 200; ++run) {
    std::vector<int64_t> tensors;
    std::multiset<std::string> wanted, named;
    for (int64_t t = 0; t < 20; ++t) {
      if (random() % 3 == 0) continue;
      tensors.push_back(t);
      wanted.insert(super.name.Instance({3 + t / 5, t % 5}));
    }
    for (const std::string& name : TensorNames(super, tensors)) Expand(name, &named);
    CHECK(named == wanted);
  }
}

TEST_CASE("holes with steps list their values, holes of several loops name each tensor") {
  PlanSuper super = Experts();
  super.name.holes[0] = {10, {-2, 0}};
  CHECK(TensorNames(super, {0, 5, 10}) == Names{"layers.{4,2,0}.experts.0.w"});
  super.name.holes[0] = {0, {5, 1}};
  CHECK(TensorNames(super, {0, 1}) == Names{"layers.15.experts.0.w", "layers.16.experts.1.w"});
  super.name.holes[0] = {7, {0, 0}};
  CHECK(TensorNames(super, {0, 1}) == Names{"layers.7.experts.{0..1}.w"});
}

}  // namespace
}  // namespace reshard
