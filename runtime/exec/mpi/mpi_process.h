// MpiProcess: this process as a rank of an MPI job, for programs that do not use MPI themselves.
//
// The only header of this folder that does not need MPI's, so that a program is the same with and
// without it.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_PROCESS_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"

namespace reshard {

struct MpiProcessOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  bool shared_memory = true;
};

class MpiProcess {
 public:
  virtual ~MpiProcess() = default;

  // Initializes MPI and makes a backend over all processes of the job. kUnavailable in a program
  // that was built without MPI.
  static StatusOr<std::unique_ptr<MpiProcess>> Start(const MpiProcessOptions& options);

  virtual uint32_t member() const = 0;
  virtual uint32_t member_count() const = 0;
  virtual std::shared_ptr<Backend> backend() const = 0;

  // Ends MPI; all members call it after a job without failures, and nothing of the backend may be
  // in use. After a failure a program leaves without it, for it would wait for dead members.
  virtual void Finish() = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_PROCESS_H_
