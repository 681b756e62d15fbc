// Order: in which order the bytes of each stream move.
//
// As routing left them, what one source can send is adjacent. Four kinds of streams are laid out in
// another order: those whose sources are slower than their heads (interleave.h), those with many
// small sources (small_sources.h), those with "wide" bytes, which so many ranks of a domain need
// that a lander cannot hand them on as fast as they come in, and local ones that copies decide. A
// round of nothing but wide bytes would keep a whole domain waiting for one lander; spread over all
// rounds they fit beside the others. Local streams that each began with the bytes for the same
// needer would all wait for its port: in every slice there is something for every needer.
#ifndef RESHARD_COMPILER_SCHEDULE_ORDER_H_
#define RESHARD_COMPILER_SCHEDULE_ORDER_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/slices.h"
#include "compiler/schedule/small_sources.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

class StreamOrder {
 public:
  // `trees`: of the routing. `busy_ps`: of the busiest port, all of its bytes. Streams move in
  // `fewest_rounds` or more.
  StreamOrder(const TransferSet& transfers, const Topology& topology, const Ports& ports,
              const ClassCuts& cuts, const Routing& routing,
              const std::vector<ScheduledTree>& trees, int64_t busy_ps, int64_t fewest_rounds);

  // Is any stream laid out in another order than routing's?
  bool changes() const { return changes_; }
  // Per stream, the rounds that its sources need (small_sources.h); 0: as many as its bytes do.
  std::vector<int64_t> SourceRounds() const;
  // Do slices get bytes of several NICs that send their stream?
  bool has_lines() const;
  // The same routing with the bytes of each stream in the order for so many rounds, with lines or
  // without.
  Routing For(int64_t rounds, bool lines) const;

 private:
  struct Change {
    uint32_t lanes = 1;
    std::vector<bool> is_wide;  // per range; empty: none
    int64_t wide_copy_ps = 0;   // that the lander's scale-up port takes for all wide bytes
    int64_t wide_bytes = 0;
    SmallSources small_sources;
    std::vector<std::vector<ClassRange>> turns;  // of a local stream, what needers take in turn
    // What each of a few NICs sends, or all bytes by NIC. Empty: the order of the stream.
    std::vector<std::vector<ClassRange>> lines;
    bool any() const {
      return lanes > 1 || !is_wide.empty() || !small_sources.small.empty() || !turns.empty() ||
             lines.size() > 1;
    }
  };
  std::vector<bool> FindCopyingDomains() const;
  Change ChangeOf(const RoutedStream& stream) const;
  std::vector<std::vector<ClassRange>> LinesFor(const RoutedStream& stream,
                                                const std::vector<SourceRun>& runs) const;
  std::vector<std::vector<ClassRange>> TurnsOf(const RoutedStream& stream) const;
  std::vector<ClassRange> Reorder(const RoutedStream& stream, const Change& change, int64_t rounds,
                                  bool lines) const;

  const TransferSet& transfers_;
  const Topology& topology_;
  const Ports& ports_;
  const ClassCuts& cuts_;
  const Routing& routing_;
  const int64_t busy_ps_;
  const std::vector<bool> copies_decide_;  // per domain
  std::vector<Change> changes_of_;         // per stream
  bool changes_ = false;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_ORDER_H_
