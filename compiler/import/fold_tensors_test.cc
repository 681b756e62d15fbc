#include "compiler/import/fold_tensors.h"

#include <set>
#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

ModelTensor Tensor(std::string name, std::vector<int64_t> shape = {2}) {
  return {std::move(name), std::move(shape), DType::kBf16, {}};
}

std::string LogicalText(const std::vector<ModelTensor>& tensors) {
  std::string text;
  for (const TensorTemplate& made : FoldTensors(tensors)) text += LogicalDoc(made).Line() + "\n";
  return text;
}

TEST_CASE("tensors that differ in numbers only are one template") {
  std::vector<ModelTensor> tensors;
  for (int l = 3; l < 6; ++l) {
    for (int e = 0; e < 4; ++e) {
      tensors.push_back(
          Tensor("layers." + std::to_string(l) + ".experts." + std::to_string(e) + ".up", {4, 8}));
    }
  }
  tensors.push_back(Tensor("norm"));
  CHECK(
      LogicalText(tensors) ==
      R"({"for": {"l": "3..6", "e": "0..4"}, "name": "layers.{l}.experts.{e}.up", "shape": [4, 8]})"
      "\n"
      R"({"name": "norm", "shape": [2]})"
      "\n");
  CHECK(FoldTensors(tensors)[0].tensor_count() == 12);
  REQUIRE(FoldTensors(tensors)[0].LoopAfter("experts") != nullptr);
  CHECK(FoldTensors(tensors)[0].LoopAfter("experts")->variable == "e");
}

TEST_CASE("shapes and dtypes separate templates") {
  ModelTensor scale = Tensor("layers.2.w");
  scale.dtype = DType::kF32;
  CHECK(LogicalText({Tensor("layers.0.w"), Tensor("layers.1.w", {3}), scale}) ==
        R"({"for": {"l": "0..1"}, "name": "layers.{l}.w", "shape": [2]})"
        "\n"
        R"({"for": {"l": "1..2"}, "name": "layers.{l}.w", "shape": [3]})"
        "\n"
        R"({"for": {"l": "2..3"}, "name": "layers.{l}.w", "shape": [2], "dtype": "f32"})"
        "\n");
}

TEST_CASE("sets of numbers that are no product become several templates") {
  CHECK(LogicalText({Tensor("a.0.b.0"), Tensor("a.0.b.1"), Tensor("a.1.b.1"), Tensor("a.2.b.0"),
                     Tensor("a.2.b.1")}) ==
        R"({"for": {"i": "0..3..2", "j": "0..2"}, "name": "a.{i}.b.{j}", "shape": [2]})"
        "\n"
        R"({"for": {"i": "1..2", "j": "1..2"}, "name": "a.{i}.b.{j}", "shape": [2]})"
        "\n");
}

TEST_CASE("only whole parts of decimal digits are numbers, and braces stay") {
  CHECK(LogicalText({Tensor("w1.07.{x}.1234567890")}) ==
        R"({"name": "w1.07.{{x}}.1234567890", "shape": [2]})"
        "\n");
  // A part that begins with the byte that stands for numbers inside is no number.
  CHECK(LogicalText({Tensor("a.\1"), Tensor("a.5")}) ==
        "{\"name\": \"a.\\u0001\", \"shape\": [2]}\n"
        "{\"for\": {\"i\": \"5..6\"}, \"name\": \"a.{i}\", \"shape\": [2]}\n");
}

TEST_CASE("ranges are as short as they can be said") {
  CHECK(RangeDoc({7}).Line() == "\"7..8\"");
  CHECK(RangeDoc({1, 3, 5}).Line() == "\"1..6..2\"");
  CHECK(RangeDoc({0, 1, 2, 7, 9, 20, 30, 40}).Line() == "[\"0..3\", 7, 9, \"20..41..10\"]");
}

}  // namespace
}  // namespace reshard
