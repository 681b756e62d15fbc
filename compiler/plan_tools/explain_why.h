// ExplainWhy: what else might have sent, passed on or taken the bytes of a flow, with the loads
// that the compiler balances.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_WHY_H_
#define RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_WHY_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan_tools/explain.h"
#include "compiler/plan_tools/loads.h"
#include "runtime/plan/plan.h"

namespace reshard {

enum class PathRole : uint8_t {
#define RESHARD_PATH_ROLE(name, text, meaning) name,
#include "compiler/plan_tools/path_roles.def"
#undef RESHARD_PATH_ROLE
};
std::string_view PathRoleText(PathRole role);     // "relays"
std::string_view PathRoleMeaning(PathRole role);  // "relays: its domain neither ..."

// Network bytes of the whole plan, and the NIC among some that is busy longest with its own.
struct NetworkUse {
  PortLoads bytes;
  std::string nic;  // empty where there is none
  PortLoads nic_bytes;
  int64_t nic_busy_ns = 0;  // of its busier direction, at its full rate
};

// A rank that might have done what another does.
struct Alternative {
  Rank rank = 0;
  std::string domain;
  NetworkUse use;
  bool chosen = false;
};

// One rank of a flow's path.
struct Hop {
  Rank rank = 0;
  std::string domain;
  uint32_t position = 0;  // in the tree
  PathRole role = PathRole::kLands;
  NetworkUse domain_use;
  // The ranks of its domain: all, or those that hold the bytes where it hands them on inside. Of a
  // relay, all that might relay.
  std::vector<Alternative> alternatives;
};

// The ranks that need the bytes of a flow and copy them from the last rank of its path.
RankList Copying(const ParamFlow& flow);

// What one NIC passes. A rank's bytes are spread over its NICs by their bandwidths.
struct NicTraffic {
  std::string nic;
  PortLoads bytes;
  RankList spreading;  // ranks that use it and others too
};
NicTraffic TrafficOfNic(const Plan& plan, const std::string& nic);

class WhyFlows {
 public:
  explicit WhyFlows(const Plan& plan);

  // The ranks that hold the flow's bytes; chosen: those that send them.
  std::vector<Alternative> Holders(const ParamFlow& flow) const;
  // The ranks of its path. Where nothing crosses the network, the one that the others of its domain
  // copy from; none where no other one needs the bytes.
  std::vector<Hop> Hops(const ParamFlow& flow) const;

 private:
  NetworkUse UseOf(const std::vector<uint32_t>& sites) const;
  std::vector<Alternative> AlternativesOf(const std::vector<uint32_t>& sites,
                                          const RankList& chosen) const;
  // Those with NICs in domains that neither hold nor need the flow's bytes.
  std::vector<uint32_t> RelaySites(const ParamFlow& flow) const;
  PathRole RoleOf(const ParamFlow& flow, uint32_t domain) const;
  Hop HopAt(const ParamFlow& flow, uint32_t site) const;

  const Plan& plan_;
  const PlanLoads loads_;
  std::map<Rank, uint32_t> site_of_;
  std::vector<std::vector<uint32_t>> sites_of_domain_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_WHY_H_
