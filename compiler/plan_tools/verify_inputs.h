// VerifyInputs: is this the plan of these inputs?
//
// The verifier of runtime/plan proves that a plan is consistent; it cannot see that two experts of
// equal shape are swapped. Here every param of a rank is derived anew from the layouts, by the
// naive interpreter, and compared with what the plan says of it: name, shape, dtype, and for every
// byte the tensor element that it holds. All ranks of a side are compared when they have at most
// InputsOptions::full_ranks different contents (replicas are compared once), else a fixed sample of
// them; the report states which.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_VERIFY_INPUTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_VERIFY_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "runtime/plan/plan.h"

namespace reshard {

inline constexpr std::string_view kInputsDigestRule = "inputs-digest";
inline constexpr std::string_view kInputsMismatchRule = "inputs-mismatch";

struct PlanInputSpecs {
  const LayoutSpec* source = nullptr;
  const LayoutSpec* destination = nullptr;
  Digest train_digest{}, infer_digest{}, topo_digest{};  // SHA-256 of the canonical texts
};

struct InputsOptions {
  size_t full_ranks = 256;
  size_t sample_ranks = 64;
  size_t max_violations = 20;
  int64_t work_budget = 200'000'000;  // pieces and cuts; past it `exhausted` is set
};

struct InputsViolation {
  std::string_view rule;
  std::string where;  // "rank 70, param 'lm_head.weight'"
  std::string text;
};

struct InputsReport {
  struct SideCount {
    size_t ranks = 0;
    size_t checked_ranks = 0;
    size_t params = 0;  // of the checked ranks
    size_t pieces = 0;  // boxes of tensors in them, as the inputs write them
  };
  SideCount source, destination;
  RankList left_out;  // ranks that the plan says it was compiled without; neither side has them
  std::vector<InputsViolation> violations;
  bool exhausted = false;

  bool ok() const { return violations.empty() && !exhausted; }
  // "all 64 source ranks and 64 of 4096 destination ranks": what was compared.
  std::string Coverage() const;
};

// `plan` has passed VerifyPlan.
InputsReport VerifyInputs(const Plan& plan, const PlanInputSpecs& inputs,
                          const InputsOptions& options);

// The ranks that are compared: all, or one of each of `sample` equal parts.
std::vector<uint32_t> SampleRanks(const std::vector<uint32_t>& ranks, size_t full, size_t sample);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_VERIFY_INPUTS_H_
