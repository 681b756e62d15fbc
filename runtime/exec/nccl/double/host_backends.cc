#include "runtime/exec/nccl/double/host_backends.h"

#include <thread>
#include <utility>

#include "runtime/exec/loopback/loopback_control.h"

namespace reshard::nccl {
namespace {

// A device with the machine that it is part of.
struct MachineAndGpu {
  MachineAndGpu(std::shared_ptr<HostMachine> of, const GpuIdentity& identity)
      : machine(std::move(of)), gpu(machine.get(), identity) {}
  std::shared_ptr<HostMachine> machine;
  HostGpu gpu;
};

// A communicator as the application would make it; the double keeps it.
StatusOr<std::unique_ptr<Communicator>> Lend(HostNccl* nccl, const UniqueId& id,
                                             const CommConfig& config) {
  CommHandle comm = nullptr;
  RESHARD_RETURN_IF_ERROR(nccl->Init(id, config, &comm));
  for (;;) {
    const StatusOr<bool> pending = nccl->IsPending(comm);
    if (!pending.ok()) return pending.status();
    if (!*pending) return Communicator::Lend(nccl, comm);
    std::this_thread::yield();
  }
}

}  // namespace

Status OnAllMembers(size_t count, const std::function<Status(size_t member)>& work) {
  std::vector<Status> results(count);
  std::vector<std::thread> threads;
  for (size_t m = 0; m < count; ++m) {
    threads.emplace_back([&, m] { results[m] = work(m); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RESHARD_RETURN_IF_ERROR(std::move(result));
  return Status();
}

StatusOr<HostBackends> MakeHostBackends(uint32_t member_count, const HostBackendOptions& options) {
  HostBackends made;
  made.machine = std::make_shared<HostMachine>(options.unified_memory, options.jitter_seed);
  made.nccl = std::make_shared<HostNccl>(options.nccl);
  const StatusOr<UniqueId> id = made.nccl->NewUniqueId();
  if (!id.ok()) return id.status();
  std::vector<std::unique_ptr<ControlChannel>> controls = MakeLoopbackControl(member_count);
  for (uint32_t m = 0; m < member_count; ++m) {
    const GpuIdentity place =
        options.place ? options.place(m) : GpuIdentity{0, m, static_cast<int32_t>(m)};
    const auto owned = std::make_shared<MachineAndGpu>(made.machine, place);
    made.gpus.push_back(std::shared_ptr<HostGpu>(owned, &owned->gpu));
    if (options.memory_bytes) owned->gpu.LimitMemory(options.memory_bytes(m));
  }
  made.backends.resize(member_count);
  RESHARD_RETURN_IF_ERROR(OnAllMembers(member_count, [&](size_t m) {
    const CommConfig config{static_cast<int32_t>(m), static_cast<int32_t>(member_count), 0};
    StatusOr<std::unique_ptr<Communicator>> comm =
        options.lend
            ? Lend(made.nccl.get(), *id, config)
            : Communicator::Make(made.nccl.get(), *id, config, DeadlineIn(options.timeout));
    if (!comm.ok()) return comm.status();
    NcclBackendSpec spec;
    spec.gpu = made.gpus[m];
    spec.library = made.nccl;
    spec.comm = *std::move(comm);
    if (!options.control_over_nccl) spec.control = std::move(controls[m]);
    spec.path = options.path;
    spec.tuning = options.tuning;
    StatusOr<std::shared_ptr<NcclBackend>> backend = NcclBackend::Make(std::move(spec));
    if (!backend.ok()) return backend.status();
    made.backends[m] = *std::move(backend);
    return Status();
  }));
  return made;
}

}  // namespace reshard::nccl
