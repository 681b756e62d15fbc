#include "compiler/plan_tools/verify_inputs.h"

#include <functional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

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

std::string Layout(const std::string& side, const std::string& rest) {
  return R"({"format":"reshard-layout","version":1,"side":")" + side + "\"," + rest + "}";
}

// A plan and the layouts that it was made from.
struct Example {
  Plan plan;
  LayoutSpec source, destination;

  InputsReport Verify(const InputsOptions& options = {}) const {
    PlanInputSpecs inputs;
    inputs.source = &source;
    inputs.destination = &destination;
    inputs.train_digest = plan.header.train_digest;
    inputs.infer_digest = plan.header.infer_digest;
    inputs.topo_digest = plan.header.topo_digest;
    return VerifyInputs(plan, inputs, options);
  }
  // "where: text" of the first violation; empty when there is none.
  std::string First() const {
    const InputsReport report = Verify();
    CHECK(!report.exhausted);
    if (report.violations.empty()) return "";
    CHECK(report.violations[0].rule == kInputsMismatchRule);
    return report.violations[0].where + ": " + report.violations[0].text;
  }
};

const std::string kExpertTensors =
    R"("logical":[{"for":{"l":"1..3","e":"0..4"},"name":"layers.{l}.experts.{e}.w","shape":[6,8]}],)";

std::string ExpertDestination(const std::string& even = "0..4..2",
                              const std::string& odd = "1..4..2") {
  return Layout("destination",
                R"("meshes":{"m":{"axes":["s"],"ranks":[2,3]}},"params":[
   {"for":{"l":"1..3"},"where":["s==0"],"name":"layers.{l}.experts.w","mesh":"m",
    "shares":["tied.{l}.w"],"value":{"op":"stack","over":{"e":")" +
                    even + R"("},"in":{"op":"pad","to":7,"in":"layers.{l}.experts.{e}.w"}}},
   {"for":{"l":"1..3"},"where":["s==1"],"name":"layers.{l}.experts.w","mesh":"m",
    "value":{"op":"stack","over":{"e":")" +
                    odd +
                    R"("},"in":{"op":"permute","dims":[1,0],"in":"layers.{l}.experts.{e}.w"}}},
   {"where":["s==0"],"name":"scales","mesh":"m",
    "external":{"shape":[4],"dtype":"f32","why":"made after load"}}])");
}

Example Experts() {
  return {testing::ExpertPlan(),
          ReadSpec(Layout("source", kExpertTensors +
                                        R"("meshes":{"m":{"axes":["h"],"ranks":[0,1]}},"params":[
   {"for":{"l":"1..3","e":"0..4"},"where":["e//2==h"],"name":"layers.{l}.experts.{e}.w","mesh":"m",
    "value":"layers.{l}.experts.{e}.w"}])")),
          ReadSpec(ExpertDestination())};
}

