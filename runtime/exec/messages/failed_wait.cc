#include "runtime/exec/messages/failed_wait.h"

#include <string>

namespace reshard {
namespace {

std::string WhatIsMissing(const MemberRanks& ranks, const Awaited& awaited, uint64_t step) {
  return ranks.Text(awaited.member) + std::string(awaited.what) + std::to_string(step);
}

}  // namespace

Status TimeoutStatus(const MemberRanks& ranks, const Awaited& awaited, uint64_t step,
                     const CulpritSearch& search) {
  std::string text = WhatIsMissing(ranks, awaited, step);
  if (search.started()) {
    const std::string culprit = ranks.Text(search.culprit());
    const bool direct = search.culprit() == awaited.member;
    switch (search.end()) {
      case CulpritSearch::End::kSilent:
        text += direct ? ", and does not answer"
                       : "; it waits, in the end, for " + culprit + ", which does not answer";
        break;
      case CulpritSearch::End::kIdle:
        text += direct ? "" : "; it waits, in the end, for " + culprit;
        break;
      case CulpritSearch::End::kCircle:
        text += "; ranks wait for each other in a circle";
        break;
    }
  }
  return Status(StatusCode::kTimeout, text);
}

Status LostStatus(const MemberRanks& ranks, const Awaited& awaited, uint64_t step) {
  return Status(StatusCode::kUnavailable, WhatIsMissing(ranks, awaited, step) +
                                              ": its process has ended, or the connection broke");
}

}  // namespace reshard
