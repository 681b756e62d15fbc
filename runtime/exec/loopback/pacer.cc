#include "runtime/exec/loopback/pacer.h"

namespace reshard {

Pacer::Pacer(const Plan& plan, double slowdown) : slowdown_(slowdown) {
  struct TwoWay {
    uint32_t out = 0;
    uint32_t in = 0;
  };
  const auto two_way = [this](int64_t rate) { return TwoWay{AddPort(rate), AddPort(rate)}; };
  std::vector<TwoWay> nics, uplinks;
  for (const PlanNic& nic : plan.nics) nics.push_back(two_way(nic.bytes_per_s));
  for (const PlanGroup& group : plan.groups) uplinks.push_back(two_way(group.uplink_bytes_per_s));
  if (plan.fabric.bytes_per_s > 0) fabric_.push_back({AddPort(plan.fabric.bytes_per_s), 1});
  auto site = plan.sites.begin();
  for (const PlanRank& plan_rank : plan.ranks) {
    while (site->rank < plan_rank.rank) ++site;  // a rank of a checked plan has a site
    Rank rank;
    rank.domain = site->domain;
    rank.group = site->group;
    double total = 0;
    for (const uint32_t nic : site->nics) total += static_cast<double>(plan.nics[nic].bytes_per_s);
    for (const uint32_t nic : site->nics) {
      const double part = static_cast<double>(plan.nics[nic].bytes_per_s) / total;
      rank.out.network.push_back({nics[nic].out, part});
      rank.in.network.push_back({nics[nic].in, part});
    }
    const auto add = [](TwoWay port, std::vector<Use>* out, std::vector<Use>* in) {
      out->push_back({port.out, 1});
      in->push_back({port.in, 1});
    };
    if (site->host_bytes_per_s > 0) {
      add(two_way(site->host_bytes_per_s), &rank.out.network, &rank.in.network);
    }
    if (site->group != kNoId && plan.groups[site->group].uplink_bytes_per_s > 0) {
      add(uplinks[site->group], &rank.out.uplink, &rank.in.uplink);
    }
    if (plan.domains[site->domain].bytes_per_s > 0) {
      add(two_way(plan.domains[site->domain].bytes_per_s), &rank.out.scaleup, &rank.in.scaleup);
    }
    ranks_.push_back(std::move(rank));
  }
}

uint32_t Pacer::AddPort(int64_t bytes_per_s) {
  ports_.push_back({bytes_per_s > 0 ? 1e9 * slowdown_ / static_cast<double>(bytes_per_s) : 0, {}});
  return static_cast<uint32_t>(ports_.size() - 1);
}

Pacer::Time Pacer::Pass(const std::vector<Use>& uses, int64_t bytes, Time ready) {
  Time end = ready;
  for (const Use& use : uses) {
    Port& port = ports_[use.port];
    const double ns = static_cast<double>(bytes) * use.part * port.ns_per_byte;
    port.free = std::max(port.free, ready) + std::chrono::nanoseconds(static_cast<int64_t>(ns));
    end = std::max(end, port.free);
  }
  return end;
}

Pacer::Time Pacer::Message(size_t src, size_t dst, int64_t bytes, Time ready) {
  const Rank& from = ranks_[src];
  const Rank& to = ranks_[dst];
  if (from.domain == to.domain) return Copy(src, dst, bytes, ready);
  const std::lock_guard lock(mutex_);
  Time end = std::max(Pass(from.out.network, bytes, ready), Pass(to.in.network, bytes, ready));
  if (from.group != to.group) {
    end = std::max({end, Pass(from.out.uplink, bytes, ready), Pass(to.in.uplink, bytes, ready)});
  }
  return std::max(end, Pass(fabric_, bytes, ready));
}

Pacer::Time Pacer::Copy(size_t lander, size_t reader, int64_t bytes, Time ready) {
  const std::lock_guard lock(mutex_);
  return std::max(Pass(ranks_[lander].out.scaleup, bytes, ready),
                  Pass(ranks_[reader].in.scaleup, bytes, ready));
}

}  // namespace reshard
