#include "compiler/route/routing.h"

#include <algorithm>
#include <utility>

#include "compiler/route/carriers.h"
#include "compiler/route/class_cuts.h"
#include "compiler/route/demands.h"
#include "compiler/route/hubs.h"
#include "compiler/route/local_streams.h"
#include "compiler/route/ports.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/sources.h"
#include "compiler/route/span_groups.h"
#include "compiler/route/streams.h"
#include "compiler/route/trees.h"
#include "compiler/route/two_trees.h"
#include "compiler/route/witnesses.h"

namespace reshard {
namespace {

std::vector<RoutedStream> PutTogether(const std::vector<DraftStream>& drafts, StreamTrees trees) {
  std::vector<RoutedStream> streams;
  for (size_t s = 0; s < drafts.size(); ++s) {
    RoutedStream& stream = streams.emplace_back();
    stream.domains = drafts[s].domains;
    stream.bytes = drafts[s].bytes;
    stream.local = drafts[s].local;
    for (BareTree& tree : trees[s]) {
      stream.trees.push_back({tree.kind, std::move(tree.landers), {}});
    }
  }
  return streams;
}

std::vector<PortLoad> NicLoads(const Topology& topology, const Ports& ports,
                               const std::vector<RoutedStream>& streams, const PortBytes& sent) {
  PortBytes received(ports);
  for (const RoutedStream& stream : streams) {
    if (stream.local) continue;
    int64_t bytes = 0;
    for (const ClassRange& range : stream.bytes) bytes += range.extent;
    for (const RoutedTree& tree : stream.trees) {
      for (size_t p = 1; p < tree.landers.size(); ++p) {
        received.Add(ports.outlet_of_rank(tree.landers[p]), bytes);
      }
      for (const SourceRange& source : tree.sources) {
        if (ports.SameDomain(source.source, tree.landers[0])) continue;
        received.Add(ports.outlet_of_rank(tree.landers[0]), source.range.extent);
      }
    }
  }
  std::vector<PortLoad> loads;
  for (NicId nic = 0; nic < topology.nics.size(); ++nic) {
    loads.push_back({nic, sent.bytes(nic), received.bytes(nic)});
  }
  return loads;
}

// Streams of so many domains start with two trees: as chains they are deep, or need many heads.
constexpr size_t kDeep = 8;

// What `auto` begins with; candidates.h goes on from there. Where uplinks limit, trees would enter
// groups more often than chains do.
Strategy FirstStrategy(const RouteOptions& options, const Ports& ports,
                       const std::vector<DraftStream>& drafts) {
  if (options.strategy != Strategy::kAuto) return options.strategy;
  if (ports.uplinks_limit()) return Strategy::kChains;
  size_t most = 0;
  for (const DraftStream& stream : drafts) {
    if (!stream.local) most = std::max(most, stream.landers.size());
  }
  return options.heads == 0 && most >= kDeep ? Strategy::kTwoTrees : Strategy::kChains;
}

}  // namespace

bool BuildRouting(const LogicalTable& table, const TransferSet& transfers, const Topology& topology,
                  const RouteOptions& options, Diagnostics* diags, Routing* out) {
  const Ports ports(topology);
  const ClassCuts cuts(transfers);
  RankSetFactsTable facts(topology, ports, transfers.rank_sets);
  Demands demands;
  if (!FindDemands(table, transfers, topology, ports, &facts, diags, &demands)) return false;
  out->witnesses = FindWitnesses(transfers, topology, &facts);
  const int64_t bound_ns = out->witnesses.empty() ? 0 : WitnessNs(out->witnesses[0]);
  std::vector<DraftStream> drafts;
  StreamInputs stream_inputs{&transfers, &topology, &ports, &cuts, &demands, &facts};
  stream_inputs.bound_ps = bound_ns * 1000;
  stream_inputs.pool = options.pool;
  const bool by_group = options.by_group && ports.uplinks_limit();
  // A star in each group asks the group's own holders: streams may have others, too.
  const bool stars = options.strategy == Strategy::kHubs;
  stream_inputs.by_group = by_group && (!stars || DomainsSpanGroups(topology));
  if (!BuildStreams(table, stream_inputs, diags, &drafts)) return false;
  AddLocalStreams(stream_inputs, &drafts);
  AddCarriers(stream_inputs, &drafts);
  RouteOptions chosen = options;
  chosen.strategy = FirstStrategy(options, ports, drafts);
  if (chosen.strategy == Strategy::kTwoTrees) SplitForTwoTrees(transfers, cuts, &drafts);
  if (chosen.strategy == Strategy::kHubs)
    SplitForHubs(stream_inputs, {options.idle_relays, by_group}, &drafts);
  const TreeInputs tree_inputs{&transfers, &topology, &ports, &facts, &drafts};
  StreamTrees trees = BuildTrees(tree_inputs, chosen);
  PortBytes sent(ports);
  AddRelays(tree_inputs, trees, &sent);
  out->streams = PutTogether(drafts, std::move(trees));
  AssignSources(tree_inputs, cuts, &out->streams, &sent);
  out->loads = NicLoads(topology, ports, out->streams, sent);
  return true;
}

}  // namespace reshard
