// MpiControl: the control channel over MPI.
//
// The first member of a group collects what all say and passes the result on along a binary tree.
// So it knows who is missing, and tells the others before their own deadline.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_CONTROL_H_

#include <mpi.h>

#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"

namespace reshard {

// Members are those of `comm`, in which nobody else uses kControlTag or the tag after it. `comm`
// outlives the channel.
inline constexpr int kControlTag = 10;
std::unique_ptr<ControlChannel> MakeMpiControl(MPI_Comm comm);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_CONTROL_H_
