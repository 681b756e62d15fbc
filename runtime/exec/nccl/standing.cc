#include "runtime/exec/nccl/standing.h"

#include <algorithm>
#include <numeric>

namespace reshard::nccl {
namespace {

constexpr size_t kRanksShown = 8;
constexpr uint64_t kMark = 0x72657368'73746e64;  // no other message of the channel begins with it

struct Said {
  uint64_t mark = kMark;
  uint64_t execution = 0;
  uint64_t round = 0;
  friend auto operator<=>(const Said&, const Said&) = default;
};

}  // namespace

std::string RanksText(std::vector<uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kRanksShown; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kRanksShown) {
    text += " and " + std::to_string(ranks.size() - kRanksShown) + " more";
  }
  return text;
}

std::string BlameText(ControlChannel* control, std::span<const uint32_t> ranks_of_members,
                      const Standing& mine, Deadline deadline) {
  const Said said{kMark, mine.execution, mine.round};
  std::vector<uint32_t> group(ranks_of_members.size());
  std::iota(group.begin(), group.end(), 0U);
  std::vector<Said> all(group.size());
  const Status status = control->AllGather(
      group, std::span(reinterpret_cast<const uint8_t*>(&said), sizeof(said)),
      std::span(reinterpret_cast<uint8_t*>(all.data()), all.size() * sizeof(Said)), deadline);
  if (!status.ok()) return "; asked where they stand: " + status.message();
  const auto last = std::min_element(all.begin(), all.end());
  if (last->mark != kMark || *last == said) return "";
  const uint32_t rank = ranks_of_members[static_cast<size_t>(last - all.begin())];
  return "; rank " + std::to_string(rank) + " is furthest behind, in round " +
         std::to_string(last->round) + " of execution " + std::to_string(last->execution);
}

}  // namespace reshard::nccl
