#include "runtime/exec/stats.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// Spans of one rank and round, at most: one per stage and one per read.
constexpr size_t kSpansPerRound = kStageCount;

}  // namespace

std::string_view ExecStageText(ExecStage stage) {
  switch (stage) {
#define RESHARD_STAGE(enumerator, name, meaning) \
  case ExecStage::enumerator:                    \
    return name;
#include "runtime/exec/stages.def"
#undef RESHARD_STAGE
  }
  return "";
}

void ExecutionRecord::Prepare(const PreparedProgram& program, bool trace) {
  trace_ = trace;
  round_bytes_.clear();
  const auto in_domain = [&](uint32_t peer) {
    return std::find(program.neighbours.begin(), program.neighbours.end(), peer) !=
           program.neighbours.end();
  };
  for (const PreparedRound& round : program.rounds) {
    Bytes bytes;
    for (uint32_t s = round.first_send; s < round.send_end; ++s) {
      const PreparedMessage& message = program.sends[s];
      if (!in_domain(message.peer)) bytes.sent += message.extent;
    }
    for (uint32_t r = round.first_receive; r < round.receive_end; ++r) {
      const PreparedMessage& message = program.receives[r];
      (in_domain(message.peer) ? bytes.handed : bytes.received) += message.extent;
    }
    for (uint32_t r = round.first_read; r < round.read_end; ++r) {
      const PreparedRead& read = program.reads[r];
      const int64_t moved = program.scatters.Bytes(read.copies);
      (read.lander == program.rank ? bytes.local : bytes.read) += moved;
      bytes.delivered += moved;
    }
    round_bytes_.push_back(bytes);
  }
  std::vector<uint32_t> peers = program.Peers();
  peers.insert(peers.end(), program.neighbours.begin(), program.neighbours.end());
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  peer_waits_.clear();
  for (const uint32_t peer : peers) peer_waits_.push_back({peer, {}});
  spans_.clear();
  messages_.clear();
  if (trace) {
    messages_.reserve(program.receives.size());
    spans_.reserve(1 + program.rounds.size() * (kSpansPerRound + program.neighbours.size()) +
                   2 * program.reads.size());
  }
  Begin();
}

void ExecutionRecord::Begin() {
  begin_ = end_ = Clock::now();
  stage_time_.fill(std::chrono::nanoseconds(0));
  bytes_ = Bytes();
  for (PeerWait& wait : peer_waits_) wait.waited = std::chrono::nanoseconds(0);
  spans_.clear();
  messages_.clear();
  filled_ = false;
  rounds_moved_ = rounds_copied_ = 0;
}

void ExecutionRecord::Add(ExecStage stage, uint32_t round, uint32_t peer, int64_t bytes,
                          Clock::time_point begin, Clock::time_point end) {
  stage_time_[static_cast<size_t>(stage)] += end - begin;
  if (stage == ExecStage::kSlotWait || stage == ExecStage::kLandedWait) AddWait(peer, end - begin);
  // A trace that is full drops spans: memory is never allocated here.
  if (trace_ && spans_.size() < spans_.capacity()) {
    spans_.push_back({stage, round, peer, bytes, begin, end});
  }
}

void ExecutionRecord::AddWait(uint32_t peer, std::chrono::nanoseconds waited) {
  const auto at =
      std::lower_bound(peer_waits_.begin(), peer_waits_.end(), peer,
                       [](const PeerWait& wait, uint32_t wanted) { return wait.peer < wanted; });
  if (at != peer_waits_.end() && at->peer == peer) at->waited += waited;
}

void ExecutionRecord::BeginMessages(uint32_t round) {
  message_round_ = round;
  if (trace_) messages_begin_ = Clock::now();
}

void ExecutionRecord::AddMessage(uint32_t peer, int64_t bytes) {
  if (trace_ && messages_.size() < messages_.capacity()) {
    messages_.push_back({message_round_, peer, bytes, messages_begin_, Clock::now()});
  }
}

void ExecutionRecord::SetRoundsMoved(size_t end) {
  for (; rounds_moved_ < end; ++rounds_moved_) {
    bytes_.sent += round_bytes_[rounds_moved_].sent;
    bytes_.received += round_bytes_[rounds_moved_].received;
    bytes_.handed += round_bytes_[rounds_moved_].handed;
    bytes_.read += round_bytes_[rounds_moved_].handed;
  }
}

void ExecutionRecord::SetRoundsCopied(size_t end) {
  for (; rounds_copied_ < end; ++rounds_copied_) {
    const Bytes& round = round_bytes_[rounds_copied_];
    bytes_.read += round.read;
    bytes_.local += round.local;
    bytes_.delivered += round.delivered;
  }
}

void ExecutionRecord::End() { end_ = Clock::now(); }

const ExecutionRecord::PeerWait* ExecutionRecord::slowest() const {
  const auto most =
      std::max_element(peer_waits_.begin(), peer_waits_.end(),
                       [](const PeerWait& a, const PeerWait& b) { return a.waited < b.waited; });
  return most == peer_waits_.end() || most->waited.count() == 0 ? nullptr : &*most;
}

}  // namespace reshard
