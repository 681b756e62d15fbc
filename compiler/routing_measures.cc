#include "compiler/routing_measures.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/program.h"

namespace reshard {
namespace {

// The largest whole number whose square is at most `square`.
int64_t SquareRoot(int64_t square) {
  int64_t low = 0, high = int64_t{1} << 31;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (middle * middle <= square) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

uint32_t MostPeers(const Routing& routing) {
  std::vector<std::pair<Rank, Rank>> pairs;
  for (const RoutedStream& stream : routing.streams) {
    if (IsInsideRank(stream)) continue;
    for (const RoutedTree& tree : stream.trees) {
      const size_t first = pairs.size();
      for (const SourceRange& source : tree.sources) {
        if (pairs.size() > first && pairs.back().first == source.source) continue;
        pairs.emplace_back(source.source, tree.landers[0]);
      }
      for (uint32_t p = 1; p < tree.landers.size(); ++p) {
        pairs.emplace_back(tree.landers[TreeParent(tree.kind, p)], tree.landers[p]);
      }
    }
  }
  const size_t count = pairs.size();
  for (size_t i = 0; i < count; ++i) pairs.emplace_back(pairs[i].second, pairs[i].first);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  uint32_t most = 0, now = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    now = i > 0 && pairs[i].first == pairs[i - 1].first ? now + 1 : 1;
    most = std::max(most, now);
  }
  return most;
}

bool StreamsShareMessages(const Routing& routing) {
  std::vector<std::pair<Rank, Rank>> pairs;
  for (const RoutedStream& stream : routing.streams) {
    if (stream.local) continue;
    for (const RoutedTree& tree : stream.trees) {
      std::vector<Rank> sources;
      for (const SourceRange& source : tree.sources) sources.push_back(source.source);
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      for (const Rank source : sources) pairs.emplace_back(source, tree.landers[0]);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return std::adjacent_find(pairs.begin(), pairs.end()) != pairs.end();
}

int64_t BusiestPortNs(const Topology& topology, const Routing& routing, bool sending_only) {
  int64_t most_ps = 0;
  for (const PortLoad& load : routing.loads) {
    const int64_t bytes =
        sending_only ? load.send_bytes : std::max(load.send_bytes, load.receive_bytes);
    most_ps = std::max(most_ps, PicosecondsFor(bytes, topology.nics[load.nic].bytes_per_s));
  }
  return most_ps / 1000;
}

bool HasCarriers(const Topology& topology, const Routing& routing) {
  const Ports ports(topology);
  for (const RoutedStream& stream : routing.streams) {
    if (stream.local) continue;
    for (const RoutedTree& tree : stream.trees) {
      if (ports.SameDomain(tree.sources[0].source, tree.landers[0])) return true;
    }
  }
  return false;
}

// With R equal slices, as many rounds as the tree is deep pass before the first one comes, each
// with a cost and 1 / R of the bytes' time, and then R are received. The sum is least where R costs
// equal the time to fill.
int64_t LeastNs(const Ports& ports, const Routing& routing, int64_t round_ns) {
  int64_t least_ns = 0;
  for (const RoutedStream& stream : routing.streams) {
    if (stream.local) continue;
    int64_t bytes = 0;
    for (const ClassRange& range : stream.bytes) bytes += range.extent;
    for (const RoutedTree& tree : stream.trees) {
      if (ports.SameDomain(tree.sources[0].source, tree.landers[0])) continue;
      const int64_t rate = ports.outlet(ports.outlet_of_rank(tree.landers.back())).bytes_per_s;
      const int64_t own_ns = PicosecondsFor(bytes, rate) / 1000;
      const int64_t fill_rounds =
          TreeDepth(tree.kind, static_cast<uint32_t>(tree.landers.size()) - 1);
      const int64_t rounds = SquareRoot(own_ns / round_ns * fill_rounds);
      least_ns = std::max(least_ns, own_ns + (fill_rounds + 2 * rounds) * round_ns);
    }
  }
  return least_ns;
}

}  // namespace reshard
