#include "runtime/plan/verify_programs.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace reshard {
namespace {

std::string At(uint32_t rank, uint32_t round) {
  return "rank " + std::to_string(rank) + ", round " + std::to_string(round);
}

std::string Name(const Op& op) {
  return std::string(OpKindText(op.kind)) + " of bytes " + std::to_string(op.begin) + " to " +
         std::to_string(op.begin + op.extent) + " of tree " + std::to_string(op.tree);
}

// Bytes [offset, end) of an arena hold bytes of a tree's stream from `begin` on, from `round` until
// they are overwritten.
struct Write {
  uint32_t round = 0;
  int64_t offset = 0;
  int64_t end = 0;
  uint32_t tree = 0;
  int64_t begin = 0;
};

// What a read of an arena wants.
struct Read {
  int64_t offset = 0;
  int64_t end = 0;
  uint32_t tree = 0;
  int64_t begin = 0;
};

enum class Found { kNothing, kOther, kAll };

// The writes of one rank, by (round, offset).
class Arena {
 public:
  explicit Arena(const Program& program) {
    for (const Op& op : program.ops) {
      if (op.kind != OpKind::kPack && op.kind != OpKind::kRecv) continue;
      writes_.push_back(
          {op.round, op.arena_offset, op.arena_offset + op.extent, op.tree, op.begin});
    }
    std::sort(writes_.begin(), writes_.end(), [](const Write& a, const Write& b) {
      return std::tie(a.round, a.offset) < std::tie(b.round, b.offset);
    });
  }

  const std::vector<Write>& writes() const { return writes_; }

  // Does a write of `round` touch what `read` reads, and do they make up all of it?
  Found Find(const Read& read, uint32_t round) const {
    bool touched = false;
    bool right = true;
    int64_t covered = read.offset;
    const auto [first, last] = Round(round);
    for (auto write = first; write != last; ++write) {
      if (write->end <= read.offset || write->offset >= read.end) continue;
      touched = true;
      right = right && write->tree == read.tree && write->offset <= covered &&
              write->begin - write->offset == read.begin - read.offset;
      covered = std::max(covered, write->end);
    }
    if (!touched) return Found::kNothing;
    return right && covered >= read.end ? Found::kAll : Found::kOther;
  }

  // The last round before `round` in which `read` was touched; kNoId when there is none.
  uint32_t LastTouchBefore(const Read& read, uint32_t round) const {
    for (auto write = Round(round).first; write != writes_.begin();) {
      --write;
      if (write->end > read.offset && write->offset < read.end) return write->round;
    }
    return kNoId;
  }

 private:
  using Iterator = std::vector<Write>::const_iterator;
  std::pair<Iterator, Iterator> Round(uint32_t round) const {
    const auto below = [](const Write& write, uint32_t r) { return write.round < r; };
    const auto first = std::lower_bound(writes_.begin(), writes_.end(), round, below);
    auto last = first;
    while (last != writes_.end() && last->round == round) ++last;
    return {first, last};
  }

  std::vector<Write> writes_;
};

// One end of a message; both ends agree in everything.
struct Message {
  uint32_t source = 0;
  uint32_t destination = 0;
  uint32_t round = 0;
  uint32_t tree = 0;
  int64_t begin = 0;
  int64_t extent = 0;
  int64_t offset = 0;  // where it is received
  auto operator<=>(const Message&) const = default;
};

class ProgramChecker {
 public:
  ProgramChecker(const Plan& plan, const VerifyFacts& facts, std::span<const Program> programs,
                 VerifyLog* log)
      : plan_(plan), facts_(facts), programs_(programs), log_(*log) {
    for (const Program& program : programs) arenas_.emplace_back(program);
  }

  void Run() {
    for (size_t p = 0; p < programs_.size() && log_.CanGoOn(); ++p) CheckProgram(p);
    if (log_.clean()) CheckMatch();
  }

 private:
  // Bytes of a class that a rank copies.
  struct Copied {
    uint32_t cls = 0;
    int64_t begin = 0;
    int64_t end = 0;
    auto operator<=>(const Copied&) const = default;
  };

