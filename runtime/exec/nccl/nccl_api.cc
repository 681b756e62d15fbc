// The C interface of the NCCL backend.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reshard/reshard_nccl.h"
#include "runtime/c_api/api_support.h"
#include "runtime/c_api/caller_control.h"
#include "runtime/c_api/plan_object.h"
#include "runtime/exec/nccl/nccl_backend.h"
#include "runtime/exec/nccl/open_gpu.h"
#include "runtime/exec/nccl/open_nccl.h"
#include "runtime/exec/nccl/tuning.h"

using namespace reshard::c_api;  // the functions below are of the global namespace

namespace reshard::nccl {
namespace {

constexpr std::chrono::seconds kConnectTime(300);

StatusOr<int32_t> ChannelsFor(const reshard_plan* handle) {
  if (handle == nullptr) return 0;
  const std::shared_ptr<PlanObject> plan = FindPlan(handle);
  if (plan == nullptr) {
    return Status(StatusCode::kInvalidArgument, "options.plan is the handle of no plan");
  }
  int64_t fastest = 0;
  for (const PlanNic& nic : plan->plan().nics) fastest = std::max(fastest, nic.bytes_per_s);
  return ChannelsPerPeer(fastest);
}

StatusOr<std::unique_ptr<Communicator>> Connect(const reshard_nccl_options& options,
                                                NcclLibrary* library) {
  if (options.communicator != nullptr) {
    const auto comm = reinterpret_cast<CommHandle>(options.communicator);
    const StatusOr<CommDescription> described = library->Describe(comm);
    if (!described.ok()) return described.status();
    if (described->device != options.device) {
      return Status(StatusCode::kInvalidArgument,
                    "the communicator is of device " + std::to_string(described->device) +
                        ", options.device is " + std::to_string(options.device));
    }
    return Communicator::Lend(library, comm);
  }
  CommConfig config;
  config.rank = options.rank;
  config.rank_count = options.rank_count;
  const StatusOr<int32_t> channels = ChannelsFor(options.plan);
  if (!channels.ok()) return channels.status();
  config.channels_per_peer = *channels;
  UniqueId id;
  std::memcpy(id.bytes.data(), options.id->bytes, sizeof(options.id->bytes));
  const StatusOr<std::chrono::nanoseconds> timeout = Timeout(options.timeout_ns, kConnectTime);
  if (!timeout.ok()) return timeout.status();
  return Communicator::Make(library, id, config, DeadlineIn(*timeout));
}

Status CheckOptions(const reshard_nccl_options& options) {
  if (options.path < RESHARD_NCCL_PATH_AUTO || options.path > RESHARD_NCCL_PATH_NCCL) {
    return Status(StatusCode::kInvalidArgument, "options.path is no reshard_nccl_path");
  }
  if (options.communicator != nullptr) return Status();
  if (options.id == nullptr) {
    return Status(StatusCode::kInvalidArgument, "neither a communicator nor an id is given");
  }
  if (options.rank < 0 || options.rank >= options.rank_count) {
    return Status(StatusCode::kInvalidArgument, "rank " + std::to_string(options.rank) + " of " +
                                                    std::to_string(options.rank_count) +
                                                    " does not exist");
  }
  return Status();
}

StatusOr<std::shared_ptr<NcclBackend>> MakeBackend(const reshard_nccl_options& options) {
  RESHARD_RETURN_IF_ERROR(CheckOptions(options));
  StatusOr<std::unique_ptr<ControlChannel>> control = ControlOf(options.control);
  if (!control.ok()) return control.status();
  StatusOr<std::shared_ptr<GpuRuntime>> gpu = OpenGpu(options.device);
  if (!gpu.ok()) return gpu.status();
  StatusOr<std::shared_ptr<NcclLibrary>> library =
      OpenNccl(options.library == nullptr ? "" : options.library);
  if (!library.ok()) return library.status();
  // A communicator belongs to the device that is current when it is made.
  const CurrentDevice current(gpu->get());
  RESHARD_RETURN_IF_ERROR(current.status());
  StatusOr<std::unique_ptr<Communicator>> comm = Connect(options, library->get());
  if (!comm.ok()) return comm.status();
  constexpr DomainPath kPaths[] = {DomainPath::kAuto, DomainPath::kDirect, DomainPath::kNccl};
  NcclBackendSpec spec;
  spec.gpu = *std::move(gpu);
  spec.library = *std::move(library);
  spec.comm = *std::move(comm);
  spec.control = *std::move(control);
  spec.path = kPaths[options.path];
  return NcclBackend::Make(std::move(spec));
}

}  // namespace
}  // namespace reshard::nccl

reshard_result reshard_nccl_get_id(const char* library, reshard_nccl_id* id) {
  using namespace reshard::nccl;
  return Guarded([&] {
    if (id == nullptr) return NullArgument("id");
    const reshard::StatusOr<std::shared_ptr<NcclLibrary>> opened =
        OpenNccl(library == nullptr ? "" : library);
    if (!opened.ok()) return Report(opened.status());
    const reshard::StatusOr<UniqueId> made = (*opened)->NewUniqueId();
    if (!made.ok()) return Report(made.status());
    std::memcpy(id->bytes, made->bytes.data(), sizeof(id->bytes));
    return RESHARD_OK;
  });
}

reshard_result reshard_backend_nccl_create(const reshard_nccl_options* options,
                                           reshard_backend** backend) {
  using namespace reshard::nccl;
  return Guarded([&] {
    if (options == nullptr) return NullArgument("options");
    if (backend == nullptr) return NullArgument("backend");
    reshard_nccl_options given;
    const reshard::Status read = ReadStruct(options, sizeof(given), "reshard_nccl_options", &given);
    if (!read.ok()) return Report(read);
    reshard::StatusOr<std::shared_ptr<NcclBackend>> made = MakeBackend(given);
    if (!made.ok()) return Report(made.status());
    return AddBackend(*std::move(made), backend);
  });
}

reshard_result reshard_backend_nccl_shrink(reshard_backend* backend, const int32_t* excluded,
                                           size_t excluded_count, const reshard_control* control,
                                           int64_t timeout_ns, reshard_backend** shrunk) {
  using namespace reshard::nccl;
  return Guarded([&] {
    if (shrunk == nullptr) return NullArgument("shrunk");
    if (excluded == nullptr && excluded_count > 0) return NullArgument("excluded");
    const std::shared_ptr<reshard::Backend> found = FindBackend(backend);
    if (found == nullptr) return BadHandle("backend");
    auto* const old = dynamic_cast<NcclBackend*>(found.get());
    if (old == nullptr) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT,
                  "the backend is " + std::string(found->name()) + ", expected nccl");
    }
    reshard::StatusOr<std::unique_ptr<reshard::ControlChannel>> channel = ControlOf(control);
    if (!channel.ok()) return Report(channel.status());
    const reshard::StatusOr<std::chrono::nanoseconds> timeout = Timeout(timeout_ns, kConnectTime);
    if (!timeout.ok()) return Report(timeout.status());
    reshard::StatusOr<std::shared_ptr<NcclBackend>> made = old->WithoutRanks(
        {excluded, excluded_count}, *std::move(channel), reshard::DeadlineIn(*timeout));
    if (!made.ok()) return Report(made.status());
    return AddBackend(*std::move(made), shrunk);
  });
}
