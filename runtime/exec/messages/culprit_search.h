// CulpritSearch: who is to blame when a rank waits too long.
//
// The rank that is waited for may itself wait for another one. So it is asked whom it waits for,
// then that one, and so on, until somebody does not answer, waits for nobody, or was asked before.
// Only the bookkeeping; members are those of a communicator.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_CULPRIT_SEARCH_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_CULPRIT_SEARCH_H_

#include <optional>
#include <vector>

namespace reshard {

class CulpritSearch {
 public:
  enum class End { kSilent, kIdle, kCircle };

  explicit CulpritSearch(int own_member) : own_member_(own_member) {}

  void Reset() { asked_.clear(); }
  bool started() const { return !asked_.empty(); }
  // Begins with the member that is waited for.
  void Start(int awaited);
  // Whom to ask next; nullopt while an answer is due or when the search is over.
  std::optional<int> NextToAsk();
  // `member` waits for `awaited`, or for nobody.
  void Answer(int member, std::optional<int> awaited);

  // The last one of the chain, and how it ended. Silent as long as no answer has come.
  int culprit() const { return asked_.back(); }
  End end() const { return end_; }
  // Whether the culprit is the member that the search began with.
  bool direct() const { return asked_.size() == 1; }

 private:
  int own_member_;
  std::vector<int> asked_;
  bool ask_ = false;
  End end_ = End::kSilent;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_CULPRIT_SEARCH_H_
