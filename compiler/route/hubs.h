// Hubs: each part of a stream goes to one rank, which sends it to all landers.
//
// The landers of a stream take turns in it, so that each sends about what it receives, in trees of
// only two levels: fewer rounds to fill than in chains and binary trees, but a message to everybody
// in each. Ranks of domains that do not need the stream can be hubs, too: where the landers have
// enough to send for other reasons, NICs that are idle otherwise pass on for them.
#ifndef RESHARD_COMPILER_ROUTE_HUBS_H_
#define RESHARD_COMPILER_ROUTE_HUBS_H_

#include <vector>

#include "compiler/route/streams.h"

namespace reshard {

// Streams of more landers stay as they are: a hub has a message for each in one round.
inline constexpr size_t kMostHubs = 14;

struct HubOptions {
  // Ranks of other domains are hubs as well, where landers are busier.
  bool idle_relays = false;
  // Each group's landers have hubs of their own, so that bytes enter each group once.
  bool by_group = false;
};

// Replaces each network stream of 2 to kMostHubs landers by one for each of its hubs, or for each
// choice of a hub in every group.
void SplitForHubs(const StreamInputs& inputs, const HubOptions& options,
                  std::vector<DraftStream>* streams);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_HUBS_H_
