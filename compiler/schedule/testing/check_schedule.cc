#include "compiler/schedule/testing/check_schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/rank_set.h"
#include "runtime/plan/plan.h"

namespace reshard::testing {
namespace {

using Interval = std::pair<int64_t, int64_t>;  // begin, end

bool CoversOnce(std::vector<Interval> intervals, int64_t bytes) {
  std::sort(intervals.begin(), intervals.end());
  int64_t end = 0;
  for (const auto& [from, to] : intervals) {
    if (from != end || to <= from) return false;
    end = to;
  }
  return end == bytes;
}

struct Checker {
  const Job& job;
  const ScheduleOptions& options;
  const Schedule& schedule;
  std::string problem;

  bool Fail(const std::string& text) {
    if (problem.empty()) problem = text;
    return false;
  }
  bool Require(bool holds, const std::string& text) { return holds || Fail(text); }

  DomainId DomainOf(Rank rank) const {
    return job.topology.sites[job.topology.site_index.at(rank)].domain;
  }
  bool HasNic(Rank rank) const {
    return !job.topology.sites[job.topology.site_index.at(rank)].nics.empty();
  }
  const PlanStream& StreamOf(const PlanTree& tree) const { return schedule.streams[tree.stream]; }
  Rank Member(const PlanTree& tree, uint32_t position) const {
    return schedule.tree_members[tree.first_member + position];
  }

  // By a rank in the domain of the head.
  bool NeededNear(const PlanTree& tree) const {
    const PlanStream& stream = StreamOf(tree);
    for (uint32_t i = 0; i < stream.piece_count; ++i) {
      const uint32_t cls = schedule.pieces[stream.first_piece + i].cls;
      for (const Rank rank : job.transfers.rank_sets[job.transfers.classes[cls].needers]) {
        if (DomainOf(rank) == DomainOf(Member(tree, 0))) return true;
      }
    }
    return false;
  }

  // Of position p > 0.
  static uint32_t Parent(const PlanTree& tree, uint32_t p) {
    switch (tree.kind) {
      case PlanTreeKind::kChain:
        return p - 1;
      case PlanTreeKind::kBinary:
        return (p - 1) / 2;
      case PlanTreeKind::kStar:
        return 0;
      case PlanTreeKind::kStemBinary:
        return p == 1 ? 0 : p / 2;
      case PlanTreeKind::kStemStar:
        return p == 1 ? 0 : 1;
    }
    return 0;
  }
  static bool IsLeaf(const PlanTree& tree, uint32_t position) {
    for (uint32_t p = 1; p < tree.member_count; ++p) {
      if (Parent(tree, p) == position) return false;
    }
    return true;
  }

  bool MayCut(uint32_t cls, int64_t at) const {
    const TransferClass& facts = job.transfers.classes[cls];
    int64_t begin = 0;
    for (uint32_t i = 0; i < facts.cell_count; ++i) {
      const int64_t end = begin + job.transfers.cells[facts.first_cell + i].bytes;
      if (at == begin || at == end) return true;
      if (at < end) return (at - begin) % 16 == 0;
      begin = end;
    }
    return false;
  }

  // Holders of stream bytes [begin, end), and whether both ends are permitted cuts.
  bool CheckStreamRange(const PlanStream& stream, int64_t begin, int64_t end, Rank source) {
    int64_t piece_begin = 0;
    for (uint32_t i = 0; i < stream.piece_count; ++i) {
      const PlanPiece& piece = schedule.pieces[stream.first_piece + i];
      const int64_t from = std::max(begin, piece_begin);
      const int64_t to = std::min(end, piece_begin + piece.extent);
      if (from < to) {
        const RankSetId holders = job.transfers.classes[piece.cls].holders;
        if (!Contains(job.transfers.rank_sets[holders], source)) {
          return Fail("provenance: rank " + std::to_string(source));
        }
        if (!MayCut(piece.cls, piece.begin + from - piece_begin) ||
            !MayCut(piece.cls, piece.begin + to - piece_begin)) {
          return Fail("cut-align: class " + std::to_string(piece.cls));
        }
      }
      piece_begin += piece.extent;
    }
    return true;
  }

