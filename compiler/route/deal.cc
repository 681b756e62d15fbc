#include "compiler/route/deal.h"

#include <algorithm>
#include <numeric>

#include "compiler/route/ports.h"

namespace reshard {

std::vector<Deal> DealOut(const std::vector<int64_t>& item_bytes,
                          const std::vector<int64_t>& part_bytes, int64_t min_split_bytes,
                          const std::function<int64_t(uint32_t, int64_t)>& cut) {
  std::vector<Deal> deals;
  uint32_t part = 0;
  int64_t part_end = part_bytes.empty() ? 0 : part_bytes[0];  // on the line
  int64_t item_begin = 0;                                     // on the line
  const auto next_part = [&] { part_end += part_bytes[++part]; };
  for (uint32_t item = 0; item < item_bytes.size(); ++item) {
    const int64_t item_end = item_begin + item_bytes[item];
    int64_t done = 0;
    while (done < item_bytes[item]) {
      const bool last_part = part + 1 == part_bytes.size();
      int64_t end = last_part || part_end >= item_end ? item_bytes[item] : part_end - item_begin;
      if (end < item_bytes[item]) {
        const int64_t wanted = end;
        end = cut(item, std::max(end, int64_t{0}));
        if (item_bytes[item] - wanted < min_split_bytes) end = item_bytes[item];
        if (end - done < min_split_bytes && end < item_bytes[item]) {
          // What the part would get is too little: the boundary moves back to `done`. A whole item
          // smaller than two splits goes to the part that gets more of it.
          const bool keep = item_bytes[item] - done < 2 * min_split_bytes &&
                            2 * (wanted - done) >= item_bytes[item] - done;
          if (!keep) {
            next_part();
            continue;
          }
          end = item_bytes[item];
        }
      }
      deals.push_back({item, part, done, end - done});
      done = end;
    }
    item_begin = item_end;
    while (part + 1 < part_bytes.size() && part_end <= item_begin) next_part();
  }
  return deals;
}

std::vector<Deal> DealOutEach(const std::vector<int64_t>& item_bytes,
                              const std::vector<int64_t>& part_bytes, int64_t min_split_bytes,
                              const std::function<int64_t(uint32_t, int64_t)>& cut) {
  std::vector<Deal> deals;
  std::vector<int64_t> left = part_bytes;
  int64_t total_left = std::accumulate(item_bytes.begin(), item_bytes.end(), int64_t{0});
  for (uint32_t item = 0; item < item_bytes.size(); ++item) {
    std::vector<int64_t> parts;
    for (const int64_t bytes : left) {
      parts.push_back(Portion(std::max<int64_t>(bytes, 0), item_bytes[item], total_left));
    }
    total_left -= item_bytes[item];
    const auto cut_item = [&](uint32_t, int64_t at) { return cut(item, at); };
    for (const Deal& deal : DealOut({item_bytes[item]}, parts, min_split_bytes, cut_item)) {
      deals.push_back({item, deal.part, deal.begin, deal.extent});
      left[deal.part] -= deal.extent;
    }
  }
  return deals;
}

}  // namespace reshard
