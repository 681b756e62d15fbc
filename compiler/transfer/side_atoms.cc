#include "compiler/transfer/side_atoms.h"

#include <algorithm>

namespace reshard {
namespace {

std::vector<BoxDim> BoxOf(const BoxPlace& place) {
  std::vector<BoxDim> box;
  box.reserve(place.dims.size());
  for (const BoxPlace::Dim& dim : place.dims) box.push_back({dim.begin, dim.extent});
  return box;
}

// All ranks of the places of some boxes.
RankSetId RanksOf(const std::vector<uint32_t>& cover, const std::vector<size_t>& first_place,
                  const std::vector<BoxPlace>& places, RankSetTable* rank_sets) {
  std::vector<RankSetId> sets;
  for (const uint32_t box : cover) {
    for (size_t place = first_place[box]; place < first_place[box + 1]; ++place) {
      sets.push_back(places[place].ranks);
    }
  }
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  if (sets.size() == 1) return sets[0];
  RankList ranks;
  for (const RankSetId set : sets) {
    const RankList& more = (*rank_sets)[set];
    ranks.insert(ranks.end(), more.begin(), more.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return rank_sets->Intern(ranks);
}

}  // namespace

bool BuildSideAtoms(const std::vector<BoxPlace>& places, PlaceRange range, size_t dim_count,
                    WorkBudget* budget, RankSetTable* rank_sets, SideAtoms* out) {
  *out = SideAtoms{};
  BoxList boxes(dim_count);
  for (size_t place = range.begin; place < range.end; ++place) {
    const std::vector<BoxDim> box = BoxOf(places[place]);
    if (boxes.count() > 0 && BoxesEqual(boxes[boxes.count() - 1], box)) continue;
    boxes.Add(box);
    out->first_place.push_back(place);
  }
  out->first_place.push_back(range.end);
  if (!PartitionBoxes(boxes, budget, &out->partition)) return false;
  for (const std::vector<uint32_t>& cover : out->partition.cover_sets) {
    out->cover_ranks.push_back(RanksOf(cover, out->first_place, places, rank_sets));
  }
  return true;
}

}  // namespace reshard
