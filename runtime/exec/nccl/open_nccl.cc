#include "runtime/exec/nccl/open_nccl.h"

#ifdef RESHARD_HAS_CUDA

#include <dlfcn.h>
#include <nccl.h>

#include <cstring>
#include <utility>
#include <vector>

namespace reshard::nccl {
namespace {

constexpr char kName[] = "libnccl.so.2";
// The first with everything that a lent communicator needs, and the first whose configuration has
// channels per peer and that can stop a communicator without losing it.
constexpr int32_t kOldestVersion = 21900;
constexpr int32_t kOldestOwnVersion = 22800;

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));

ncclComm_t CommOf(CommHandle comm) { return reinterpret_cast<ncclComm_t>(comm); }
cudaStream_t StreamOf(StreamHandle stream) { return reinterpret_cast<cudaStream_t>(stream); }

std::string VersionText(int32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

// Functions that came after the oldest version; null where the library has none.
using ShrinkFunction = ncclResult_t (*)(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
using RevokeFunction = ncclResult_t (*)(ncclComm_t, int);
constexpr int kShrinkWhatRuns = 1;  // NCCL_SHRINK_ABORT

struct Functions {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclCommCount) comm_count = nullptr;
  decltype(&ncclCommUserRank) comm_user_rank = nullptr;
  decltype(&ncclCommCuDevice) comm_cu_device = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  ShrinkFunction comm_shrink = nullptr;
  RevokeFunction comm_revoke = nullptr;
};

class RealNccl final : public NcclLibrary {
 public:
  RealNccl(const Functions& functions, int32_t version) : f_(functions), version_(version) {}
  ~RealNccl() override = default;

  int32_t version() const override { return version_; }

  StatusOr<UniqueId> NewUniqueId() override {
    ncclUniqueId id;
    RESHARD_RETURN_IF_ERROR(Check(f_.get_unique_id(&id), "ncclGetUniqueId", nullptr));
    UniqueId out;
    std::memcpy(out.bytes.data(), &id, sizeof(id));
    return out;
  }

  Status Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) override {
    if (version_ < kOldestOwnVersion) {
      return Status(StatusCode::kUnavailable,
                    "NCCL " + VersionText(version_) + " is too old to make communicators with (" +
                        VersionText(kOldestOwnVersion) + " is needed); lend one");
    }
    ncclUniqueId raw_id;
    std::memcpy(&raw_id, id.bytes.data(), sizeof(raw_id));
    ncclConfig_t raw = NCCL_CONFIG_INITIALIZER;
    raw.blocking = 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    if (config.channels_per_peer > 0) raw.nChannelsPerNetPeer = config.channels_per_peer;
#endif
    ncclComm_t made = nullptr;
    const ncclResult_t result =
        f_.comm_init_rank_config(&made, config.rank_count, raw_id, config.rank, &raw);
    *comm = reinterpret_cast<CommHandle>(made);
    return Check(result, "ncclCommInitRankConfig", nullptr);
  }

  Status Shrink(CommHandle comm, std::span<const int32_t> excluded, CommHandle* shrunk) override {
    if (f_.comm_shrink == nullptr) {
      return Status(StatusCode::kUnavailable,
                    "NCCL " + VersionText(version_) + " has no ncclCommShrink");
    }
    std::vector<int> ranks(excluded.begin(), excluded.end());
    ncclComm_t made = nullptr;
    const ncclResult_t result =
        f_.comm_shrink(CommOf(comm), ranks.data(), static_cast<int>(ranks.size()), &made, nullptr,
                       kShrinkWhatRuns);
    *shrunk = reinterpret_cast<CommHandle>(made);
    return Check(result, "ncclCommShrink", CommOf(comm));
  }

  StatusOr<CommDescription> Describe(CommHandle comm) override {
    CommDescription described;
    RESHARD_RETURN_IF_ERROR(
        Check(f_.comm_count(CommOf(comm), &described.rank_count), "ncclCommCount", CommOf(comm)));
    RESHARD_RETURN_IF_ERROR(
        Check(f_.comm_user_rank(CommOf(comm), &described.rank), "ncclCommUserRank", CommOf(comm)));
    RESHARD_RETURN_IF_ERROR(Check(f_.comm_cu_device(CommOf(comm), &described.device),
                                  "ncclCommCuDevice", CommOf(comm)));
    return described;
  }

  StatusOr<bool> IsPending(CommHandle comm) override {
    ncclResult_t state = ncclSuccess;
    RESHARD_RETURN_IF_ERROR(Check(f_.comm_get_async_error(CommOf(comm), &state),
                                  "ncclCommGetAsyncError", CommOf(comm)));
    if (state == ncclInProgress) return true;
    RESHARD_RETURN_IF_ERROR(Check(state, "NCCL failed", CommOf(comm)));
    return false;
  }

  void Destroy(CommHandle comm) override { f_.comm_destroy(CommOf(comm)); }

  bool Stop(CommHandle comm) override {
    if (f_.comm_revoke != nullptr) {
      const ncclResult_t result = f_.comm_revoke(CommOf(comm), 0);
      if (result == ncclSuccess || result == ncclInProgress) return true;
    }
    f_.comm_abort(CommOf(comm));
    return false;
  }

  Status GroupStart() override { return Check(f_.group_start(), "ncclGroupStart", nullptr); }
  Status Send(const uint8_t* from, int64_t bytes, int32_t peer, CommHandle comm,
              StreamHandle stream) override {
    return Check(
        f_.send(from, static_cast<size_t>(bytes), ncclUint8, peer, CommOf(comm), StreamOf(stream)),
        "ncclSend", CommOf(comm));
  }
  Status Receive(uint8_t* to, int64_t bytes, int32_t peer, CommHandle comm,
                 StreamHandle stream) override {
    return Check(
        f_.recv(to, static_cast<size_t>(bytes), ncclUint8, peer, CommOf(comm), StreamOf(stream)),
        "ncclRecv", CommOf(comm));
  }
  Status GroupEnd() override { return Check(f_.group_end(), "ncclGroupEnd", nullptr); }
  Status AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each, CommHandle comm,
                   StreamHandle stream) override {
    return Check(f_.all_gather(from, to, static_cast<size_t>(bytes_each), ncclUint8, CommOf(comm),
                               StreamOf(stream)),
                 "ncclAllGather", CommOf(comm));
  }

 private:
  // What is in progress is no failure: it is asked for with IsPending.
  Status Check(ncclResult_t result, const char* call, ncclComm_t comm) const {
    if (result == ncclSuccess || result == ncclInProgress) return Status();
    const char* const more = f_.get_last_error(comm);
    std::string text = std::string(call) + ": " + f_.get_error_string(result);
    if (more != nullptr && *more != '\0') text += std::string(" (") + more + ")";
    return Status(StatusCode::kIoError, text);
  }

  const Functions f_;
  const int32_t version_;
};

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The name of the first function that is missing; null when all are there.
const char* FindAll(void* library, Functions* f) {
  if (!Find(library, "ncclGetVersion", &f->get_version)) return "ncclGetVersion";
  if (!Find(library, "ncclGetUniqueId", &f->get_unique_id)) return "ncclGetUniqueId";
  if (!Find(library, "ncclGetErrorString", &f->get_error_string)) return "ncclGetErrorString";
  if (!Find(library, "ncclGetLastError", &f->get_last_error)) return "ncclGetLastError";
  if (!Find(library, "ncclCommInitRankConfig", &f->comm_init_rank_config)) {
    return "ncclCommInitRankConfig";
  }
  if (!Find(library, "ncclCommDestroy", &f->comm_destroy)) return "ncclCommDestroy";
  if (!Find(library, "ncclCommAbort", &f->comm_abort)) return "ncclCommAbort";
  if (!Find(library, "ncclCommGetAsyncError", &f->comm_get_async_error)) {
    return "ncclCommGetAsyncError";
  }
  if (!Find(library, "ncclCommCount", &f->comm_count)) return "ncclCommCount";
  if (!Find(library, "ncclCommUserRank", &f->comm_user_rank)) return "ncclCommUserRank";
  if (!Find(library, "ncclCommCuDevice", &f->comm_cu_device)) return "ncclCommCuDevice";
  if (!Find(library, "ncclGroupStart", &f->group_start)) return "ncclGroupStart";
  if (!Find(library, "ncclGroupEnd", &f->group_end)) return "ncclGroupEnd";
  if (!Find(library, "ncclSend", &f->send)) return "ncclSend";
  if (!Find(library, "ncclRecv", &f->recv)) return "ncclRecv";
  if (!Find(library, "ncclAllGather", &f->all_gather)) return "ncclAllGather";
  Find(library, "ncclCommShrink", &f->comm_shrink);
  Find(library, "ncclCommRevoke", &f->comm_revoke);
  return nullptr;
}

}  // namespace

