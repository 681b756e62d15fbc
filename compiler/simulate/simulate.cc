#include "compiler/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "compiler/simulate/fair_share.h"
#include "compiler/simulate/operations.h"
#include "compiler/simulate/sim_ports.h"

namespace reshard {
namespace {

constexpr int64_t kPsPerNs = 1000;
constexpr double kPsPerSecond = 1e12;

int64_t ToNs(int64_t ps) { return (ps + kPsPerNs / 2) / kPsPerNs; }

class Simulation {
 public:
  Simulation(const Plan& plan, const SimOptions& options)
      : plan_(plan),
        options_(options),
        ports_(plan, &share_),
        operations_(CollectOperations(plan, options.first_round, options.end_round)),
        ranks_(plan.ranks.size()),
        port_uses_(ports_.named_port_count()) {}

  SimResult Run() {
    if (!CheckWays()) return std::move(result_);
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) Enter(rank);
    Settle();
    while (!events_.empty()) {
      now_ps_ = events_.top().time_ps;
      while (!events_.empty() && events_.top().time_ps == now_ps_) {
        const Event event = events_.top();
        events_.pop();
        Handle(event);
      }
      Settle();
    }
    Finish();
    return std::move(result_);
  }

 private:
  // In the order in which events of one moment happen.
  enum class EventKind : uint8_t { kFlowEnd, kFlowBegin, kRankReady };
  enum class FlowKind : uint8_t { kMessage, kCopy, kPack };
  struct Event {
    int64_t time_ps = 0;
    EventKind kind = EventKind::kFlowEnd;
    FlowKind flow_kind = FlowKind::kMessage;  // of kFlowBegin
    uint32_t subject = 0;  // kFlowEnd: flow; kFlowBegin: message, copy or pack; kRankReady: rank
    uint64_t version = 0;  // of kFlowEnd
    bool operator>(const Event& other) const {
      return std::tie(time_ps, kind, subject, flow_kind, version) >
             std::tie(other.time_ps, other.kind, other.subject, other.flow_kind, other.version);
    }
  };
  struct Flow {
    FlowKind kind = FlowKind::kMessage;
    uint32_t subject = 0;
    double left_bytes = 0;
    int64_t counted_ps = 0;  // left_bytes is of this moment
    int64_t begin_ps = 0;
    uint64_t version = 0;  // of the last kFlowEnd
  };
  struct RankState {
    uint32_t step = 0;         // of operations_.steps
    uint32_t pending = 0;      // what it must finish before the next step
    bool inside = false;       // of the step; else it waits for its slot, or has finished
    bool packed = false;       // for its step
    bool packs_ahead = false;  // for the next one
    uint32_t credit = 0;       // of landings: all before this one have been copied
    int64_t since_ps = 0;      // it could enter but for its slot
    int64_t ready_ps = 0;      // for its messages
    int64_t matched_ps = 0;    // its last message had both ends ready
    int64_t end_ps = 0;
    int64_t wait_for_peers_ps = 0;
    int64_t wait_for_slots_ps = 0;
  };
  struct PortUse {
    double bytes = 0;
    int64_t busy_ps = 0;
    int64_t since_ps = 0;
  };

  bool CheckWays() {
    for (const SimMessage& message : operations_.messages) {
      result_.failure = ports_.MessageProblem(message.src, message.dst);
      if (!result_.failure.empty()) return false;
    }
    for (const SimCopy& copy : operations_.copies) {
      result_.failure = ports_.CopyProblem(copy.lander, copy.reader);
      if (!result_.failure.empty()) return false;
    }
    return true;
  }

  const SimStep* StepOf(uint32_t rank) const {
    const std::vector<SimStep>& steps = operations_.steps[rank];
    return ranks_[rank].step < steps.size() ? &steps[ranks_[rank].step] : nullptr;
  }

