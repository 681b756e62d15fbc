// RunPlanOnGpus: a whole plan on the NCCL backend, a thread per rank, with identifying content and
// every destination byte compared.
#ifndef RESHARD_TESTS_GPU_PLAN_RUN_H_
#define RESHARD_TESTS_GPU_PLAN_RUN_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/domain_link.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/nccl_library.h"
#include "runtime/exec/nccl/tuning.h"
#include "runtime/plan/plan.h"

namespace reshard::nccl {

struct PlanRunSpec {
  std::function<StatusOr<std::shared_ptr<GpuRuntime>>(uint32_t rank)> open_gpu;
  std::shared_ptr<NcclLibrary> library;
  DomainPath path = DomainPath::kAuto;
  Tuning tuning;
  uint32_t executions = 3;
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

struct PlanRunResult {
  int64_t compared_bytes = 0;  // over all executions
  int64_t wrong_bytes = 0;
  std::string first_wrong;              // "rank 3, w, byte 17"; empty when none is
  int64_t delivered_bytes = 0;          // of one execution
  std::chrono::nanoseconds fastest{0};  // of the executions, the slowest rank of each
};

// `plan` has passed VerifyPlan.
StatusOr<PlanRunResult> RunPlanOnGpus(std::shared_ptr<const Plan> plan, const PlanRunSpec& spec);

}  // namespace reshard::nccl

#endif  // RESHARD_TESTS_GPU_PLAN_RUN_H_
