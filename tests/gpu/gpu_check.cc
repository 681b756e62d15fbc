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
  void Skip(const std::string& name, const std::string& why) {
    out_ << std::left << std::setw(kNameWidth) << name << "skipped " << why << std::endl;
    ++totals_.skipped;
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

bool NcclConnects(const GpuCheckSpec& spec, uint64_t rank_count) {
  if (spec.library == nullptr) return false;
  if (rank_count <= spec.gpu_count) return true;
  return spec.several_ranks_per_gpu &&
         rank_count <= uint64_t{spec.gpu_count} * spec.max_waiting_ranks_per_gpu;
}

void CheckPlan(const GpuCheckSpec& spec, const NamedPlan& named, DomainPath path, Table* table) {
  const size_t rank_count = named.plan->ranks.size();
  const bool nccl = NcclConnects(spec, rank_count);
  const std::string name = "plan " + named.name + ", " + std::to_string(rank_count) + " ranks, " +
                           (path == DomainPath::kDirect ? "direct" : "NCCL");
  if (!nccl && path == DomainPath::kDirect && rank_count > spec.max_waiting_ranks_per_gpu) {
    return table->Skip(name, "its ranks wait for each other on the device, which " +
                                 std::to_string(spec.max_waiting_ranks_per_gpu) + " can do on one");
  }
  PlanRunSpec run;
  run.library = spec.library;
  run.path = path;
  const uint32_t used = nccl ? spec.gpu_count : 1;
  run.open_gpu = [&spec, used](uint32_t rank) { return spec.open_gpu(rank % used); };
  if (!nccl) {
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
          << " GB/s delivered" << (nccl ? "" : ", copies in place of NCCL");
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
