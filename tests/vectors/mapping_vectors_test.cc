// Values (fused, padded, interleaved params) against row maps of Megatron-Core and vLLM.

#include <string>
#include <vector>

#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"
#include "tests/vectors/expanded_params.h"

namespace reshard {
namespace {

constexpr const char* kVectors = "tests/data/vectors/mapping_vectors.json";

// Logical tensors of one column, so that a row is an element.
struct Mapping {
  std::string name;  // of the vector
  int ranks = 1;
  std::string tensors;  // "q:8192 k:512 ..."
  std::string value;    // of the param
};

std::string Shard(const std::string& in, const std::string& more = "") {
  return R"({"op":"shard","axes":["tp"],)" + more + R"("in":)" + in + "}";
}
std::string Cat(const std::string& in) { return R"({"op":"cat","in":[)" + in + "]}"; }
std::string Slice(const std::string& in, int start, int stop) {
  return R"({"op":"slice","start":)" + std::to_string(start) + R"(,"stop":)" +
         std::to_string(stop) + R"(,"in":)" + in + "}";
}
std::string GroupCat(int groups, const std::string& in) {
  return R"({"op":"group_cat","groups":)" + std::to_string(groups) + R"(,"in":[)" + in + "]}";
}

Mapping MegatronQkv(int q_heads, int kv_heads, int tp, int head_rows) {
  const std::string q = std::to_string(q_heads * head_rows);
  const std::string kv = std::to_string(kv_heads * head_rows);
  return {"megatron_qkv_nq" + std::to_string(q_heads) + "_kv" + std::to_string(kv_heads) + "_tp" +
              std::to_string(tp),
          tp, "q:" + q + " k:" + kv + " v:" + kv, Shard(GroupCat(kv_heads, R"("q","k","v")"))};
}

Mapping VllmQkv(int q_heads, int kv_heads, int tp) {
  const std::string unit = R"("unit":128,)";
  const std::string kv = std::to_string(kv_heads * 128);
  return {"vllm_qkv_nq" + std::to_string(q_heads) + "_kv" + std::to_string(kv_heads) + "_tp" +
              std::to_string(tp),
          tp, "q:" + std::to_string(q_heads * 128) + " k:" + kv + " v:" + kv,
          Cat(Shard("\"q\"", unit) + "," + Shard("\"k\"", unit + R"("replicate_if_fewer":true,)") +
              "," + Shard("\"v\"", unit + R"("replicate_if_fewer":true,)"))};
}

Mapping Vocabulary(int rows, int multiple, int tp) {
  return {"vocab_" + std::to_string(rows) + "_mult" + std::to_string(multiple) + "_tp" +
              std::to_string(tp),
          tp, "embed:" + std::to_string(rows),
          Shard(R"({"op":"pad","multiple":)" + std::to_string(multiple) + R"(,"in":"embed"})")};
}

std::vector<Mapping> Mappings() {
  return {
      MegatronQkv(64, 4, 2, 128),
      MegatronQkv(64, 4, 4, 128),
      MegatronQkv(64, 4, 8, 128),
      MegatronQkv(64, 8, 16, 128),
      MegatronQkv(64, 2, 8, 128),
      MegatronQkv(96, 8, 8, 128),
      MegatronQkv(8, 8, 4, 4),
      VllmQkv(64, 4, 8),
      VllmQkv(64, 4, 16),
      VllmQkv(64, 8, 8),
      VllmQkv(64, 8, 4),
      // q_proj rows are [head, (q, gate), 256]: all q heads of a group, their gates, then k and v.
      {"megatron_qkvg_nq16_kv2_d256_tp2", 2, "q_proj:8192 k:512 v:512",
       Shard(GroupCat(2,
                      R"({"op":"reshape","shape":[4096,1],"in":{"op":"index","dim":1,"at":0,"in":)"
                      R"({"op":"reshape","shape":[16,2,256,1],"in":"q_proj"}}},)"
                      R"({"op":"reshape","shape":[4096,1],"in":{"op":"index","dim":1,"at":1,"in":)"
                      R"({"op":"reshape","shape":[16,2,256,1],"in":"q_proj"}}},"k","v")"))},
      {"glu_I1536_tp8", 8, "gate:1536 up:1536", Cat(Shard("\"gate\"") + "," + Shard("\"up\""))},
      {"glu_interleave32_I192_tp1", 1, "gate:192 up:192", Shard(GroupCat(6, R"("gate","up")"))},
      {"gptoss_gate_up_I8", 1, "gate_up:16",
       Cat(R"({"op":"slice","start":0,"stop":16,"step":2,"in":"gate_up"},)"
           R"({"op":"slice","start":1,"stop":16,"step":2,"in":"gate_up"})")},
      Vocabulary(151936, 256, 2),
      Vocabulary(151936, 64, 8),
      Vocabulary(128256, 64, 8),
      Vocabulary(32003, 512, 4),
      Vocabulary(1010, 64, 2),
      {"mamba_inproj_di8_g2x4_nh4_tp2", 2, "in_proj:36",
       Cat(Shard(Slice("\"in_proj\"", 0, 8)) + "," + Shard(Slice("\"in_proj\"", 8, 16)) + "," +
           Shard(Slice("\"in_proj\"", 16, 24)) + "," + Shard(Slice("\"in_proj\"", 24, 32)) + "," +
           Shard(Slice("\"in_proj\"", 32, 36)))},
      {"mamba_inproj_vllm_di8_g1x4_nh4_tp2", 2, "in_proj:28",
       Cat(Shard(Slice("\"in_proj\"", 0, 8)) + "," + Shard(Slice("\"in_proj\"", 8, 16)) + "," +
           Slice("\"in_proj\"", 16, 24) + "," + Shard(Slice("\"in_proj\"", 24, 28)))},
  };
}

std::string LayoutText(const Mapping& mapping) {
  std::string logical;
  std::string rest = mapping.tensors + " ";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const size_t end = rest.find(' ');
    logical += (logical.empty() ? "" : ",") + (R"({"name":")" + rest.substr(0, colon)) +
               R"(","shape":[)" + rest.substr(colon + 1, end - colon - 1) + ",1]}";
    rest.erase(0, end + 1);
  }
  return R"({"format":"reshard-layout","version":1,"side":"source","logical":[)" + logical +
         R"(],"meshes":{"m":{"axes":["tp"],"shape":[)" + std::to_string(mapping.ranks) +
         R"(]}},"params":[{"name":"p","mesh":"m","value":)" + mapping.value + "}]}";
}

