#include "compiler/simulate/fair_share.h"

#include <algorithm>

namespace reshard {

FairShare::PortIndex FairShare::AddPort(double capacity) {
  ports_.emplace_back().capacity = capacity;
  return static_cast<PortIndex>(ports_.size() - 1);
}

FairShare::FlowId FairShare::Add(std::span<const Use> uses) {
  FlowId id = 0;
  if (free_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.uses.assign(uses.begin(), uses.end());
  flow.held_back = {};
  flow.is_new = true;
  flow.active = true;
  for (const Use& use : flow.uses) ports_[use.port].members.push_back({id, use.weight});
  Touch(flow);
  if (flow.uses.empty()) portless_.push_back(id);
  return id;
}

void FairShare::Remove(FlowId id) {
  Flow& flow = flows_[id];
  for (const Use& use : flow.uses) {
    std::vector<Member>& members = ports_[use.port].members;
    *std::find_if(members.begin(), members.end(),
                  [id](const Member& member) { return member.flow == id; }) = members.back();
    members.pop_back();
  }
  Touch(flow);
  flow.active = false;
  free_.push_back(id);
}

void FairShare::Touch(const Flow& flow) {
  for (const Use& use : flow.uses) {
    if (ports_[use.port].touched) continue;
    ports_[use.port].touched = true;
    touched_.push_back(use.port);
  }
}

void FairShare::Refill() {
  for (const PortIndex port : refilled_) ports_[port].refilled = false;
  for (const FlowId flow : settled_) flows_[flow].settled = false;
  refilled_.clear();
  settled_.clear();
  for (const PortIndex port : touched_) {
    ports_[port].touched = false;
    RefillFrom(port, {});
  }
  touched_.clear();
  for (const FlowId flow : portless_) {
    if (flows_[flow].active && !flows_[flow].settled) HoldBack(flow, {kUnlimited, 0});
  }
  portless_.clear();
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.flow == kNobody) {
      TryFull(event.moment);
    } else {
      ComeToOldRate(event.moment, static_cast<FlowId>(event.flow));
    }
  }
}

// Filling takes another course in this port from `now` on. What happened before happens again:
// flows that were held back then keep their rates.
void FairShare::RefillFrom(PortIndex id, const Moment& now) {
  Port& port = ports_[id];
  if (port.refilled) return;
  port.left = port.capacity;
  port.weight = 0;
  port.growing = 0;
  held_back_.clear();
  for (const Member& member : port.members) {
    Flow& flow = flows_[member.flow];
    port.weight += member.weight;
    if (!flow.settled && !flow.is_new && flow.held_back < now) KeepRate(member.flow);
    if (flow.settled) {
      held_back_.emplace_back(flow.held_back, member.weight);
      continue;
    }
    ++port.growing;
    if (flow.is_new || flow.awaited) continue;
    flow.awaited = true;
    events_.push({flow.held_back, member.flow});
  }
  port.refilled = true;
  refilled_.push_back(id);
  std::sort(held_back_.begin(), held_back_.end());
  Moment full = {port.left / port.weight, id};
  for (const auto& [moment, weight] : held_back_) {
    while (full < moment && RateWhenFull(port) > full.rate) full.rate = RateWhenFull(port);
    port.left -= moment.rate * weight;
    port.weight -= weight;
  }
  if (port.growing > 0) events_.push({full, kNobody});
}

double FairShare::RateWhenFull(const Port& port) { return std::max(0.0, port.left) / port.weight; }

// The rate at which a port would be full only rises while other ports hold flows back, so an event
// that comes too early by now is put off.
void FairShare::TryFull(const Moment& now) {
  const Port& port = ports_[now.port];
  if (port.growing == 0) return;
  if (RateWhenFull(port) > now.rate) {
    events_.push({{RateWhenFull(port), now.port}, kNobody});
    return;
  }
  for (const Member& member : port.members) {
    if (!flows_[member.flow].settled) HoldBack(member.flow, now);
  }
}

// A flow has come to the rate at which it was held back before.
void FairShare::ComeToOldRate(const Moment& now, FlowId id) {
  Flow& flow = flows_[id];
  flow.awaited = false;
  if (flow.settled) return;
  if (!ports_[now.port].refilled) return KeepRate(id);
  for (const Use& use : flow.uses) RefillFrom(use.port, now);
}

void FairShare::KeepRate(FlowId id) { Settle(id, flows_[id].held_back); }

void FairShare::HoldBack(FlowId id, const Moment& now) {
  Flow& flow = flows_[id];
  const bool as_before = !flow.is_new && now == flow.held_back;
  Settle(id, now);
  if (as_before) return;
  for (const Use& use : flow.uses) RefillFrom(use.port, now);
}

// The flow grows no longer, and leaves what is left in its ports to others.
void FairShare::Settle(FlowId id, const Moment& held_back) {
  Flow& flow = flows_[id];
  flow.old_rate = flow.held_back.rate;
  flow.held_back = held_back;
  flow.is_new = false;
  flow.settled = true;
  settled_.push_back(id);
  for (const Use& use : flow.uses) {
    Port& port = ports_[use.port];
    if (!port.refilled) continue;
    port.left -= held_back.rate * use.weight;
    port.weight -= use.weight;
    --port.growing;
  }
}

}  // namespace reshard
