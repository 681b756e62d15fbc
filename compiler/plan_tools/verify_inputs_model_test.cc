// Plans of real models against their inputs.

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "compiler/pipeline.h"
#include "compiler/plan_tools/verify_inputs.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

InputFile Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return {path, text.str()};
}

std::unique_ptr<Compilation> CompileModel(const std::string& train, const std::string& infer,
                                          const std::string& topo) {
  auto compilation = std::make_unique<Compilation>();
  Diagnostics diags;
  const bool ok = Compile(Read("tests/data/layouts/" + train + ".json"),
                          Read("tests/data/layouts/" + infer + ".json"),
                          Read("tests/data/topologies/" + topo + ".json"), CompileOptions{},
                          Stage::kPlan, &diags, {}, compilation.get());
  std::ostringstream text;
  diags.Print(compilation->sources, 5, text);
  REQUIRE_MESSAGE(ok, text.str());
  return compilation;
}

InputsReport Verify(const Compilation& compilation) {
  PlanInputSpecs inputs;
  inputs.source = &compilation.train_spec;
  inputs.destination = &compilation.infer_spec;
  inputs.train_digest = compilation.plan.header.train_digest;
  inputs.infer_digest = compilation.plan.header.infer_digest;
  inputs.topo_digest = compilation.plan.header.topo_digest;
  return VerifyInputs(compilation.plan, inputs, {});
}

TEST_CASE("Qwen3-235B, every rank") {
  const auto compilation = CompileModel("qwen3_235b_train", "qwen3_235b_infer", "h100_64_64");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "all 64 source ranks and all 64 destination ranks");
  CHECK(good.source.params == 34640);
  CHECK(good.destination.params == 54336);
}

TEST_CASE("two experts that a plan swaps are named") {
  const auto compilation = CompileModel("qwen3_235b_train", "qwen3_235b_infer", "h100_64_64");
  Plan& plan = compilation->plan;
  const auto stacked = std::find_if(plan.places.begin(), plan.places.end(), [&](const auto& place) {
    const std::string& end = plan.families[place.family].name.text.back();
    return end.find("w2_weight") != std::string::npos;
  });
  REQUIRE(stacked != plan.places.end());
  const PlanPlace whole = *stacked;
  const PlanSuper& super = plan.supers[whole.super];
  size_t expert = 0;  // the dim that counts experts: a loop's that moves inside a param
  while (plan.place_dims[whole.first_dim + expert].stride_bytes == 0) ++expert;
  REQUIRE(super.dims[expert].axis < super.loop_begin.size());
  // Experts 1 and 0, then the others where they were.
  const auto add = [&](int64_t first, int64_t count, int64_t slot) {
    PlanPlace part = whole;
    part.first_dim = static_cast<uint32_t>(plan.place_dims.size());
    for (size_t d = 0; d < super.dims.size(); ++d) {
      plan.place_dims.push_back(plan.place_dims[whole.first_dim + d]);
    }
    PlanDimRange& dim = plan.place_dims[part.first_dim + expert];
    dim.begin = first;
    dim.extent = count;
    part.base_bytes += slot * dim.stride_bytes;
    return part;
  };
  const PlanPlace parts[] = {add(1, 1, 0), add(0, 1, 1), add(2, 126, 2)};
  *stacked = parts[0];
  plan.places.push_back(parts[1]);
  plan.places.push_back(parts[2]);
  const InputsReport report = Verify(*compilation);
  REQUIRE(!report.ok());
  CHECK(report.violations[0].where == "rank 64, param 'model.layers.0.mlp.experts.w2_weight'");
  CHECK(report.violations[0].text ==
        "element [0, 0, 0] is 'model.layers.0.mlp.experts.1.down_proj.weight' [0, 0] in the "
        "plan, 'model.layers.0.mlp.experts.0.down_proj.weight' [0, 0] in the inputs");
}

TEST_CASE("DeepSeek-V3 on 256 and 256 GPUs, every rank") {
  const auto compilation = CompileModel("deepseek_v3_train", "deepseek_v3_infer", "h100_256_256");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "all 256 source ranks and all 256 destination ranks");
}

TEST_CASE("DeepSeek-V3 on 4096 and 4096 GPUs, a sample of the ranks with too many contents") {
  const auto compilation =
      CompileModel("deepseek_v3_4096_train", "deepseek_v3_4096_tp32_infer", "h100_4096_4096");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "64 of 4096 source ranks and all 4096 destination ranks");
}

}  // namespace
}  // namespace reshard