// The rows that a vector lists for one rank.
ExpandedParam Expected(const TestLayout& layout, const JsonNode& shard) {
  ExpandedParam param;
  for (const JsonNode& run : shard.items) {
    const bool pad = run.Find("pad") != nullptr;
    const int64_t stride = run.Find("stride") != nullptr ? IntegerOf(*run.Find("stride")) : 1;
    CHECK(std::cmp_equal(IntegerOf(*run.Find("dst")), param.origins.size()));
    for (int64_t i = 0; i < IntegerOf(*run.Find("len")); ++i) {
      param.origins.push_back(
          pad ? kExpandedZeroFill
              : layout.OriginOf(run.Find("src")->text, IntegerOf(*run.Find("row")) + i * stride));
    }
  }
  param.shape = {static_cast<int64_t>(param.origins.size()), 1};
  return param;
}

TEST_CASE("row maps of fused, padded and interleaved params") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  const std::vector<Mapping> mappings = Mappings();
  CHECK(vectors.Find("cases")->items.size() == mappings.size());
  int checked = 0;
  for (const JsonNode& vector : vectors.Find("cases")->items) {
    for (const Mapping& mapping : mappings) {
      if (mapping.name != vector.Find("name")->text) continue;
      CAPTURE(mapping.name);
      const TestLayout layout(LayoutText(mapping));
      for (const JsonMember& member : vector.Find("shards")->members) {
        const auto rank = static_cast<uint32_t>(std::stoul(member.key));
        CAPTURE(rank);
        std::string error;
        const std::optional<ExpandedParams> naive = layout.Naive(rank, &error);
        REQUIRE_MESSAGE(naive.has_value(), error);
        CHECK(*naive == ExpandedParams{{"p", Expected(layout, member.value)}});
        CHECK(layout.Built(rank) == naive);
        ++checked;
      }
    }
  }
  CHECK(checked == 120);
}

