// What is said of a wait that has failed: for whom it was, and who is to blame in the end.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_FAILED_WAIT_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_FAILED_WAIT_H_

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/exec/messages/culprit_search.h"
#include "runtime/exec/messages/member_ranks.h"

namespace reshard {

// Whom a wait is for, and what that one has not done.
struct Awaited {
  int member = 0;
  std::string_view what;  // " did not send its message of step "
  bool takes = false;     // it is to take bytes, else to send or to tell something
};

// The deadline has passed. Names the end of the search, where there was one.
Status TimeoutStatus(const MemberRanks& ranks, const Awaited& awaited, uint64_t step,
                     const CulpritSearch& search);
// No message will ever come from it.
Status LostStatus(const MemberRanks& ranks, const Awaited& awaited, uint64_t step);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_FAILED_WAIT_H_
