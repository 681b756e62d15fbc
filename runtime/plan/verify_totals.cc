#include "runtime/plan/verify_totals.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan_options.h"

namespace reshard {
namespace {

// Sums of numbers below 2^60, at most as many as a file has records.
__extension__ typedef __int128 Wide;

std::string Text(Wide number) {
  if (number < 0) return "-" + Text(-number);
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
    number /= 10;
  } while (number > 0);
  return text;
}

constexpr int64_t kNanoseconds = 1'000'000'000;

// a * b / c, rounded down; none is negative.
Wide MulDiv(Wide a, int64_t b, int64_t c) {
  // Most numbers are small, and a machine divides those several times faster.
  if (a < (Wide{1} << 31) && b < (int64_t{1} << 31)) return static_cast<int64_t>(a) * b / c;
  return a * b / c;
}

class TotalsChecker {
 public:
  TotalsChecker(const Plan& plan, const VerifyFacts& facts, VerifyLog* log)
      : plan_(plan), facts_(facts), index_(facts.index()), log_(*log) {}

  void Run() {
    FindHandOvers();
    CheckStored();
    CheckMoved();
    CheckBound();
    if (log_.CanGoOn()) CheckPredicted();
  }

 private:
  // Bytes that ranks send and receive over one port, round by round.
  struct PortLoad {
    Wide sent = 0;
    Wide received = 0;
  };

  void Compare(const char* what, int64_t stated, Wide counted) {
    if (stated == counted) return;
    log_.Add(VerifyRule::kTotals, "totals",
             std::string(what) + " is " + std::to_string(stated) + ", the tables add up to " +
                 Text(counted));
  }

  void CheckStored();
  void CheckMoved();
  void FindHandOvers();
  Wide CountLocal(const PlanTree& tree);
  void CheckBound();
  void CheckPredicted();
  Wide Received(uint32_t s) const;
  void AddTraffic(uint32_t r, std::vector<PortLoad>* loads);
  void AddShare(uint32_t r, const PlanNic& nic, std::vector<PortLoad>* own,
                std::vector<PortLoad>* shared);
  void TakeBusiest(std::vector<PortLoad>* loads, int64_t bytes_per_s, std::vector<Wide>* busiest);

  const Plan& plan_;
  const VerifyFacts& facts_;
  const ProgramIndex& index_;
  VerifyLog& log_;
  std::vector<bool> stays_;  // per inject: in its domain
};

void TotalsChecker::CheckStored() {
  Wide source = 0;
  Wide destination = 0;
  for (const PlanFamily& family : plan_.families) {
    if (family.external) continue;
    Wide bytes = family.bytes;
    for (const int64_t extent : family.loop_extent) bytes *= extent;
    bytes *= static_cast<Wide>(plan_.rank_sets[family.rank_set].size());
    (family.side == PlanSide::kSource ? source : destination) += bytes;
  }
  Compare("source_bytes", plan_.header.totals.source_bytes, source);
  Compare("destination_bytes", plan_.header.totals.destination_bytes, destination);
  int64_t staging = 0;
  for (const PlanRank& rank : plan_.ranks) staging = std::max(staging, rank.staging_bytes());
  Compare("max_staging_bytes", plan_.header.totals.max_staging_bytes, staging);
}

// Bytes that the landers of a tree copy into their own params.
Wide TotalsChecker::CountLocal(const PlanTree& tree) {
  const PlanStream& stream = plan_.streams[tree.stream];
  std::map<uint32_t, Wide> bytes_of_needers;
  for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
    bytes_of_needers[plan_.classes[plan_.pieces[p].cls].needers] += plan_.pieces[p].extent;
  }
  if (!log_.Charge(8 * (stream.piece_count + bytes_of_needers.size() * tree.member_count)))
    return 0;
  Wide local = 0;
  for (uint32_t m = tree.first_member; m < tree.first_member + tree.member_count; ++m) {
    for (const auto& [needers, bytes] : bytes_of_needers) {
      if (Contains(plan_.rank_sets[needers], plan_.tree_members[m])) local += bytes;
    }
  }
  return local;
}

