#include "compiler/route/two_trees.h"

#include <algorithm>
#include <utility>

#include "compiler/route/deal.h"
#include "compiler/route/trees.h"

namespace reshard {
namespace {

DraftStream EmptyHalf(const DraftStream& whole, StreamHalf half) {
  DraftStream stream;
  stream.domains = whole.domains;
  stream.landers = whole.landers;
  stream.half = half;
  stream.carrier = whole.carrier;
  stream.carrier_lands = whole.carrier_lands;
  stream.from_groups = whole.from_groups;
  return stream;
}

// Deals the bytes of each set of holders over both halves; what one gets less it gets more of the
// next set.
std::pair<DraftStream, DraftStream> Split(const TransferSet& transfers, const ClassCuts& cuts,
                                          const DraftStream& whole) {
  DraftStream halves[2] = {EmptyHalf(whole, StreamHalf::kFirst),
                           EmptyHalf(whole, StreamHalf::kSecond)};
  for (const HolderRun& run : HolderRuns(transfers, whole)) {
    std::vector<int64_t> item_bytes;
    for (uint32_t i = run.first; i < run.first + run.count; ++i) {
      item_bytes.push_back(whole.bytes[i].extent);
    }
    const int64_t lag = halves[1].total_bytes - halves[0].total_bytes;
    const int64_t first = std::clamp((run.bytes + lag) / 2, int64_t{0}, run.bytes);
    const auto cut = [&](uint32_t item, int64_t at) {
      const ClassRange& range = whole.bytes[run.first + item];
      return std::max(cuts.Floor(range.cls, range.begin + at) - range.begin, int64_t{0});
    };
    for (const Deal& deal : DealOut(item_bytes, {first, run.bytes - first}, kMinSplitBytes, cut)) {
      const ClassRange& range = whole.bytes[run.first + deal.item];
      halves[deal.part].bytes.push_back({range.cls, range.begin + deal.begin, deal.extent});
      halves[deal.part].total_bytes += deal.extent;
    }
  }
  return {std::move(halves[0]), std::move(halves[1])};
}

}  // namespace

void SplitForTwoTrees(const TransferSet& transfers, const ClassCuts& cuts,
                      std::vector<DraftStream>* streams) {
  std::vector<DraftStream> result;
  for (DraftStream& stream : *streams) {
    if (stream.local || stream.landers.size() < kLeastTwoTrees) {
      result.push_back(std::move(stream));
      continue;
    }
    auto [first, second] = Split(transfers, cuts, stream);
    if (first.bytes.empty() || second.bytes.empty()) {
      result.push_back(std::move(stream));
      continue;
    }
    result.push_back(std::move(first));
    result.push_back(std::move(second));
  }
  *streams = std::move(result);
}

}  // namespace reshard