  // Every needer has copied what landed in the slot that `step` writes.
  bool SlotIsFree(uint32_t rank, const SimStep& step) const {
    if (!step.lands) return true;
    const auto landings = operations_.landings[rank];
    const uint32_t credit = ranks_[rank].credit;
    return credit == landings.size() ||
           operations_.copies[landings[credit]].round + kRecvSlots > step.round;
  }

  // Enters the rank's step once its slot is free. Steps without anything to wait for pass at once.
  void Enter(uint32_t rank) {
    RankState& state = ranks_[rank];
    for (const SimStep* step = StepOf(rank); step != nullptr; step = StepOf(rank)) {
      if (!SlotIsFree(rank, *step)) return;
      state.wait_for_slots_ps += now_ps_ - state.since_ps;
      state.inside = true;
      state.pending = 1;  // until everything has been started
      if (step->pack != kNoId && !state.packed) {
        ++state.pending;
        BeginFlow(FlowKind::kPack, step->pack);
      } else {
        Launch(rank, *step);
      }
      BeginReads(rank, *step);
      if (!Done(rank)) return;
    }
  }

  // One thing less to finish; true when the rank has moved on to its next step.
  bool Done(uint32_t rank) {
    RankState& state = ranks_[rank];
    if (--state.pending > 0) return false;
    const SimStep& step = *StepOf(rank);
    if (step.message_end > step.first_message) {
      state.wait_for_peers_ps += state.matched_ps - state.ready_ps;
    }
    state.inside = false;
    state.packed = state.packs_ahead;
    state.packs_ahead = false;
    state.end_ps = state.since_ps = now_ps_;
    ++state.step;
    if (step.lands) Publish(rank, step.round);
    return true;
  }

  // What the step sends is packed. Its messages can move `round_cost` from now.
  void Launch(uint32_t rank, const SimStep& step) {
    PackAhead(rank);
    if (step.message_end == step.first_message) return;
    ++ranks_[rank].pending;
    events_.push({now_ps_ + options_.round_cost_ns * kPsPerNs, EventKind::kRankReady,
                  FlowKind::kMessage, rank, 0});
  }

  void BeginReads(uint32_t rank, const SimStep& step) {
    const auto reads = operations_.reads[rank];
    ranks_[rank].pending += step.read_end - step.first_read;
    for (uint32_t c = step.first_read; c < step.read_end; ++c) OneEndReady(reads[c]);
  }

  // What the rank needs packed for the very next round, it packs meanwhile.
  void PackAhead(uint32_t rank) {
    RankState& state = ranks_[rank];
    const std::vector<SimStep>& steps = operations_.steps[rank];
    if (state.step + 1 >= steps.size()) return;
    const SimStep& next = steps[state.step + 1];
    if (next.pack == kNoId || next.round != steps[state.step].round + 1) return;
    state.packs_ahead = true;
    ++state.pending;
    BeginFlow(FlowKind::kPack, next.pack);
  }

  // What the rank has landed in `round` can be copied.
  void Publish(uint32_t rank, uint32_t round) {
    const auto landings = operations_.landings[rank];
    const auto first = std::lower_bound(
        landings.begin(), landings.end(), round,
        [this](uint32_t c, uint32_t r) { return operations_.copies[c].round < r; });
    for (auto it = first; it != landings.end() && operations_.copies[*it].round == round; ++it) {
      OneEndReady(*it);
    }
  }

  void OneEndReady(uint32_t copy) {
    if (++operations_.copies[copy].ready_ends < 2) return;
    const SimCopy& ready = operations_.copies[copy];
    uses_.clear();
    BeginAfter(ports_.CopyNs(ready.lander, ready.reader, &uses_), FlowKind::kCopy, copy);
  }

  void BeginAfter(int64_t latency_ns, FlowKind kind, uint32_t subject) {
    events_.push({now_ps_ + latency_ns * kPsPerNs, EventKind::kFlowBegin, kind, subject, 0});
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kFlowEnd:
        if (flows_[event.subject].version == event.version) EndFlow(event.subject);
        break;
      case EventKind::kFlowBegin:
        BeginFlow(event.flow_kind, event.subject);
        break;
      case EventKind::kRankReady:
        RankReady(event.subject);
        break;
    }
  }

