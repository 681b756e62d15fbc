#include "runtime/plan/verify_totals.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

class TotalsChecker {
 public:
  TotalsChecker(const Plan& plan, const VerifyFacts& facts, VerifyLog* log)
      : plan_(plan), index_(facts.index()), log_(*log), stays_(StaysInDomain(plan, facts)) {}

  void Run() {
    CheckStored();
    CheckMoved();
    CheckBound();
  }

 private:
  void Compare(const char* what, int64_t stated, Wide counted) {
    if (stated == counted) return;
    log_.Add(VerifyRule::kTotals, "totals",
             std::string(what) + " is " + std::to_string(stated) + ", the tables add up to " +
                 WideText(counted));
  }

  void CheckStored();
  void CheckMoved();
  Wide CountLocal(const PlanTree& tree);
  void CheckBound();

  const Plan& plan_;
  const ProgramIndex& index_;
  VerifyLog& log_;
  const std::vector<bool> stays_;  // per inject
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
    bound = Wide{cut.bytes} * 1'000'000'000 / cut.bytes_per_s;
  }
  Compare("bound_ns", plan_.header.totals.bound_ns, bound);
  if (plan_.header.totals.predicted_ns < bound) {
    log_.Add(VerifyRule::kTotals, "totals",
             "predicted_ns is " + std::to_string(plan_.header.totals.predicted_ns) +
                 ", less than the bound of " + WideText(bound) + ", which no schedule beats");
  }
}

}  // namespace

void VerifyTotals(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  TotalsChecker(plan, facts, log).Run();
}

}  // namespace reshard
