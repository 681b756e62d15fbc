// Two trees: streams in halves, and the two orders of their landers.
#ifndef RESHARD_COMPILER_ROUTE_TWO_TREES_H_
#define RESHARD_COMPILER_ROUTE_TWO_TREES_H_

#include <vector>

#include "compiler/route/class_cuts.h"
#include "compiler/route/streams.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// Fewer landers are a chain as it is.
inline constexpr size_t kLeastTwoTrees = 3;

// Replaces each network stream of at least kLeastTwoTrees landers by two that follow each other, of
// nearly equal bytes, from each set of holders as well. Streams too small for that stay whole.
void SplitForTwoTrees(const TransferSet& transfers, const ClassCuts& cuts,
                      std::vector<DraftStream>* streams);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_TWO_TREES_H_