  void CheckStreams() {
    for (const PlanStream& stream : schedule.streams) {
      int64_t bytes = 0;
      for (uint32_t i = 0; i < stream.piece_count; ++i) {
        const PlanPiece& piece = schedule.pieces[stream.first_piece + i];
        Require(piece.extent > 0 && MayCut(piece.cls, piece.begin) &&
                    MayCut(piece.cls, piece.begin + piece.extent),
                "piece");
        bytes += piece.extent;
      }
      Require(bytes == stream.bytes && bytes > 0, "stream-bytes");
    }
  }

  void CheckDelivery() {
    std::map<std::pair<uint32_t, DomainId>, std::vector<Interval>> delivered;
    for (const PlanTree& tree : schedule.trees) {
      const PlanStream& stream = StreamOf(tree);
      for (uint32_t p = 0; p < tree.member_count; ++p) {
        for (uint32_t i = 0; i < stream.piece_count; ++i) {
          const PlanPiece& piece = schedule.pieces[stream.first_piece + i];
          delivered[{piece.cls, DomainOf(Member(tree, p))}].push_back(
              {piece.begin, piece.begin + piece.extent});
        }
      }
    }
    for (uint32_t cls = 0; cls < job.transfers.classes.size(); ++cls) {
      std::set<DomainId> domains;
      for (const Rank rank : job.transfers.rank_sets[job.transfers.classes[cls].needers]) {
        domains.insert(DomainOf(rank));
      }
      for (const DomainId domain : domains) {
        Require(CoversOnce(delivered[{cls, domain}], job.transfers.classes[cls].bytes),
                "delivery: class " + std::to_string(cls) + " domain " + std::to_string(domain));
        delivered.erase({cls, domain});
      }
    }
    // Who gets bytes that nobody near needs is there to pass them on.
    for (const PlanTree& tree : schedule.trees) {
      const PlanStream& stream = StreamOf(tree);
      for (uint32_t p = 0; p < tree.member_count; ++p) {
        if (!IsLeaf(tree, p)) continue;
        for (uint32_t i = 0; i < stream.piece_count; ++i) {
          const uint32_t cls = schedule.pieces[stream.first_piece + i].cls;
          Require(delivered.count({cls, DomainOf(Member(tree, p))}) == 0,
                  "delivery: to a domain that needs nothing");
        }
      }
    }
  }

  void CheckTrees() {
    for (const PlanTree& tree : schedule.trees) {
      std::set<DomainId> domains;
      for (uint32_t p = 0; p < tree.member_count; ++p) {
        domains.insert(DomainOf(Member(tree, p)));
        Require(StreamOf(tree).local || tree.member_count == 1 || HasNic(Member(tree, p)),
                "a rank without a NIC lands");
      }
      Require(tree.member_count > 0 && domains.size() == tree.member_count, "tree-shape");
      Require(!StreamOf(tree).local || tree.member_count == 1, "locality: members");
      // A local class has a holder in the lander's domain; any other has none, but that the head
      // may get it inside its domain.
      const PlanStream& stream = StreamOf(tree);
      if (!stream.local) domains.erase(DomainOf(Member(tree, 0)));
      for (uint32_t i = 0; i < stream.piece_count; ++i) {
        const uint32_t cls = schedule.pieces[stream.first_piece + i].cls;
        bool near = false;
        for (const Rank rank : job.transfers.rank_sets[job.transfers.classes[cls].holders]) {
          near = near || domains.count(DomainOf(rank)) != 0;
        }
        Require(near == stream.local, "a class with a near holder takes the network");
      }
    }
  }

