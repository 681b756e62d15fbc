#include "compiler/simulate/fair_share.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

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
  flow.rate = 0;
  flow.active = true;
  for (const Use& use : flow.uses) ports_[use.port].flows.push_back(id);
  Touch(flow);
  if (flow.uses.empty()) portless_.push_back(id);
  return id;
}

void FairShare::Remove(FlowId id) {
  Flow& flow = flows_[id];
  for (const Use& use : flow.uses) {
    std::vector<FlowId>& flows = ports_[use.port].flows;
    *std::find(flows.begin(), flows.end(), id) = flows.back();
    flows.pop_back();
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

// The ports and flows that are connected to what was touched.
void FairShare::CollectTouched() {
  for (const PortIndex port : part_ports_) ports_[port].in_part = false;
  for (const FlowId flow : part_flows_) flows_[flow].in_part = false;
  part_ports_.clear();
  part_flows_.clear();
  for (const PortIndex port : touched_) {
    ports_[port].touched = false;
    VisitPort(port);
  }
  touched_.clear();
  for (const FlowId flow : portless_) {
    if (flows_[flow].active) VisitFlow(flow);
  }
  portless_.clear();
  for (size_t i = 0; i < part_ports_.size(); ++i) {
    for (const FlowId flow : ports_[part_ports_[i]].flows) VisitFlow(flow);
  }
}

void FairShare::VisitPort(PortIndex port) {
  if (ports_[port].in_part) return;
  ports_[port].in_part = true;
  part_ports_.push_back(port);
}

void FairShare::VisitFlow(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.in_part) return;
  flow.in_part = true;
  part_flows_.push_back(id);
  for (const Use& use : flow.uses) VisitPort(use.port);
}

void FairShare::Fill() {
  for (const PortIndex id : part_ports_) {
    ports_[id].left = ports_[id].capacity;
    ports_[id].weight = 0;
  }
  for (const FlowId id : part_flows_) {
    Flow& flow = flows_[id];
    flow.old_rate = flow.rate;
    flow.growing = true;
    flow.rate = std::numeric_limits<double>::infinity();
    for (const Use& use : flow.uses) ports_[use.port].weight += use.weight;
  }
  // The rate at which a port would be full only rises while others stop to grow, so an entry of the
  // queue that is too small by now goes back with its new value.
  using Entry = std::pair<double, PortIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto full_at = [this](PortIndex id) {
    return std::max(0.0, ports_[id].left) / ports_[id].weight;
  };
  for (const PortIndex id : part_ports_) {
    if (!ports_[id].flows.empty()) queue.emplace(full_at(id), id);
  }
  while (!queue.empty()) {
    const auto [level, id] = queue.top();
    queue.pop();
    const std::vector<FlowId>& flows = ports_[id].flows;
    const bool grows = std::any_of(flows.begin(), flows.end(),
                                   [this](FlowId flow) { return flows_[flow].growing; });
    if (!grows) continue;
    const double now = full_at(id);
    if (now > level) {
      queue.emplace(now, id);
      continue;
    }
    for (const FlowId flow : flows) Freeze(flow, level);
  }
}

void FairShare::Freeze(FlowId id, double rate) {
  Flow& flow = flows_[id];
  if (!flow.growing) return;
  flow.growing = false;
  flow.rate = rate;
  for (const Use& use : flow.uses) {
    ports_[use.port].left -= rate * use.weight;
    ports_[use.port].weight -= use.weight;
  }
}

}  // namespace reshard