TEST_CASE("expert maps: linear and round robin") {
  const JsonNode vectors = ReadJsonFile(kVectors);
  for (const JsonNode& vector : vectors.Find("expert_map")->items) {
    const std::string experts = vector.Find("E")->text;
    const std::string ranks = vector.Find("ep")->text;
    CAPTURE(experts);
    const auto stack = [](const std::string& name, const std::string& range) {
      return R"({"name":")" + name + R"(","mesh":"m","value":{"op":"stack","over":{"e":")" + range +
             R"("},"in":"w.{e}"}})";
    };
    const TestLayout layout(
        R"({"format":"reshard-layout","version":1,"side":"source","symbols":{"E":)" + experts +
        R"(,"EP":)" + ranks + R"(},"logical":[{"for":{"e":"0..E"},"name":"w.{e}","shape":[1]}],)" +
        R"("meshes":{"m":{"axes":["ep"],"shape":["EP"]}},"params":[)" +
        stack("linear", "ep*(E//EP)+min(ep,E%EP)..(ep+1)*(E//EP)+min(ep+1,E%EP)") + "," +
        stack("round_robin", "ep..E..EP") + "]}");
    std::string error;
    const auto rank = static_cast<uint32_t>(IntegerOf(*vector.Find("r")));
    const std::optional<ExpandedParams> naive = layout.Naive(rank, &error);
    REQUIRE_MESSAGE(naive.has_value(), error);
    CHECK(layout.Built(rank) == naive);
    ExpandedParams expected;
    for (const std::string rule : {"linear", "round_robin"}) {
      ExpandedParam& param = expected[rule];
      for (const int64_t expert : IntegersOf(*vector.Find(rule))) {
        param.origins.push_back(layout.OriginOf("w." + std::to_string(expert), 0));
      }
      param.shape = {static_cast<int64_t>(param.origins.size()), 1};
    }
    CHECK(*naive == expected);
  }
}

TEST_CASE("column operations") {
  // Qwen3-Next swaps the halves of columns; DeepSeek-V3.2 swaps the halves of each head's rows.
  const TestLayout layout(
      R"({"format":"reshard-layout","version":1,"side":"source","logical":[)"
      R"({"name":"eh","shape":[2,8]},{"name":"wq","shape":[256,1]}],)"
      R"("meshes":{"m":{"axes":["tp"],"shape":[1]}},"params":[)"
      R"({"name":"eh","mesh":"m","value":{"op":"cat","dim":1,"in":[)"
      R"({"op":"slice","dim":1,"start":4,"stop":8,"in":"eh"},)"
      R"({"op":"slice","dim":-1,"start":0,"stop":4,"in":"eh"}]}},)"
      R"({"name":"wq","mesh":"m","value":{"op":"reshape","shape":[256,1],"in":{"op":"cat","dim":1,)"
      R"("in":[{"op":"slice","dim":1,"start":64,"stop":128,"in":)"
      R"({"op":"reshape","shape":[2,128,1],"in":"wq"}},{"op":"slice","dim":1,"start":0,"stop":64,)"
      R"("in":{"op":"reshape","shape":[2,128,1],"in":"wq"}}]}}}]})");
  ExpandedParam eh = {{2, 8}, {}};
  for (int64_t i = 0; i < 16; ++i) {
    eh.origins.push_back(layout.OriginOf("eh", i / 8 * 8 + (i % 8 + 4) % 8));
  }
  ExpandedParam wq = {{256, 1}, {}};
  for (int64_t i = 0; i < 256; ++i) {
    wq.origins.push_back(layout.OriginOf("wq", i / 128 * 128 + (i % 128 + 64) % 128));
  }
  std::string error;
  const std::optional<ExpandedParams> naive = layout.Naive(0, &error);
  REQUIRE_MESSAGE(naive.has_value(), error);
  CHECK(*naive == ExpandedParams{{"eh", eh}, {"wq", wq}});
  CHECK(layout.Built(0) == naive);
}

}  // namespace
}  // namespace reshard
