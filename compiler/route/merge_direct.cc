#include "compiler/route/merge_direct.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// Sources of one stream: its slices have few (compiler/schedule/slices.h).
constexpr uint32_t kStreamSources = 4;

using BytesOfSource = std::map<Rank, std::vector<ClassRange>>;

// Streams of carriers (carriers.h) stay as they are.
bool IsMerged(const RoutedStream& stream) {
  return !stream.local &&
         std::all_of(stream.trees.begin(), stream.trees.end(),
                     [](const RoutedTree& tree) { return tree.landers.size() == 1; });
}

// Streams of one lander.
void AppendStreams(DomainId domain, Rank lander, BytesOfSource* sources,
                   std::vector<RoutedStream>* out) {
  uint32_t count = 0;
  for (auto& [source, bytes] : *sources) {
    if (count++ % kStreamSources == 0) {
      RoutedStream& stream = out->emplace_back();
      stream.domains = {domain};
      stream.trees.push_back({PlanTreeKind::kChain, {lander}, {}});
    }
    RoutedStream& stream = out->back();
    std::sort(bytes.begin(), bytes.end(), [](const ClassRange& a, const ClassRange& b) {
      return std::tie(a.cls, a.begin) < std::tie(b.cls, b.begin);
    });
    for (const ClassRange& range : bytes) {
      stream.bytes.push_back(range);
      stream.trees[0].sources.push_back({range, source});
    }
  }
}

}  // namespace

Routing MergeDirect(const Topology& topology, const Routing& routing) {
  Routing merged;
  merged.loads = routing.loads;
  merged.witnesses = routing.witnesses;
  std::map<Rank, BytesOfSource> landers;
  for (const RoutedStream& stream : routing.streams) {
    if (!IsMerged(stream)) continue;
    for (const RoutedTree& tree : stream.trees) {
      for (const SourceRange& source : tree.sources) {
        landers[tree.landers[0]][source.source].push_back(source.range);
      }
    }
  }
  for (auto& [lander, sources] : landers) {
    AppendStreams(topology.Site(lander)->domain, lander, &sources, &merged.streams);
  }
  for (const RoutedStream& stream : routing.streams) {
    if (!IsMerged(stream)) merged.streams.push_back(stream);
  }
  return merged;
}

}  // namespace reshard