Example Toy() {
  const std::string tensor = R"("logical":[{"name":"w","shape":[8,8],"dtype":"f32"}],)";
  return {testing::ToyPlan(),
          ReadSpec(Layout("source", tensor + R"j("meshes":{"m":{"axes":["x"],"ranks":[0,1]}},
   "params":[{"name":"w.rows","mesh":"m","tensor":"w","placements":["S(0)"]}])j")),
          ReadSpec(Layout("destination", tensor + R"("explicit":[
   {"for":{"r":"2..6"},"rank":"r","param":"w.columns","dtype":"f32","shape":[8,2],
    "pieces":[{"t":"w","src":[[0,8],["2*r-4",2]],"dst":[[0,8],[0,2]]}]}])"))};
}

TEST_CASE("a plan is the plan of its inputs") {
  const InputsReport toy = Toy().Verify();
  CHECK(toy.ok());
  CHECK(toy.source.params == 2);
  CHECK(toy.destination.params == 4);
  CHECK(toy.destination.pieces == 4);
  CHECK(toy.Coverage() == "all 2 source ranks and all 4 destination ranks");
  CHECK(Experts().First() == "");
  const InputsReport experts = Experts().Verify();
  CHECK(experts.source.params == 8);
  CHECK(experts.destination.params == 5);
  CHECK(experts.destination.pieces == 12);  // 8 experts, 4 rows of padding
}

TEST_CASE("swapped experts of equal shape are seen") {
  Example example = Experts();
  example.destination = ReadSpec(ExpertDestination("1..4..2", "0..4..2"));
  CHECK(example.First() ==
        "rank 2, param 'layers.1.experts.w': element [0, 0, 0] is 'layers.1.experts.0.w' [0, 0] in "
        "the plan, 'layers.1.experts.1.w' [0, 0] in the inputs");
}

TEST_CASE("every kind of difference is named") {
  struct Mutation {
    const char* expected;
    std::function<void(Plan*)> apply;
  };
  // Families: 0 and 1 source, 2 even, 3 odd, 4 external; five dims a place.
  const std::vector<Mutation> mutations = {
      {"rank 2, param 'layers.1.experts.w': element [0, 0, 0] is 'layers.1.experts.1.w' [0, 0] in "
       "the plan, 'layers.1.experts.0.w' [0, 0] in the inputs",
       [](Plan* plan) { plan->place_dims[12].begin = 1; }},
      {"rank 0, param 'layers.1.experts.0.w': element [0, 0] is 'layers.1.experts.0.w' [1, 0] in "
       "the plan, 'layers.1.experts.0.w' [0, 0] in the inputs",
       [](Plan* plan) {
         plan->place_dims[3].begin = 1;
         plan->place_dims[3].extent = 5;
       }},
      {"rank 3, param 'layers.1.experts.w': element [0, 0, 1] is 'layers.1.experts.1.w' [0, 1] in "
       "the plan, 'layers.1.experts.1.w' [1, 0] in the inputs",
       [](Plan* plan) {
         plan->place_dims[18].stride_bytes = 16;
         plan->place_dims[19].stride_bytes = 2;
       }},
      {"rank 3, param 'layers.1.experts.w': element [1, 0, 0] is nothing in the plan, "
       "'layers.1.experts.3.w' [0, 0] in the inputs",
       [](Plan* plan) { plan->place_dims[16].extent = 1; }},
      {"rank 2, param 'layers.1.experts.w': the plan gives it shape [2, 8, 7], the inputs [2, 7, "
       "8]",
       [](Plan* plan) {
         plan->families[2].shape = {2, 8, 7};
       }},
      {"rank 2, param 'layers.1.experts.w': the plan gives it dtype f16, the inputs bf16",
       [](Plan* plan) { plan->families[2].dtype = DType::kF16; }},
      {"rank 2, param 'layers.1.experts.w': the plan gives it 225 bytes, the inputs 224",
       [](Plan* plan) { plan->families[2].bytes = 225; }},
      {"rank 2, param 'layers.1.experts.w': the plan gives its buffer other names",
       [](Plan* plan) { plan->families[2].shares[0].text[0] = "untied."; }},
      {"rank 2, param 'layers.1.experts.w': the plan zeroes 0 bytes of it and keeps 32, the inputs "
       "32 and 0",
       [](Plan* plan) { plan->fills[0].rule = PlanFillRule::kKeep; }},
      {"rank 2, param 'scales': the plan does not have this param",
       [](Plan* plan) { plan->families[4].rank_set = plan->families[0].rank_set; }},
      {"rank 2, param 'scales': the plan writes it, though it is external",
       [](Plan* plan) { plan->families[4].external = false; }},
      {"rank 1, param 'layers.1.expert.2.w': the plan has this param, the inputs do not",
       [](Plan* plan) { plan->families[1].name.text[1] = ".expert."; }},
      {"rank 3, param 'layers.2.experts.w': the plan does not have this param",
       [](Plan* plan) { plan->families[3].loop_extent[0] = 1; }},
      {"the inputs: tensor 'layers.1.experts.0.w' has shape [8, 6] and dtype bf16 in the plan, "
       "[6, 8] and bf16 in the inputs",
       [](Plan* plan) {
         plan->supers[0].shape = {8, 6};
       }},
      {"the inputs: the plan has a tensor 'layers.3.experts.0.w', which the inputs do not have",
       [](Plan* plan) { plan->supers[0].loop_extent[0] = 3; }},
  };
  for (const Mutation& mutation : mutations) {
    Example example = Experts();
    mutation.apply(&example.plan);
    const std::vector<InputsViolation> violations = example.Verify().violations;
    std::string all;
    bool found = false;
    for (const InputsViolation& violation : violations) {
      const std::string text = violation.where + ": " + violation.text;
      found = found || text == mutation.expected;
      all += text + "\n";
    }
    CHECK_MESSAGE(found, "expected:\n", std::string(mutation.expected), "\nfound:\n", all);
  }
}

TEST_CASE("a param that is stored twice over is seen by its bytes") {
  Example example = Toy();
  example.plan.places.push_back(example.plan.places.back());
  CHECK(example.First() ==
        "rank 5, param 'w.columns': the plan puts 128 bytes of tensors into this param and those "
        "like it, "
        "the inputs 64");
}

TEST_CASE("digests of other inputs are seen") {
  const Example example = Toy();
  PlanInputSpecs inputs;
  inputs.source = &example.source;
  inputs.destination = &example.destination;
  inputs.train_digest = example.plan.header.train_digest;
  inputs.infer_digest = example.plan.header.infer_digest;
  inputs.topo_digest = example.plan.header.topo_digest;
  inputs.infer_digest[5] ^= 1;
  const InputsReport report = VerifyInputs(example.plan, inputs, {});
  REQUIRE(report.violations.size() == 1);
  CHECK(report.violations[0].rule == kInputsDigestRule);
  CHECK(report.violations[0].where == "the inference layout");
}

// A tensor of 12 elements as 4 x 3: `whole` holds it in order, `third` every third element from 1.
TEST_CASE("steps are compared through refined dims") {
  Plan plan;
  plan.rank_sets = {{0}, {1}};
  PlanSuper super;
  super.name.text = {"w"};
  super.dtype = DType::kF32;
  super.shape = {12};
  super.dims = {{0, 3}, {0, 1}};
  plan.supers = {super};
  const auto add = [&plan](PlanSide side, const std::string& name, int64_t elements, uint32_t set,
                           std::vector<PlanDimRange> dims) {
    PlanFamily family;
    family.side = side;
    family.name.text = {name};
    family.shape = {elements};
    family.dtype = DType::kF32;
    family.bytes = elements * 4;
    family.rank_set = set;
    plan.places.push_back({0, static_cast<uint32_t>(plan.families.size()), 0, 0,
                           static_cast<uint32_t>(plan.place_dims.size())});
    plan.families.push_back(family);
    plan.place_dims.insert(plan.place_dims.end(), dims.begin(), dims.end());
  };
  add(PlanSide::kSource, "whole", 12, 0, {{0, 4, 12, 0}, {0, 3, 4, 0}});
  add(PlanSide::kDestination, "third", 4, 1, {{0, 4, 4, 0}, {1, 1, 0, 0}});
  add(PlanSide::kDestination, "middle", 7, 1, {{1, 2, 12, 0}, {0, 3, 4, 0}});
  // "middle" is 2..9: 2, then two whole rows.
  plan.places[2].base_bytes = 4;
  plan.places.push_back({0, 2, 0, 0, static_cast<uint32_t>(plan.place_dims.size())});
  plan.place_dims.push_back({0, 1, 0, 0});
  plan.place_dims.push_back({2, 1, 0, 0});
  const std::string tensor = R"("logical":[{"name":"w","shape":[12],"dtype":"f32"}],)";
  const std::string mesh = R"("meshes":{"m":{"axes":["x"],"ranks":[)";
  Example example = {plan, ReadSpec(Layout("source", tensor + mesh + R"(0]}},
   "params":[{"name":"whole","mesh":"m","value":"w"}])")),
                     ReadSpec(Layout("destination", mesh + R"(1]}},"params":[
   {"name":"third","mesh":"m","value":{"op":"slice","start":1,"stop":12,"step":3,"in":"w"}},
   {"name":"middle","mesh":"m","value":{"op":"slice","start":2,"stop":9,"in":"w"}}])"))};
  CHECK(example.First() == "");
  example.plan.place_dims[3].begin = 2;
  CHECK(example.First() ==
        "rank 1, param 'third': element [0] is 'w' [2] in the plan, 'w' [1] in the inputs");
  example = {plan, example.source, example.destination};
  example.plan.place_dims[5].begin = 1;
  example.plan.place_dims[5].extent = 2;
  CHECK(example.First() ==
        "rank 1, param 'middle': element [1] is 'w' [4] in the plan, 'w' [3] in the inputs");
}

TEST_CASE("many ranks are sampled, one of each part") {
  std::vector<uint32_t> ranks;
  for (uint32_t i = 0; i < 4096; ++i) ranks.push_back(1000 + i);
  const std::vector<uint32_t> chosen = SampleRanks(ranks, 256, 64);
  REQUIRE(chosen.size() == 64);
  std::vector<int> tensor_parallel(8, 0);
  for (size_t i = 0; i < chosen.size(); ++i) {
    CHECK((chosen[i] - 1000) / 64 == i);
    ++tensor_parallel[(chosen[i] - 1000) % 8];
  }
  for (const int count : tensor_parallel) CHECK(count > 0);
  ranks.resize(256);
  CHECK(SampleRanks(ranks, 256, 64) == ranks);

  const Example example = Toy();
  InputsOptions options;
  options.full_ranks = 3;
  options.sample_ranks = 2;
  CHECK(example.Verify(options).Coverage() == "all 2 source ranks and 2 of 4 destination ranks");
}

TEST_CASE("a used-up budget is neither right nor wrong") {
  InputsOptions options;
  options.work_budget = 5;
  const InputsReport report = Experts().Verify(options);
  CHECK(report.exhausted);
  CHECK(report.violations.empty());
  CHECK(!report.ok());
}

}  // namespace
}  // namespace reshard
