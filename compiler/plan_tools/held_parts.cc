#include "compiler/plan_tools/held_parts.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace reshard {
namespace {

using Words = ContentIds::Words;

// Pairs of a rank and a part: tensors that have more are compared as they are cut.
constexpr int64_t kMaxPairs = int64_t{1} << 16;

// What each rank holds, of a list of items and the ranks that hold them; nothing of too many.
std::map<int64_t, Words> ItemsOfRanks(ContentIds::Id list, const ContentIds& ids) {
  const std::span<const int64_t> words = ids.WordsOf(list);
  int64_t pairs = 0;
  std::map<int64_t, Words> items;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::span<const int64_t> ranks = ids.WordsOf(static_cast<ContentIds::Id>(words[i + 1]));
    pairs += static_cast<int64_t>(ranks.size());
    if (pairs > kMaxPairs) return {};
    for (const int64_t rank : ranks) items[rank].push_back(words[i]);
  }
  return items;
}

}  // namespace

const HeldParts::Elements& HeldParts::ElementsOf(Id of_ranks) {
  const auto [found, is_new] = elements_.try_emplace(of_ranks);
  Elements& elements = found->second;
  if (!is_new) return elements;
  const std::map<int64_t, Words> items = ItemsOfRanks(of_ranks, *ids_);
  Words ranks, counts = {0};
  std::map<Id, int64_t> ranks_of;
  for (const auto& [rank, boxes] : items) {
    const Id id = uncut_.OfBoxes({boxes.begin(), boxes.end()});
    ranks.insert(ranks.end(), {rank, id});
    ++ranks_of[id];
  }
  for (const auto& [id, count] : ranks_of) counts.insert(counts.end(), {id, count});
  if (items.empty()) counts = ranks = {1, of_ranks};
  elements = {ids_->Of(ranks), ids_->Of(counts)};
  return elements;
}

ContentIds::Id HeldParts::PlacingOf(Id placing) {
  const std::map<int64_t, Words> items = ItemsOfRanks(placing, *ids_);
  if (items.empty()) return placing;
  std::map<Words, Id> known;
  Words all;
  for (const auto& [rank, places] : items) {
    const auto [found, is_new] = known.try_emplace(places);
    if (is_new) {
      std::map<int64_t, std::vector<LyingPart>> params;  // by name
      for (const int64_t place : places) {
        const std::span<const int64_t> words = ids_->WordsOf(static_cast<Id>(place));
        params[words[2]].push_back(
            {static_cast<Id>(words[0]), static_cast<Id>(words[1]), words[3]});
      }
      Words of_rank;
      for (auto& [name, parts] : params) {
        of_rank.insert(of_rank.end(), {name, uncut_.OfLying(std::move(parts))});
      }
      found->second = ids_->Of(of_rank);
    }
    all.insert(all.end(), {rank, found->second});
  }
  return ids_->Of(all);
}

bool HeldParts::SameParts(const TensorHolding& a, const TensorHolding& b) {
  return a.parts == b.parts || ElementsOf(a.of_ranks).counts == ElementsOf(b.of_ranks).counts;
}

bool HeldParts::SamePlacing(const TensorHolding& a, const TensorHolding& b) {
  if (a.placing == b.placing) return true;
  return ElementsOf(a.of_ranks).of_ranks == ElementsOf(b.of_ranks).of_ranks &&
         PlacingOf(a.placing) == PlacingOf(b.placing);
}

}  // namespace reshard
