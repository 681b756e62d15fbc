#include <chrono>
#include <memory>
#include <string>

#include "reshard/reshard.h"
#include "runtime/c_api/api_support.h"
#include "runtime/c_api/caller_control.h"
#include "runtime/exec/tcp/tcp_backend.h"

using reshard::StatusOr;
using namespace reshard::c_api;  // the function below is of the global namespace

reshard_result reshard_backend_tcp_create(const reshard_tcp_options* options,
                                          reshard_backend** backend) {
  return Guarded([&] {
    if (options == nullptr) return NullArgument("options");
    if (backend == nullptr) return NullArgument("backend");
    reshard_tcp_options given;
    const reshard::Status read = ReadStruct(options, sizeof(given), "reshard_tcp_options", &given);
    if (!read.ok()) return Report(read);
    if (given.control == nullptr) return NullArgument("options.control");
    const StatusOr<std::unique_ptr<reshard::ControlChannel>> control = ControlOf(given.control);
    if (!control.ok()) return Report(control.status());
    if (given.port < 0 || given.port > UINT16_MAX) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT,
                  "port " + std::to_string(given.port) + ", expected 0 to 65535");
    }
    reshard::TcpBackendOptions made;
    const StatusOr<std::chrono::nanoseconds> timeout = Timeout(given.timeout_ns, made.timeout);
    if (!timeout.ok()) return Report(timeout.status());
    made.timeout = *timeout;
    if (given.address != nullptr) made.address = given.address;
    made.port = static_cast<uint16_t>(given.port);
    made.shared_memory = given.no_shared_memory == 0;
    StatusOr<std::shared_ptr<reshard::Backend>> created =
        reshard::MakeTcpBackend(control->get(), made);
    if (!created.ok()) return Report(created.status());
    return AddBackend(*std::move(created), backend);
  });
}
