#include "tests/mutation/compiled_plans.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/pipeline.h"
#include "runtime/base/check.h"

namespace reshard::testing {
namespace {

// Two pipeline stages of two layers, experts over two ranks each.
constexpr const char* kExpertTrain = R"json({
  "format":"reshard-layout","version":1,"side":"source","rank_base":0,
  "symbols":{"L":4,"E":4,"H":16,"I":8,"V":36,"EP":2},
  "logical":[{"name":"embed","shape":["V","H"]},{"name":"norm","shape":["H"],"dtype":"f32"},
    {"for":{"l":"0..L"},"name":"{l}.q","shape":["H","H"]},
    {"for":{"l":"0..L"},"name":"{l}.k","shape":["H//2","H"]},
    {"for":{"l":"0..L","e":"0..E"},"name":"{l}.{e}.up","shape":["I","H"]},
    {"for":{"l":"0..L","e":"0..E"},"name":"{l}.{e}.gate","shape":["I","H"]}],
  "pipeline":{"axis":"pp","stages":[[0,2],[2,4]]},
  "meshes":{"m":{"axes":["pp","ep"],"shape":[2,2]}},
  "params":[{"name":"embed","mesh":"m","where":["pp==0"],"value":"embed"},
    {"name":"norm","mesh":"m","where":["pp==1"],"value":"norm"},
    {"for":{"l":"0..L"},"where":["pp==stage(l)"],"name":"{l}.qk","mesh":"m",
     "value":{"op":"group_cat","dim":0,"groups":2,"in":["{l}.q","{l}.k"]}},
    {"for":{"l":"0..L","e":"0..E"},"where":["pp==stage(l)","ep==e//(E//EP)"],
     "name":"{l}.{e}.up_gate","mesh":"m",
     "value":{"op":"cat","dim":0,"in":["{l}.{e}.up","{l}.{e}.gate"]}}]})json";
constexpr const char* kExpertInfer = R"json({
  "format":"reshard-layout","version":1,"side":"destination","rank_base":4,
  "symbols":{"L":4,"E":4,"H":16,"I":8,"V":36},
  "meshes":{"s":{"axes":["replica","tp"],"shape":[3,2]}},
  "params":[
    {"name":"embed","mesh":"s","value":{"op":"shard","dim":0,"axes":["tp"],
     "in":{"op":"pad","dim":0,"multiple":8,"in":"embed"}}},
    {"name":"norm","mesh":"s","value":"norm"},
    {"for":{"l":"0..L"},"name":"layers.{l}.q","mesh":"s",
     "value":{"op":"shard","dim":1,"axes":["tp"],"in":"{l}.q"}},
    {"for":{"l":"0..L"},"name":"layers.{l}.k","mesh":"s",
     "value":{"op":"permute","dims":[1,0],"in":"{l}.k"}},
    {"for":{"l":"0..L"},"name":"layers.{l}.w13","mesh":"s",
     "value":{"op":"stack","dim":0,"over":{"e":"0..E"},"in":{"op":"cat","dim":0,"in":[
       {"op":"shard","dim":0,"axes":["tp"],"in":"{l}.{e}.gate"},
       {"op":"shard","dim":0,"axes":["tp"],"in":"{l}.{e}.up"}]}}}]})json";

// Uneven shards of six ranks that also serve, two ranks per domain and replica.
constexpr const char* kColocatedTrain = R"json({
  "format":"reshard-layout","version":1,"side":"source","rank_base":0,
  "logical":[{"name":"a","shape":[22,12],"dtype":"f32"},{"name":"b","shape":[7,3],"dtype":"u8"}],
  "meshes":{"m":{"axes":["f"],"shape":[6]}},
  "params":[{"name":"a","tensor":"a","mesh":"m","placements":["S(0)"]},
    {"name":"b","tensor":"b","mesh":"m","placements":["R"]}]})json";