  void CheckProgram(size_t p);
  bool CheckOp(size_t p, const Op& op);
  void CheckSend(size_t p, const Op& op);
  void CheckForward(size_t p, const Op& op);
  void CheckCopy(size_t p, const Op& op);
  void CheckWrites(size_t p);
  void CheckKept(size_t arena, const Read& read, uint32_t first_round, uint32_t last_round,
                 uint32_t rank, const Op& op);
  void CheckRounds(const Program& program);
  void CheckCopied(uint32_t rank, std::vector<Copied> copied);
  void CheckMatch();
  template <class Visit>
  void ForEachPiece(const Op& op, const Visit& visit) const;
  // Position of a rank's program, or programs_.size().
  size_t Position(uint32_t rank) const {
    const auto found =
        std::lower_bound(programs_.begin(), programs_.end(), rank,
                         [](const Program& program, uint32_t r) { return program.rank < r; });
    return found != programs_.end() && found->rank == rank
               ? static_cast<size_t>(found - programs_.begin())
               : programs_.size();
  }
  void Report(VerifyRule rule, uint32_t rank, const Op& op, const std::string& text) {
    log_.Add(rule, At(rank, op.round), Name(op) + " " + text);
  }

  const Plan& plan_;
  const VerifyFacts& facts_;
  const std::span<const Program> programs_;
  VerifyLog& log_;
  std::vector<Arena> arenas_;  // per program
};

// Calls visit(class, begin, end) with the class bytes that an operation moves.
template <class Visit>
void ProgramChecker::ForEachPiece(const Op& op, const Visit& visit) const {
  const PlanStream& stream = plan_.streams[plan_.trees[op.tree].stream];
  const std::vector<int64_t>& begins = facts_.index().piece_begin;
  const auto first = begins.begin() + stream.first_piece;
  const auto last = first + stream.piece_count;
  auto at = std::upper_bound(first, last, op.begin);
  if (at != first) --at;
  for (; at != last && *at < op.begin + op.extent; ++at) {
    const PlanPiece& piece = plan_.pieces[static_cast<size_t>(at - begins.begin())];
    const int64_t from = std::max(op.begin, *at) - *at;
    const int64_t to = std::min(op.begin + op.extent, *at + piece.extent) - *at;
    if (from < to) visit(piece.cls, piece.begin + from, piece.begin + to);
  }
}

bool ProgramChecker::CheckOp(size_t p, const Op& op) {
  const Program& program = programs_[p];
  if (op.extent <= 0) {
    Report(VerifyRule::kEmptyOp, program.rank, op, "moves no byte");
    return false;
  }
  if (op.round >= plan_.header.totals.rounds) {
    Report(VerifyRule::kTotals, program.rank, op, "comes after the last round");
    return false;
  }
  if (op.kind != OpKind::kCopy &&
      (op.arena_offset < 0 || op.arena_offset > program.arena_bytes - op.extent)) {
    Report(VerifyRule::kSlotSize, program.rank, op, "leaves the arena");
    return false;
  }
  if (op.kind == OpKind::kPack) {
    ForEachPiece(op, [&](uint32_t cls, int64_t, int64_t) {
      if (Contains(plan_.rank_sets[plan_.classes[cls].holders], program.rank)) return;
      Report(VerifyRule::kProvenance, program.rank, op,
             "has bytes of class " + std::to_string(cls) + ", which the rank does not hold");
    });
  }
  return true;
}

// No write of the rounds [first_round, last_round] may touch what is still to be read.
void ProgramChecker::CheckKept(size_t arena, const Read& read, uint32_t first_round,
                               uint32_t last_round, uint32_t rank, const Op& op) {
  for (uint32_t round = first_round; round <= last_round; ++round) {
    if (arenas_[arena].Find(read, round) == Found::kNothing) continue;
    Report(VerifyRule::kSlotReuse, rank, op,
           "reads a slot that round " + std::to_string(round) + " writes");
    return;
  }
}

// The next round packs while the messages of this one are on their way.
void ProgramChecker::CheckSend(size_t p, const Op& op) {
  const Read read{op.arena_offset, op.arena_offset + op.extent, op.tree, op.begin};
  if (arenas_[p].Find(read, op.round) != Found::kAll) {
    Report(VerifyRule::kProvenance, programs_[p].rank, op, "sends what was not packed");
    return;
  }
  CheckKept(p, read, op.round + 1, op.round + 1, programs_[p].rank, op);
}

void ProgramChecker::CheckForward(size_t p, const Op& op) {
  const uint32_t rank = programs_[p].rank;
  const Read read{op.arena_offset, op.arena_offset + op.extent, op.tree, op.begin};
  const uint32_t received = arenas_[p].LastTouchBefore(read, op.round);
  if (received != kNoId && arenas_[p].Find(read, received) == Found::kAll) {
    CheckKept(p, read, op.round, op.round + 1, rank, op);
    return;
  }
  // Where are the bytes instead?
  VerifyRule rule = VerifyRule::kProvenance;
  const char* text = "sends what was not received";
  for (const Write& write : arenas_[p].writes()) {
    if (arenas_[p].Find(read, write.round) != Found::kAll) continue;
    rule = write.round < op.round ? VerifyRule::kSlotReuse : VerifyRule::kProgress;
    text = write.round < op.round ? "sends what was overwritten"
                                  : "waits for what comes in the same round or later";
  }
  Report(rule, rank, op, text);
}

// Readers of a domain are waited for before the round that takes the slot again.
void ProgramChecker::CheckCopy(size_t p, const Op& op) {
  const ProgramIndex& index = facts_.index();
  const uint32_t own = index.RankIndex(plan_, programs_[p].rank);
  const uint32_t peer = index.RankIndex(plan_, op.peer);
  if (peer == kNoId || facts_.rank_domain()[own] != facts_.rank_domain()[peer]) {
    Report(VerifyRule::kLocality, programs_[p].rank, op, "reads the arena of another domain");
    return;
  }
  const size_t lander = Position(op.peer);
  if (lander == programs_.size()) return;
  const Read read{op.peer_offset, op.peer_offset + op.extent, op.tree, op.begin};
  if (arenas_[lander].Find(read, op.round) != Found::kAll) {
    Report(VerifyRule::kProvenance, programs_[p].rank, op,
           "reads what rank " + std::to_string(op.peer) + " did not receive");
    return;
  }
  CheckKept(lander, read, op.round + 1, op.round + kRecvSlots - 1, programs_[p].rank, op);
}

void ProgramChecker::CheckWrites(size_t p) {
  const std::vector<Write>& writes = arenas_[p].writes();
  for (size_t i = 1; i < writes.size(); ++i) {
    if (writes[i].round != writes[i - 1].round || writes[i].offset >= writes[i - 1].end) continue;
    log_.Add(VerifyRule::kSlotReuse, At(programs_[p].rank, writes[i].round),
             "trees " + std::to_string(writes[i - 1].tree) + " and " +
                 std::to_string(writes[i].tree) + " write the same bytes of the arena");
    return;
  }
}

// Network operations of each round: how many, and one message per peer and direction.
void ProgramChecker::CheckRounds(const Program& program) {
  std::vector<std::tuple<uint32_t, bool, uint32_t>> messages;  // round, incoming, peer
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kPack || op.kind == OpKind::kCopy) continue;
    messages.emplace_back(op.round, op.kind == OpKind::kRecv, op.peer);
  }
  std::sort(messages.begin(), messages.end());
  size_t in_round = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto [round, incoming, peer] = messages[i];
    in_round = i > 0 && std::get<0>(messages[i - 1]) == round ? in_round + 1 : 1;
    if (in_round == kMaxOpsPerRound + 1) {
      log_.Add(VerifyRule::kOpsPerRound, At(program.rank, round),
               "has more than " + std::to_string(kMaxOpsPerRound) + " network operations");
    }
    if (i > 0 && messages[i - 1] == messages[i]) {
      log_.Add(VerifyRule::kMessageUnique, At(program.rank, round),
               std::string(incoming ? "receives two messages from" : "sends two messages to") +
                   " rank " + std::to_string(peer));
    }
  }
}

