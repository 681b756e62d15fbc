#include "runtime/exec/nccl/open_gpu.h"

#ifdef RESHARD_HAS_CUDA

#include <cuda_runtime_api.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/exec/nccl/gpu_kernels.h"

namespace reshard::nccl {
namespace {

static_assert(sizeof(MemoryHandle) == sizeof(cudaIpcMemHandle_t));
constexpr int kNoDevice = -1;

Status CudaStatus(int result, const char* call) {
  if (result == cudaSuccess) return Status();
  const auto error = static_cast<cudaError_t>(result);
  // Some errors stay until they are asked for.
  static_cast<void>(cudaGetLastError());
  StatusCode code = StatusCode::kIoError;
  if (error == cudaErrorMemoryAllocation) code = StatusCode::kLimitExceeded;
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice) {
    code = StatusCode::kUnavailable;
  }
  return Status(code, std::string(call) + ": " + cudaGetErrorString(error));
}

cudaStream_t StreamOf(StreamHandle stream) { return reinterpret_cast<cudaStream_t>(stream); }
cudaEvent_t EventOf(EventHandle event) { return reinterpret_cast<cudaEvent_t>(event); }

// FNV-1a
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

GpuIdentity IdentityOf(int32_t device) {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  // Equal numbers of different containers are different processes.
  struct stat pid_namespace {};
  static_cast<void>(stat("/proc/self/ns/pid", &pid_namespace));
  return {Hash(boot_id),
          Hash(std::to_string(getpid()) + " " + std::to_string(pid_namespace.st_ino)), device};
}

// Functions below run where the device is current.
class CudaGpu final : public GpuRuntime {
 public:
  explicit CudaGpu(int32_t device) : identity_(IdentityOf(device)) {}
  ~CudaGpu() override {
    const CurrentDevice current(this);
    if (copies_ != nullptr) cudaStreamDestroy(copies_);
  }

