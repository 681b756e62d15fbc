#include "tests/mutation/rule_mutations.h"

namespace reshard::testing {
namespace {

constexpr uint32_t kReceivers = 40;

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

}  // namespace

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
  totals.predicted_ns = 1280;
  totals.bound_ns = 1280;
  plan.cuts = {{PlanCutKind::kInjection, {0}, 1280, 1'000'000'000}};
  return plan;
}

}  // namespace reshard::testing
