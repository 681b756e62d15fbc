#include "runtime/exec/prepared_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/plan/walk.h"

namespace reshard {
namespace {

Status NotThePlan(const std::string& what) {
  return Status(StatusCode::kCorruptData, "the plan cannot be executed: " + what);
}

// Builds one PreparedProgram. Ops are collected per round first, in a map, then laid flat.
class Preparer {
 public:
  Preparer(const Plan& plan, const ProgramIndex& index, PreparedProgram* out)
      : plan_(plan),
        index_(index),
        sources_(plan, out->rank, PlanSide::kSource),
        destinations_(plan, out->rank, PlanSide::kDestination),
        out_(*out) {}

  Status Run() {
    const uint32_t rank_index = index_.RankIndex(plan_, out_.rank);
    const uint32_t site_index = index_.SiteIndex(plan_, out_.rank);
    if (rank_index == kNoId || site_index == kNoId) {
      return NotThePlan("it has no rank " + std::to_string(out_.rank));
    }
    recv_slots_bytes_ = kRecvSlots * plan_.ranks[rank_index].recv_slot_bytes;
    out_.round_count = plan_.header.totals.rounds;
    const Program program = ExpandProgram(plan_, index_, out_.rank);
    for (const Op& op : program.ops) RESHARD_RETURN_IF_ERROR(AddOp(op));
    for (const PlanFill& fill : plan_.fills) {
      if (fill.rule == PlanFillRule::kZero &&
          Contains(plan_.rank_sets[plan_.families[fill.family].rank_set], out_.rank) &&
          plan_.families[fill.family].side == PlanSide::kDestination) {
        RESHARD_RETURN_IF_ERROR(out_.fills.Append(plan_, out_.bindings, fill));
      }
    }
    for (uint32_t rank : index_.domain_ranks[plan_.sites[site_index].domain]) {
      if (rank != out_.rank && index_.RankIndex(plan_, rank) != kNoId) {
        out_.neighbours.push_back(rank);
      }
    }
    Flatten();
    SetWaits();
    SetParams();
    return Status();
  }

 private:
  struct RoundOps {
    std::vector<PreparedPack> packs;
    std::vector<PreparedMessage> sends, receives;
    std::vector<PreparedRead> reads;
    bool lands = false;
  };

  Status AddOp(const Op& op) {
    if (op.round >= out_.round_count) return NotThePlan("an operation after the last round");
    switch (op.kind) {
      case OpKind::kPack:
        rounds_[op.round].lands |= op.arena_offset < recv_slots_bytes_;
        return AddPack(op);
      case OpKind::kSend:
      case OpKind::kForward:
        rounds_[op.round].sends.push_back({op.peer, op.arena_offset, op.extent});
        return Status();
      case OpKind::kRecv:
        rounds_[op.round].lands = true;
        rounds_[op.round].receives.push_back({op.peer, op.arena_offset, op.extent});
        return Status();
      case OpKind::kCopy:
        return AddRead(op);
    }
    return NotThePlan("an operation of an unknown kind");
  }

  Status AddPack(const Op& op) {
    nests_.clear();
    RESHARD_RETURN_IF_ERROR(AppendRuns(op, /*destination=*/false));
    StatusOr<CopyRange> copies = out_.gathers.Append(plan_, out_.bindings, nests_, op.extent);
    if (!copies.ok()) return copies.status();
    if (out_.gathers.Bytes(*copies) != op.extent) {
      return NotThePlan("rank " + std::to_string(out_.rank) +
                        " does not hold all bytes of a message");
    }
    rounds_[op.round].packs.push_back({*copies, op.arena_offset});
    return Status();
  }

  Status AddRead(const Op& op) {
    nests_.clear();
    RESHARD_RETURN_IF_ERROR(AppendRuns(op, /*destination=*/true));
    StatusOr<CopyRange> copies =
        out_.scatters.Append(plan_, out_.bindings, nests_, op.extent, /*written=*/true);
    if (!copies.ok()) return copies.status();
    for (const RunNest& nest : nests_) NoteWritten(nest, 0, nest.base_instance, op.round + 1);
    // What landed in this round is read in the next one.
    rounds_[op.round + 1].reads.push_back({*copies, op.peer, op.round, op.peer_offset, op.extent});
    return Status();
  }

  // Round `round` copies into every instance that the nest reaches.
  void NoteWritten(const RunNest& nest, size_t first_dim, int64_t instance, uint32_t round) {
    for (size_t d = first_dim; d < nest.dims.size(); ++d) {
      const RunNest::Dim& dim = nest.dims[d];
      if (dim.instance_stride == 0 || dim.extent == 1) continue;
      for (int64_t i = 0; i < dim.extent; ++i) {
        NoteWritten(nest, d + 1, instance + i * dim.instance_stride, round);
      }
      return;
    }
    if (out_.bindings.in_place(nest.family, instance)) return;
    uint32_t& last = last_written_[{nest.family, instance}];
    last = std::max(last, round);
  }

