#include "runtime/plan/verify_time.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/wide_int.h"
#include "runtime/plan/plan_options.h"

namespace reshard {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;

// Time that bytes take, rounded down; none is negative.
Wide NanosecondsFor(Wide bytes, int64_t bytes_per_s) {
  // Most numbers are small, and a machine divides those several times faster.
  if (bytes < (Wide{1} << 31)) return static_cast<int64_t>(bytes) * kNanoseconds / bytes_per_s;
  return bytes * kNanoseconds / bytes_per_s;
}

// What the busiest NICs of each round take.
class RoundTimes {
 public:
  RoundTimes(const Plan& plan, const VerifyFacts& facts, const std::vector<bool>& stays,
             VerifyLog* log)
      : plan_(plan),
        index_(facts.index()),
        stays_(stays),
        log_(*log),
        least_ns_(plan.header.totals.rounds, 0),
        most_ns_(plan.header.totals.rounds, 0) {}

  void Run();
  Wide least_ns() const { return Sum(least_ns_); }
  Wide most_ns() const { return Sum(most_ns_); }

 private:
  // Bytes through a port in one round.
  struct PortLoad {
    Wide sent = 0;
    Wide received = 0;
    int64_t messages = 0;  // of both directions
    int64_t rounded = 0;   // bytes that rounding may add to either direction, or take
  };

  static Wide Sum(const std::vector<Wide>& times) {
    Wide sum = 0;
    for (const Wide ns : times) sum += ns;
    return sum;
  }

  Wide Received(uint32_t s) const;
  void AddTraffic(uint32_t r, std::vector<PortLoad>* loads);
  void AddShare(uint32_t r, const PlanNic& nic, std::vector<PortLoad>* own,
                std::vector<PortLoad>* shared);
  void TakeBusiest(std::vector<PortLoad>* loads, int64_t bytes_per_s);

  const Plan& plan_;
  const ProgramIndex& index_;
  const std::vector<bool>& stays_;
  VerifyLog& log_;
  std::vector<Wide> least_ns_, most_ns_;  // per round
};

// What comes to a head over the network in a slice.
Wide RoundTimes::Received(uint32_t s) const {
  Wide bytes = 0;
  for (uint32_t i = index_.first_inject[s]; i < index_.first_inject[s + 1]; ++i) {
    const uint32_t inject = index_.slice_injects[i];
    if (!stays_[inject]) bytes += plan_.injects[inject].extent;
  }
  return bytes;
}

// Adds what a rank sends and receives in each round.
void RoundTimes::AddTraffic(uint32_t r, std::vector<PortLoad>* loads) {
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
      PortLoad& load = (*loads)[slice.round + depth];
      load.received += position == 0 ? Received(s) : slice.extent;
      load.messages += position == 0 ? index_.first_inject[s + 1] - index_.first_inject[s] : 1;
      for (const uint32_t child : children) {
        PortLoad& sending = (*loads)[slice.round + TreeDepth(tree.kind, child)];
        sending.sent += slice.extent;
        ++sending.messages;
      }
    }
  }
  for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
    const PlanInject& inject = plan_.injects[i];
    if (stays_[i]) continue;
    PortLoad& load = (*loads)[inject.round];
    load.sent += inject.extent;
    ++load.messages;
  }
}

// All loads become 0.
void RoundTimes::TakeBusiest(std::vector<PortLoad>* loads, int64_t bytes_per_s) {
  for (size_t round = 0; round < loads->size(); ++round) {
    const PortLoad load = std::exchange((*loads)[round], PortLoad{});
    const Wide bytes = std::max(load.sent, load.received);
    if (bytes == 0) continue;
    const Wide least = std::max<Wide>(0, bytes - load.rounded);
    least_ns_[round] = std::max(least_ns_[round], NanosecondsFor(least, bytes_per_s));
    const Wide most = bytes + load.rounded;
    most_ns_[round] = std::max(most_ns_[round], NanosecondsFor(most, bytes_per_s) + 1);
  }
}

