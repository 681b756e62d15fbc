// Interleaving: streams whose sources are slower than their heads.
//
// A slice is one run of its stream, mostly bytes of one source. Where a source sends more slowly
// than the head receives, a slice has to hold bytes of several sources: the stream's bytes are laid
// out as a few lanes, and each slice is a chunk of every lane.
#ifndef RESHARD_COMPILER_SCHEDULE_INTERLEAVE_H_
#define RESHARD_COMPILER_SCHEDULE_INTERLEAVE_H_

#include <cstdint>
#include <vector>

#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"

namespace reshard {

// Sources that have to send at once so that the heads of a stream get their bytes at their own
// rate, or in `busy_ps` (what the busiest port takes) if that is slower; at most
// kFewSourcesPerSlice.
uint32_t LaneCount(const Ports& ports, const RoutedStream& stream, int64_t busy_ps);

// The same bytes in another order: `chunk_count` chunks of lane 0 taken in turn with those of the
// other lanes. Chunks of a lane are equally long but for the permitted cuts.
std::vector<ClassRange> InterleaveLanes(const ClassCuts& cuts, const std::vector<ClassRange>& bytes,
                                        uint32_t lane_count, int64_t chunk_count);

// All of `bytes` in their order, and after each of `run_count` equal parts of it the same part of
// `others`, but for the permitted cuts. A part ends with a range where one ends nearby: in the
// middle of a range, a slice would get bytes of one source twice, or two slices bytes of one.
std::vector<ClassRange> SpreadEvenly(const ClassCuts& cuts, const std::vector<ClassRange>& bytes,
                                     const std::vector<ClassRange>& others, int64_t run_count);

// Equal parts of all lines in turn, `run_count` of each, but for the permitted cuts.
std::vector<ClassRange> TakeTurns(const ClassCuts& cuts,
                                  const std::vector<std::vector<ClassRange>>& lines,
                                  int64_t run_count);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_INTERLEAVE_H_
