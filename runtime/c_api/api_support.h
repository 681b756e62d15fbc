// What every function of the C interface is made of: results, the error text of the thread, option
// structs of any version, the handle of a backend.
#ifndef RESHARD_RUNTIME_C_API_API_SUPPORT_H_
#define RESHARD_RUNTIME_C_API_API_SUPPORT_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "reshard/reshard.h"
#include "runtime/base/status.h"
#include "runtime/exec/backend.h"

namespace reshard::c_api {

// Sets the error text of this thread, unless `result` is no error; returns `result`.
reshard_result Fail(reshard_result result, std::string_view text) noexcept;
// RESHARD_OK, or Fail with the code's result and its message.
reshard_result Report(const Status& status) noexcept;
reshard_result NullArgument(const char* name) noexcept;
reshard_result BadHandle(const char* kind) noexcept;
// Of the exception that is being handled.
reshard_result FailFromException() noexcept;

bool HasLog() noexcept;
void Log(reshard_log_level level, const std::string& text) noexcept;

// Runs the body of a C function: no exception leaves it.
template <class Body>
reshard_result Guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return FailFromException();
  }
}

// A struct of the caller, of any version, into one of ours: what it lacks is zero. Error when it
// asks for something that this version does not know. `first_version_bytes`: what every version
// has.
template <class Options>
Status ReadStruct(const Options* given, size_t first_version_bytes, const char* name,
                  Options* out) {
  *out = Options{};
  if (given == nullptr) return Status();
  const size_t bytes = given->struct_size;
  constexpr size_t kMaxStructBytes = 4096;
  if (bytes < first_version_bytes || bytes > kMaxStructBytes) {
    return Status(StatusCode::kInvalidArgument, std::string(name) + " has a struct_size of " +
                                                    std::to_string(bytes) + ", expected " +
                                                    std::to_string(sizeof(Options)));
  }
  std::memcpy(static_cast<void*>(out), given, std::min(bytes, sizeof(Options)));
  const auto* const first = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Options); i < bytes; ++i) {
    if (first[i] != 0) {
      return Status(StatusCode::kInvalidArgument,
                    std::string(name) +
                        " sets a field that this version of the library does not "
                        "know");
    }
  }
  return Status();
}

// One of our structs into the caller's, of any version; its struct_size stays.
template <class Info>
Status WriteStruct(Info filled, size_t first_version_bytes, const char* name, Info* out) {
  const size_t bytes = out->struct_size;
  if (bytes < first_version_bytes) {
    return Status(StatusCode::kInvalidArgument, std::string(name) + " has a struct_size of " +
                                                    std::to_string(bytes) + ", expected " +
                                                    std::to_string(sizeof(Info)));
  }
  filled.struct_size = bytes;
  std::memcpy(static_cast<void*>(out), &filled, std::min(bytes, sizeof(Info)));
  return Status();
}

// `timeout_ns` of a call; 0: `if_zero`.
StatusOr<std::chrono::nanoseconds> Timeout(int64_t timeout_ns, std::chrono::nanoseconds if_zero);

// A backend gets a handle; its creating function returns this.
reshard_result AddBackend(std::shared_ptr<Backend> backend, reshard_backend** handle);
std::shared_ptr<Backend> FindBackend(const reshard_backend* handle);

}  // namespace reshard::c_api

#endif  // RESHARD_RUNTIME_C_API_API_SUPPORT_H_
