// Sizes: how large slices and portions are, from what ports carry and the staging limit allows.
#ifndef RESHARD_COMPILER_SCHEDULE_SIZES_H_
#define RESHARD_COMPILER_SCHEDULE_SIZES_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/rounds.h"
#include "compiler/schedule/slices.h"

namespace reshard {

// What a routing asks of ports and ranks, whatever the order.
struct Traffic {
  int64_t busy_ps = 0;              // of the busiest port
  bool senders_busiest = false;     // no receiving port is as busy as the busiest sending one
  bool senders_busy = false;        // senders have little more time to spare than receivers
  int64_t most_landed_bytes = 0;    // of one rank, local streams included
  int64_t tree_bytes = 0;           // sum over all trees
  uint32_t most_streams = 0;        // of one rank
  uint32_t most_local_streams = 0;  // of one rank, those without network
  size_t deepest = 1;
  size_t network_levels = 1;  // of the deepest tree, without hand-over inside a domain
  int64_t round_ns = 0;       // what a round costs
  bool hands_over = false;    // some head is a carrier
  bool landers_send = false;  // some lander also packs network messages
  // Of a rank, at most: the bytes that it packs, times kPackSlots, and those that it lands, times
  // kRecvSlots. In equal rounds its staging is this over their number.
  int64_t slot_bytes = 0;
  // The same of a rank that hands over to carriers, and what it lands once more: it sends to
  // several ranks in a round.
  int64_t handing_slot_bytes = 0;
  // Per stream, what passes between two ranks of its trees, of all streams together: the most of
  // its pairs. A rank has one message for another in a round, so that these streams take turns.
  std::vector<int64_t> turn_bytes;
  std::vector<int64_t> landed_bytes;  // per site, local streams included
  std::vector<int64_t> packed_bytes;  // per site, for messages
};
// Is nothing passed on from domain to domain?
inline bool IsFlat(const Traffic& traffic) { return traffic.deepest == 1; }
Traffic FindTraffic(const Topology& topology, const Ports& ports,
                    const std::vector<ScheduledTree>& trees);

// Rounds that slices start in when a rank receives at most `most_bytes` in one.
int64_t RoundCount(const Traffic& traffic, int64_t most_bytes);

struct RoundSizes {
  int64_t slice_bytes = 0;    // of a slice, at most
  int64_t recv_bytes = 0;     // that a rank receives in a round
  int64_t staging_bytes = 0;  // of a rank: what its receive slots leave is for packing
  // That a rank has room to receive in a round even where it packs far more.
  int64_t least_recv_bytes = 0;
  // Per stream, the rounds that its sources need (small_sources.h); 0: as many as its bytes do.
  std::vector<int64_t> source_rounds;
};

// Every stream moves evenly over all rounds: its slice is its bytes over the number of rounds, but
// not less than is worth a message. Cuts the trees into slices and says what a round may carry.
RoundLimits SizeSlices(const Topology& topology, const Ports& ports, const Routing& routing,
                       const ClassCuts& cuts, const Traffic& traffic, const RoundSizes& sizes,
                       std::vector<ScheduledTree>* trees);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_SIZES_H_
