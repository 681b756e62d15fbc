// Small sources: those that send so little of a stream that its slices are full of sources before
// they are full of bytes.
//
// Where tensors are sharded over thousands of ranks, a stream has parts of all of them, most of
// them small. A slice takes at most kMaxSourcesPerSlice sources: small parts that are adjacent make
// small slices, and rounds in which ports have little to do. Next to bytes of large sources they
// make slices that are all alike.
#ifndef RESHARD_COMPILER_SCHEDULE_SMALL_SOURCES_H_
#define RESHARD_COMPILER_SCHEDULE_SMALL_SOURCES_H_

#include <cstdint>
#include <vector>

#include "compiler/route/routing.h"
#include "compiler/schedule/slices.h"

namespace reshard {

// The stream's bytes in its order, cut where `runs` end, which cover it in its order.
std::vector<SourceRange> CutAtRuns(const RoutedStream& stream, const std::vector<SourceRun>& runs);

// A stream's bytes in two parts, each in the order of the stream.
struct SmallSources {
  std::vector<ClassRange> large;
  std::vector<ClassRange> small;  // empty: the stream's own order needs no more rounds
  int64_t rounds = 0;             // that slices of as many sources as they may have take
};

// `runs` cover the stream in its order, as in a tree of it; it moves in about `rounds` rounds.
SmallSources FindSmallSources(const RoutedStream& stream, const std::vector<SourceRun>& runs,
                              int64_t rounds);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_SMALL_SOURCES_H_
