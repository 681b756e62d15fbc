// Plans of real models against their inputs, and two mistakes that only this comparison sees.

#include <chrono>
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

// A compilation without routes: the plan says where bytes are, not how they move.
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
  const auto start = std::chrono::steady_clock::now();
  InputsReport report = VerifyInputs(compilation.plan, inputs, {});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  MESSAGE(report.Coverage(), ": ", seconds.count(), " s");
  for (const InputsViolation& violation : report.violations) {
    MESSAGE(violation.where, ": ", violation.text);
  }
  return report;
}

TEST_CASE("Qwen3-235B, every rank") {
  const auto compilation = CompileModel("qwen3_235b_train", "qwen3_235b_infer", "h100_64_64");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "all 64 source ranks and all 64 destination ranks");
  CHECK(good.source.params == 34640);
  CHECK(good.destination.params == 54336);
}

TEST_CASE("DeepSeek-V3 on 256 and 256 GPUs, every rank") {
  const auto compilation = CompileModel("deepseek_v3_train", "deepseek_v3_infer", "h100_256_256");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "all 256 source ranks and all 256 destination ranks");
}

TEST_CASE("DeepSeek-V3 on 4096 and 4096 GPUs, a sample of ranks") {
  const auto compilation =
      CompileModel("deepseek_v3_4096_train", "deepseek_v3_4096_tp32_infer", "h100_4096_4096");
  const InputsReport good = Verify(*compilation);
  CHECK(good.ok());
  CHECK(good.Coverage() == "64 of 4096 source ranks and 64 of 4096 destination ranks");
}

}  // namespace
}  // namespace reshard