// The rank writes each byte of each class that it needs, once.
void ProgramChecker::CheckCopied(uint32_t rank, std::vector<Copied> copied) {
  std::sort(copied.begin(), copied.end());
  auto at = copied.begin();
  std::vector<bool> needs(plan_.rank_sets.size(), false);
  for (size_t set = 0; set < needs.size(); ++set) needs[set] = Contains(plan_.rank_sets[set], rank);
  for (uint32_t cls = 0; cls < plan_.classes.size() && log_.CanGoOn(); ++cls) {
    int64_t covered = 0;
    bool twice = false;
    const bool any = at != copied.end() && at->cls == cls;
    for (; at != copied.end() && at->cls == cls && at->begin <= covered; ++at) {
      twice = twice || at->begin < covered;
      covered = std::max(covered, at->end);
    }
    while (at != copied.end() && at->cls == cls) ++at;
    const std::string where = "rank " + std::to_string(rank);
    if (twice) {
      log_.Add(VerifyRule::kWriteRace, where,
               "two copies write bytes of class " + std::to_string(cls));
    } else if (covered < plan_.classes[cls].bytes && (any || needs[plan_.classes[cls].needers])) {
      log_.Add(
          VerifyRule::kDelivery, where,
          "no copy writes byte " + std::to_string(covered) + " of class " + std::to_string(cls));
    }
  }
}

