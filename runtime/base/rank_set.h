// RankSet: a set of global ranks, and the table that interns such sets.
//
// In memory a set is its ranks in rising order, held once per distinct set; in a plan it is a list
// of nested strided runs. Ids are dense and follow the order of first use, which is deterministic.
#ifndef RESHARD_RUNTIME_BASE_RANK_SET_H_
#define RESHARD_RUNTIME_BASE_RANK_SET_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reshard {

using Rank = uint32_t;
using RankSetId = uint32_t;
using RankList = std::vector<Rank>;  // rising, unique

// {start + i*stride + j*outer_stride : i < count, j < outer_count}. Counts are at least 1.
struct RankRun {
  uint32_t start = 0;
  uint32_t count = 1;
  uint32_t stride = 1;
  uint32_t outer_count = 1;
  uint32_t outer_stride = 1;
  bool operator==(const RankRun&) const = default;
};

// The fewest runs that a greedy pass finds; ExpandRuns(CompressRanks(s)) == s.
std::vector<RankRun> CompressRanks(const RankList& ranks);
// Rising ranks of the runs. The caller has bounded the counts; runs must not overlap.
RankList ExpandRuns(const std::vector<RankRun>& runs);
// "0-7", "0,4,8,...,60 (16 ranks)": short text for people, at most about 60 characters.
std::string DescribeRanks(const RankList& ranks);

bool Contains(const RankList& set, Rank rank);
bool IsSubset(const RankList& subset, const RankList& set);
RankList Union(const RankList& a, const RankList& b);
RankList Intersection(const RankList& a, const RankList& b);
RankList Difference(const RankList& a, const RankList& b);

class RankSetTable {
 public:
  // `ranks` is rising and unique.
  RankSetId Intern(const RankList& ranks);
  const RankList& operator[](RankSetId id) const { return sets_[id]; }
  size_t count() const { return sets_.size(); }

 private:
  std::vector<RankList> sets_;
  std::map<RankList, RankSetId> ids_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_RANK_SET_H_
