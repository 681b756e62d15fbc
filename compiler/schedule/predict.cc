#include "compiler/schedule/predict.h"

#include <algorithm>
#include <vector>

#include "compiler/route/ports.h"
#include "compiler/schedule/tree_levels.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

// A slice or an inject of one round.
struct Entry {
  uint32_t tree = 0;
  uint32_t source = 0;
  int64_t bytes = 0;
};

class Prediction {
 public:
  Prediction(const Topology& topology, const Schedule& schedule)
      : ports_(topology),
        schedule_(schedule),
        sent_(ports_.port_count(), 0),
        received_(ports_.port_count(), 0),
        injects_(schedule.round_count),
        slices_(schedule.round_count) {
    for (const PlanTree& tree : schedule.trees) {
      std::vector<OutletId>& outlets = members_.emplace_back();
      if (schedule.streams[tree.stream].local) continue;
      for (uint32_t p = 0; p < tree.member_count; ++p) {
        outlets.push_back(ports_.outlet_of_rank(schedule.tree_members[tree.first_member + p]));
      }
      deepest_ = std::max(deepest_, LevelCount(tree.kind, outlets.size()));
    }
    for (const PlanInject& inject : schedule.injects) {
      if (!members_[inject.tree].empty()) {
        injects_[inject.round].push_back({inject.tree, inject.source, inject.extent});
      }
    }
    for (const PlanTree& tree : schedule.trees) {
      heads_.push_back(schedule.tree_members[tree.first_member]);
    }
  }

  std::vector<int64_t> Run() {
    std::vector<int64_t> busiest_ps;
    for (uint32_t round = 0; round < schedule_.round_count; ++round) {
      AddInjects(round);
      for (size_t depth = 1; depth < deepest_ && depth <= round; ++depth) {
        for (const Entry& slice : slices_[round - depth]) AddHop(slice, depth);
      }
      busiest_ps.push_back(TakeBusiest());
    }
    return busiest_ps;
  }

 private:
  static void Add(const Ports& ports, OutletId id, int64_t bytes, std::vector<int64_t>* loads) {
    const Outlet& outlet = ports.outlet(id);
    for (size_t i = 0; i < outlet.shares.size(); ++i) {
      (*loads)[outlet.shares[i].port] += ShareBytes(outlet, i, bytes);
    }
  }

  // What sources send and heads receive, and the slices that start: per tree the sum of its
  // injects.
  void AddInjects(uint32_t round) {
    std::vector<Entry>& entries = injects_[round];
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.tree < b.tree; });
    for (const Entry& entry : entries) {
      if (!ports_.SameDomain(entry.source, heads_[entry.tree])) {
        Add(ports_, ports_.outlet_of_rank(entry.source), entry.bytes, &sent_);
        Add(ports_, members_[entry.tree][0], entry.bytes, &received_);
      }
      if (slices_[round].empty() || slices_[round].back().tree != entry.tree) {
        slices_[round].push_back({entry.tree, 0, 0});
      }
      slices_[round].back().bytes += entry.bytes;
    }
  }

  // A slice reaches the members at `depth` of its tree, at least 1.
  void AddHop(const Entry& slice, size_t depth) {
    const std::vector<OutletId>& members = members_[slice.tree];
    const PlanTreeKind kind = schedule_.trees[slice.tree].kind;
    const TreeLevel level = LevelOf(kind, depth, members.size());
    for (size_t p = level.first; p < level.last; ++p) {
      Add(ports_, members[p], slice.bytes, &received_);
      Add(ports_, members[TreeParent(kind, static_cast<uint32_t>(p))], slice.bytes, &sent_);
    }
  }

  // Time of the busiest port; all loads become 0.
  int64_t TakeBusiest() {
    int64_t bytes = 0, rate = 1;
    for (PortId port = 0; port < ports_.port_count(); ++port) {
      const int64_t more = std::max(sent_[port], received_[port]);
      if (more == 0) continue;
      sent_[port] = received_[port] = 0;
      if (Wide{more} * rate > Wide{bytes} * ports_.bytes_per_s(port)) {
        bytes = more;
        rate = ports_.bytes_per_s(port);
      }
    }
    return PicosecondsFor(bytes, rate);
  }

  Ports ports_;
  const Schedule& schedule_;
  std::vector<int64_t> sent_, received_;              // per port, in this round
  std::vector<std::vector<Entry>> injects_, slices_;  // per round
  std::vector<std::vector<OutletId>> members_;        // per tree; empty for a local one
  std::vector<Rank> heads_;                           // per tree
  size_t deepest_ = 0;
};

}  // namespace

std::vector<int64_t> BusiestPorts(const Topology& topology, const Schedule& schedule) {
  return Prediction(topology, schedule).Run();
}

int64_t PredictedNs(const Topology& topology, const std::vector<int64_t>& busiest_ps,
                    uint32_t first, uint32_t end) {
  Wide total_ps = 0;
  for (uint32_t round = first; round < end; ++round) total_ps += busiest_ps[round];
  return static_cast<int64_t>(total_ps / 1000) + int64_t{end - first} * topology.round_ns;
}

int64_t PredictNs(const Topology& topology, const Schedule& schedule) {
  return PredictedNs(topology, BusiestPorts(topology, schedule), 0, schedule.round_count);
}

}  // namespace reshard