// Packed where they are received, or handed over inside a domain.
void TotalsChecker::FindHandOvers() {
  stays_.reserve(plan_.injects.size());
  for (uint32_t r = 0; r < plan_.ranks.size(); ++r) {
    const PlanRank& rank = plan_.ranks[r];
    for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
      const PlanTree& tree = plan_.trees[plan_.injects[i].tree];
      stays_.push_back(facts_.DomainOfMember(tree.first_member) == facts_.rank_domain()[r]);
    }
  }
}

void TotalsChecker::CheckMoved() {
  const PlanTotals& totals = plan_.header.totals;
  Wide network = 0;
  Wide handed_over = 0;
  Wide messages = 0;
  Wide local = 0;
  uint64_t rounds = 0;
  for (uint32_t t = 0; t < plan_.trees.size() && log_.CanGoOn(); ++t) {
    const PlanTree& tree = plan_.trees[t];
    const uint32_t slices = index_.first_slice[t + 1] - index_.first_slice[t];
    const Wide hops = Wide{tree.member_count} - 1;
    network += hops * plan_.streams[tree.stream].bytes;
    messages += hops * slices;
    local += CountLocal(tree);
    uint32_t depth = 0;
    for (uint32_t p = 0; p < tree.member_count; ++p) {
      depth = std::max(depth, TreeDepth(tree.kind, p));
    }
    if (slices > 0) {
      rounds = std::max(rounds,
                        uint64_t{index_.slices[index_.first_slice[t + 1] - 1].round} + depth + 1);
    }
  }
  for (size_t i = 0; i < plan_.injects.size(); ++i) {
    const PlanInject& inject = plan_.injects[i];
    if (plan_.tree_members[plan_.trees[inject.tree].first_member] == inject.source) continue;
    (stays_[i] ? handed_over : network) += inject.extent;
    messages += stays_[i] ? 0 : 1;
  }
  // Every needer of a class copies each of its bytes once.
  Wide copied = 0;
  for (const PlanClass& cls : plan_.classes) {
    copied += Wide{cls.bytes} * static_cast<Wide>(plan_.rank_sets[cls.needers].size());
  }
  if (!log_.CanGoOn()) return;
  Compare("network_bytes", totals.network_bytes, network);
  Compare("messages", totals.messages, messages);
  Compare("local_bytes", totals.local_bytes, local);
  Compare("scaleup_bytes", totals.scaleup_bytes, copied - local + handed_over);
  Compare("rounds", totals.rounds, static_cast<Wide>(rounds));
}

void TotalsChecker::CheckBound() {
  Wide bound = 0;
  if (!plan_.cuts.empty()) {
    const PlanCut& cut = plan_.cuts.front();
    bound = MulDiv(cut.bytes, kNanoseconds, cut.bytes_per_s);
  }
  Compare("bound_ns", plan_.header.totals.bound_ns, bound);
  if (plan_.header.totals.predicted_ns < bound) {
    log_.Add(VerifyRule::kTotals, "totals",
             "predicted_ns is " + std::to_string(plan_.header.totals.predicted_ns) +
                 ", less than the bound of " + Text(bound) + ", which no schedule beats");
  }
}

// What comes to a head over the network in a slice.
Wide TotalsChecker::Received(uint32_t s) const {
  Wide bytes = 0;
  for (uint32_t i = index_.first_inject[s]; i < index_.first_inject[s + 1]; ++i) {
    const uint32_t inject = index_.slice_injects[i];
    if (!stays_[inject]) bytes += plan_.injects[inject].extent;
  }
  return bytes;
}

// Adds what a rank sends and receives in each round.
void TotalsChecker::AddTraffic(uint32_t r, std::vector<PortLoad>* loads) {
  const PlanRank& rank = plan_.ranks[r];
  for (uint32_t m = index_.first_member[r]; m < index_.first_member[r + 1]; ++m) {
    const uint32_t t = index_.member_trees[m];
    const uint32_t position = index_.member_positions[m];
    const PlanTree& tree = plan_.trees[t];
    const uint32_t depth = TreeDepth(tree.kind, position);
    const std::vector<uint32_t> children = TreeChildren(tree.kind, position, tree.member_count);
    for (uint32_t s = index_.first_slice[t]; s < index_.first_slice[t + 1]; ++s) {
      const Slice& slice = index_.slices[s];
      if (!log_.Charge(8)) return;
      (*loads)[slice.round + depth].received += position == 0 ? Received(s) : slice.extent;
      for (const uint32_t child : children) {
        (*loads)[slice.round + TreeDepth(tree.kind, child)].sent += slice.extent;
      }
    }
  }
  for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
    const PlanInject& inject = plan_.injects[i];
    if (!stays_[i]) (*loads)[inject.round].sent += inject.extent;
  }
}

