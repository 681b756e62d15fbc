// FairShare: flows that share ports max-min fairly, by progressive filling.
//
// A flow passes ports with weights: at rate x it takes weight * x of a port's capacity (a rank with
// two NICs sends half of each message over either). All flows grow at one pace until a port is
// full; those in it stay, the others grow on.
//
// When flows come and go, filling is repeated only where it takes another course: in the ports of
// these flows, and in the other ports of each flow that turns out to be held back elsewhere than
// before, from the rate on at which that shows. Ports that are joined to these by nothing but flows
// that are held back as before are not looked at. The rates are those of filling from the start, as
// far as sums of weights are exact to the last bit.
#ifndef RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_
#define RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
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
  // `changed(flow)` once for every flow whose rate is another one than before.
  template <typename Changed>
  void Update(const Changed& changed) {
    Refill();
    for (const FlowId flow : settled_) {
      if (flows_[flow].held_back.rate != flows_[flow].old_rate) changed(flow);
    }
  }

  double rate(FlowId flow) const { return flows_[flow].held_back.rate; }
  // What it was before the last Update; for a flow that this has called `changed` with.
  double old_rate(FlowId flow) const { return flows_[flow].old_rate; }
  std::span<const Use> uses(FlowId flow) const { return flows_[flow].uses; }
  // Flows in the port now.
  size_t flow_count(PortIndex port) const { return ports_[port].members.size(); }
  // Ports that the last Update filled again: what it has cost.
  size_t refilled_port_count() const { return refilled_.size(); }

 private:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  // A port is full at a rate. Filling goes through its moments in rising order.
  struct Moment {
    double rate = 0;
    PortIndex port = 0;
    auto operator<=>(const Moment&) const = default;
  };
  struct Member {
    FlowId flow = 0;
    double weight = 1;
  };
  struct Port {
    double capacity = 0;
    std::vector<Member> members;
    bool touched = false;  // a flow was added or removed
    // While filling again: what is left for flows that still grow, and the sum of their weights.
    bool refilled = false;
    double left = 0;
    double weight = 0;
    size_t growing = 0;
  };
  struct Flow {
    std::vector<Use> uses;
    Moment held_back;  // its rate, and the port that allows no more
    double old_rate = 0;
    bool is_new = false;  // since the last Update
    bool active = false;
    // While filling again:
    bool awaited = false;  // an event tells when it comes to its old rate
    bool settled = false;  // its rate is known
  };
  // A port that is filled again may be full (flow: kNobody), or a flow comes to the moment at which
  // it was held back.
  struct Event {
    Moment moment;
    int64_t flow = kNobody;
    auto operator<=>(const Event&) const = default;
  };
  static constexpr int64_t kNobody = -1;

  void Touch(const Flow& flow);
  void Refill();
  void RefillFrom(PortIndex port, const Moment& now);
  static double RateWhenFull(const Port& port);
  void TryFull(const Moment& now);
  void ComeToOldRate(const Moment& now, FlowId flow);
  void KeepRate(FlowId flow);
  void HoldBack(FlowId flow, const Moment& now);
  void Settle(FlowId flow, const Moment& held_back);

  std::vector<Port> ports_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<PortIndex> touched_;
  std::vector<FlowId> portless_;
  std::vector<PortIndex> refilled_;
  std::vector<FlowId> settled_;
  std::vector<std::pair<Moment, double>> held_back_;  // scratch of RefillFrom
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_FAIR_SHARE_H_
