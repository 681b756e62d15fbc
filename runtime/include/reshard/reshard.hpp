// The C++ face of libreshard: reshard.h with owned handles, exceptions and standard containers.
//
// Header only, C++17. It adds nothing to the contracts of reshard.h, which says what every call
// does, on which threads and with whose memory. An error is an exception of class Error. Handles
// are freed by destructors; everything here moves and nothing copies.
#ifndef RESHARD_RESHARD_HPP_
#define RESHARD_RESHARD_HPP_

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reshard/reshard.h"

namespace reshard {
// Part of all symbols, so that programs made with other versions of this header can be linked.
inline namespace api_v1 {

class Error : public std::runtime_error {
 public:
  Error(reshard_result result, const std::string& text)
      : std::runtime_error(text + " [" + reshard_result_name(result) + "]"), result_(result) {}
  reshard_result result() const noexcept { return result_; }

 private:
  reshard_result result_;
};

// Throws unless `result` is RESHARD_OK or RESHARD_PENDING; returns it.
inline reshard_result Check(reshard_result result) {
  if (result < 0) throw Error(result, reshard_last_error());
  return result;
}

inline constexpr std::chrono::nanoseconds kDefaultTimeout{0};
inline constexpr std::chrono::nanoseconds kForever{RESHARD_FOREVER};

// A handle that is freed with `destroy`.
template <class Handle, reshard_result (*destroy)(Handle*)>
class Owned {
 public:
  explicit Owned(Handle* handle = nullptr) noexcept : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle* get() const noexcept { return handle_; }

 private:
  Handle* handle_;
};

// One param of one rank.
struct Param {
  std::string name;
  std::string dtype;
  reshard_side side = RESHARD_SOURCE;
  bool external = false;
  std::int64_t bytes = 0;
  std::int32_t element_bytes = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<std::string> shares;
};

class Plan {
 public:
  static Plan Load(const std::string& path, const reshard_plan_options* options = nullptr) {
    reshard_plan* handle = nullptr;
    Check(reshard_plan_load(path.c_str(), options, &handle));
    return Plan(handle);
  }
  static Plan LoadMemory(const void* data, std::size_t bytes,
                         const reshard_plan_options* options = nullptr) {
    reshard_plan* handle = nullptr;
    Check(reshard_plan_load_memory(data, bytes, options, &handle));
    return Plan(handle);
  }

  reshard_plan_info info() const {
    reshard_plan_info info{};
    info.struct_size = sizeof(info);
    Check(reshard_plan_get_info(get(), &info));
    return info;
  }
  std::vector<std::uint32_t> ranks() const {
    std::size_t count = 0;
    Check(reshard_plan_get_ranks(get(), nullptr, 0, &count));
    std::vector<std::uint32_t> ranks(count);
    Check(reshard_plan_get_ranks(get(), ranks.data(), count, &count));
    return ranks;
  }
  // Text lives as long as the plan.
  reshard_rank_info rank_info(std::uint32_t rank) const {
    reshard_rank_info info{};
    info.struct_size = sizeof(info);
    Check(reshard_plan_get_rank_info(get(), rank, &info));
    return info;
  }
  // All params of a rank, by index.
  std::vector<Param> params(std::uint32_t rank) const {
    std::vector<Param> params;
    const std::size_t count = rank_info(rank).param_count;
    for (std::size_t i = 0; i < count; ++i) {
      reshard_param_info info{};
      info.struct_size = sizeof(info);
      Check(reshard_plan_get_param(get(), rank, i, &info));
      Param param;
      param.name = info.name;
      param.dtype = info.dtype;
      param.side = info.side;
      param.external = info.external != 0;
      param.bytes = info.bytes;
      param.element_bytes = info.element_bytes;
      param.shape.assign(info.shape, info.shape + info.dim_count);
      param.strides.assign(info.strides, info.strides + info.dim_count);
      param.shares.assign(info.shares, info.shares + info.share_count);
      params.push_back(std::move(param));
    }
    return params;
  }
  reshard_plan* get() const noexcept { return handle_.get(); }

 private:
  explicit Plan(reshard_plan* handle) : handle_(handle) {}
  Owned<reshard_plan, reshard_plan_free> handle_;
};

class Backend {
 public:
  // Takes over a handle, as reshard_mpi.h and reshard_nccl.h make them.
  explicit Backend(reshard_backend* handle) : handle_(handle) {}

  // Collective over the members of options.control.
  static Backend Tcp(const reshard_tcp_options& options) {
    reshard_backend* handle = nullptr;
    Check(reshard_backend_tcp_create(&options, &handle));
    return Backend(handle);
  }

  // One for each rank of a plan whose ranks are all in this process.
  static std::vector<Backend> Loopback(std::uint32_t member_count,
                                       const reshard_loopback_options* options = nullptr) {
    std::vector<reshard_backend*> handles(member_count);
    Check(reshard_backend_loopback_create(member_count, options, handles.data()));
    std::vector<Backend> backends;
    backends.reserve(member_count);
    for (reshard_backend* handle : handles) backends.emplace_back(handle);
    return backends;
  }
  reshard_backend* get() const noexcept { return handle_.get(); }

 private:
  Owned<reshard_backend, reshard_backend_destroy> handle_;
};

class Executor {
 public:
  Executor(const Plan& plan, std::uint32_t rank, const Backend& backend,
           const reshard_executor_options* options = nullptr) {
    reshard_executor* handle = nullptr;
    Check(reshard_executor_create(plan.get(), rank, backend.get(), options, &handle));
    handle_ = Owned<reshard_executor, reshard_executor_destroy>(handle);
  }

  void Bind(const reshard_buffer& buffer) { Check(reshard_executor_bind(get(), &buffer)); }
  void Bind(reshard_side side, const std::string& name, void* data, std::int64_t bytes,
            std::int32_t device = RESHARD_HOST_DEVICE) {
    reshard_buffer buffer{};
    buffer.struct_size = sizeof(buffer);
    buffer.name = name.c_str();
    buffer.side = side;
    buffer.device = device;
    buffer.data = data;
    buffer.bytes = bytes;
    Bind(buffer);
  }
  void Unbind() { Check(reshard_executor_unbind(get())); }
  void Prepare(std::chrono::nanoseconds timeout = kDefaultTimeout) {
    Check(reshard_executor_prepare(get(), timeout.count()));
  }

  void Start(std::uint64_t generation, void* stream = nullptr) {
    Check(reshard_executor_start(get(), stream, generation));
  }
  // False: it still runs.
  bool Wait(std::chrono::nanoseconds timeout = kForever) {
    return Check(reshard_executor_wait(get(), timeout.count())) == RESHARD_OK;
  }
  // The generation that the whole replica holds.
  std::uint64_t Commit(std::chrono::nanoseconds timeout = kDefaultTimeout) {
    std::uint64_t generation = 0;
    Check(reshard_executor_commit(get(), timeout.count(), &generation));
    return generation;
  }
  void Abort(const std::string& reason) { Check(reshard_executor_abort(get(), reason.c_str())); }

  reshard_executor_state state() const {
    reshard_executor_state state{};
    state.struct_size = sizeof(state);
    Check(reshard_executor_get_state(get(), &state));
    return state;
  }
  // Indices into Plan::params of the destination params that are complete.
  std::vector<std::size_t> complete() const {
    std::size_t count = 0;
    Check(reshard_executor_get_complete(get(), nullptr, 0, &count));
    std::vector<std::size_t> indices(count);
    Check(reshard_executor_get_complete(get(), indices.data(), count, &count));
    return indices;
  }
  reshard_stats stats() const {
    reshard_stats stats{};
    stats.struct_size = sizeof(stats);
    Check(reshard_executor_get_stats(get(), &stats));
    return stats;
  }
  std::vector<reshard_peer_wait> peer_waits() const {
    std::size_t count = 0;
    Check(reshard_executor_get_peer_waits(get(), nullptr, 0, &count));
    std::vector<reshard_peer_wait> waits(count);
    Check(reshard_executor_get_peer_waits(get(), waits.data(), count, &count));
    return waits;
  }
  void WriteTrace(const std::string& path) const {
    Check(reshard_executor_write_trace(get(), path.c_str()));
  }
  reshard_executor* get() const noexcept { return handle_.get(); }

 private:
  Owned<reshard_executor, reshard_executor_destroy> handle_;
};

}  // namespace api_v1
}  // namespace reshard

#endif  // RESHARD_RESHARD_HPP_
