#include "compiler/schedule/small_sources.h"

#include <algorithm>
#include <map>

#include "compiler/route/ports.h"
#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// A source is small when it fills less than this part of a slice.
constexpr int64_t kSmallPart = 8;
// Another order has to save this part of the rounds.
constexpr int64_t kLeastGain = 32;

}  // namespace

std::vector<SourceRange> CutAtRuns(const RoutedStream& stream, const std::vector<SourceRun>& runs) {
  std::vector<SourceRange> pieces;
  size_t at = 0;
  int64_t done = 0;  // of range `at`
  for (const SourceRun& run : runs) {
    for (int64_t left = run.extent; left > 0;) {
      const ClassRange& range = stream.bytes[at];
      const int64_t extent = std::min(left, range.extent - done);
      pieces.push_back({{range.cls, range.begin + done, extent}, run.source});
      left -= extent;
      done += extent;
      if (done < range.extent) continue;
      ++at;
      done = 0;
    }
  }
  return pieces;
}

SmallSources FindSmallSources(const RoutedStream& stream, const std::vector<SourceRun>& runs,
                              int64_t rounds) {
  std::map<Rank, int64_t> bytes_of;
  int64_t total = 0;
  for (const SourceRun& run : runs) {
    bytes_of[run.source] += run.extent;
    total += run.extent;
  }
  const int64_t small_bytes = total / rounds / kSmallPart;
  int64_t count = 0, bytes = 0;
  for (const auto& [source, extent] : bytes_of) {
    if (extent >= small_bytes) continue;
    ++count;
    bytes += extent;
  }
  SmallSources found;
  const int64_t own_rounds = count / kFewSourcesPerSlice;
  if (own_rounds <= Portion(rounds, bytes, total) + rounds / kLeastGain) return found;
  for (const SourceRange& piece : CutAtRuns(stream, runs)) {
    const bool small = bytes_of.at(piece.source) < small_bytes;
    (small ? found.small : found.large).push_back(piece.range);
  }
  if (found.large.empty()) return {};
  // Two sources of a slice are large ones: it may end in the middle of one.
  found.rounds = std::max<int64_t>(rounds, count / (kMaxSourcesPerSlice - 2) + 1);
  return found;
}

}  // namespace reshard
