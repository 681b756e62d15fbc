// FairShare: flows that share ports max-min fairly, by progressive filling.
//
// A flow passes ports with weights: at rate x it takes weight * x of a port's capacity (a rank with
// two NICs sends half of each message over either). All flows grow at one pace until a port is
// full; those in it stay, the others grow on. Adding or removing flows changes the rates only in
// the part that is connected to them by shared ports, and only that part is computed anew.
#ifndef RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_
#define RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

class FairShare {
 public:
  using PortIndex = uint32_t;
  using FlowId = uint32_t;
  struct Use {
    PortIndex port = 0;
    double weight = 1;
  };

  // Returns the port's index: 0, 1, ... `capacity` > 0, in units per time.
  PortIndex AddPort(double capacity);

  size_t port_count() const { return ports_.size(); }
  double capacity(PortIndex port) const { return ports_[port].capacity; }

  // Starts a flow; ids of removed flows are used again. Without ports its rate is infinite.
  // `uses` names each port once.
  FlowId Add(std::span<const Use> uses);
  void Remove(FlowId flow);

  // Computes the rates again where something was added or removed since the last call. Calls
  // `changed(flow)` for every flow whose rate is another one than before, rising within a part.
  template <typename Changed>
  void Update(const Changed& changed) {
    CollectTouched();
    Fill();
    for (const FlowId flow : part_flows_) {
      if (flows_[flow].rate != flows_[flow].old_rate) changed(flow);
    }
  }

  double rate(FlowId flow) const { return flows_[flow].rate; }
  // What it was before the last Update; for a flow that this has called `changed` with.
  double old_rate(FlowId flow) const { return flows_[flow].old_rate; }
  std::span<const Use> uses(FlowId flow) const { return flows_[flow].uses; }
  // Flows in the port now.
  size_t flow_count(PortIndex port) const { return ports_[port].flows.size(); }

 private:
  struct Port {
    double capacity = 0;
    std::vector<FlowId> flows;
    // While filling: what is left for flows that still grow, and the sum of their weights.
    double left = 0;
    double weight = 0;
    bool touched = false;  // a flow was added or removed
    bool in_part = false;
  };
  struct Flow {
    std::vector<Use> uses;
    double rate = 0;
    double old_rate = 0;
    bool in_part = false;
    bool growing = false;
    bool active = false;
  };

  void Touch(const Flow& flow);
  void CollectTouched();
  void VisitPort(PortIndex port);
  void VisitFlow(FlowId flow);
  void Fill();
  void Freeze(FlowId flow, double rate);

  std::vector<Port> ports_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<PortIndex> touched_;
  std::vector<FlowId> portless_;
  std::vector<PortIndex> part_ports_;
  std::vector<FlowId> part_flows_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_
