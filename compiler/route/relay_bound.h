// RelayBound: how long it takes at least when only domains that hold or need bytes pass them on.
//
// Not a bound of every schedule: idle domains may relay. Of what a set X of domains alone can send
// it sends all: each byte once that only X holds, and each further copy of bytes that only X holds
// and needs. So every X gives
//   sum over classes (b [holders in X] + (k - 1) b [holders and needers in X]) / rate of X
// with k the domains that need the b bytes and do not hold them. Where no domain both holds and
// needs, it is no more than ingress and injection ask for.
#ifndef RESHARD_COMPILER_ROUTE_RELAY_BOUND_H_
#define RESHARD_COMPILER_ROUTE_RELAY_BOUND_H_

#include <cstdint>
#include <vector>

namespace reshard {

// Domains rise; no needer is a holder.
struct RelayDemand {
  std::vector<uint32_t> holders, needers;
  int64_t bytes = 0;
};

// `rates`: what the NICs of each domain send, in bytes per second. In nanoseconds, rounded down; of
// a few sets X, those that are busiest when everything is sent evenly among them.
int64_t RelayBoundNs(const std::vector<RelayDemand>& demands, const std::vector<int64_t>& rates);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_RELAY_BOUND_H_
