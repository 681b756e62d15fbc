// Streams: which rank of each needing domain lands each byte.
//
// The bytes of a class are dealt over candidates: candidate j of its needers lands on usable needer
// j mod m of every domain, m their number there. Candidates share out all bytes so that the landing
// ports are equally busy; a class is split only where a candidate's part ends inside it. Where
// needers alone would keep a NIC busy for longer than their domain has to, its other ranks are
// candidates, too; where that is not enough, each domain divides the bytes over its landers by
// itself. By group, the uplinks that bytes pass to their landers are ports that fill as NICs do.
#ifndef RESHARD_COMPILER_ROUTE_STREAMS_H_
#define RESHARD_COMPILER_ROUTE_STREAMS_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/topology.h"
#include "compiler/route/class_cuts.h"
#include "compiler/route/demands.h"
#include "compiler/route/ports.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/routing.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// Of a stream that was split for two trees (two_trees.h).
enum class StreamHalf : uint8_t { kWhole, kFirst, kSecond };

struct DraftStream {
  std::vector<DomainId> domains;  // rising
  RankList landers;               // one per domain, in the order of `domains`, not sorted
  std::vector<ClassRange>
      bytes;  // by (holders, class, begin): what one source can send is adjacent
  int64_t total_bytes = 0;
  bool local = false;  // needs no network (local_streams.h)
  // By group: those that ranks are in which can send all of its bytes, rising. Else empty.
  std::vector<GroupId> from_groups;
  // Of a local stream: who hands its bytes to the lander, which does not hold them.
  Rank source = kNone;
  StreamHalf half = StreamHalf::kWhole;
  // A rank that passes the stream on to the landers: a holder of its domain hands it over
  // (carriers.h). kNone: sources send to a lander.
  Rank carrier = kNone;
  bool carrier_lands = false;  // needers of the carrier's domain copy from it
  // The ranks that send the stream to all landers, of these or not (hubs.h): one, or by group one
  // for the landers of each group. Empty: another tree.
  RankList hubs;
};

// Splits shorter than this are not worth a message of their own.
inline constexpr int64_t kMinSplitBytes = int64_t{64} << 10;

struct StreamInputs {
  const TransferSet* transfers = nullptr;
  const Topology* topology = nullptr;
  const Ports* ports = nullptr;
  const ClassCuts* cuts = nullptr;
  const Demands* demands = nullptr;
  RankSetFactsTable* facts = nullptr;
  int64_t bound_ps = 0;   // no schedule takes less
  bool pool = false;      // RouteOptions
  bool by_group = false;  // streams have holders in the same groups, and landers spare uplinks
};

// Network streams only. Reports no-nic (nobody in a domain can receive).
[[nodiscard]] bool BuildStreams(const LogicalTable& table, const StreamInputs& inputs,
                                Diagnostics* diags, std::vector<DraftStream>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_STREAMS_H_