// Adds the part of a rank's traffic that one of its NICs carries. It is spread by bandwidth, each
// message by itself. `own` is all zeros.
void RoundTimes::AddShare(uint32_t r, const PlanNic& nic, std::vector<PortLoad>* own,
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
    PortLoad& to = (*shared)[round];
    to.sent += load.sent * nic.bytes_per_s / rank_rate;
    to.received += load.received * nic.bytes_per_s / rank_rate;
    to.rounded += 1 + load.messages;
  }
}

void RoundTimes::Run() {
  const size_t rounds = least_ns_.size();
  std::vector<std::vector<uint32_t>> ranks_of_nic(plan_.nics.size());
  std::vector<PortLoad> own(rounds), shared(rounds);
  for (uint32_t r = 0; r < plan_.ranks.size(); ++r) {
    const PlanSite& site = plan_.sites[index_.SiteIndex(plan_, plan_.ranks[r].rank)];
    for (const uint32_t nic : site.nics) ranks_of_nic[nic].push_back(r);
    if (site.host_bytes_per_s == 0 || !log_.Charge(rounds)) continue;
    AddTraffic(r, &own);
    TakeBusiest(&own, site.host_bytes_per_s);
  }
  for (size_t nic = 0; nic < ranks_of_nic.size() && log_.CanGoOn(); ++nic) {
    if (ranks_of_nic[nic].empty()) continue;
    for (const uint32_t r : ranks_of_nic[nic]) AddShare(r, plan_.nics[nic], &own, &shared);
    if (!log_.Charge(rounds)) return;
    TakeBusiest(&shared, plan_.nics[nic].bytes_per_s);
  }
}

// What scale-up ports, memories, uplinks and a shared fabric carry in the whole plan.
class SharedLoads {
 public:
  SharedLoads(const Plan& plan, const VerifyFacts& facts, const std::vector<bool>& stays,
              VerifyLog* log)
      : plan_(plan),
        facts_(facts),
        stays_(stays),
        log_(*log),
        scaleup_(plan.ranks.size()),
        memory_(plan.ranks.size(), 0),
        uplinks_(plan.groups.size()) {}

  void Run() {
    for (uint32_t r = 0; r < plan_.ranks.size(); ++r) AddInjects(r);
    for (const PlanTree& tree : plan_.trees) {
      if (!log_.CanGoOn()) return;
      AddForwards(tree);
      AddCopies(tree);
    }
  }

  // Of the busiest, rounded up.
  Wide Nanoseconds() const;

 private:
  struct Load {
    Wide out = 0;
    Wide in = 0;
  };

  static Wide RoundedUp(const Load& load, int64_t bytes_per_s) {
    if (bytes_per_s == 0) return 0;  // nothing limits
    return (std::max(load.out, load.in) * kNanoseconds + bytes_per_s - 1) / bytes_per_s;
  }

  const PlanSite& SiteOf(uint32_t r) const {
    return plan_.sites[facts_.index().SiteIndex(plan_, plan_.ranks[r].rank)];
  }
  // Between ranks of different domains.
  void AddMessage(uint32_t from, uint32_t to, Wide bytes);
  void AddInjects(uint32_t r);
  void AddForwards(const PlanTree& tree);
  void AddCopies(const PlanTree& tree);

  const Plan& plan_;
  const VerifyFacts& facts_;
  const std::vector<bool>& stays_;
  VerifyLog& log_;
  std::vector<Load> scaleup_;  // per entry of plan.ranks
  std::vector<Wide> memory_;   // the same
  std::vector<Load> uplinks_;  // per group
  Load fabric_;
};

void SharedLoads::AddMessage(uint32_t from, uint32_t to, Wide bytes) {
  fabric_.out += bytes;
  if (uplinks_.empty()) return;
  const uint32_t out = SiteOf(from).group;
  const uint32_t in = SiteOf(to).group;
  if (out == in) return;
  if (out != kNoId) uplinks_[out].out += bytes;
  if (in != kNoId) uplinks_[in].in += bytes;
}

