#include "compiler/simulate/operations.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/program.h"

namespace reshard {
namespace {

// Sorts by round, keeping the order otherwise: the lists come rank by rank.
template <typename T>
void SortByRound(std::vector<T>* list) {
  std::stable_sort(list->begin(), list->end(),
                   [](const T& a, const T& b) { return a.round < b.round; });
}

class Collector {
 public:
  Collector(const Plan& plan, uint32_t first_round, uint32_t end_round)
      : plan_(plan),
        index_(BuildProgramIndex(plan)),
        first_round_(first_round),
        end_round_(end_round) {}

  SimOperations Run() {
    const size_t rank_count = plan_.ranks.size();
    lands_.resize(rank_count);
    for (uint32_t r = 0; r < rank_count; ++r) AddRank(r);
    SortByRound(&result_.messages);
    SortByRound(&result_.copies);
    SortByRound(&result_.packs);
    const auto& messages = result_.messages;
    const auto& copies = result_.copies;
    result_.reads.Build(rank_count, copies.size(), [&](size_t i) { return copies[i].reader; });
    result_.landings.Build(rank_count, copies.size(), [&](size_t i) { return copies[i].lander; });
    result_.own_messages.resize(rank_count);
    for (uint32_t m = 0; m < messages.size(); ++m) {
      result_.own_messages[messages[m].src].push_back(m);
      result_.own_messages[messages[m].dst].push_back(m);
    }
    packs_of_rank_.Build(rank_count, result_.packs.size(),
                         [&](size_t i) { return result_.packs[i].rank; });
    for (uint32_t r = 0; r < rank_count; ++r) result_.steps.push_back(StepsOf(r));
    return std::move(result_);
  }

 private:
  void AddRank(uint32_t rank) {
    const size_t first_copy = result_.copies.size();
    for (const Op& op : ExpandProgram(plan_, index_, plan_.ranks[rank].rank).ops) {
      if (op.round < first_round_ || op.round >= end_round_) continue;
      switch (op.kind) {
        case OpKind::kPack:
          AddPack(rank, op);
          break;
        case OpKind::kSend:
        case OpKind::kForward:
          result_.messages.push_back(
              {op.round, rank, index_.RankIndex(plan_, op.peer), 0, op.extent});
          break;
        case OpKind::kRecv:
          AddLanding(rank, op.round);
          break;
        case OpKind::kCopy:
          AddCopy(rank, op, first_copy);
          break;
      }
    }
  }

  void AddPack(uint32_t rank, const Op& op) {
    if (result_.packs.empty() || result_.packs.back().rank != rank ||
        result_.packs.back().round != op.round) {
      result_.packs.push_back({rank, op.round, 0});
    }
    result_.packs.back().bytes += op.extent;
    // A head packs its own part of a slice where the slice lands.
    if (plan_.tree_members[plan_.trees[op.tree].first_member] == plan_.ranks[rank].rank) {
      AddLanding(rank, op.round);
    }
  }

  void AddLanding(uint32_t rank, uint32_t round) {
    if (lands_[rank].empty() || lands_[rank].back() != round) lands_[rank].push_back(round);
  }

  void AddCopy(uint32_t rank, const Op& op, size_t first_copy) {
    const uint32_t lander = index_.RankIndex(plan_, op.peer);
    for (size_t i = result_.copies.size(); i > first_copy; --i) {
      SimCopy& copy = result_.copies[i - 1];
      if (copy.round != op.round) break;
      if (copy.lander != lander) continue;
      copy.bytes += op.extent;
      return;
    }
    result_.copies.push_back({op.round, lander, rank, 0, false, op.extent});
  }

  // The rank's rounds: of its messages and packs, and the one after each from which it copies.
  std::vector<SimStep> StepsOf(uint32_t rank) const {
    const std::vector<uint32_t>& messages = result_.own_messages[rank];
    const auto reads = result_.reads[rank];
    const auto packs = packs_of_rank_[rank];
    std::vector<SimStep> steps;
    uint32_t m = 0, c = 0, p = 0, l = 0;
    while (m < messages.size() || c < reads.size() || p < packs.size()) {
      SimStep step;
      step.round = kNoId;
      if (m < messages.size()) step.round = result_.messages[messages[m]].round;
      if (c < reads.size()) step.round = std::min(step.round, result_.copies[reads[c]].round + 1);
      if (p < packs.size()) step.round = std::min(step.round, result_.packs[packs[p]].round);
      step.first_message = m;
      while (m < messages.size() && result_.messages[messages[m]].round == step.round) ++m;
      step.message_end = m;
      step.first_read = c;
      while (c < reads.size() && result_.copies[reads[c]].round + 1 == step.round) ++c;
      step.read_end = c;
      if (p < packs.size() && result_.packs[packs[p]].round == step.round) step.pack = packs[p++];
      if (l < lands_[rank].size() && lands_[rank][l] == step.round) {
        step.lands = true;
        ++l;
      }
      steps.push_back(step);
    }
    return steps;
  }

  const Plan& plan_;
  const ProgramIndex index_;
  const uint32_t first_round_, end_round_;
  std::vector<std::vector<uint32_t>> lands_;  // per rank: rounds in which it lands something
  PerRank packs_of_rank_;
  SimOperations result_;
};

// The plan without the injects whose slices land nowhere in rounds [first_round, end_round). What
// is done in these rounds stays the same, offsets in slots included: they depend on the slices of
// one round alone. Programs of a long plan expand in a fraction of the time.
Plan PlanOfRounds(const Plan& plan, uint32_t first_round, uint32_t end_round) {
  std::vector<uint32_t> depths;  // per tree: of its last position
  for (const PlanTree& tree : plan.trees) {
    uint32_t depth = 0;
    for (uint32_t position = 0; position < tree.member_count; ++position) {
      depth = std::max(depth, TreeDepth(tree.kind, position));
    }
    depths.push_back(depth);
  }
  Plan part = plan;
  part.injects.clear();
  for (PlanRank& rank : part.ranks) {
    const uint32_t first = static_cast<uint32_t>(part.injects.size());
    for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
      const PlanInject& inject = plan.injects[i];
      const uint64_t last_round = uint64_t{inject.round} + depths[inject.tree];
      if (inject.round < end_round && last_round >= first_round) part.injects.push_back(inject);
    }
    rank.first_inject = first;
    rank.inject_count = static_cast<uint32_t>(part.injects.size()) - first;
  }
  return part;
}

}  // namespace

SimOperations CollectOperations(const Plan& plan, uint32_t first_round, uint32_t end_round) {
  if (first_round == 0 && end_round >= plan.header.totals.rounds) {
    return Collector(plan, first_round, end_round).Run();
  }
  const Plan part = PlanOfRounds(plan, first_round, end_round);
  return Collector(part, first_round, end_round).Run();
}

}  // namespace reshard
