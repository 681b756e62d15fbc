// Placements against local shapes and index runs that DTensor itself computed.

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"
#include "tests/vectors/expanded_params.h"

namespace reshard {
namespace {

constexpr const char* kVectors = "tests/data/vectors/dtensor_vectors.json";

std::string MeshText(const JsonNode& node) {
  if (node.kind != JsonNode::Kind::kArray) return node.text;
  std::string text = "[";
  for (const JsonNode& item : node.items) text += (text.size() == 1 ? "" : ",") + MeshText(item);
  return text + "]";
}

// "reading" is empty when it is not stated.
std::string LayoutText(const JsonNode& vector, const std::string& reading) {
  std::string axes;
  for (size_t i = 0; i < vector.Find("mesh_shape")->items.size(); ++i) {
    axes += (axes.empty() ? "\"a" : ",\"a") + std::to_string(i) + "\"";
  }
  std::string placements;
  for (const JsonNode& item : vector.Find("placements")->items) {
    placements += (placements.empty() ? "\"" : ",\"") + item.text + "\"";
  }
  return R"({"format":"reshard-layout","version":1,"side":"source",)"
         R"("logical":[{"name":"w","shape":)" +
         JsonText(IntegersOf(*vector.Find("global_shape"))) + R"(,"dtype":"f32"}],)" +
         R"("meshes":{"m":{"axes":[)" + axes + R"(],"ranks":)" + MeshText(*vector.Find("mesh")) +
         R"(}},"params":[{"name":"p","mesh":"m","tensor":"w",)" +
         (reading.empty() ? "" : R"("strided":")" + reading + R"(",)") + R"("placements":[)" +
         placements + "]}]}";
}

// The param that a vector's entry describes: every index list times every other.
ExpandedParam Expected(const TestLayout& layout, const JsonNode& entry,
                       const std::vector<int64_t>& global_shape) {
  std::vector<std::vector<int64_t>> indices;
  for (const JsonNode& runs : entry.Find("runs")->items) {
    std::vector<int64_t>& list = indices.emplace_back();
    for (const JsonNode& run : runs.items) {
      const std::vector<int64_t> bounds = IntegersOf(run);
      for (int64_t i = 0; i < bounds[1]; ++i) list.push_back(bounds[0] + i);
    }
  }
  ExpandedParam param;
  param.shape = IntegersOf(*entry.Find("local_shape"));
  int64_t count = 1;
  for (const int64_t extent : param.shape) count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> global(param.shape.size());
    int64_t rest = i;
    for (size_t d = param.shape.size(); d-- > 0;) {
      global[d] = indices[d][static_cast<size_t>(rest % param.shape[d])];
      rest /= param.shape[d];
    }
    param.origins.push_back(layout.OriginOf("w", RowMajor(global, global_shape)));
  }
  return param;
}

bool IsListed(const JsonNode& list, uint32_t rank) {
  return std::any_of(list.items.begin(), list.items.end(),
                     [rank](const JsonNode& item) { return IntegerOf(item) == rank; });
}

// Compares every rank; `entry_key` names the part of an entry that holds another reading's answer.
int CheckRanks(const JsonNode& vector, const std::string& reading, const char* entry_key) {
  const TestLayout layout(LayoutText(vector, reading));
  const std::vector<int64_t> shape = IntegersOf(*vector.Find("global_shape"));
  int checked = 0;
  for (const JsonMember& member : vector.Find("ranks")->members) {
    const auto rank = static_cast<uint32_t>(std::stoul(member.key));
    CAPTURE(rank);
    const JsonNode* other = member.value.Find(entry_key);
    const ExpandedParam expected =
        Expected(layout, other != nullptr ? *other : member.value, shape);
    std::string error;
    const std::optional<ExpandedParams> naive = layout.Naive(rank, &error);
    REQUIRE_MESSAGE(naive.has_value(), error);
    CHECK(*naive == ExpandedParams{{"p", expected}});
    CHECK(layout.Built(rank) == naive);
    ++checked;
  }
  return checked;
}

TEST_CASE("DTensor placements") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  int checked = 0;
  for (const JsonNode& vector : vectors.Find("cases")->items) {
    const std::string name = vector.Find("name")->text;
    CAPTURE(name);
    if (name == "v19_partial_source") continue;  // below
    const bool ambiguous = !vector.Find("ambiguous_ranks")->items.empty();
    // Split factors that no order of the mesh axes gives can only be replayed.
    const bool only_replay = vector.Find("shard_order")->kind == JsonNode::Kind::kNull;
    if (!ambiguous && !only_replay) checked += CheckRanks(vector, "", "");
    checked += CheckRanks(vector, "replay", "");
    if (!only_replay) checked += CheckRanks(vector, "order", "order_semantics");
  }
  CHECK(checked == 371);
}

TEST_CASE("readings that differ have to be stated") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  int ambiguous = 0;
  for (const JsonNode& vector : vectors.Find("cases")->items) {
    const JsonNode& listed = *vector.Find("ambiguous_ranks");
    const bool only_replay = vector.Find("shard_order")->kind == JsonNode::Kind::kNull;
    if (listed.items.empty() && !only_replay) continue;
    const TestLayout layout(LayoutText(vector, ""));
    for (const JsonMember& member : vector.Find("ranks")->members) {
      const auto rank = static_cast<uint32_t>(std::stoul(member.key));
      std::string error;
      CHECK(layout.Naive(rank, &error).has_value() == !(only_replay || IsListed(listed, rank)));
    }
    CHECK(!layout.Built(0));
    CHECK(layout.Codes() ==
          std::vector<std::string>{only_replay ? "bad-placement" : "strided-ambiguous"});
    ++ambiguous;
  }
  CHECK(ambiguous == 4);
}

TEST_CASE("partial values are refused") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  for (const JsonNode& vector : vectors.Find("cases")->items) {
    if (vector.Find("name")->text != "v19_partial_source") continue;
    const TestLayout layout(LayoutText(vector, ""));
    std::string error;
    CHECK(!layout.Naive(0, &error));
    CHECK(error == "param 'p': a partial placement holds no values");
    CHECK(layout.Codes() == std::vector<std::string>{"partial-placement"});
  }
}

}  // namespace
}  // namespace reshard
