// The program of tools/gpu-check.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/nccl/open_gpu.h"
#include "runtime/exec/nccl/open_nccl.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"
#include "tests/gpu/gpu_check.h"

namespace {

using reshard::Plan;
using reshard::Status;
using reshard::StatusOr;
using namespace reshard::nccl;

constexpr int kAllPassed = 0;
constexpr int kSomeFailed = 1;
constexpr int kCannotJudge = 2;
// The first NCCL that puts several ranks on one GPU, if its environment variable says so.
constexpr int32_t kManyRanksVersion = 23000;
constexpr char kManyRanksVariable[] = "NCCL_MULTI_RANK_GPU_ENABLE";

int CannotJudge(const std::string& why) {
  std::cout << "SKIPPED: gpu-check: " << why << "\n0 passed, 0 failed, 1 skipped\n";
  return kCannotJudge;
}

struct Arguments {
  std::string nccl;
  std::vector<std::string> plans;
  bool can_run = false;  // only say whether there is a GPU
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--nccl") == 0) {
      if (++i == argc) return false;
      arguments->nccl = argv[i];
    } else if (std::strcmp(argv[i], "--can-run") == 0) {
      arguments->can_run = true;
    } else if (argv[i][0] == '-') {
      return false;
    } else {
      arguments->plans.push_back(argv[i]);
    }
  }
  return true;
}

// "a/b/toy.fb" is "toy".
std::string NameOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  return file.substr(0, file.rfind('.'));
}

StatusOr<NamedPlan> Load(const std::string& path) {
  StatusOr<reshard::LoadedPlan> loaded = reshard::LoadPlanFile(path, {});
  if (!loaded.ok()) return loaded.status();
  if (!reshard::VerifyPlan(loaded->plan, {}).ok()) {
    return Status(reshard::StatusCode::kCorruptData, path + " breaks rules of the verifier");
  }
  return NamedPlan{NameOf(path), std::make_shared<Plan>(std::move(loaded->plan))};
}

// What stands between the ranks: fills `spec` and says it.
std::string ChooseLibrary(const Arguments& arguments, GpuCheckSpec* spec) {
  StatusOr<std::shared_ptr<NcclLibrary>> library = OpenNccl(arguments.nccl);
  if (!library.ok()) {
    return "copies on the device in place of NCCL: " + library.status().message();
  }
  spec->library = *std::move(library);
  const int32_t version = spec->library->version();
  const char* const enabled = std::getenv(kManyRanksVariable);
  spec->several_ranks_per_gpu =
      version >= kManyRanksVersion && enabled != nullptr && std::strcmp(enabled, "1") == 0;
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) +
         "." + std::to_string(version % 100) +
         (spec->several_ranks_per_gpu ? ", several ranks per GPU"
                                      : ", one rank per GPU (2.30 can do more)");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::cerr << "usage: gpu_check [--can-run] [--nccl FILE] [PLAN...]\n";
    return kCannotJudge;
  }
  const StatusOr<std::vector<std::string>> gpus = ListGpus();
  if (!gpus.ok()) return CannotJudge(gpus.status().message());
  if (gpus->empty()) return CannotJudge("no GPU");
  if (arguments.can_run) return kAllPassed;
  GpuCheckSpec spec;
  for (const std::string& path : arguments.plans) {
    StatusOr<NamedPlan> plan = Load(path);
    if (!plan.ok()) {
      std::cerr << "gpu-check: error: " << plan.status() << "\n";
      return kCannotJudge;
    }
    spec.plans.push_back(*std::move(plan));
  }
  const std::string between = ChooseLibrary(arguments, &spec);
  spec.gpu_count = static_cast<uint32_t>(gpus->size());
  spec.open_gpu = [](uint32_t number) { return OpenGpu(static_cast<int32_t>(number)); };
  std::cout << gpus->size() << " GPUs (" << gpus->front() << "); " << between << "\n\n";
  const GpuCheckTotals totals = RunGpuCheck(spec, std::cout);
  std::cout << "\n"
            << totals.passed << " passed, " << totals.failed << " failed, " << totals.skipped
            << " skipped\n";
  return totals.failed == 0 ? kAllPassed : kSomeFailed;
}
