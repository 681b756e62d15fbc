// MemberRanks: which rank of the plan each member of a communicator is, and their names in
// messages.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MEMBER_RANKS_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MEMBER_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace reshard {

std::string RankText(uint32_t rank);  // "rank 3"

class MemberRanks {
 public:
  // By member; a rank is one member only.
  MemberRanks(std::span<const uint32_t> ranks, int own_member);

  size_t size() const { return ranks_.size(); }
  int own_member() const { return own_member_; }
  uint32_t rank(int member) const { return ranks_[static_cast<size_t>(member)]; }
  // The member that a rank is; an error for this process's own and for ranks that no member is.
  StatusOr<int> PeerOf(uint32_t rank) const;

  std::string Text(int member) const { return RankText(rank(member)); }
  std::string Text(const std::vector<int>& members) const;  // "ranks 3, 5", rising

 private:
  const std::vector<uint32_t> ranks_;
  const int own_member_;
  std::vector<std::pair<uint32_t, int>> members_;  // by rank
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MEMBER_RANKS_H_
