// Routing: which rank sends each byte, which rank lands it in each domain, and along which tree.
//
// A stream is an ordered run of bytes that one landing rank per domain receives ("lander"); a tree
// is how the landers of a stream get it: the head from sources, each other lander from its parent.
// The domain's needers copy from the lander, itself a needer or a rank whose NIC is less busy, over
// the scale-up fabric. A domain that holds a class itself gets local streams: one domain, and the
// lander is a holder that packs its own bytes, or a needer to which a holder hands them.
#ifndef RESHARD_COMPILER_ROUTE_ROUTING_H_
#define RESHARD_COMPILER_ROUTE_ROUTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/topology.h"
#include "compiler/route/strategy.h"
#include "compiler/transfer/transfer_set.h"
#include "runtime/plan/cut_kinds.h"
#include "runtime/plan/tree_kinds.h"

namespace reshard {

using StreamId = uint32_t;

// Bytes [begin, begin + extent) of a class.
struct ClassRange {
  ClassId cls = 0;
  int64_t begin = 0;
  int64_t extent = 0;
};

// A run of a stream's bytes that one source sends to one head.
struct SourceRange {
  ClassRange range;
  Rank source = 0;
};

// landers by position; landers[0] is the head. Who feeds whom: TreeParent (runtime/plan/program.h).
// Members before the landers only pass on: a carrier, which gets the bytes inside a domain that
// holds them, and a hub in a domain that does not need them.
struct RoutedTree {
  PlanTreeKind kind = PlanTreeKind::kChain;
  std::vector<Rank> landers;
  std::vector<SourceRange> sources;  // covers the stream's bytes once; any order
};

struct RoutedStream {
  std::vector<DomainId> domains;  // rising: all that get these bytes over the network
  std::vector<RoutedTree> trees;  // together one lander of each domain, and what passes on to them
  std::vector<ClassRange> bytes;  // covers each byte once; what one source can send is adjacent
  bool local = false;             // no network
};
// Is nothing sent, as the only lander packs its own bytes?
inline bool IsInsideRank(const RoutedStream& stream) {
  return stream.local && stream.trees[0].sources[0].source == stream.trees[0].landers[0];
}

struct PortLoad {
  NicId nic = 0;
  int64_t send_bytes = 0;
  int64_t receive_bytes = 0;
};

// A cut that no schedule can beat: `bytes` must pass through the ports that `kind` and `members`
// name, in one direction, which takes at least bytes / bytes_per_s. The kinds: docs/plan.md.
struct CutWitness {
  PlanCutKind kind = PlanCutKind::kIngress;
  std::vector<uint32_t> members;  // rising: domains or groups of the topology, or rank numbers
  int64_t bytes = 0;
  int64_t bytes_per_s = 0;
};

struct Routing {
  std::vector<RoutedStream> streams;
  std::vector<PortLoad> loads;        // one per NIC
  std::vector<CutWitness> witnesses;  // the tightest ones, the binding one first
};

struct RouteOptions {
  Strategy strategy = Strategy::kAuto;
  uint32_t heads = 0;  // chains per stream; 0: chosen
  // Landers with NICs less than half as fast as the fastest of their stream get trees of their own:
  // behind a fast lander that sends to others as well, they get less than their NICs could take.
  bool slow_apart = false;
  // All NICs of the domains that hold something send, also those of ranks that do not hold it.
  bool pool = false;
  // With hubs: ranks of domains that do not need a stream pass it on, too, where landers are
  // busier.
  bool idle_relays = false;
  // Where uplinks limit: each stream has holders in the same groups, and enters each other group
  // once.
  bool by_group = false;
};

// Errors: no-place (a rank of a layout that the topology does not place), no-nic (a domain that
// needs network bytes has none).
[[nodiscard]] bool BuildRouting(const LogicalTable& table, const TransferSet& transfers,
                                const Topology& topology, const RouteOptions& options,
                                Diagnostics* diags, Routing* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_ROUTING_H_