  void SetParams() {
    for (const uint32_t family : destinations_.families()) {
      if (plan_.families[family].external) continue;
      const auto instances = static_cast<int64_t>(out_.bindings.instances(family).size());
      for (int64_t i = 0; i < instances; ++i) {
        PreparedParam param{family, i, 0};
        if (const auto last = last_written_.find({family, i}); last != last_written_.end()) {
          const auto round = std::lower_bound(
              out_.rounds.begin(), out_.rounds.end(), last->second,
              [](const PreparedRound& at, uint32_t wanted) { return at.round < wanted; });
          param.rounds_until_complete = static_cast<size_t>(round - out_.rounds.begin()) + 1;
        }
        out_.params.push_back(param);
      }
    }
  }

  // The runs of bytes [op.begin, op.begin + op.extent) of the stream in own params.
  Status AppendRuns(const Op& op, bool destination) {
    const PlanStream& stream = plan_.streams[plan_.trees[op.tree].stream];
    const auto first = index_.piece_begin.begin() + stream.first_piece;
    const auto end = first + stream.piece_count;
    auto at = std::upper_bound(first, end, op.begin);
    if (at == first) return NotThePlan("an operation before its stream");
    for (--at; at != end && *at < op.begin + op.extent; ++at) {
      const PlanPiece& piece = plan_.pieces[static_cast<size_t>(at - index_.piece_begin.begin())];
      const int64_t begin = std::max(op.begin, *at);
      const int64_t stop = std::min(op.begin + op.extent, *at + piece.extent);
      if (begin >= stop) continue;
      const PlanClass& cls = plan_.classes[piece.cls];
      if (destination && !Contains(plan_.rank_sets[cls.needers], out_.rank)) continue;
      if (!AppendClassRuns(plan_, destination ? destinations_ : sources_, piece.cls,
                           piece.begin + (begin - *at), stop - begin, begin - op.begin, destination,
                           &nests_)) {
        return NotThePlan("rank " + std::to_string(out_.rank) + " has no place for class " +
                          std::to_string(piece.cls));
      }
    }
    return Status();
  }

  void Flatten() {
    for (auto& [number, ops] : rounds_) {
      PreparedRound round;
      round.round = number;
      round.lands = ops.lands;
      const auto append = [](auto& from, auto& to, uint32_t* first, uint32_t* end) {
        *first = static_cast<uint32_t>(to.size());
        to.insert(to.end(), from.begin(), from.end());
        *end = static_cast<uint32_t>(to.size());
      };
      append(ops.packs, out_.packs, &round.first_pack, &round.pack_end);
      append(ops.sends, out_.sends, &round.first_send, &round.send_end);
      append(ops.receives, out_.receives, &round.first_receive, &round.receive_end);
      append(ops.reads, out_.reads, &round.first_read, &round.read_end);
      out_.rounds.push_back(round);
    }
    rounds_.clear();
  }

  // A slot is free when the last round that wrote it has been read; a rank has read all of a round
  // when its next reads are of a later one.
  void SetWaits() {
    std::vector<uint32_t> slot_free_below(kRecvSlots, 0);
    for (PreparedRound& round : out_.rounds) {
      if (!round.lands) continue;
      uint32_t& below = slot_free_below[round.round % kRecvSlots];
      round.slot_free_below = std::exchange(below, round.round + 1);
    }
    uint32_t next_read = out_.round_count;
    for (size_t i = out_.rounds.size(); i-- > 0;) {
      PreparedRound& round = out_.rounds[i];
      round.reads_done_below = next_read;
      if (round.first_read != round.read_end) next_read = round.round - 1;
    }
    out_.reads_begin = next_read;
  }

  const Plan& plan_;
  const ProgramIndex& index_;
  const RankPlaces sources_, destinations_;
  PreparedProgram& out_;
  int64_t recv_slots_bytes_ = 0;
  std::map<uint32_t, RoundOps> rounds_;
  std::vector<RunNest> nests_;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> last_written_;  // round, by param
};

}  // namespace

std::vector<uint32_t> PreparedProgram::Peers() const {
  std::vector<uint32_t> peers;
  for (const PreparedMessage& message : sends) peers.push_back(message.peer);
  for (const PreparedMessage& message : receives) peers.push_back(message.peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

StatusOr<PreparedProgram> PrepareProgram(const Plan& plan, const ProgramIndex& index, uint32_t rank,
                                         Bindings bindings) {
  PreparedProgram program;
  program.rank = rank;
  program.bindings = std::move(bindings);
  RESHARD_RETURN_IF_ERROR(Preparer(plan, index, &program).Run());
  return program;
}

}  // namespace reshard
