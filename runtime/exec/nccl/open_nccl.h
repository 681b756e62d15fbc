// Opens NCCL.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_OPEN_NCCL_H_
#define RESHARD_RUNTIME_EXEC_NCCL_OPEN_NCCL_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/nccl_library.h"

namespace reshard::nccl {

// The copy of libnccl.so.2 that the process has loaded already, since communicators belong to it;
// else the file `path`, if it is not empty; else libnccl.so.2 as the system finds it. kUnavailable
// when there is none, when functions are missing, and in programs built without NCCL's header.
StatusOr<std::shared_ptr<NcclLibrary>> OpenNccl(const std::string& path);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_OPEN_NCCL_H_
