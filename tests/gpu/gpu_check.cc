#include "tests/gpu/gpu_check.h"

#include <iomanip>
#include <sstream>
#include <utility>

#include "tests/gpu/kernel_check.h"
#include "tests/gpu/local_nccl.h"
#include "tests/gpu/plan_run.h"

namespace reshard::nccl {
namespace {

constexpr int kNameWidth = 44;

class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {
    out_ << std::left << std::setw(kNameWidth) << "check"
         << "result  details\n";
  }
  void Add(const std::string& name, bool ok, const std::string& details) {
    out_ << std::left << std::setw(kNameWidth) << name << (ok ? "ok      " : "FAILED  ") << details
         << std::endl;
    ++(ok ? totals_.passed : totals_.failed);
  }
  const GpuCheckTotals& totals() const { return totals_; }

 private:
  std::ostream& out_;
  GpuCheckTotals totals_;
};

std::string Rate(double gb_per_s) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << gb_per_s;
  return text.str();
}

void CheckAllKernels(const GpuCheckSpec& spec, Table* table) {
  const StatusOr<std::shared_ptr<GpuRuntime>> gpu = spec.open_gpu(0);
  if (!gpu.ok()) return table->Add("copy kernels", false, gpu.status().ToString());
  for (const KernelCase& which : KernelCases()) {
    const std::string name = "kernels: " + which.name;
    const StatusOr<KernelResult> result = CheckKernels(gpu->get(), which, spec.kernel_bytes);
    if (!result.ok()) {
      table->Add(name, false, result.status().ToString());
    } else if (result->wrong_bytes > 0) {
      table->Add(name, false, std::to_string(result->wrong_bytes) + " bytes are wrong");
    } else {
      table->Add(name, true,
                 "gather " + Rate(result->gather_gb_per_s) + " GB/s, scatter " +
                     Rate(result->scatter_gb_per_s) + ", plain copy " +
                     Rate(result->plain_gb_per_s));
    }
  }
}

void CheckPlan(const GpuCheckSpec& spec, const NamedPlan& named, DomainPath path, Table* table) {
  const std::string name = "plan " + named.name + ", " + std::to_string(named.plan->ranks.size()) +
                           " ranks, " + (path == DomainPath::kDirect ? "direct" : "NCCL");
  PlanRunSpec run;
  run.open_gpu = spec.open_gpu;
  run.library = spec.library;
  run.path = path;
  if (run.library == nullptr) {
    StatusOr<std::shared_ptr<GpuRuntime>> gpu = spec.open_gpu(0);
    if (!gpu.ok()) return table->Add(name, false, gpu.status().ToString());
    run.library = MakeLocalNccl(*std::move(gpu));
  }
  const StatusOr<PlanRunResult> result = RunPlanOnGpus(named.plan, run);
  if (!result.ok()) return table->Add(name, false, result.status().ToString());
  if (result->wrong_bytes > 0) {
    return table->Add(name, false,
                      std::to_string(result->wrong_bytes) + " bytes are wrong, the first at " +
                          result->first_wrong);
  }
  const double seconds = std::chrono::duration<double>(result->fastest).count();
  std::ostringstream details;
  details << result->compared_bytes << " bytes compared, " << std::fixed << std::setprecision(2)
          << seconds * 1e3 << " ms, "
          << Rate(seconds > 0 ? static_cast<double>(result->delivered_bytes) / seconds / 1e9 : 0)
          << " GB/s delivered";
  table->Add(name, true, details.str());
}

}  // namespace

GpuCheckTotals RunGpuCheck(const GpuCheckSpec& spec, std::ostream& out) {
  Table table(out);
  CheckAllKernels(spec, &table);
  for (const NamedPlan& named : spec.plans) {
    for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
      CheckPlan(spec, named, path, &table);
    }
  }
  return table.totals();
}

}  // namespace reshard::nccl
