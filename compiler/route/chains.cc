#include "compiler/route/chains.h"

#include <algorithm>
#include <tuple>

#include "runtime/plan/program.h"

namespace reshard {
namespace {

using Chain = std::vector<Rank>;

// Landers of one NIC rate, by group and domain; where uplinks limit, of one group, by rate.
using Part = std::vector<Rank>;
// Parts that chains go along, one after the other, and how many chains.
struct Line {
  std::vector<Part> parts;
  size_t chain_count = 1;
};

std::vector<Part> SortLanders(const Topology& topology, const Ports& ports,
                              const std::vector<Rank>& landers) {
  std::vector<std::tuple<GroupId, int64_t, GroupId, DomainId, Rank>> order;
  for (const Rank rank : landers) {
    const RankSite& site = topology.sites[ports.site(rank)];
    const int64_t rate = ports.outlet(ports.outlet_of_rank(rank)).bytes_per_s;
    const GroupId first = ports.uplinks_limit() ? site.group : 0;
    order.emplace_back(first, -rate, site.group, site.domain, rank);
  }
  std::sort(order.begin(), order.end());
  std::vector<Part> parts;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [first, rate, group, domain, rank] = order[i];
    const bool is_new = i == 0 || std::get<0>(order[i - 1]) != first ||
                        (!ports.uplinks_limit() && std::get<1>(order[i - 1]) != rate);
    if (is_new) parts.emplace_back();
    parts.back().push_back(rank);
  }
  return parts;
}

// Orders that differ in who follows whom: as sorted, backwards, and with strides; and those again
// with other heads.
constexpr uint32_t kOrders = 12;
constexpr uint32_t kHeads = 8;
constexpr uint32_t kVariants = kOrders * kHeads;

std::vector<Rank> Reorder(std::vector<Rank> ranks, uint32_t variant) {
  const size_t stride = 1 + variant % kOrders / 2;
  std::vector<Rank> result;
  for (size_t start = 0; start < stride; ++start) {
    for (size_t i = start; i < ranks.size(); i += stride) result.push_back(ranks[i]);
  }
  if (variant % 2 == 1) std::reverse(result.begin(), result.end());
  const size_t head = result.size() * (variant / kOrders) / kHeads;
  std::rotate(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(head), result.end());
  return result;
}

// Each chain gets nearly equally many of each part.
std::vector<Chain> CutAcross(const std::vector<Part>& parts, size_t chain_count, uint32_t variant) {
  std::vector<Chain> chains(chain_count);
  size_t first_longer = 0;  // chains that get one more take turns over the parts
  for (const Part& part : parts) {
    const std::vector<Rank> ranks = Reorder(part, variant);
    const size_t longer = ranks.size() % chain_count;
    size_t next = 0;
    for (size_t i = 0; i < chain_count; ++i) {
      const bool one_more = (i + chain_count - first_longer) % chain_count < longer;
      const size_t end = next + ranks.size() / chain_count + (one_more ? 1 : 0);
      for (; next < end; ++next) chains[i].push_back(ranks[next]);
    }
    first_longer = (first_longer + longer) % chain_count;
  }
  return chains;
}

// Each chain takes whole parts where a boundary between two is near an even cut: bytes enter each
// part as seldom as they can.
std::vector<Chain> CutAlong(const std::vector<Part>& parts, size_t chain_count, uint32_t variant) {
  std::vector<Rank> line;
  std::vector<size_t> part_ends;
  for (const Part& part : parts) {
    const std::vector<Rank> ranks = Reorder(part, variant);
    line.insert(line.end(), ranks.begin(), ranks.end());
    part_ends.push_back(line.size());
  }
  std::vector<Chain> chains;
  size_t begin = 0;
  for (size_t i = 1; i <= chain_count; ++i) {
    size_t end = line.size() * i / chain_count;
    const size_t reach = line.size() / chain_count / 2;
    for (const size_t part_end : part_ends) {
      const size_t distance = part_end > end ? part_end - end : end - part_end;
      // Enough has to be left for the chains that follow.
      const bool fits = part_end > begin && line.size() - part_end >= chain_count - i;
      if (distance <= reach && fits) {
        end = part_end;
        break;
      }
    }
    end = i == chain_count ? line.size() : std::max(end, begin + 1);
    chains.emplace_back(line.begin() + static_cast<std::ptrdiff_t>(begin),
                        line.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return chains;
}

size_t RepeatedAtHead(Rank head, const RankList& senders, const UsedEdges& used) {
  return (used.HasHead(head) ? 1 : 0) + (used.IsPassedOn(senders, head) ? 1 : 0);
}

size_t RepeatedEdge(Rank parent, Rank child, const UsedEdges& used) {
  return used.Has(parent, child) || used.IsSent(parent, child) ? 1 : 0;
}

size_t Repeated(const std::vector<Chain>& chains, const RankList& senders, const UsedEdges& used) {
  size_t repeated = 0;
  for (const Chain& chain : chains) {
    if (!chain.empty()) repeated += RepeatedAtHead(chain[0], senders, used);
    for (size_t i = 1; i < chain.size(); ++i) {
      repeated += RepeatedEdge(chain[i - 1], chain[i], used);
    }
  }
  return repeated;
}

// Calls `visit(parent, child)` for all edges of both trees of an order.
template <class Visit>
void ForTwoTreeEdges(const std::vector<Rank>& order, const Visit& visit) {
  const size_t count = order.size();
  for (uint32_t p = 1; p < count; ++p) {
    const uint32_t parent = TreeParent(PlanTreeKind::kBinary, p);
    visit(order[parent], order[p]);
    visit(order[count - 1 - parent], order[count - 1 - p]);
  }
}

// Of the chains that `make(variant)` makes those that repeat least.
template <class Make>
std::vector<Chain> LeastRepeated(const RankList& senders, UsedEdges* used, const Make& make) {
  std::vector<Chain> best;
  size_t fewest = 0;
  for (uint32_t variant = 0; variant < kVariants; ++variant) {
    std::vector<Chain> chains = make(variant);
    const size_t repeated = Repeated(chains, senders, *used);
    if (best.empty() || repeated < fewest) {
      best = std::move(chains);
      fewest = repeated;
    }
    if (fewest == 0) break;
  }
  for (const Chain& chain : best) {
    if (!chain.empty()) used->AddHead(chain[0], senders);
    for (size_t i = 1; i < chain.size(); ++i) used->Add(chain[i - 1], chain[i]);
  }
  return best;
}

int64_t UplinkLevel(const PortBytes& uplinks, PortId port) {
  return port == kNone ? 0 : uplinks.PortLevel(port);
}

// Of groups in a circle the one after `from` comes first: streams of different holders go different
// ways.
size_t StepsAfter(const Ports& ports, const Part& part, GroupId from, size_t group_count) {
  const GroupId group = ports.group_of_rank(part[0]);
  if (group == kNone || from == kNone) return group == from ? 0 : group_count;
  return (group + group_count - from) % group_count;
}

// A line for each part in a group with holders, or one from these where landers are in none of
// them. Each other part is put behind the line whose last group is least busy sending; which one
// comes last sends nothing, so that those whose ways out are busy come late.
std::vector<Line> GroupLines(const Ports& ports, std::vector<Part> parts, const GroupWays& ways) {
  const auto group_of = [&](const Part& part) { return ports.group_of_rank(part[0]); };
  const auto is_held = [&](const Part& part) {
    return std::binary_search(ways.from_groups.begin(), ways.from_groups.end(), group_of(part));
  };
  const auto first_other = std::stable_partition(parts.begin(), parts.end(), is_held);
  std::vector<Line> lines;
  std::vector<GroupId> ends;  // per line: the group that its last rank is in
  for (auto part = parts.begin(); part != first_other; ++part) {
    lines.push_back({{*part}, 1});
    ends.push_back(group_of(*part));
  }
  if (lines.empty()) {
    lines.emplace_back();
    ends.push_back(*std::min_element(ways.from_groups.begin(), ways.from_groups.end(),
                                     [&](GroupId a, GroupId b) {
                                       return UplinkLevel(*ways.uplinks, ports.uplink_out(a)) <
                                              UplinkLevel(*ways.uplinks, ports.uplink_out(b));
                                     }));
  }
  std::vector<std::tuple<int64_t, size_t, size_t>> order;  // level out, steps, index
  for (auto part = first_other; part != parts.end(); ++part) {
    order.emplace_back(UplinkLevel(*ways.uplinks, ports.uplink_out(group_of(*part))),
                       StepsAfter(ports, *part, ends[0], ports.group_count()),
                       static_cast<size_t>(part - parts.begin()));
  }
  std::sort(order.begin(), order.end());
  for (const auto& [level, steps, index] : order) {
    size_t best = 0;
    for (size_t l = 1; l < lines.size(); ++l) {
      const int64_t own = UplinkLevel(*ways.uplinks, ports.uplink_out(ends[l]));
      const int64_t least = UplinkLevel(*ways.uplinks, ports.uplink_out(ends[best]));
      if (std::pair(own, lines[l].parts.size()) < std::pair(least, lines[best].parts.size())) {
        best = l;
      }
    }
    const GroupId group = group_of(parts[index]);
    ways.uplinks->AddUplinks(ends[best], group, ways.bytes);
    lines[best].parts.push_back(std::move(parts[index]));
    ends[best] = group;
  }
  return lines;
}

}  // namespace

std::vector<Chain> MakeChains(const Topology& topology, const Ports& ports,
                              const std::vector<Rank>& landers, size_t chain_count,
                              const RankList& senders, UsedEdges* used) {
  const std::vector<Part> parts = SortLanders(topology, ports, landers);
  return LeastRepeated(senders, used, [&](uint32_t variant) {
    return ports.uplinks_limit() ? CutAlong(parts, chain_count, variant)
                                 : CutAcross(parts, chain_count, variant);
  });
}

std::vector<Chain> MakeGroupChains(const Topology& topology, const Ports& ports,
                                   const std::vector<Rank>& landers, size_t chain_count,
                                   const GroupWays& ways, UsedEdges* used) {
  std::vector<Line> lines = GroupLines(ports, SortLanders(topology, ports, landers), ways);
  for (Line& line : lines) {
    size_t length = 0;
    for (const Part& part : line.parts) length += part.size();
    line.chain_count = std::max<size_t>(1, chain_count * length / landers.size());
  }
  return LeastRepeated(ways.senders, used, [&](uint32_t variant) {
    std::vector<Chain> chains;
    for (const Line& line : lines) {
      for (Chain& chain : CutAlong(line.parts, line.chain_count, variant)) {
        chains.push_back(std::move(chain));
      }
    }
    return chains;
  });
}

std::pair<std::vector<Rank>, std::vector<Rank>> MakeTwoTrees(const Topology& topology,
                                                             const Ports& ports,
                                                             const std::vector<Rank>& landers,
                                                             const RankList& senders,
                                                             UsedEdges* used) {
  const std::vector<Part> parts = SortLanders(topology, ports, landers);
  std::vector<Rank> best;
  size_t fewest = 0;
  for (uint32_t variant = 0; variant < kVariants; ++variant) {
    std::vector<Rank> order;
    for (const Part& part : parts) {
      const std::vector<Rank> ranks = Reorder(part, variant);
      order.insert(order.end(), ranks.begin(), ranks.end());
    }
    size_t repeated = RepeatedAtHead(order.front(), senders, *used);
    repeated += RepeatedAtHead(order.back(), senders, *used);
    ForTwoTreeEdges(order, [&](Rank parent, Rank child) {
      // What is no better already is not looked at any further.
      const bool may_win = best.empty() || repeated < fewest;
      if (may_win) repeated += RepeatedEdge(parent, child, *used);
    });
    if (best.empty() || repeated < fewest) {
      best = std::move(order);
      fewest = repeated;
    }
    if (fewest == 0) break;
  }
  ForTwoTreeEdges(best, [&](Rank parent, Rank child) { used->Add(parent, child); });
  used->AddHead(best.front(), senders);
  used->AddHead(best.back(), senders);
  return {best, {best.rbegin(), best.rend()}};
}

}  // namespace reshard