  void RankReady(uint32_t rank) {
    RankState& state = ranks_[rank];
    state.ready_ps = state.matched_ps = now_ps_;
    const SimStep& step = *StepOf(rank);
    state.pending += step.message_end - step.first_message;
    for (uint32_t i = step.first_message; i < step.message_end; ++i) {
      const uint32_t m = operations_.own_messages[rank][i];
      SimMessage& message = operations_.messages[m];
      if (++message.ready_ends < 2) continue;
      ranks_[message.src].matched_ps = ranks_[message.dst].matched_ps = now_ps_;
      uses_.clear();
      BeginAfter(ports_.MessageNs(message.src, message.dst, &uses_), FlowKind::kMessage, m);
    }
    if (Done(rank)) Enter(rank);
  }

  int64_t BytesOf(FlowKind kind, uint32_t subject) const {
    switch (kind) {
      case FlowKind::kMessage:
        return operations_.messages[subject].bytes;
      case FlowKind::kCopy:
        return operations_.copies[subject].bytes;
      case FlowKind::kPack:
        return operations_.packs[subject].bytes;
    }
    return 0;
  }

  void BeginFlow(FlowKind kind, uint32_t subject) {
    uses_.clear();
    switch (kind) {
      case FlowKind::kMessage:
        ports_.MessageNs(operations_.messages[subject].src, operations_.messages[subject].dst,
                         &uses_);
        break;
      case FlowKind::kCopy:
        ports_.CopyNs(operations_.copies[subject].lander, operations_.copies[subject].reader,
                      &uses_);
        break;
      case FlowKind::kPack:
        ports_.Pack(operations_.packs[subject].rank, &uses_);
        break;
    }
    const FairShare::FlowId id = share_.Add(uses_);
    if (id >= flows_.size()) flows_.resize(id + 1);
    Flow& flow = flows_[id];
    flow = {kind,    subject, static_cast<double>(BytesOf(kind, subject)),
            now_ps_, now_ps_, flow.version};
    for (const FairShare::Use& use : uses_) {
      if (use.port >= port_uses_.size()) continue;
      if (share_.flow_count(use.port) == 1) port_uses_[use.port].since_ps = now_ps_;
    }
  }

  void EndFlow(FairShare::FlowId id) {
    const Flow flow = flows_[id];
    ++flows_[id].version;
    const double bytes = static_cast<double>(BytesOf(flow.kind, flow.subject));
    for (const FairShare::Use& use : share_.uses(id)) {
      if (use.port >= port_uses_.size()) continue;
      PortUse& port = port_uses_[use.port];
      port.bytes += bytes * use.weight;
      if (share_.flow_count(use.port) == 1) port.busy_ps += now_ps_ - port.since_ps;
    }
    share_.Remove(id);
    switch (flow.kind) {
      case FlowKind::kMessage:
        return EndMessage(operations_.messages[flow.subject], flow.begin_ps);
      case FlowKind::kCopy:
        return EndCopy(&operations_.copies[flow.subject], flow.begin_ps);
      case FlowKind::kPack:
        return EndPack(operations_.packs[flow.subject]);
    }
  }

  void EndMessage(const SimMessage& message, int64_t begin_ps) {
    ++result_.messages;
    NoteEndIn(message.round, &result_.message_end_ns);
    Note(SimSpanKind::kMessage, message.round, message.src, message.dst, message.bytes, begin_ps);
    for (const uint32_t rank : {message.src, message.dst}) {
      if (Done(rank)) Enter(rank);
    }
  }

  void EndCopy(SimCopy* copy, int64_t begin_ps) {
    ++result_.copies;
    copy->done = true;
    Note(SimSpanKind::kCopy, copy->round, copy->lander, copy->reader, copy->bytes, begin_ps);
    const auto landings = operations_.landings[copy->lander];
    RankState& lander = ranks_[copy->lander];
    while (lander.credit < landings.size() && operations_.copies[landings[lander.credit]].done) {
      ++lander.credit;
    }
    const uint32_t lander_rank = copy->lander;
    if (Done(copy->reader)) Enter(copy->reader);
    if (!lander.inside) Enter(lander_rank);
  }

