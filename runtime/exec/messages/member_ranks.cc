#include "runtime/exec/messages/member_ranks.h"

#include <algorithm>

namespace reshard {

std::string RankText(uint32_t rank) { return "rank " + std::to_string(rank); }

MemberRanks::MemberRanks(std::span<const uint32_t> ranks, int own_member)
    : ranks_(ranks.begin(), ranks.end()), own_member_(own_member) {
  for (size_t m = 0; m < ranks_.size(); ++m) {
    members_.emplace_back(ranks_[m], static_cast<int>(m));
  }
  std::sort(members_.begin(), members_.end());
}

StatusOr<int> MemberRanks::PeerOf(uint32_t rank) const {
  const auto found = std::lower_bound(members_.begin(), members_.end(), std::pair(rank, 0));
  if (found != members_.end() && found->first == rank && found->second != own_member_) {
    return found->second;
  }
  return Status(StatusCode::kInvalidArgument,
                RankText(rank) + " is no peer of " + Text(own_member_));
}

std::string MemberRanks::Text(const std::vector<int>& members) const {
  std::vector<uint32_t> ranks;
  for (int member : members) ranks.push_back(rank(member));
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t r = 0; r < ranks.size(); ++r) {
    text += (r == 0 ? " " : ", ") + std::to_string(ranks[r]);
  }
  return text;
}

}  // namespace reshard