  void CheckInjects() {
    std::vector<std::vector<Interval>> covered(schedule.trees.size());
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const PlanInject*>> slices;
    const auto key = [](const PlanInject& i) { return std::tie(i.source, i.round, i.tree); };
    for (size_t i = 0; i < schedule.injects.size(); ++i) {
      const PlanInject& inject = schedule.injects[i];
      Require(i == 0 || key(schedule.injects[i - 1]) < key(inject), "order of injects");
      const PlanTree& tree = schedule.trees[inject.tree];
      covered[inject.tree].push_back({inject.begin, inject.begin + inject.extent});
      slices[{inject.tree, inject.round}].push_back(&inject);
      CheckStreamRange(StreamOf(tree), inject.begin, inject.begin + inject.extent, inject.source);
      Require((inject.source == Member(tree, 0)) == StreamOf(tree).local, "locality: source");
      const bool same_domain = DomainOf(inject.source) == DomainOf(Member(tree, 0));
      Require(same_domain || HasNic(Member(tree, 0)), "a rank without a NIC receives");
      Require(!same_domain || StreamOf(tree).local || tree.member_count > 1 || NeededNear(tree),
              "locality: hand-over");
      Require(same_domain || HasNic(inject.source), "a source without a NIC");
    }
    for (size_t t = 0; t < covered.size(); ++t) {
      Require(CoversOnce(covered[t], StreamOf(schedule.trees[t]).bytes), "slice-coverage");
    }
    for (auto& [where, parts] : slices) {
      std::sort(parts.begin(), parts.end(),
                [](const PlanInject* a, const PlanInject* b) { return a->begin < b->begin; });
      for (size_t i = 1; i < parts.size(); ++i) {
        Require(parts[i - 1]->begin + parts[i - 1]->extent == parts[i]->begin, "slice has a gap");
      }
      Require(parts.size() <= kMaxSourcesPerSlice, "too many sources of a slice");
    }
  }

  struct RankRound {
    int64_t received = 0, packed = 0;
    uint32_t ops = 0;
  };

  void CheckRounds() {
    std::map<std::pair<Rank, uint32_t>, RankRound> loads;
    std::set<std::tuple<uint32_t, Rank, Rank>> messages;
    std::map<std::pair<uint32_t, uint32_t>, int64_t> slices;
    const auto aligned = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    const auto message = [&](uint32_t round, Rank from, Rank to) {
      Require(messages.insert({round, from, to}).second, "message-unique");
      ++loads[{from, round}].ops;
      ++loads[{to, round}].ops;
    };
    for (const PlanInject& inject : schedule.injects) {
      slices[{inject.tree, inject.round}] += inject.extent;
      const PlanTree& tree = schedule.trees[inject.tree];
      if (StreamOf(tree).local) continue;
      message(inject.round, inject.source, Member(tree, 0));
      loads[{inject.source, inject.round}].packed += aligned(inject.extent);
    }
    uint32_t last = 0;
    for (const auto& [where, bytes] : slices) {
      const PlanTree& tree = schedule.trees[where.first];
      std::vector<uint32_t> rounds;  // by position
      for (uint32_t p = 0; p < tree.member_count; ++p) {
        const uint32_t parent = p == 0 ? 0 : Parent(tree, p);
        rounds.push_back(p == 0 ? where.second : rounds[parent] + 1);
        loads[{Member(tree, p), rounds[p]}].received += aligned(bytes);
        if (p > 0) message(rounds[p], Member(tree, parent), Member(tree, p));
        last = std::max(last, rounds[p]);
      }
    }
    Require(schedule.round_count == last + 1, "round_count");
    std::map<Rank, RankSlots> slots;
    for (const RankSlots& facts : schedule.slots) slots[facts.rank] = facts;
    for (const auto& [where, load] : loads) {
      const RankSlots& facts = slots[where.first];
      Require(load.ops <= kMaxOpsPerRound, "ops-per-round: rank " + std::to_string(where.first));
      Require(load.received <= facts.recv_slot_bytes && load.packed <= facts.pack_slot_bytes,
              "slot-size: rank " + std::to_string(where.first));
      Require(3 * facts.recv_slot_bytes + 2 * facts.pack_slot_bytes <= options.max_staging_bytes,
              "staging: rank " + std::to_string(where.first));
    }
  }
};

}  // namespace

std::string CheckSchedule(const Job& job, const ScheduleOptions& options,
                          const Schedule& schedule) {
  Checker checker{job, options, schedule, {}};
  checker.CheckStreams();
  checker.CheckTrees();
  checker.CheckDelivery();
  checker.CheckInjects();
  checker.CheckRounds();
  return checker.problem;
}

int64_t CountMessages(const Schedule& schedule) {
  std::set<std::pair<uint32_t, uint32_t>> slices;
  int64_t messages = 0;
  for (const PlanInject& inject : schedule.injects) {
    const PlanTree& tree = schedule.trees[inject.tree];
    if (schedule.streams[tree.stream].local) continue;
    ++messages;
    if (slices.insert({inject.tree, inject.round}).second) messages += tree.member_count - 1;
  }
  return messages;
}

}  // namespace reshard::testing
