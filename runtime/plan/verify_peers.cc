#include "runtime/plan/verify_peers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan_options.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// Both directions of every pair of ranks with a message between them, each once.
std::vector<std::pair<uint32_t, uint32_t>> Exchanges(const Plan& plan) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto add = [&pairs](uint32_t a, uint32_t b) {
    if (a == b) return;  // a head that packs its own bytes
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  };
  for (const PlanInject& inject : plan.injects) {
    add(inject.source, plan.tree_members[plan.trees[inject.tree].first_member]);
  }
  for (const PlanTree& tree : plan.trees) {
    for (uint32_t p = 1; p < tree.member_count; ++p) {
      add(plan.tree_members[tree.first_member + TreeParent(tree.kind, p)],
          plan.tree_members[tree.first_member + p]);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

void VerifyPeers(const Plan& plan, VerifyLog* log) {
  const std::optional<int64_t> limit = OptionNumber(plan, kMaxPeersOption);
  if (!limit || !log->Charge(plan.injects.size() + plan.tree_members.size())) return;
  const std::vector<std::pair<uint32_t, uint32_t>> pairs = Exchanges(plan);
  for (size_t i = 0; i < pairs.size() && log->CanGoOn();) {
    size_t end = i;
    while (end < pairs.size() && pairs[end].first == pairs[i].first) ++end;
    if (static_cast<int64_t>(end - i) > *limit) {
      log->Add(VerifyRule::kPeers, "rank " + std::to_string(pairs[i].first),
               "exchanges messages with " + std::to_string(end - i) + " ranks, more than the " +
                   std::to_string(*limit) + " of the option max-peers");
    }
    i = end;
  }
}

}  // namespace reshard