  void EndPack(const SimPack& pack) {
    NoteEnd(pack.round);
    if (pack.round == StepOf(pack.rank)->round) {
      Launch(pack.rank, *StepOf(pack.rank));
    }
    if (Done(pack.rank)) Enter(pack.rank);
  }

  void NoteEnd(uint32_t round) { NoteEndIn(round, &result_.round_end_ns); }

  void NoteEndIn(uint32_t round, std::vector<int64_t>* ends_ns) const {
    const size_t at = round - options_.first_round;
    if (at >= ends_ns->size()) ends_ns->resize(at + 1, 0);
    (*ends_ns)[at] = ToNs(now_ps_);
  }

  void Note(SimSpanKind kind, uint32_t round, uint32_t src, uint32_t dst, int64_t bytes,
            int64_t begin_ps) {
    NoteEnd(round);
    if (!options_.record_spans) return;
    result_.spans.push_back(
        {kind, round, plan_.ranks[src].rank, plan_.ranks[dst].rank, bytes, begin_ps, now_ps_});
  }

  // New rates for what changed, and with them new ends.
  void Settle() {
    share_.Update([this](FairShare::FlowId id) {
      Flow& flow = flows_[id];
      const double old_rate = share_.old_rate(id);
      if (old_rate > 0) {
        flow.left_bytes -= old_rate * static_cast<double>(now_ps_ - flow.counted_ps) / kPsPerSecond;
      }
      flow.left_bytes = std::max(0.0, flow.left_bytes);
      flow.counted_ps = now_ps_;
      const double rest_ps = std::ceil(flow.left_bytes / share_.rate(id) * kPsPerSecond);
      events_.push({now_ps_ + static_cast<int64_t>(rest_ps), EventKind::kFlowEnd,
                    FlowKind::kMessage, id, ++flow.version});
    });
  }

  void Finish() {
    std::vector<int64_t>& ends_ns = result_.message_end_ns;
    for (size_t i = 1; i < ends_ns.size(); ++i) ends_ns[i] = std::max(ends_ns[i], ends_ns[i - 1]);
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankState& state = ranks_[rank];
      if (StepOf(rank) != nullptr && result_.failure.empty()) {
        result_.failure = "rank " + std::to_string(plan_.ranks[rank].rank) +
                          " cannot finish round " + std::to_string(StepOf(rank)->round);
      }
      result_.ranks.push_back({plan_.ranks[rank].rank, ToNs(state.end_ps),
                               ToNs(state.wait_for_peers_ps), ToNs(state.wait_for_slots_ps)});
      result_.total_ns = std::max(result_.total_ns, ToNs(state.end_ps));
      result_.max_staging_bytes =
          std::max(result_.max_staging_bytes, plan_.ranks[rank].staging_bytes());
    }
    const auto use_of = [this](size_t port) {
      const PortUse& use = port_uses_[port];
      return SimPortUse{std::llround(use.bytes), ToNs(use.busy_ps)};
    };
    for (size_t p = 0; p < port_uses_.size(); p += 2) {
      std::vector<SimPort>& ports = p < 2 * ports_.nic_count() ? result_.nics : result_.scaleup;
      ports.push_back({use_of(p), use_of(p + 1)});
    }
  }

  const Plan& plan_;
  const SimOptions options_;
  FairShare share_;
  SimPorts ports_;
  SimOperations operations_;
  std::vector<RankState> ranks_;
  std::vector<PortUse> port_uses_;
  std::vector<Flow> flows_;  // by FairShare::FlowId
  std::vector<FairShare::Use> uses_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t now_ps_ = 0;
  SimResult result_;
};

}  // namespace

SimResult Simulate(const Plan& plan, const SimOptions& options) {
  return Simulation(plan, options).Run();
}

}  // namespace reshard
