#include "runtime/exec/messages/culprit_search.h"

#include <algorithm>

namespace reshard {

void CulpritSearch::Start(int awaited) {
  asked_.assign(1, awaited);
  ask_ = true;
  end_ = End::kSilent;
}

std::optional<int> CulpritSearch::NextToAsk() {
  if (!ask_) return std::nullopt;
  ask_ = false;
  return asked_.back();
}

void CulpritSearch::Answer(int member, std::optional<int> awaited) {
  if (!started() || member != asked_.back() || end_ != End::kSilent || ask_) return;
  if (!awaited) {
    end_ = End::kIdle;
    return;
  }
  if (*awaited == own_member_ ||
      std::find(asked_.begin(), asked_.end(), *awaited) != asked_.end()) {
    end_ = End::kCircle;
    return;
  }
  asked_.push_back(*awaited);
  ask_ = true;
}

}  // namespace reshard