void SharedLoads::AddInjects(uint32_t r) {
  const PlanRank& rank = plan_.ranks[r];
  for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
    const PlanInject& inject = plan_.injects[i];
    const uint32_t head = facts_.member_rank()[plan_.trees[inject.tree].first_member];
    memory_[r] += inject.extent;
    if (head == r) continue;
    if (stays_[i]) {
      scaleup_[r].out += inject.extent;
      scaleup_[head].in += inject.extent;
    } else {
      AddMessage(r, head, inject.extent);
    }
  }
}

void SharedLoads::AddForwards(const PlanTree& tree) {
  for (uint32_t p = 1; p < tree.member_count; ++p) {
    AddMessage(facts_.member_rank()[tree.first_member + TreeParent(tree.kind, p)],
               facts_.member_rank()[tree.first_member + p], plan_.streams[tree.stream].bytes);
  }
}

// The needers of a member's domain copy from it, over the scale-up fabric unless it is their own.
void SharedLoads::AddCopies(const PlanTree& tree) {
  const PlanStream& stream = plan_.streams[tree.stream];
  std::map<uint32_t, Wide> bytes_of_needers;
  for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
    bytes_of_needers[plan_.classes[plan_.pieces[p].cls].needers] += plan_.pieces[p].extent;
  }
  for (uint32_t m = tree.first_member; m < tree.first_member + tree.member_count; ++m) {
    const uint32_t member = facts_.member_rank()[m];
    const std::vector<uint32_t>& domain = facts_.index().domain_ranks[facts_.rank_domain()[member]];
    if (!log_.Charge(8 * (stream.piece_count + bytes_of_needers.size() * domain.size()))) return;
    for (const auto& [needers, bytes] : bytes_of_needers) {
      for (const uint32_t rank : domain) {
        const uint32_t needer = facts_.index().RankIndex(plan_, rank);
        if (needer == kNoId || !Contains(plan_.rank_sets[needers], rank)) continue;
        memory_[needer] += bytes;
        if (needer == member) continue;
        scaleup_[member].out += bytes;
        scaleup_[needer].in += bytes;
      }
    }
  }
}

Wide SharedLoads::Nanoseconds() const {
  Wide busiest = RoundedUp(fabric_, plan_.fabric.bytes_per_s);
  for (uint32_t r = 0; r < scaleup_.size(); ++r) {
    const PlanDomain& domain = plan_.domains[facts_.rank_domain()[r]];
    busiest = std::max(busiest, RoundedUp(scaleup_[r], domain.bytes_per_s));
    busiest = std::max(busiest, RoundedUp({memory_[r], 0}, SiteOf(r).copy_bytes_per_s));
  }
  for (size_t g = 0; g < uplinks_.size(); ++g) {
    busiest = std::max(busiest, RoundedUp(uplinks_[g], plan_.groups[g].uplink_bytes_per_s));
  }
  return busiest;
}

int64_t Saturated(Wide number) {
  return static_cast<int64_t>(std::clamp<Wide>(number, 0, INT64_MAX));
}

}  // namespace

PredictedRange FindPredictedRange(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  const std::vector<bool> stays = StaysInDomain(plan, facts);
  RoundTimes rounds(plan, facts, stays, log);
  rounds.Run();
  SharedLoads shared(plan, facts, stays, log);
  shared.Run();
  const Wide shared_ns = shared.Nanoseconds();
  const Wide cost_ns = Wide{plan.header.totals.rounds} * RoundCostNs(plan);
  return {Saturated(std::max(rounds.least_ns(), shared_ns) + cost_ns),
          Saturated(std::max(rounds.most_ns(), shared_ns) + cost_ns)};
}

void VerifyTime(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  const PredictedRange range = FindPredictedRange(plan, facts, log);
  const int64_t stated = plan.header.totals.predicted_ns;
  if (!log->CanGoOn() || (range.least <= stated && stated <= range.most)) return;
  log->Add(VerifyRule::kTime, "totals",
           "predicted_ns is " + std::to_string(stated) +
               ", rounds, busiest ports and copies take " + std::to_string(range.least) + " to " +
               std::to_string(range.most));
}

}  // namespace reshard
