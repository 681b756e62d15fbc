#include "compiler/route/busiest_sets.h"

#include <algorithm>
#include <utility>

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

constexpr int kPasses = 40;
constexpr Wide kPicosecondsPerSecond = 1'000'000'000'000;
// Units whose levels differ by less than this part are busy together.
constexpr int64_t kSameLevel = 1000;

class Dealer {
 public:
  Dealer(const std::vector<UnitDemand>& demands, const std::vector<int64_t>& rates)
      : demands_(demands), rates_(rates), load_(rates.size(), 0), parts_(demands.size()) {}

  // Unit levels in picoseconds; units that nothing can leave through are at 0.
  std::vector<int64_t> Run() {
    for (size_t d = 0; d < demands_.size(); ++d) parts_[d].assign(demands_[d].units.size(), 0);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (size_t d = 0; d < demands_.size(); ++d) Deal(d);
    }
    std::vector<int64_t> levels;
    for (uint32_t unit = 0; unit < rates_.size(); ++unit) levels.push_back(Level(unit));
    return levels;
  }

 private:
  int64_t Level(uint32_t unit) const {
    if (rates_[unit] == 0) return 0;
    return static_cast<int64_t>(Wide{load_[unit]} * kPicosecondsPerSecond / rates_[unit]);
  }

  // Fills the least busy units of a demand up to a common level.
  void Deal(size_t d) {
    const UnitDemand& demand = demands_[d];
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < demand.units.size(); ++i) {
      load_[demand.units[i]] -= parts_[d][i];
      parts_[d][i] = 0;
      if (rates_[demand.units[i]] > 0) order.emplace_back(Level(demand.units[i]), i);
    }
    std::sort(order.begin(), order.end());
    Wide water = Wide{demand.bytes} * kPicosecondsPerSecond, rate = 0;
    size_t used = 0;
    while (used < order.size() && (used == 0 || order[used].first < water / rate)) {
      const int64_t unit_rate = rates_[demand.units[order[used].second]];
      water += Wide{order[used].first} * unit_rate;
      rate += unit_rate;
      ++used;
    }
    int64_t left = demand.bytes;
    for (size_t k = 0; k < used; ++k) {
      const auto [own_level, i] = order[k];
      const Wide room = std::max<Wide>(0, water / rate - own_level) * rates_[demand.units[i]];
      const int64_t part =
          k + 1 == used ? left
                        : static_cast<int64_t>(std::min<Wide>(left, room / kPicosecondsPerSecond));
      parts_[d][i] = part;
      load_[demand.units[i]] += part;
      left -= part;
    }
  }

  const std::vector<UnitDemand>& demands_;
  const std::vector<int64_t>& rates_;
  std::vector<int64_t> load_;
  std::vector<std::vector<int64_t>> parts_;
};

struct Prefix {
  size_t size = 0;
  Wide bytes = 0;
  Wide bytes_per_s = 0;
};

bool Tighter(const Prefix& a, const Prefix& b) {
  const Wide left = a.bytes * b.bytes_per_s, right = b.bytes * a.bytes_per_s;
  return left != right ? left > right : a.size < b.size;
}

}  // namespace

std::vector<std::vector<uint32_t>> BusiestSets(const std::vector<UnitDemand>& demands,
                                               const std::vector<int64_t>& unit_bytes_per_s,
                                               size_t count) {
  const std::vector<int64_t> levels = Dealer(demands, unit_bytes_per_s).Run();
  std::vector<uint32_t> order;
  for (uint32_t unit = 0; unit < levels.size(); ++unit) {
    if (levels[unit] > 0) order.push_back(unit);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return levels[a] > levels[b]; });
  std::vector<size_t> place(levels.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Wide> forced(order.size() + 1, 0);  // by the last unit of a demand
  for (const UnitDemand& demand : demands) {
    size_t last = 0;
    for (const uint32_t unit : demand.units) last = std::max(last, place[unit]);
    if (!demand.units.empty()) forced[last] += demand.bytes;
  }
  std::vector<Prefix> prefixes;
  Prefix prefix;
  for (size_t i = 0; i < order.size(); ++i) {
    prefix = {i + 1, prefix.bytes + forced[i], prefix.bytes_per_s + unit_bytes_per_s[order[i]]};
    const bool drops = i + 1 == order.size() ||
                       levels[order[i]] - levels[order[i]] / kSameLevel > levels[order[i + 1]];
    if (drops && prefix.size > 1 && prefix.bytes > 0) prefixes.push_back(prefix);
  }
  std::sort(prefixes.begin(), prefixes.end(), Tighter);
  if (prefixes.size() > count) prefixes.resize(count);
  std::vector<std::vector<uint32_t>> sets;
  for (const Prefix& chosen : prefixes) {
    std::vector<uint32_t>& set =
        sets.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(chosen.size));
    std::sort(set.begin(), set.end());
  }
  return sets;
}

}  // namespace reshard
