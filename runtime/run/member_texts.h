// GatherTexts: what every member of a job has to say, to all of them.
#ifndef RESHARD_RUNTIME_RUN_MEMBER_TEXTS_H_
#define RESHARD_RUNTIME_RUN_MEMBER_TEXTS_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"

namespace reshard {

// Collective over all members of `control`; the texts by member. Texts may differ in length.
StatusOr<std::vector<std::string>> GatherTexts(ControlChannel* control, const std::string& mine,
                                               Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_MEMBER_TEXTS_H_
