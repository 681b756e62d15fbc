#include "compiler/plan_tools/naive_layout.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

LayoutSpec ReadSpec(const std::string& text) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  LayoutSpec spec;
  REQUIRE(ReadJson(sources, sources.Add("layout.json", text), &diags, &root));
  REQUIRE(ReadLayoutSpec(root, &diags, &spec));
  return spec;
}

LayoutSpec ReadExample(const std::string& name) {
  std::ifstream file("tests/data/layouts/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return ReadSpec(text.str());
}

struct Totals {
  size_t params = 0;
  size_t pieces = 0;  // without fills
  int64_t bytes = 0;
  int64_t least_bytes = INT64_MAX;  // of a rank
  int64_t most_bytes = 0;
};

Totals Count(const NaiveLayout& layout, const std::vector<uint32_t>& ranks) {
  Totals totals;
  for (const uint32_t rank : ranks) {
    std::vector<NaiveParam> params;
    std::string error;
    REQUIRE_MESSAGE(layout.Params(rank, &params, &error), error);
    int64_t bytes = 0;
    for (const NaiveParam& param : params) {
      bytes += param.bytes();
      for (const NaivePiece& piece : param.view.pieces) {
        totals.pieces += IsNaiveFill(piece.tensor) ? 0 : 1;
      }
    }
    totals.params += params.size();
    totals.bytes += bytes;
    totals.least_bytes = std::min(totals.least_bytes, bytes);
    totals.most_bytes = std::max(totals.most_bytes, bytes);
  }
  return totals;
}

TEST_CASE("Qwen3-235B: params, pieces and bytes of every rank") {
  const LayoutSpec train = ReadExample("qwen3_235b_train");
  const LayoutSpec infer = ReadExample("qwen3_235b_infer");
  NaiveTensors tensors;
  std::string error;
  REQUIRE(tensors.Make(&train, &infer, &error));
  CHECK(tensors.tensors().size() == 36945);
  NaiveLayout source;
  NaiveLayout destination;
  REQUIRE(source.Make(train, tensors, &error));
  REQUIRE(destination.Make(infer, tensors, &error));
  const Totals held = Count(source, source.ranks());
  CHECK(held.params == 34640);
  CHECK(held.least_bytes == 8984604672);
  CHECK(held.most_bytes == 9233108480);
  const Totals needed = Count(destination, destination.ranks());
  CHECK(needed.params == 54336);
  CHECK(needed.pieces == 2364480);
  CHECK(needed.least_bytes == 58959617024);
  CHECK(needed.most_bytes == 58959617024);
  CHECK(needed.bytes == 3773415489536);
}

TEST_CASE("DeepSeek-V3 under TP32: bytes by the closed form of its shapes") {
  const LayoutSpec train = ReadExample("deepseek_v3_train");
  const LayoutSpec infer = ReadExample("deepseek_v3_infer");
  NaiveTensors tensors;
  std::string error;
  REQUIRE(tensors.Make(&train, &infer, &error));
  NaiveLayout destination;
  REQUIRE(destination.Make(infer, tensors, &error));
  const int64_t hidden = 7168;
  const int64_t tp = 32;
  const int64_t attention = 2 * hidden + 1536 + 512 + (1536 + 576) * hidden +
                            (128 * 192 * 1536 + 128 * 256 * 512 + hidden * 128 * 128) / tp;
  const int64_t dense = 3 * 18432 * hidden / tp;
  const int64_t moe = 256 * hidden + 257 * 3 * 2048 * hidden / tp;
  const int64_t bf16 =
      2 * (2 * 129280 * hidden / tp + hidden + 61 * attention + 3 * dense + 58 * moe);
  const int64_t f32 = 4 * 58 * 256;
  const Totals totals = Count(destination, {256, 300, 511});
  CHECK(totals.least_bytes == bf16 + f32);
  CHECK(totals.most_bytes == bf16 + f32);
}

TEST_CASE("every operation and key") {
  const LayoutSpec spec = ReadExample("all_keys");
  NaiveTensors tensors;
  std::string error;
  REQUIRE(tensors.Make(nullptr, &spec, &error));
  CHECK(tensors.Find("tied.1") == tensors.Find("embed"));
  CHECK(tensors.Find("tied") == tensors.Find("embed"));
  CHECK(!tensors.Find("tied.2"));
  NaiveLayout layout;
  REQUIRE(layout.Make(spec, tensors, &error));
  CHECK(layout.ranks() == std::vector<uint32_t>{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(layout.Coordinates("m", 13) == std::vector<int64_t>{1, 1});
  CHECK(layout.Coordinates("pairs", 10) == std::vector<int64_t>{1, 0});
  CHECK(!layout.Coordinates("m", 7));
  std::vector<NaiveParam> params;
  REQUIRE_MESSAGE(layout.Params(14, &params, &error), error);
  std::set<std::string> names;
  for (const NaiveParam& param : params) {
    names.insert(param.name);
    if (param.name == "norm.inverse") {
      CHECK(param.external);
      CHECK(param.bytes() == 16);
    }
    if (param.name == "embed.mixed") CHECK(param.view.shape == std::vector<int64_t>{6, 6});
    if (param.name == "chunk.1.layer.0.w") {
      CHECK(param.view.shape == std::vector<int64_t>{3, 6, 8});
      CHECK(param.shares == std::vector<std::string>{"spare.3.w"});
    }
  }
  CHECK(names == std::set<std::string>{"chunk.0.layer.0.w", "chunk.0.layer.0.w_scale",
                                       "chunk.1.layer.0.w", "chunk.1.layer.0.w_scale", "embed",
                                       "embed.mixed", "embed.rows", "norm", "norm.inverse",
                                       "whole"});
}

TEST_CASE("an explicit param's fill is what its pieces leave") {
  const LayoutSpec spec = ReadExample("all_keys");
  NaiveTensors tensors;
  std::string error;
  REQUIRE(tensors.Make(nullptr, &spec, &error));
  NaiveLayout layout;
  REQUIRE(layout.Make(spec, tensors, &error));
  std::vector<NaiveParam> params;
  REQUIRE(layout.Params(9, &params, &error));
  REQUIRE(params.back().name == "half.1");
  // [2, 4] with two elements of a tensor.
  int64_t filled = 0;
  for (const NaivePiece& piece : params.back().view.pieces) {
    if (IsNaiveFill(piece.tensor)) filled += piece.element_count();
  }
  CHECK(filled == 6);
  CHECK(params.back().view.pieces[0].from == std::vector<int64_t>{5, 0});
  CHECK(params.back().view.pieces[0].digits.at(0).tensor_step == 2);
}

TEST_CASE("ranks with equal signatures store the same, others do not") {
  for (const std::string name :
       {"all_keys", "toy_train", "toy_infer_explicit", "qwen3_235b_train"}) {
    CAPTURE(name);
    const LayoutSpec spec = ReadExample(name);
    NaiveTensors tensors;
    std::string error;
    REQUIRE(tensors.Make(&spec, nullptr, &error));
    NaiveLayout layout;
    REQUIRE(layout.Make(spec, tensors, &error));
    std::map<std::vector<int64_t>, std::string> contents;
    std::set<std::string> different;
    for (const uint32_t rank : layout.ranks()) {
      std::vector<NaiveParam> params;
      REQUIRE(layout.Params(rank, &params, &error));
      std::ostringstream text;
      for (const NaiveParam& param : params) {
        text << param.name << " ";
        for (const int64_t extent : param.view.shape) text << extent << ",";
        for (const NaivePiece& piece : param.view.pieces) {
          text << piece.tensor;
          for (const int64_t index : piece.at) text << "@" << index;
          for (const int64_t index : piece.from) text << "<" << index;
        }
      }
      const auto [it, is_new] = contents.emplace(layout.Signature(rank), text.str());
      CHECK(it->second == text.str());
      different.insert(text.str());
    }
    CHECK(different.size() == contents.size());
  }
}

// The reason why rank 0 cannot be interpreted, with one param of this value.
std::string Refusal(const std::string& value, const std::string& more = "") {
  const LayoutSpec spec = ReadSpec(
      R"({"format":"reshard-layout","version":1,"side":"source","logical":[)"
      R"({"name":"w","shape":[6,4]},{"name":"v","shape":[6,5]},{"name":"f","shape":[6,4],"dtype":"f32"}],)"
      R"("pipeline":{"axis":"pp","stages":[[[0,1],[2,3]],[1,2]]},)"
      R"("meshes":{"m":{"axes":["pp","tp"],"shape":[1,4]}},"params":[{"name":"p","mesh":"m",)" +
      more + R"("value":)" + value + "}]}");
  NaiveTensors tensors;
  std::string error;
  REQUIRE(tensors.Make(&spec, nullptr, &error));
  NaiveLayout layout;
  REQUIRE(layout.Make(spec, tensors, &error));
  std::vector<NaiveParam> params;
  CHECK(!layout.Params(0, &params, &error));
  return error;
}

TEST_CASE("what has no meaning is refused with the reason") {
  CHECK(Refusal(R"("x")") == "param 'p': no tensor is called 'x'");
  CHECK(Refusal(R"({"op":"cat","in":["w","v"]})") ==
        "param 'p': cannot join shapes [6, 4] and [6, 5] along dim 0");
  CHECK(Refusal(R"({"op":"cat","dim":1,"in":["w","f"]})") ==
        "param 'p': cannot join shapes [6, 4] and [6, 4] along dim 1");
  CHECK(Refusal(R"({"op":"cat","dim":-3,"in":["w","w"]})") ==
        "param 'p': there is no dim -3 among 2");
  CHECK(Refusal(R"({"op":"shard","axes":["tp"],"in":"w"})") ==
        "param 'p': 6 units do not divide over 4 ranks");
  CHECK(Refusal(R"({"op":"shard","axes":["tp"],"unit":4,"in":"w"})") ==
        "param 'p': an extent of 6 has no whole units of 4");
  CHECK(Refusal(R"({"op":"shard","axes":["tp"],"unit":2,"replicate_if_fewer":true,"in":"w"})") ==
        "param 'p': 4 ranks do not share 3 units evenly");
  CHECK(Refusal(R"({"op":"group_cat","groups":4,"in":["w"]})") ==
        "param 'p': an input of 'group_cat' has no 4 equal parts");
  CHECK(Refusal(R"({"op":"stack","over":{"e":"0..0"},"in":"w"})") ==
        "param 'p': a stack has no elements");
  CHECK(Refusal(R"({"op":"stack","over":{"e":["0..3",1]},"in":"w"})") ==
        "param 'p': a range has a value twice");
  CHECK(Refusal(R"("w")", R"("where":["stage(3)==0"],)") == "no stage has layer 3");
  CHECK(Refusal(R"("w")", R"j("let":{"j":"stage_start(pp)"},)j") ==
        "stage 0 is not one range of layers");
  CHECK(Refusal(R"("w")", R"("where":["1//tp"],)") == "division by zero");
}

}  // namespace
}  // namespace reshard