  Status Start() {
    const CurrentDevice current(this);
    RESHARD_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking),
                      "cudaStreamCreateWithFlags");
  }

  GpuIdentity identity() const override { return identity_; }
  Status MakeCurrent() override {
    return CudaStatus(cudaSetDevice(identity_.device), "cudaSetDevice");
  }
  int64_t Current() override {
    int device = kNoDevice;
    return cudaGetDevice(&device) == cudaSuccess ? device : kNoDevice;
  }
  void Restore(int64_t current) override {
    if (current != kNoDevice) cudaSetDevice(static_cast<int>(current));
  }

  StatusOr<uint8_t*> Allocate(int64_t bytes) override {
    void* block = nullptr;
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    Status status = CudaStatus(cudaMalloc(&block, size), "cudaMalloc");
    if (!status.ok()) {
      return Status(status.code(), status.message() + ", " + std::to_string(bytes) + " bytes");
    }
    status = CudaStatus(cudaMemsetAsync(block, 0, size, copies_), "cudaMemsetAsync");
    if (status.ok()) status = Synchronize(reinterpret_cast<StreamHandle>(copies_));
    if (!status.ok()) {
      cudaFree(block);
      return status;
    }
    return static_cast<uint8_t*>(block);
  }
  void Free(uint8_t* block) override { cudaFree(block); }

  StatusOr<SharedWord> AllocateWord() override {
    SharedWord word;
    void* host = nullptr;
    RESHARD_RETURN_IF_ERROR(
        CudaStatus(cudaHostAlloc(&host, sizeof(uint32_t), cudaHostAllocMapped), "cudaHostAlloc"));
    word.host = static_cast<uint32_t*>(host);
    *word.host = 0;
    void* device = nullptr;
    const Status status =
        CudaStatus(cudaHostGetDevicePointer(&device, host, 0), "cudaHostGetDevicePointer");
    if (!status.ok()) {
      cudaFreeHost(host);
      return status;
    }
    word.device = static_cast<uint32_t*>(device);
    return word;
  }
  void FreeWord(const SharedWord& word) override { cudaFreeHost(word.host); }

  StatusOr<bool> IsDeviceMemory(const uint8_t* pointer) override {
    cudaPointerAttributes attributes{};
    RESHARD_RETURN_IF_ERROR(
        CudaStatus(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes"));
    return attributes.type == cudaMemoryTypeManaged ||
           (attributes.type == cudaMemoryTypeDevice && attributes.device == identity_.device);
  }

  Status CopyToDevice(uint8_t* to, const void* from, int64_t bytes) override {
    return Copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  Status CopyToHost(void* to, const uint8_t* from, int64_t bytes) override {
    return Copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  StatusOr<uint64_t> ReadFlag(const uint64_t* flag) override {
    uint64_t value = 0;
    RESHARD_RETURN_IF_ERROR(Copy(&value, flag, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
  }

  StatusOr<MemoryHandle> Export(uint8_t* block) override {
    cudaIpcMemHandle_t handle{};
    RESHARD_RETURN_IF_ERROR(CudaStatus(cudaIpcGetMemHandle(&handle, block), "cudaIpcGetMemHandle"));
    MemoryHandle out;
    std::memcpy(out.bytes.data(), &handle, sizeof(handle));
    return out;
  }
  StatusOr<uint8_t*> Open(const MemoryHandle& handle) override {
    cudaIpcMemHandle_t ipc{};
    std::memcpy(&ipc, handle.bytes.data(), sizeof(ipc));
    void* opened = nullptr;
    RESHARD_RETURN_IF_ERROR(
        CudaStatus(cudaIpcOpenMemHandle(&opened, ipc, cudaIpcMemLazyEnablePeerAccess),
                   "cudaIpcOpenMemHandle"));
    return static_cast<uint8_t*>(opened);
  }
  void Close(uint8_t* opened) override { cudaIpcCloseMemHandle(opened); }

  Status EnablePeer(int32_t device) override {
    int can = 0;
    RESHARD_RETURN_IF_ERROR(CudaStatus(cudaDeviceCanAccessPeer(&can, identity_.device, device),
                                       "cudaDeviceCanAccessPeer"));
    if (can == 0) {
      return Status(StatusCode::kUnavailable, "device " + std::to_string(identity_.device) +
                                                  " cannot use the memory of device " +
                                                  std::to_string(device));
    }
    const cudaError_t result = cudaDeviceEnablePeerAccess(device, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
      return Status();
    }
    return CudaStatus(result, "cudaDeviceEnablePeerAccess");
  }

  StatusOr<StreamHandle> CreateStream(bool first) override {
    int least = 0;
    int greatest = 0;
    RESHARD_RETURN_IF_ERROR(CudaStatus(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                                       "cudaDeviceGetStreamPriorityRange"));
    cudaStream_t stream = nullptr;
    RESHARD_RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first ? greatest : least),
        "cudaStreamCreateWithPriority"));
    return reinterpret_cast<StreamHandle>(stream);
  }
  void DestroyStream(StreamHandle stream) override { cudaStreamDestroy(StreamOf(stream)); }
  Status Synchronize(StreamHandle stream) override {
    return CudaStatus(cudaStreamSynchronize(StreamOf(stream)), "cudaStreamSynchronize");
  }

  StatusOr<EventHandle> CreateEvent() override {
    cudaEvent_t event = nullptr;
    RESHARD_RETURN_IF_ERROR(CudaStatus(cudaEventCreate(&event), "cudaEventCreate"));
    return reinterpret_cast<EventHandle>(event);
  }
  void DestroyEvent(EventHandle event) override { cudaEventDestroy(EventOf(event)); }
  Status Record(EventHandle event, StreamHandle stream) override {
    return CudaStatus(cudaEventRecord(EventOf(event), StreamOf(stream)), "cudaEventRecord");
  }
  Status AwaitEvent(StreamHandle stream, EventHandle event) override {
    return CudaStatus(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), 0),
                      "cudaStreamWaitEvent");
  }
  StatusOr<bool> IsDone(EventHandle event) override {
    const cudaError_t result = cudaEventQuery(EventOf(event));
    if (result == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    RESHARD_RETURN_IF_ERROR(CudaStatus(result, "the device failed"));
    return true;
  }
  StatusOr<std::chrono::nanoseconds> Elapsed(EventHandle from, EventHandle to) override {
    float milliseconds = 0;
    RESHARD_RETURN_IF_ERROR(CudaStatus(
        cudaEventElapsedTime(&milliseconds, EventOf(from), EventOf(to)), "cudaEventElapsedTime"));
    return std::chrono::nanoseconds(static_cast<int64_t>(double{milliseconds} * 1e6));
  }

  Status CopyOnDevice(uint8_t* to, const uint8_t* from, int64_t bytes,
                      StreamHandle stream) override {
    return CudaStatus(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                                      cudaMemcpyDeviceToDevice, StreamOf(stream)),
                      "cudaMemcpyAsync");
  }
  Status LaunchCopies(CopyKind kind, const CopyTables& tables, TileRange tiles,
                      StreamHandle stream) override {
    return CudaStatus(LaunchCopyKernel(kind, tables, tiles.first, tiles.count, stream),
                      "launching copies");
  }
  Status LaunchSignal(const FlagList& list, uint64_t value, const uint32_t* stop,
                      StreamHandle stream) override {
    return CudaStatus(LaunchSignalKernel(list.flags, list.count, value, stop, stream),
                      "launching a signal");
  }
  Status LaunchAwait(const FlagList& list, uint64_t value, const uint32_t* stop,
                     StreamHandle stream) override {
    return CudaStatus(LaunchAwaitKernel(list.flags, list.count, value, stop, stream),
                      "launching a wait");
  }

 private:
  // On a stream of their own: streams of the engine may be waiting for other ranks.
  Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return Status();
    RESHARD_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, copies_), "cudaMemcpyAsync"));
    return Synchronize(reinterpret_cast<StreamHandle>(copies_));
  }

  const GpuIdentity identity_;
  cudaStream_t copies_ = nullptr;
};

}  // namespace

