// Order: in which order the bytes of each stream move.
//
// As routing left them, what one source can send is adjacent. Two kinds of streams are laid out in
// another order: those whose sources are slower than their heads (interleave.h), and those with
// "wide" bytes, which so many ranks of a domain need that a lander cannot hand them on as fast as
// they come in. A round of nothing but wide bytes would keep a whole domain waiting for one lander;
// spread over all rounds they fit beside the others.
#ifndef RESHARD_COMPILER_SCHEDULE_ORDER_H_
#define RESHARD_COMPILER_SCHEDULE_ORDER_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

class StreamOrder {
 public:
  // `busy_ps`: of the busiest port, all of its bytes.
  StreamOrder(const TransferSet& transfers, const Topology& topology, const Ports& ports,
              const ClassCuts& cuts, const Routing& routing, int64_t busy_ps);

  // Is any stream laid out in another order than routing's?
  bool changes() const { return changes_; }
  // The same routing with the bytes of each stream in the order for so many rounds.
  Routing For(int64_t rounds) const;

 private:
  struct Change {
    uint32_t lanes = 1;
    std::vector<bool> is_wide;   // per range; empty: none
    int64_t wide_copy_ps = 0;   // that the lander's scale-up port takes for all wide bytes
    int64_t wide_bytes = 0;
  };
  Change ChangeOf(const RoutedStream& stream) const;
  std::vector<ClassRange> Reorder(const RoutedStream& stream, const Change& change,
                                  int64_t rounds) const;

  const TransferSet& transfers_;
  const Topology& topology_;
  const Ports& ports_;
  const ClassCuts& cuts_;
  const Routing& routing_;
  const int64_t busy_ps_;
  std::vector<Change> changes_of_;  // per stream
  bool changes_ = false;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_ORDER_H_