void TotalsChecker::TakeBusiest(std::vector<PortLoad>* loads, int64_t bytes_per_s,
                                std::vector<Wide>* busiest) {
  for (size_t round = 0; round < loads->size(); ++round) {
    const PortLoad load = std::exchange((*loads)[round], PortLoad{});
    const Wide ns = MulDiv(std::max(load.sent, load.received), kNanoseconds, bytes_per_s);
    (*busiest)[round] = std::max((*busiest)[round], ns);
  }
}

// Adds the part of a rank's traffic that one of its NICs carries. It is spread by bandwidth; parts
// are rounded down, so that other roundings of them predict no less. `own` is all zeros.
void TotalsChecker::AddShare(uint32_t r, const PlanNic& nic, std::vector<PortLoad>* own,
                             std::vector<PortLoad>* shared) {
  const PlanSite& site = plan_.sites[index_.SiteIndex(plan_, plan_.ranks[r].rank)];
  if (site.nics.size() == 1) {
    AddTraffic(r, shared);
    return;
  }
  Wide rank_rate = 0;
  for (const uint32_t other : site.nics) rank_rate += plan_.nics[other].bytes_per_s;
  if (!log_.Charge(own->size())) return;
  AddTraffic(r, own);
  for (size_t round = 0; round < own->size(); ++round) {
    const PortLoad load = std::exchange((*own)[round], PortLoad{});
    (*shared)[round].sent += load.sent * nic.bytes_per_s / rank_rate;
    (*shared)[round].received += load.received * nic.bytes_per_s / rank_rate;
  }
}

void TotalsChecker::CheckPredicted() {
  const uint32_t rounds = plan_.header.totals.rounds;
  std::vector<std::vector<uint32_t>> ranks_of_nic(plan_.nics.size());
  std::vector<Wide> busiest(rounds, 0);
  std::vector<PortLoad> own(rounds);
  std::vector<PortLoad> shared(rounds);
  for (uint32_t r = 0; r < plan_.ranks.size(); ++r) {
    const PlanSite& site = plan_.sites[index_.SiteIndex(plan_, plan_.ranks[r].rank)];
    for (const uint32_t nic : site.nics) ranks_of_nic[nic].push_back(r);
    if (site.host_bytes_per_s == 0 || !log_.Charge(rounds)) continue;
    AddTraffic(r, &own);
    TakeBusiest(&own, site.host_bytes_per_s, &busiest);
  }
  for (size_t nic = 0; nic < ranks_of_nic.size() && log_.CanGoOn(); ++nic) {
    if (ranks_of_nic[nic].empty()) continue;
    for (const uint32_t r : ranks_of_nic[nic]) AddShare(r, plan_.nics[nic], &own, &shared);
    if (!log_.Charge(rounds)) return;
    TakeBusiest(&shared, plan_.nics[nic].bytes_per_s, &busiest);
  }
  Wide least = 0;
  for (const Wide ns : busiest) least += ns;
  // A plan that does not state the cost of a round may have any.
  const int64_t round_ns = OptionNumber(plan_, kRoundCostOption).value_or(0);
  least += Wide{rounds} * std::max<int64_t>(0, round_ns);
  if (log_.CanGoOn() && plan_.header.totals.predicted_ns < least) {
    log_.Add(VerifyRule::kTotals, "totals",
             "predicted_ns is " + std::to_string(plan_.header.totals.predicted_ns) +
                 ", the busiest ports " + (round_ns > 0 ? "and the rounds' costs " : "") + "take " +
                 Text(least));
  }
}

}  // namespace

void VerifyTotals(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  TotalsChecker(plan, facts, log).Run();
}

}  // namespace reshard