constexpr const char* kColocatedInfer = R"json({
  "format":"reshard-layout","version":1,"side":"destination","rank_base":0,"colocated":true,
  "meshes":{"m":{"axes":["replica","tp"],"shape":[3,2]}},
  "params":[{"name":"serve.a","tensor":"a","mesh":"m","placements":["R","S(1)"]},
    {"name":"serve.b","tensor":"b","mesh":"m","placements":["R","S(0)"]}]})json";

constexpr const char* kPairs = R"json({
  "format":"reshard-topo","version":1,
  "node_types":{"t":{"gpus":2,"nics":{"for":2,"name":"n{i}","bw":1,"gpu":"{i}"}}},
  "nodes":[{"names":"n[0-4]","type":"t"}],
  "scaleup":[{"name":"nvl-{node}","per":"node","bw":10}],
  "fabrics":[{"name":"ib","kind":"flat","lat":1}],
  "ranks":[{"ranks":"0-9","nodes":"n[0-4]","order":"node-major"}]})json";

Plan CompileTexts(std::string train, std::string infer, std::string topo, int64_t slice_bytes,
                  uint32_t heads) {
  CompileOptions options;
  options.schedule.slice_bytes = slice_bytes;
  options.route.heads = heads;
  Diagnostics diags;
  Compilation compilation;
  const bool compiled =
      Compile({"train.json", std::move(train)}, {"infer.json", std::move(infer)},
              {"topo.json", std::move(topo)}, options, Stage::kPlan, &diags, {}, &compilation);
  if (!compiled) diags.Print(compilation.sources, 20, std::cerr);
  RESHARD_CHECK(compiled, "a job of the mutation tests does not compile");
  return std::move(compilation.plan);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  RESHARD_CHECK(file.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The layout file with other symbols; sizes named here, everything else as it is.
std::string ReadLayout(const std::string& name,
                       const std::vector<std::pair<std::string, std::string>>& symbols) {
  std::string text = ReadFile("tests/data/layouts/" + name + ".json");
  const size_t begin = text.find("\"symbols\":{");
  RESHARD_CHECK(begin != std::string::npos, "a layout without symbols");
  for (const auto& [symbol, value] : symbols) {
    const std::string key = "\"" + symbol + "\":";
    const size_t at = text.find(key, begin) + key.size();
    text.replace(at, text.find_first_of(",}", at) - at, value);
  }
  return text;
}

}  // namespace

std::vector<NamedPlan> CompiledPlans() {
  std::vector<NamedPlan> plans;
  plans.push_back({"experts", CompileTexts(kExpertTrain, kExpertInfer, kPairs, 1024, 1)});
  plans.push_back({"experts, two heads", CompileTexts(kExpertTrain, kExpertInfer, kPairs, 512, 2)});
  plans.push_back(
      {"colocated shards", CompileTexts(kColocatedTrain, kColocatedInfer, kPairs, 256, 1)});
  return plans;
}

std::vector<NamedPlan> ModelPlans() {
  const std::vector<std::pair<std::string, std::string>> qwen = {
      {"H", "64"}, {"D", "8"}, {"I", "64"}, {"V", "512"}};
  const std::vector<std::pair<std::string, std::string>> deepseek = {
      {"H", "64"},   {"V", "512"}, {"QL", "32"}, {"KL", "16"}, {"NOPE", "8"},
      {"ROPE", "4"}, {"VD", "8"},  {"I", "128"}, {"IE", "64"}, {"E", "32"}};
  std::vector<NamedPlan> plans;
  plans.push_back(
      {"Qwen3-235B",
       CompileTexts(ReadLayout("qwen3_235b_train", qwen), ReadLayout("qwen3_235b_infer", qwen),
                    ReadFile("tests/data/topologies/h100_64_64.json"), int64_t{64} << 10, 0)});
  plans.push_back({"DeepSeek-V3", CompileTexts(ReadLayout("deepseek_v3_128_train", deepseek),
                                               ReadLayout("deepseek_v3_128_infer", deepseek),
                                               ReadFile("tests/data/topologies/h100_128_128.json"),
                                               int64_t{64} << 10, 0)});
  return plans;
}

}  // namespace reshard::testing