void ProgramChecker::CheckProgram(size_t p) {
  const Program& program = programs_[p];
  bool sound = true;
  for (const Op& op : program.ops) {
    if (!log_.Charge(8)) return;
    sound = CheckOp(p, op) && sound;
  }
  if (!sound || !log_.CanGoOn() || !log_.Charge(plan_.classes.size())) return;
  CheckWrites(p);
  CheckRounds(program);
  std::vector<Copied> copied;
  for (const Op& op : program.ops) {
    if (!log_.CanGoOn()) return;
    if (op.kind == OpKind::kSend) CheckSend(p, op);
    if (op.kind == OpKind::kForward) CheckForward(p, op);
    if (op.kind != OpKind::kCopy) continue;
    CheckCopy(p, op);
    if (!log_.Charge(8)) return;
    ForEachPiece(op, [&](uint32_t cls, int64_t begin, int64_t end) {
      copied.push_back({cls, begin, end});
    });
  }
  CheckCopied(program.rank, std::move(copied));
}

void ProgramChecker::CheckMatch() {
  std::vector<Message> sent;
  std::vector<Message> received;
  for (const Program& program : programs_) {
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::kPack || op.kind == OpKind::kCopy) continue;
      if (Position(op.peer) == programs_.size()) continue;
      if (op.kind == OpKind::kRecv) {
        received.push_back(
            {op.peer, program.rank, op.round, op.tree, op.begin, op.extent, op.arena_offset});
      } else {
        sent.push_back(
            {program.rank, op.peer, op.round, op.tree, op.begin, op.extent, op.peer_offset});
      }
    }
  }
  if (!log_.Charge(16 * (sent.size() + received.size()))) return;
  std::sort(sent.begin(), sent.end());
  std::sort(received.begin(), received.end());
  const auto [send, recv] =
      std::mismatch(sent.begin(), sent.end(), received.begin(), received.end());
  if (send != sent.end()) {
    log_.Add(VerifyRule::kMatch, At(send->source, send->round),
             "the message to rank " + std::to_string(send->destination) +
                 " is not received as it is sent");
  } else if (recv != received.end()) {
    log_.Add(VerifyRule::kMatch, At(recv->destination, recv->round),
             "the message from rank " + std::to_string(recv->source) + " is not sent");
  }
}

}  // namespace

void VerifyPrograms(const Plan& plan, const VerifyFacts& facts, std::span<const Program> programs,
                    VerifyLog* log) {
  ProgramChecker(plan, facts, programs, log).Run();
}

uint64_t ProgramSteps(const Plan& plan, const VerifyFacts& facts, uint32_t rank_index) {
  const ProgramIndex& index = facts.index();
  const auto slices_of = [&index](uint32_t tree) {
    return uint64_t{index.first_slice[tree + 1]} - index.first_slice[tree];
  };
  // A slice's offset is found among the rank's trees; each operation looks at its stream's pieces.
  uint64_t steps = plan.ranks[rank_index].inject_count;
  const auto add_members = [&](uint32_t r) {
    const uint64_t trees = uint64_t{index.first_member[r + 1]} - index.first_member[r];
    for (uint32_t m = index.first_member[r]; m < index.first_member[r + 1]; ++m) {
      const uint32_t tree = index.member_trees[m];
      steps += slices_of(tree) * (4 + trees) + plan.streams[plan.trees[tree].stream].piece_count;
    }
  };
  add_members(rank_index);
  const uint32_t domain = facts.rank_domain()[rank_index];
  for (const uint32_t rank : index.domain_ranks[domain]) {
    const uint32_t r = index.RankIndex(plan, rank);
    if (r != kNoId) add_members(r);
  }
  return steps;
}

}  // namespace reshard
