#include "runtime/c_api/api_support.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <new>

#include "runtime/c_api/handle_table.h"

namespace reshard::c_api {
namespace {

struct LogSink {
  reshard_log_function function = nullptr;
  void* user = nullptr;
};
std::mutex log_mutex;
LogSink log_sink;  // guarded by log_mutex
std::atomic<bool> has_log{false};

thread_local std::string last_error;
// In place of a text that there is no memory for.
thread_local const char* last_resort = nullptr;

reshard_result ResultOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return RESHARD_OK;
    case StatusCode::kInvalidArgument:
      return RESHARD_ERROR_INVALID_ARGUMENT;
    case StatusCode::kNotFound:
      return RESHARD_ERROR_NOT_FOUND;
    case StatusCode::kPermissionDenied:
      return RESHARD_ERROR_PERMISSION_DENIED;
    case StatusCode::kIoError:
      return RESHARD_ERROR_IO;
    case StatusCode::kCorruptData:
      return RESHARD_ERROR_CORRUPT_DATA;
    case StatusCode::kLimitExceeded:
      return RESHARD_ERROR_LIMIT_EXCEEDED;
    case StatusCode::kUnavailable:
      return RESHARD_ERROR_UNAVAILABLE;
    case StatusCode::kTimeout:
      return RESHARD_ERROR_TIMEOUT;
    case StatusCode::kAborted:
      return RESHARD_ERROR_ABORTED;
    case StatusCode::kWrongOrder:
      return RESHARD_ERROR_WRONG_ORDER;
  }
  return RESHARD_ERROR_INTERNAL;
}

constexpr uintptr_t kBackendKind = 2;
HandleTable<reshard_backend, Backend, kBackendKind>& Backends() {
  // Never destroyed: a handle may be used while the process ends.
  static auto* const table = new HandleTable<reshard_backend, Backend, kBackendKind>();
  return *table;
}

}  // namespace

reshard_result Fail(reshard_result result, std::string_view text) noexcept {
  if (result >= 0) return result;
  try {
    last_error = text;
    last_resort = nullptr;
    if (HasLog()) Log(RESHARD_LOG_ERROR, last_error);
  } catch (...) {
    last_resort = "out of memory";
  }
  return result;
}

reshard_result Report(const Status& status) noexcept {
  return Fail(ResultOf(status.code()), status.message());
}

reshard_result NullArgument(const char* name) noexcept {
  try {
    return Fail(RESHARD_ERROR_INVALID_ARGUMENT, std::string(name) + " is NULL");
  } catch (...) {
    return Fail(RESHARD_ERROR_INVALID_ARGUMENT, "an argument is NULL");
  }
}

reshard_result BadHandle(const char* kind) noexcept {
  try {
    return Fail(RESHARD_ERROR_BAD_HANDLE,
                std::string("the handle is of no ") + kind + " that exists");
  } catch (...) {
    return Fail(RESHARD_ERROR_BAD_HANDLE, "the handle does not exist");
  }
}

reshard_result FailFromException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(RESHARD_ERROR_LIMIT_EXCEEDED, "out of memory");
  } catch (const std::exception& error) {
    return Fail(RESHARD_ERROR_INTERNAL, error.what());
  } catch (...) {
    return Fail(RESHARD_ERROR_INTERNAL, "an unknown exception");
  }
}

bool HasLog() noexcept { return has_log.load(std::memory_order_acquire); }

void Log(reshard_log_level level, const std::string& text) noexcept {
  LogSink sink;
  {
    const std::lock_guard lock(log_mutex);
    sink = log_sink;
  }
  if (sink.function != nullptr) sink.function(sink.user, level, text.c_str());
}

StatusOr<std::chrono::nanoseconds> Timeout(int64_t timeout_ns, std::chrono::nanoseconds if_zero) {
  if (timeout_ns >= 0) return timeout_ns == 0 ? if_zero : std::chrono::nanoseconds(timeout_ns);
  return Status(StatusCode::kInvalidArgument,
                "a timeout of " + std::to_string(timeout_ns) + " ns is negative");
}

reshard_result AddBackend(std::shared_ptr<Backend> backend, reshard_backend** handle) {
  *handle = Backends().Add(std::move(backend));
  return RESHARD_OK;
}

std::shared_ptr<Backend> FindBackend(const reshard_backend* handle) {
  return Backends().Find(handle);
}

}  // namespace reshard::c_api

using reshard::c_api::BadHandle;
using reshard::c_api::Guarded;

uint32_t reshard_abi_version(void) { return RESHARD_ABI_VERSION; }

const char* reshard_result_name(int32_t result) {
  switch (result) {
#define RESHARD_RESULT(name, value, text) \
  case value:                             \
    return text;
#include "reshard/reshard_results.def"
#undef RESHARD_RESULT
    default:
      return "unknown-result";
  }
}

const char* reshard_last_error(void) {
  using reshard::c_api::last_error;
  using reshard::c_api::last_resort;
  return last_resort != nullptr ? last_resort : last_error.c_str();
}

reshard_result reshard_set_log(reshard_log_function function, void* user) {
  return Guarded([&] {
    const std::lock_guard lock(reshard::c_api::log_mutex);
    reshard::c_api::log_sink = {function, user};
    reshard::c_api::has_log.store(function != nullptr, std::memory_order_release);
    return RESHARD_OK;
  });
}

reshard_result reshard_backend_destroy(reshard_backend* backend) {
  return Guarded([&] {
    const auto found = reshard::c_api::FindBackend(backend);
    if (!found) return BadHandle("backend");
    const reshard::Status thread = found->CheckThread();
    if (!thread.ok()) return reshard::c_api::Report(thread);
    return reshard::c_api::Backends().Remove(backend) ? RESHARD_OK : BadHandle("backend");
  });
}
