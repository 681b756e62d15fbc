// NcclBackend: device buffers, NCCL between domains. One per rank.
//
// Holds what engines are made of: the device, the library, a communicator and a control channel.
// Without a channel of the caller's, control messages go over the communicator too; then, after a
// failure, nobody can be asked where it stands. A communicator that a failure has stopped makes no
// further engine: survivors go on with WithoutRanks.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_NCCL_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_NCCL_NCCL_BACKEND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/exec/backend.h"
#include "runtime/exec/nccl/communicator.h"
#include "runtime/exec/nccl/domain_link.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/nccl_library.h"

namespace reshard::nccl {

struct NcclBackendSpec {
  std::shared_ptr<GpuRuntime> gpu;
  std::shared_ptr<NcclLibrary> library;
  std::unique_ptr<Communicator> comm;
  std::unique_ptr<ControlChannel> control;  // null: over the communicator
  DomainPath path = DomainPath::kAuto;
  Tuning tuning;
};

class NcclBackend final : public Backend {
 public:
  static StatusOr<std::shared_ptr<NcclBackend>> Make(NcclBackendSpec spec);

  std::string_view name() const override { return "nccl"; }
  int32_t device() const override { return spec_.gpu->identity().device; }
  ControlChannel* control() override { return spec_.control.get(); }
  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline deadline) override;

  // A backend of the ranks of the communicator that are not `excluded`; every one of them calls it.
  // `control` is a channel of those ranks, or null.
  StatusOr<std::shared_ptr<NcclBackend>> WithoutRanks(std::span<const int32_t> excluded,
                                                      std::unique_ptr<ControlChannel> control,
                                                      Deadline deadline);

  const Communicator& communicator() const { return *spec_.comm; }

 private:
  explicit NcclBackend(NcclBackendSpec spec) : spec_(std::move(spec)) {}
  NcclBackendSpec spec_;
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_NCCL_BACKEND_H_