StatusOr<std::shared_ptr<NcclLibrary>> OpenNccl(const std::string& path) {
  void* library = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    library = dlopen(path.empty() ? kName : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    const char* const why = dlerror();
    return Status(StatusCode::kUnavailable,
                  std::string("NCCL is not available: ") + (why != nullptr ? why : "unknown"));
  }
  Functions functions;
  const char* const missing = FindAll(library, &functions);
  int version = 0;
  std::string what;
  if (missing != nullptr) {
    what = std::string("it has no ") + missing;
  } else if (functions.get_version(&version) != ncclSuccess || version < kOldestVersion) {
    what = "version " + VersionText(version) + " is older than " + VersionText(kOldestVersion);
  } else {
    // The library stays loaded: its threads outlive every communicator.
    return std::shared_ptr<NcclLibrary>(
        std::make_shared<RealNccl>(functions, static_cast<int32_t>(version)));
  }
  dlclose(library);
  return Status(StatusCode::kUnavailable,
                (path.empty() ? kName : path) + " cannot be used as NCCL: " + what);
}

}  // namespace reshard::nccl

#else

namespace reshard::nccl {

StatusOr<std::shared_ptr<NcclLibrary>> OpenNccl(const std::string&) {
  return Status(StatusCode::kUnavailable,
                "this program was built without CUDA and NCCL: the nccl backend is not built in");
}

}  // namespace reshard::nccl

#endif
