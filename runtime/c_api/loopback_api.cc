#include <algorithm>
#include <string>
#include <vector>

#include "reshard/reshard.h"
#include "runtime/c_api/api_support.h"
#include "runtime/exec/loopback/loopback_backend.h"

using reshard::Status;
using namespace reshard::c_api;  // the function below is of the global namespace

reshard_result reshard_backend_loopback_create(uint32_t member_count,
                                               const reshard_loopback_options* options,
                                               reshard_backend** backends) {
  return Guarded([&] {
    if (backends == nullptr) return NullArgument("backends");
    reshard_loopback_options given;
    const Status read = ReadStruct(options, sizeof(given), "reshard_loopback_options", &given);
    if (!read.ok()) return Report(read);
    constexpr uint32_t kMaxMembers = uint32_t{1} << 20;
    if (member_count == 0 || member_count > kMaxMembers) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT, "a group of " + std::to_string(member_count) +
                                                      " members, expected 1 to " +
                                                      std::to_string(kMaxMembers));
    }
    if (!(given.pace >= 0 && given.pace <= 1e9)) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT, "pace is no number from 0 to 1e9");
    }
    const reshard::LoopbackGroup group(member_count, given.pace);
    std::vector<reshard_backend*> handles(member_count);
    for (uint32_t m = 0; m < member_count; ++m) {
      const reshard_result added = AddBackend(group.backends()[m], &handles[m]);
      if (added != RESHARD_OK) return added;
    }
    std::copy(handles.begin(), handles.end(), backends);
    return RESHARD_OK;
  });
}
