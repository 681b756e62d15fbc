#include "compiler/simulate/sim_ports.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace reshard {
namespace {

// Stands for the scale-up port of a GPU without a domain, which nothing passes.
constexpr double kUnused = 1;

void Append(const std::vector<FairShare::Use>& from, std::vector<FairShare::Use>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

SimPorts::SimPorts(const Plan& plan, FairShare* share)
    : plan_(&plan),
      nic_count_(plan.nics.size()),
      site_count_(plan.sites.size()),
      sites_(plan.sites.size()) {
  auto site = plan.sites.begin();
  for (const PlanRank& rank : plan.ranks) {
    while (site != plan.sites.end() && site->rank < rank.rank) ++site;
    RESHARD_CHECK(site != plan.sites.end() && site->rank == rank.rank,
                  "a rank of a checked plan has a site");
    site_of_rank_.push_back(static_cast<uint32_t>(site - plan.sites.begin()));
  }
  AddNics(plan, share);
  AddSiteLimits(plan, share);
  AddSharedLimits(plan, share);
}

void SimPorts::AddNics(const Plan& plan, FairShare* share) {
  for (const PlanNic& nic : plan.nics) {
    share->AddPort(static_cast<double>(nic.bytes_per_s));
    share->AddPort(static_cast<double>(nic.bytes_per_s));
  }
  for (size_t s = 0; s < site_count_; ++s) {
    double total = 0;
    for (const uint32_t nic : plan.sites[s].nics) {
      total += static_cast<double>(plan.nics[nic].bytes_per_s);
    }
    for (const uint32_t nic : plan.sites[s].nics) {
      const double part = static_cast<double>(plan.nics[nic].bytes_per_s) / total;
      sites_[s].out.network.push_back({2 * nic, part});
      sites_[s].in.network.push_back({2 * nic + 1, part});
    }
  }
}

void SimPorts::AddSiteLimits(const Plan& plan, FairShare* share) {
  for (size_t s = 0; s < site_count_; ++s) {
    const int64_t rate = plan.domains[plan.sites[s].domain].bytes_per_s;
    const double capacity = rate > 0 ? static_cast<double>(rate) : kUnused;
    sites_[s].has_scaleup = rate > 0;
    sites_[s].scaleup_out.port = share->AddPort(capacity);
    sites_[s].scaleup_in.port = share->AddPort(capacity);
  }
  for (size_t s = 0; s < site_count_; ++s) {
    const PlanSite& site = plan.sites[s];
    if (site.host_bytes_per_s > 0) {
      const double host = static_cast<double>(site.host_bytes_per_s);
      sites_[s].out.network.push_back({share->AddPort(host), 1});
      sites_[s].in.network.push_back({share->AddPort(host), 1});
    }
    if (site.copy_bytes_per_s > 0) {
      sites_[s].memory.push_back({share->AddPort(static_cast<double>(site.copy_bytes_per_s)), 1});
    }
  }
}

void SimPorts::AddSharedLimits(const Plan& plan, FairShare* share) {
  std::vector<std::vector<uint32_t>> nics_of_group(plan.groups.size());
  for (const PlanSite& site : plan.sites) {
    if (site.group == kNoId) continue;
    std::vector<uint32_t>& nics = nics_of_group[site.group];
    nics.insert(nics.end(), site.nics.begin(), site.nics.end());
  }
  const auto rate_of = [&](const std::vector<uint32_t>& nics) {
    double sum = 0;
    for (const uint32_t nic : nics) sum += static_cast<double>(plan.nics[nic].bytes_per_s);
    return sum;
  };
  for (uint32_t g = 0; g < plan.groups.size(); ++g) {
    std::vector<uint32_t>& nics = nics_of_group[g];
    std::sort(nics.begin(), nics.end());
    nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
    const double uplink = static_cast<double>(plan.groups[g].uplink_bytes_per_s);
    if (uplink <= 0 || uplink >= rate_of(nics)) continue;
    const FairShare::Use out{share->AddPort(uplink), 1};
    const FairShare::Use in{share->AddPort(uplink), 1};
    for (size_t s = 0; s < site_count_; ++s) {
      if (plan.sites[s].group != g) continue;
      sites_[s].out.uplink.push_back(out);
      sites_[s].in.uplink.push_back(in);
    }
  }
  double all_nics = 0;
  for (const PlanNic& nic : plan.nics) all_nics += static_cast<double>(nic.bytes_per_s);
  const double fabric = static_cast<double>(plan.fabric.bytes_per_s);
  if (fabric > 0 && fabric < all_nics) fabric_.push_back({share->AddPort(fabric), 1});
}

int64_t SimPorts::NetworkLatencyNs(const PlanSite& from, const PlanSite& to) const {
  const PlanFabric& fabric = plan_->fabric;
  if (from.group != to.group) return fabric.cross_group_latency_ns;
  const bool same_rail = from.nics.empty() || to.nics.empty() ||
                         plan_->nics[from.nics.front()].rail == plan_->nics[to.nics.front()].rail;
  return fabric.rails && !same_rail ? fabric.cross_rail_latency_ns : fabric.latency_ns;
}

int64_t SimPorts::MessageNs(uint32_t src, uint32_t dst, std::vector<FairShare::Use>* uses) const {
  const Site& from = ports_of(src);
  const Site& to = ports_of(dst);
  if (SameDomain(src, dst)) {
    uses->push_back(from.scaleup_out);
    uses->push_back(to.scaleup_in);
    return plan_->domains[site_of(src).domain].latency_ns;
  }
  Append(from.out.network, uses);
  Append(to.in.network, uses);
  Append(fabric_, uses);
  if (site_of(src).group != site_of(dst).group) {
    Append(from.out.uplink, uses);
    Append(to.in.uplink, uses);
  }
  return NetworkLatencyNs(site_of(src), site_of(dst));
}

int64_t SimPorts::CopyNs(uint32_t lander, uint32_t reader,
                         std::vector<FairShare::Use>* uses) const {
  Append(ports_of(reader).memory, uses);
  if (lander == reader) return 0;
  uses->push_back(ports_of(lander).scaleup_out);
  uses->push_back(ports_of(reader).scaleup_in);
  return plan_->domains[site_of(lander).domain].latency_ns;
}

void SimPorts::Pack(uint32_t rank, std::vector<FairShare::Use>* uses) const {
  Append(ports_of(rank).memory, uses);
}

std::string SimPorts::Name(uint32_t rank) const {
  return "rank " + std::to_string(plan_->ranks[rank].rank);
}

std::string SimPorts::MessageProblem(uint32_t src, uint32_t dst) const {
  if (SameDomain(src, dst)) {
    return ports_of(src).has_scaleup ? "" : Name(src) + " has no scale-up fabric";
  }
  for (const uint32_t rank : {src, dst}) {
    if (site_of(rank).nics.empty()) {
      return Name(rank) + " has no NIC, and " + Name(src) + " sends to " + Name(dst) +
             " of another domain";
    }
  }
  return "";
}

std::string SimPorts::CopyProblem(uint32_t lander, uint32_t reader) const {
  if (lander == reader) return "";
  if (!SameDomain(lander, reader)) {
    return Name(reader) + " copies from " + Name(lander) + ", which is in another domain";
  }
  return ports_of(lander).has_scaleup ? "" : Name(lander) + " has no scale-up fabric";
}

}  // namespace reshard
