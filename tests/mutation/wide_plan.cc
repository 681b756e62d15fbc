#include "tests/mutation/rule_mutations.h"

namespace reshard::testing {
namespace {

constexpr uint32_t kReceivers = 40;
constexpr uint32_t kSenders = kMaxSourcesPerSlice + 1;

PlanFamily Rows(PlanSide side, const std::string& name, int64_t rows, uint32_t rank_set) {
  PlanFamily family;
  family.side = side;
  family.name = {{name}, {}};
  family.shape = {rows, 8};
  family.dtype = DType::kF32;
  family.bytes = rows * 32;
  family.rank_set = rank_set;
  return family;
}

void AddSite(uint32_t rank, Plan* plan) {
  const std::string name = "node" + std::to_string(rank);
  plan->domains.push_back({name, 0, 0});
  plan->nics.push_back({name + "/nic", 1'000'000'000, -1});
  PlanSite site;
  site.rank = rank;
  site.node = name;
  site.domain = rank;
  site.nics = {rank};
  plan->sites.push_back(site);
  plan->rank_sets.push_back({rank});
}

// Row `receiver` goes to rank 1 + receiver: a class, a stream and a tree of its own.
void AddReceiver(uint32_t receiver, Plan* plan) {
  const uint32_t rank = 1 + receiver;
  AddSite(rank, plan);
  plan->families.push_back(Rows(PlanSide::kDestination, "w.row", 1, rank));
  plan->places.push_back({0, rank, 0, 0, 2 * rank});
  plan->place_dims.insert(plan->place_dims.end(), {{receiver, 1, 0, 0}, {0, 8, 4, 0}});
  plan->intervals.push_back({receiver, 1});
  plan->cells.push_back({0, 2 * receiver});
  plan->cell_dims.insert(plan->cell_dims.end(), {1 + receiver, 0});
  plan->classes.push_back({0, rank, 32, receiver, 1});
  plan->streams.push_back({receiver, 1, 32, false});
  plan->pieces.push_back({receiver, 0, 32});
  plan->trees.push_back({receiver, PlanTreeKind::kChain, receiver, 1});
  plan->tree_members.push_back(rank);
  plan->injects.push_back({receiver < 20 ? 0U : 1U, receiver, 0, 0, 32});
  plan->ranks.push_back({rank, kReceivers, 0, 256, 0});
}

// Rank `sender` holds row `sender`: a class of its own, and a piece of the only stream.
void AddSender(uint32_t sender, Plan* plan) {
  plan->families.push_back(Rows(PlanSide::kSource, "w.row", 1, sender));
  plan->places.push_back({0, sender, 0, 0, 2 * sender});
  plan->place_dims.insert(plan->place_dims.end(), {{sender, 1, 0, 0}, {0, 8, 4, 0}});
  plan->intervals.push_back({sender, 1});
  plan->cells.push_back({0, 2 * sender});
  plan->cell_dims.insert(plan->cell_dims.end(), {1 + sender, 0});
  plan->classes.push_back({sender, kSenders, 32, sender, 1});
  plan->pieces.push_back({sender, 0, 32});
  plan->injects.push_back({sender < kMaxSourcesPerSlice ? 0U : 1U, 0, sender, 32 * sender, 32});
  plan->ranks.push_back({sender, sender, 1, 0, 256});
}

}  // namespace

Plan GatheredPlan() {
  Plan plan;
  plan.supers.push_back({{{"w"}, {}}, DType::kF32, {}, {}, {kSenders, 8}, {{0, 1}, {1, 1}}});
  plan.intervals = {{0, 8}};
  for (uint32_t rank = 0; rank <= kSenders; ++rank) AddSite(rank, &plan);
  for (uint32_t sender = 0; sender < kSenders; ++sender) AddSender(sender, &plan);
  plan.families.push_back(Rows(PlanSide::kDestination, "w", kSenders, kSenders));
  plan.places.push_back({0, kSenders, 0, 0, 2 * kSenders});
  plan.place_dims.insert(plan.place_dims.end(), {{0, kSenders, 32, 0}, {0, 8, 4, 0}});
  plan.streams.push_back({0, kSenders, 32 * kSenders, false});
  plan.trees.push_back({0, PlanTreeKind::kChain, 0, 1});
  plan.tree_members.push_back(kSenders);
  plan.ranks.push_back({kSenders, kSenders, 0, 512, 0});
  PlanTotals& totals = plan.header.totals;
  const int64_t bytes = 32 * kSenders;
  totals.source_bytes = totals.destination_bytes = bytes;
  totals.network_bytes = totals.local_bytes = bytes;
  totals.messages = kSenders;
  totals.max_staging_bytes = kRecvSlots * 512;
  totals.rounds = 2;
  totals.predicted_ns = bytes + 2 * 20'000;
  totals.bound_ns = bytes;
  plan.cuts = {{PlanCutKind::kIngress, {kSenders}, bytes, 1'000'000'000}};
  return plan;
}

Plan WidePlan() {
  Plan plan;
  AddSite(0, &plan);
  plan.supers.push_back({{{"w"}, {}}, DType::kF32, {}, {}, {kReceivers, 8}, {{0, 1}, {1, 1}}});
  plan.families.push_back(Rows(PlanSide::kSource, "w", kReceivers, 0));
  plan.places.push_back({0, 0, 0, 0, 0});
  plan.place_dims = {{0, kReceivers, 32, 0}, {0, 8, 4, 0}};
  plan.intervals = {{0, 8}};
  plan.ranks.push_back({0, 0, kReceivers, 0, 20 * 256});
  for (uint32_t receiver = 0; receiver < kReceivers; ++receiver) AddReceiver(receiver, &plan);
  PlanTotals& totals = plan.header.totals;
  totals.source_bytes = 1280;
  totals.destination_bytes = 1280;
  totals.network_bytes = 1280;
  totals.local_bytes = 1280;
  totals.messages = 40;
  totals.max_staging_bytes = 10240;
  totals.rounds = 2;
  totals.predicted_ns = 1280 + 2 * 20'000;
  totals.bound_ns = 1280;
  plan.cuts = {{PlanCutKind::kInjection, {0}, 1280, 1'000'000'000}};
  return plan;
}

}  // namespace reshard::testing
