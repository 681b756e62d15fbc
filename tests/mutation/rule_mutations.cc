#include "tests/mutation/rule_mutations.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/testing/small_plan.h"

namespace reshard::testing {
namespace {

using Change = std::function<void(Plan*)>;

PlanMutation Make(const char* name, VerifyRule rule, Plan plan, const Change& change) {
  change(&plan);
  return {name, rule, std::move(plan), std::nullopt};
}

uint32_t AddRankSet(const RankList& ranks, Plan* plan) {
  plan->rank_sets.push_back(ranks);
  return static_cast<uint32_t>(plan->rank_sets.size() - 1);
}

// Tree 1 of the toy belongs to stream 0 as well, so that domain infer0 gets stream 0 twice.
void SendStreamTwice(Plan* p) { p->trees[1].stream = 0; }

// Each half of the replicated matrix takes the chain 2 -> 5 -> 6 on its own, both at the same time.
void SendHalvesAtOnce(Plan* p) {
  p->pieces = {{0, 0, 2048}, {0, 2048, 2048}};
  p->streams = {{0, 1, 2048, false}, {1, 1, 2048, false}};
  p->trees = {{0, PlanTreeKind::kChain, 0, 3}, {1, PlanTreeKind::kChain, 3, 3}};
  p->tree_members = {2, 5, 6, 2, 5, 6};
  p->injects = {
      {0, 0, 0, 0, 1024}, {1, 0, 0, 1024, 1024}, {0, 1, 1, 0, 1024}, {1, 1, 1, 1024, 1024}};
  for (PlanRank& rank : p->ranks) {
    rank.inject_count = rank.rank < 2 ? 2 : 0;
    rank.first_inject = std::min(2 * rank.rank, 4U);
    rank.pack_slot_bytes = rank.rank < 2 ? 1024 : 0;
    if (rank.recv_slot_bytes > 0) rank.recv_slot_bytes = 2048;
  }
}

// Rank 4, alone in its domain, needs rows 0 and 2: rank 2 forwards row 0 to it and in the same
// round sends it row 2, which it holds.
void AddRelayedRank(Plan* p) {
  p->domains.push_back({"node2", 0, 0});
  p->nics.push_back({"node2/nic0", 1'000'000'000, -1});
  PlanSite site;
  site.rank = 4;
  site.node = "node2";
  site.domain = 2;
  site.nics = {4};
  p->sites.push_back(site);
  p->ranks.push_back({4, 9, 0, 512, 0});
  PlanFamily family = p->families[4];
  family.name = {{"w.two"}, {}};
  family.shape = {2, 32};
  family.bytes = 256;
  family.rank_set = AddRankSet({4}, p);
  const auto family_id = static_cast<uint32_t>(p->families.size());
  p->families.push_back(family);
  for (int64_t row : {0, 2}) {
    p->places.push_back({0, family_id, row * 64, 0, static_cast<uint32_t>(p->place_dims.size())});
    p->place_dims.insert(p->place_dims.end(), {{row, 1, 0, 0}, {0, 32, 4, 0}});
  }
  p->classes[0].needers = p->classes[2].needers = AddRankSet({0, 1, 2, 4}, p);
  // Tree 4 goes on from rank 2, tree 6 brings row 2 in round 1.
  p->trees[4].member_count = 2;
  p->trees[5].first_member = 6;
  p->tree_members.insert(p->tree_members.begin() + 5, 4);
  p->streams.push_back({static_cast<uint32_t>(p->pieces.size()), 1, 128, false});
  p->pieces.push_back({2, 0, 128});
  p->trees.push_back({6, PlanTreeKind::kChain, 7, 1});
  p->tree_members.push_back(4);
  p->header.totals.rounds = 2;
  p->injects.insert(p->injects.begin() + 6, {1, 6, 2, 0, 128});
  p->ranks[2].inject_count = 3;
  p->ranks[3].first_inject = 7;
}

void AddParamMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
  };
  add("a fill one element short", VerifyRule::kParamCoverage, ExpertPlan(),
      [](Plan* p) { p->fill_dims[1].extent = 14; });
  add("a fill missing", VerifyRule::kParamCoverage, ExpertPlan(),
      [](Plan* p) { p->fills.clear(); });
  add("a fill twice", VerifyRule::kParamCoverage, ExpertPlan(),
      [](Plan* p) { p->fills.push_back(p->fills[0]); });
  add("a fill over elements", VerifyRule::kParamCoverage, ExpertPlan(),
      [](Plan* p) { p->fills[0].base_bytes = 94; });
  add("a place missing", VerifyRule::kParamCoverage, ColocatedPlan(),
      [](Plan* p) { p->places.pop_back(); });
  add("rows that overlap and leave a gap", VerifyRule::kParamCoverage, ReplicatedPlan(),
      [](Plan* p) { p->place_dims[2].stride_bytes = 126; });
  add("two instances in one buffer", VerifyRule::kParamCoverage, ExpertPlan(),
      [](Plan* p) { p->place_dims[10].instance_stride = 0; });
  add("two elements of a source in one byte", VerifyRule::kParamCoverage, ReplicatedPlan(),
      [](Plan* p) { p->place_dims[1].stride_bytes = 0; });
  add("an external param that is written", VerifyRule::kParamCoverage, ExpertPlan(), [](Plan* p) {
    p->fills.push_back({4, PlanFillRule::kZero, 0, static_cast<uint32_t>(p->fill_dims.size()), 1});
    p->fill_dims.push_back({16, 1});
  });
  add("a place behind its buffer", VerifyRule::kPlaceSize, ToyPlan(),
      [](Plan* p) { p->places[2].base_bytes = 4; });
  add("a place before its buffer", VerifyRule::kPlaceSize, ToyPlan(),
      [](Plan* p) { p->place_dims[5].stride_bytes = -4; });
  add("an instance that does not exist", VerifyRule::kPlaceSize, ExpertPlan(),
      [](Plan* p) { p->places[2].base_instance = 1; });
  add("a fill behind its buffer", VerifyRule::kPlaceSize, ExpertPlan(),
      [](Plan* p) { p->fills[0].base_bytes = 98; });
  add("between two elements", VerifyRule::kPlaceSize, ReplicatedPlan(),
      [](Plan* p) { p->place_dims[0].stride_bytes = 127; });
  add("floats into a param of integers", VerifyRule::kPlaceDType, ToyPlan(),
      [](Plan* p) { p->families[2].dtype = DType::kI32; });
  add("a second name that is the first", VerifyRule::kParamNames, ExpertPlan(),
      [](Plan* p) { p->families[2].shares[0] = p->families[2].name; });
  add("a plain name that is one of a pattern's", VerifyRule::kParamNames, ExpertPlan(),
      [](Plan* p) { p->families[4].name.text = {"layers.2.experts.w"}; });
  add("a pattern that leaves out a loop", VerifyRule::kParamNames, ExpertPlan(),
      [](Plan* p) { p->families[3].name.holes[0].coef[0] = 0; });
}

void AddCellMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
  };
  add("a cell in the place of another", VerifyRule::kCellCoverage, ToyPlan(),
      [](Plan* p) { p->cell_dims[2] = p->cell_dims[0]; });
  add("a cell over the edge of its place", VerifyRule::kCellCoverage, ToyPlan(), [](Plan* p) {
    p->cell_dims[1] = static_cast<uint32_t>(p->intervals.size());
    p->intervals.push_back({1, 2});
  });
  add("a rank that stores a cell but does not need it", VerifyRule::kCellCoverage, ReplicatedPlan(),
      [](Plan* p) {
        p->classes[0].needers = AddRankSet({2, 3, 4, 5, 6}, p);
      });
  add("a holder that does not store the cell", VerifyRule::kCellOrigin, ToyPlan(), [](Plan* p) {
    p->classes[0].holders = AddRankSet({0, 1}, p);
  });
  add("a rank that stores the cell and is no holder", VerifyRule::kCellOrigin, ReplicatedPlan(),
      [](Plan* p) { p->classes[0].holders = AddRankSet({0}, p); });
  add("a source place of fewer rows", VerifyRule::kCellOrigin, ToyPlan(),
      [](Plan* p) { p->place_dims[0].extent = 3; });
  add("a needer without a place", VerifyRule::kCellTarget, ToyPlan(), [](Plan* p) {
    p->classes[0].needers = AddRankSet({2, 3}, p);
  });
  add("more bytes than the cells have", VerifyRule::kClassBytes, ToyPlan(),
      [](Plan* p) { p->classes[0].bytes = 48; });
}

void AddRouteMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
  };
  add("more bytes than the pieces have", VerifyRule::kStreamBytes, ToyPlan(), [](Plan* p) {
    p->streams[0].bytes = 80;
    p->injects[4].extent = 48;
  });
  add("bytes to the wrong domain", VerifyRule::kDelivery, ToyPlan(),
      [](Plan* p) { std::swap(p->pieces[0].cls, p->pieces[4].cls); });
  add("bytes of a class twice, others never", VerifyRule::kDelivery, ReplicatedPlan(), [](Plan* p) {
    p->pieces = {{0, 0, 2048}, {0, 0, 2048}};
    p->streams[0].piece_count = 2;
  });
  add("a domain that the tree does not reach", VerifyRule::kDelivery, ReplicatedPlan(),
      [](Plan* p) {
        p->trees[0].member_count = 2;
        p->tree_members.pop_back();
      });
  add("two landers of a tree in one domain", VerifyRule::kTreeShape, ReplicatedPlan(),
      [](Plan* p) { p->tree_members[1] = 3; });
  add("two trees of a stream into one domain", VerifyRule::kTreeShape, ToyPlan(), SendStreamTwice);
  add("a byte of the stream in no inject", VerifyRule::kSliceCoverage, ToyPlan(),
      [](Plan* p) { p->injects[4].extent = 31; });
  add("a byte of the stream in two injects", VerifyRule::kSliceCoverage, ReplicatedPlan(),
      [](Plan* p) { p->injects[1].begin -= 16; });
  add("a slice in two parts", VerifyRule::kSliceCoverage, ReplicatedPlan(),
      [](Plan* p) { std::swap(p->injects[0].begin, p->injects[1].begin); });
  add("a rank that sends what another holds", VerifyRule::kProvenance, ToyPlan(),
      [](Plan* p) { std::swap(p->pieces[0], p->pieces[1]); });
  add("a local stream of another rank", VerifyRule::kLocality, ColocatedPlan(),
      [](Plan* p) { p->tree_members[0] = 1; });
  add("a local stream that a relay gets", VerifyRule::kLocality, ReplicatedPlan(),
      [](Plan* p) { p->streams[0].local = true; });
  add("a hand-over to a domain that needs nothing of it", VerifyRule::kLocality, ToyPlan(),
      [](Plan* p) { p->tree_members[0] = 1; });
  add("a hand-over without a scale-up fabric", VerifyRule::kLocality, CarriedPlan(),
      [](Plan* p) { p->domains[0].bytes_per_s = 0; });
  add("a carrier without a NIC", VerifyRule::kNoNic, CarriedPlan(),
      [](Plan* p) { p->sites[1].nics.clear(); });
  add("a carrier that gets what the source does not hold", VerifyRule::kProvenance, CarriedPlan(),
      [](Plan* p) {
        // Rank 1 packs for itself.
        for (PlanInject& inject : p->injects) inject.source = 1;
        p->ranks[0].inject_count = 0;
        p->ranks[1].first_inject = 0;
        p->ranks[1].inject_count = 4;
      });
  add("a source without a NIC", VerifyRule::kNoNic, ToyPlan(),
      [](Plan* p) { p->sites[0].nics.clear(); });
  add("a head without a NIC", VerifyRule::kNoNic, ToyPlan(),
      [](Plan* p) { p->sites[2].nics.clear(); });
  add("a relay without a NIC", VerifyRule::kNoNic, ReplicatedPlan(),
      [](Plan* p) { p->sites[5].nics.clear(); });
  add("an inject boundary at 8 bytes", VerifyRule::kCutAlign, ReplicatedPlan(), [](Plan* p) {
    p->injects[0].extent += 8;
    p->injects[4].begin += 8;
    p->injects[4].extent -= 8;
  });
  add("a piece boundary at 8 bytes", VerifyRule::kCutAlign, ReplicatedPlan(), [](Plan* p) {
    p->pieces = {{0, 0, 2056}, {0, 2056, 2040}};
    p->streams[0].piece_count = 2;
  });
  add("an inject of no bytes", VerifyRule::kEmptyOp, ToyPlan(), [](Plan* p) {
    p->injects.insert(p->injects.begin() + 1, {0, 1, 0, 0, 0});
    ++p->ranks[0].inject_count;
    for (size_t r = 1; r < p->ranks.size(); ++r) ++p->ranks[r].first_inject;
  });
}

void AddRoundMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
  };
  add("a receive slot too small", VerifyRule::kSlotSize, ReplicatedPlan(),
      [](Plan* p) { p->ranks[2].recv_slot_bytes = 768; });
  add("a pack slot too small", VerifyRule::kSlotSize, ToyPlan(),
      [](Plan* p) { p->ranks[0].pack_slot_bytes = 256; });
  add("more staging than the option allows", VerifyRule::kSlotSize, ToyPlan(),
      [](Plan* p) { p->header.options[0].second = "1023"; });
  add("more peers than the option allows", VerifyRule::kPeers, ToyPlan(), [](Plan* p) {
    p->header.options.insert(p->header.options.begin(), {"max-peers", "3"});
  });
  add("two messages to one rank", VerifyRule::kMessageUnique, ToyPlan(), [](Plan* p) {
    // Rank 2 takes what rank 3 took, in the round in which it takes its own.
    p->tree_members[1] = 2;
    p->injects[1] = {0, 1, 0, 0, 32};
    p->injects[2] = {0, 2, 0, 0, 32};
    p->injects[5] = {0, 1, 1, 32, 32};
    p->injects[6] = {0, 2, 1, 32, 32};
    p->ranks[0].pack_slot_bytes = p->ranks[1].pack_slot_bytes = 768;
    p->ranks[2].recv_slot_bytes = 512;
  });
  add("two forwards along one edge", VerifyRule::kMessageUnique, ReplicatedPlan(),
      SendHalvesAtOnce);
  add("a message beside a forward", VerifyRule::kMessageUnique, ColocatedPlan(), AddRelayedRank);
  add("a round with 40 messages", VerifyRule::kOpsPerRound, WidePlan(), [](Plan* p) {
    for (PlanInject& inject : p->injects) inject.round = 0;
    p->ranks[0].pack_slot_bytes = 40 * 256;
    p->header.totals.rounds = 1;
  });
  add("a slice of one source too many", VerifyRule::kOpsPerRound, GatheredPlan(), [](Plan* p) {
    p->injects.back().round = 0;
    p->ranks.back().recv_slot_bytes = 768;
    p->header.totals.max_staging_bytes = kRecvSlots * 768;
    p->header.totals.rounds = 1;
  });
  add("a round after the last", VerifyRule::kTotals, ReplicatedPlan(),
      [](Plan* p) { p->header.totals.rounds = 5; });
}

void AddClaimMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
  };
  add("bounds", VerifyRule::kBounds, ToyPlan(), [](Plan* p) { p->pieces[0].cls = 8; });
  add("order", VerifyRule::kOrder, ToyPlan(),
      [](Plan* p) { std::swap(p->header.options[0], p->header.options[1]); });
  add("rounds that cost more than predicted", VerifyRule::kTime, ToyPlan(), [](Plan* p) {
    p->header.options.insert(p->header.options.begin() + 1, {"round-cost", "1000000"});
  });
  int64_t PlanTotals::*const kTotals[] = {
      &PlanTotals::source_bytes,      &PlanTotals::destination_bytes, &PlanTotals::network_bytes,
      &PlanTotals::scaleup_bytes,     &PlanTotals::local_bytes,       &PlanTotals::messages,
      &PlanTotals::max_staging_bytes, &PlanTotals::bound_ns};
  for (const auto total : kTotals) {
    add("a total one too high", VerifyRule::kTotals, ReplicatedPlan(),
        [total](Plan* p) { ++(p->header.totals.*total); });
  }
  for (const auto total : {&PlanTotals::network_bytes, &PlanTotals::scaleup_bytes}) {
    add("a hand-over counted elsewhere", VerifyRule::kTotals, CarriedPlan(),
        [total](Plan* p) { p->header.totals.*total -= 4096; });
  }
  add("a stem and branches that are called a star", VerifyRule::kTotals, CarriedPlan(),
      [](Plan* p) { p->trees[0].kind = PlanTreeKind::kStar; });
  add("a tree that is called a chain", VerifyRule::kTotals, BinaryPlan(),
      [](Plan* p) { p->trees[0].kind = PlanTreeKind::kChain; });
  add("a chain that is called a tree", VerifyRule::kTotals, ReplicatedPlan(),
      [](Plan* p) { p->trees[0].kind = PlanTreeKind::kBinary; });
  add("a time below the bound", VerifyRule::kTotals, ReplicatedPlan(),
      [](Plan* p) { p->header.totals.predicted_ns = 2047; });
  add("a round too many", VerifyRule::kTotals, ReplicatedPlan(),
      [](Plan* p) { ++p->header.totals.rounds; });
  add("a time below what the busiest ports take", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { --p->header.totals.predicted_ns; });
  add("a time above what rounds and ports take", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { p->header.totals.predicted_ns += 7; });  // rounding: 1 ns in each of 6 rounds
  add("a time that leaves out copies", VerifyRule::kTime, ReplicatedPlan(), [](Plan* p) {
    // Each of three landers hands 4,096 bytes to its neighbour: more than 8 us at 500 MB/s.
    for (PlanDomain& domain : p->domains) domain.bytes_per_s = 500'000'000;
  });
  // By rounds it is 6,144 ns. At 100 MB/s ranks 0 and 1 pack 2,048 bytes for longer; 2, 5 and 6
  // copy 4,096 out of their own slots, and the others as many out of theirs.
  add("a time that leaves out packs", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { p->sites[0].copy_bytes_per_s = 100'000'000; });
  add("a time that leaves out copies from own slots", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { p->sites[2].copy_bytes_per_s = 100'000'000; });
  add("a time that leaves out writing what is copied", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { p->sites[3].copy_bytes_per_s = 100'000'000; });
  // 128 bytes to send, 128 for itself and 128 out of its own slot; 256 ns by rounds.
  add("a time that leaves out a part of what passes a memory", VerifyRule::kTime, ColocatedPlan(),
      [](Plan* p) { p->sites[3].copy_bytes_per_s = 1'000'000'000; });
  add("a time that leaves out uplinks", VerifyRule::kTime, ReplicatedPlan(), [](Plan* p) {
    p->groups = {{"train", 500'000'000}, {"infer", 0}};
    for (PlanSite& site : p->sites) site.group = site.rank < 2 ? 0 : 1;
  });
  add("a time that leaves out the fabric", VerifyRule::kTime, ReplicatedPlan(),
      [](Plan* p) { p->fabric.bytes_per_s = 1'000'000'000; });
  add("a cut of more bytes", VerifyRule::kCut, ToyPlan(), [](Plan* p) { ++p->cuts[2].bytes; });
  add("a cut of slower NICs", VerifyRule::kCut, ToyPlan(),
      [](Plan* p) { --p->cuts[2].bytes_per_s; });
  add("a cut in the wrong direction", VerifyRule::kCut, ToyPlan(),
      [](Plan* p) { p->cuts[2].kind = PlanCutKind::kInjection; });
  add("another cut that binds", VerifyRule::kCut, ToyPlan(), [](Plan* p) {
    std::swap(p->cuts[0], p->cuts[1]);
    p->header.totals.bound_ns = 64;
  });
  add("a cut of one domain twice", VerifyRule::kCut, ToyPlan(), [](Plan* p) {
    p->cuts[2].members = {2, 2};
  });
}

// What one rank sees at its start.
void AddRankMutations(std::vector<PlanMutation>* out) {
  const auto add = [out](const char* name, VerifyRule rule, Plan plan, uint32_t rank,
                         const Change& change) {
    out->push_back(Make(name, rule, std::move(plan), change));
    out->back().rank = rank;
  };
  add("own bytes from two landers", VerifyRule::kWriteRace, ToyPlan(), 2, [](Plan* p) {
    SendStreamTwice(p);
    p->ranks[2].recv_slot_bytes = 512;
  });
  add("own bytes from no lander", VerifyRule::kDelivery, ToyPlan(), 3, SendStreamTwice);
  add("an own fill missing", VerifyRule::kParamCoverage, ExpertPlan(), 2,
      [](Plan* p) { p->fills.clear(); });
  add("an own cell missing", VerifyRule::kCellCoverage, ExpertPlan(), 3,
      [](Plan* p) { p->classes[2].needers = p->classes[0].needers; });
  add("an own cell without a place", VerifyRule::kCellTarget, ExpertPlan(), 3, [](Plan* p) {
    p->classes[0].needers = AddRankSet({2, 3}, p);
  });
  add("a held cell without a place", VerifyRule::kCellOrigin, ToyPlan(), 1, [](Plan* p) {
    p->classes[0].holders = AddRankSet({0, 1}, p);
  });
  add("bytes sent and not held", VerifyRule::kProvenance, ToyPlan(), 0,
      [](Plan* p) { std::swap(p->pieces[0], p->pieces[1]); });
  add("an own slot too small", VerifyRule::kSlotSize, ToyPlan(), 0,
      [](Plan* p) { p->ranks[0].pack_slot_bytes = 256; });
}

}  // namespace

std::vector<PlanMutation> PlanMutations() {
  std::vector<PlanMutation> mutations;
  AddParamMutations(&mutations);
  AddCellMutations(&mutations);
  AddRouteMutations(&mutations);
  AddRoundMutations(&mutations);
  AddClaimMutations(&mutations);
  AddRankMutations(&mutations);
  for (PlanMutation& mutation : CutMutations()) mutations.push_back(std::move(mutation));
  return mutations;
}

}  // namespace reshard::testing
