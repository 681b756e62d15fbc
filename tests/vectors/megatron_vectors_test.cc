// Meshes and pipelines against ranks and layers that Megatron-Core assigns.

#include <map>
#include <string>
#include <vector>

#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"
#include "tests/vectors/expanded_params.h"

namespace reshard {
namespace {

constexpr const char* kVectors = "tests/data/vectors/megatron_rank_vectors.json";
// Outermost first: the reverse of Megatron's order "tp-cp-ep-dp-pp".
const std::vector<std::string> kAxes = {"pp", "dp", "ep", "cp", "tp"};

std::string MeshText(const JsonNode& sizes) {
  std::string axes;
  std::vector<int64_t> shape;
  for (const std::string& axis : kAxes) {
    axes += (axes.empty() ? "\"" : ",\"") + axis + "\"";
    shape.push_back(IntegerOf(*sizes.Find(axis)));
  }
  return R"({"axes":[)" + axes + R"(],"shape":)" + JsonText(shape) + "}";
}

TEST_CASE("ranks have the coordinates that Megatron gives them") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  int checked = 0;
  for (const JsonNode& vector : vectors.Find("cases")->items) {
    CAPTURE(vector.Find("name")->text);
    const TestLayout layout(R"({"format":"reshard-layout","version":1,"side":"source",)"
                            R"("meshes":{"dense":)" +
                            MeshText(*vector.Find("dense_sizes")) + R"(,"expert":)" +
                            MeshText(*vector.Find("expert_sizes")) + "}}");
    CHECK(std::cmp_equal(layout.naive().ranks().size(), IntegerOf(*vector.Find("world"))));
    for (const JsonMember& member : vector.Find("ranks")->members) {
      const auto rank = static_cast<uint32_t>(std::stoul(member.key));
      CAPTURE(rank);
      for (const std::string mesh : {"dense", "expert"}) {
        std::vector<int64_t> expected;
        for (const std::string& axis : kAxes) {
          expected.push_back(IntegerOf(*member.value.Find(mesh)->Find(axis)));
        }
        CHECK(layout.naive().Coordinates(mesh, rank) == expected);
        ++checked;
      }
    }
  }
  CHECK(checked == 120);
}

TEST_CASE("stages have the layers that Megatron gives them") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  int checked = 0;
  for (const JsonNode& vector : vectors.Find("pp_layers")->items) {
    const int64_t layers = IntegerOf(*vector.Find("L"));
    const int64_t stages = IntegerOf(*vector.Find("pp"));
    CAPTURE(layers);
    CAPTURE(stages);
    // "stage.chunk": [begin, end]
    std::map<int64_t, std::map<int64_t, std::vector<int64_t>>> ranges;
    for (const JsonMember& member : vector.Find("layers")->members) {
      const size_t dot = member.key.find('.');
      ranges[std::stoll(member.key.substr(0, dot))][std::stoll(member.key.substr(dot + 1))] =
          IntegersOf(member.value);
    }
    std::string text;
    for (const auto& [stage, chunks] : ranges) {
      text += text.empty() ? "[" : ",[";
      for (const auto& [chunk, range] : chunks) text += (chunk == 0 ? "" : ",") + JsonText(range);
      text += "]";
    }
    const std::string number = std::to_string(layers);
    const TestLayout layout(
        R"({"format":"reshard-layout","version":1,"side":"source","pipeline":{"axis":"pp",)"
        R"("stages":[)" +
        text + R"(]},"meshes":{"m":{"axes":["pp"],"shape":[)" + std::to_string(stages) +
        R"(]}},"logical":[{"for":{"l":"0..)" + number +
        R"("},"name":"w.{l}","shape":[1]}],"params":[{"for":{"l":"0..)" + number +
        R"("},"where":["stage(l)==pp"],"name":"chunk.{chunk(l)}.layer.{l-layer_start(l)}",)"
        R"("mesh":"m","value":"w.{l}"}]})");
    for (const auto& [stage, chunks] : ranges) {
      ExpandedParams expected;
      for (const auto& [chunk, range] : chunks) {
        for (int64_t l = range[0]; l < range[1]; ++l) {
          expected["chunk." + std::to_string(chunk) + ".layer." + std::to_string(l - range[0])] = {
              {1}, {layout.OriginOf("w." + std::to_string(l), 0)}};
        }
      }
      std::string error;
      const std::optional<ExpandedParams> naive =
          layout.Naive(static_cast<uint32_t>(stage), &error);
      REQUIRE_MESSAGE(naive.has_value(), error);
      CHECK(*naive == expected);
      CHECK(layout.Built(static_cast<uint32_t>(stage)) == naive);
      ++checked;
    }
  }
  CHECK(checked == 42);
}

}  // namespace
}  // namespace reshard