bool IsBuiltIn() { return true; }

StatusOr<std::vector<std::string>> ListGpus() {
  int count = 0;
  const Status counted = CudaStatus(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (!counted.ok()) return Status(counted.code(), "no GPU can be used: " + counted.message());
  std::vector<std::string> names;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    RESHARD_RETURN_IF_ERROR(
        CudaStatus(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
    names.push_back(properties.name);
  }
  return names;
}

StatusOr<std::shared_ptr<GpuRuntime>> OpenGpu(int32_t device) {
  int count = 0;
  const Status counted = CudaStatus(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (!counted.ok()) return Status(counted.code(), "no GPU can be used: " + counted.message());
  if (device < 0 || device >= count) {
    return Status(StatusCode::kUnavailable,
                  "no GPU " + std::to_string(device) + ": there are " + std::to_string(count));
  }
  auto gpu = std::make_shared<CudaGpu>(device);
  RESHARD_RETURN_IF_ERROR(gpu->Start());
  return std::shared_ptr<GpuRuntime>(std::move(gpu));
}

}  // namespace reshard::nccl

#else

namespace reshard::nccl {
namespace {

Status NotBuiltIn() {
  return Status(StatusCode::kUnavailable,
                "this program was built without CUDA and NCCL: the nccl backend is not built in");
}

}  // namespace

bool IsBuiltIn() { return false; }

StatusOr<std::vector<std::string>> ListGpus() { return NotBuiltIn(); }
StatusOr<std::shared_ptr<GpuRuntime>> OpenGpu(int32_t) { return NotBuiltIn(); }

}  // namespace reshard::nccl

#endif
