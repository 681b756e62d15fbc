#include "runtime/exec/nccl/nccl_backend.h"

#include <utility>

#include "runtime/exec/nccl/comm_control.h"
#include "runtime/exec/nccl/device_engine.h"

namespace reshard::nccl {

StatusOr<std::shared_ptr<NcclBackend>> NcclBackend::Make(NcclBackendSpec spec) {
  if (spec.control == nullptr) {
    StatusOr<std::unique_ptr<ControlChannel>> control =
        MakeCommControl(spec.gpu.get(), spec.comm.get());
    if (!control.ok()) return control.status();
    spec.control = *std::move(control);
  }
  return std::shared_ptr<NcclBackend>(new NcclBackend(std::move(spec)));
}

StatusOr<std::unique_ptr<ExecutionEngine>> NcclBackend::CreateEngine(const EngineSpec& spec,
                                                                     Deadline deadline) {
  StatusOr<std::unique_ptr<DeviceEngine>> engine = DeviceEngine::Make(
      {spec_.gpu.get(), spec_.comm.get(), spec_.control.get(), spec_.path, spec_.tuning}, spec,
      deadline);
  if (!engine.ok()) return engine.status();
  return std::unique_ptr<ExecutionEngine>(*std::move(engine));
}

StatusOr<std::shared_ptr<NcclBackend>> NcclBackend::WithoutRanks(
    std::span<const int32_t> excluded, std::unique_ptr<ControlChannel> control, Deadline deadline) {
  const CurrentDevice current(spec_.gpu.get());
  RESHARD_RETURN_IF_ERROR(current.status());
  StatusOr<std::unique_ptr<Communicator>> comm = spec_.comm->Shrink(excluded, deadline);
  if (!comm.ok()) return comm.status();
  NcclBackendSpec spec;
  spec.gpu = spec_.gpu;
  spec.library = spec_.library;
  spec.comm = *std::move(comm);
  spec.control = std::move(control);
  spec.path = spec_.path;
  spec.tuning = spec_.tuning;
  return Make(std::move(spec));
}

}  // namespace reshard::nccl
