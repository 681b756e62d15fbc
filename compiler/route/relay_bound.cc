#include "compiler/route/relay_bound.h"

#include <algorithm>
#include <iterator>

#include "compiler/route/busiest_sets.h"

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

constexpr size_t kSets = 16;

}  // namespace

int64_t RelayBoundNs(const std::vector<RelayDemand>& demands, const std::vector<int64_t>& rates) {
  std::vector<UnitDemand> sends;  // the last copy has to come from somewhere, too
  std::vector<uint32_t> all;
  for (const RelayDemand& demand : demands) {
    if (demand.needers.empty() || demand.bytes == 0) continue;
    sends.push_back({demand.holders, demand.bytes});
    std::vector<uint32_t> senders;
    std::set_union(demand.holders.begin(), demand.holders.end(), demand.needers.begin(),
                   demand.needers.end(), std::back_inserter(senders));
    const auto copies = static_cast<int64_t>(demand.needers.size()) - 1;
    if (copies > 0) sends.push_back({senders, copies * demand.bytes});
    all.insert(all.end(), senders.begin(), senders.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<std::vector<uint32_t>> sets = BusiestSets(sends, rates, kSets);
  for (const uint32_t unit : all) sets.push_back({unit});
  sets.push_back(all);
  int64_t most_ns = 0;
  for (const std::vector<uint32_t>& set : sets) {
    Wide bytes = 0, rate = 0;
    for (const UnitDemand& demand : sends) {
      const bool inside =
          std::includes(set.begin(), set.end(), demand.units.begin(), demand.units.end());
      if (inside) bytes += demand.bytes;
    }
    for (const uint32_t unit : set) rate += rates[unit];
    if (rate == 0) continue;
    most_ns = std::max(most_ns, static_cast<int64_t>(bytes * 1'000'000'000 / rate));
  }
  return most_ns;
}

}  // namespace reshard
