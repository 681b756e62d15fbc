#include "runtime/plan/testing/small_plan.h"

#include <algorithm>
#include <utility>

namespace reshard::testing {
namespace {

constexpr int64_t kRoundNs = 20'000;

NamePattern Plain(const std::string& name) { return {{name}, {}}; }

PlanFamily MakeFamily(PlanSide side, NamePattern name, const std::vector<int64_t>& shape,
                      DType dtype, int64_t bytes) {
  PlanFamily family;
  family.side = side;
  family.name = std::move(name);
  family.shape = shape;
  family.dtype = dtype;
  family.bytes = bytes;
  return family;
}

// Appends rows to the tables of a plan and hands their indices out. Calculates nothing that a plan
// states: bytes, slots and totals are arguments.
class Builder {
 public:
  explicit Builder(uint8_t seed) {
    plan_.header.train_digest.fill(seed);
    plan_.header.infer_digest.fill(static_cast<uint8_t>(seed + 1));
    plan_.header.topo_digest.fill(static_cast<uint8_t>(seed + 2));
    plan_.header.options = {{"max-staging", "268435456"}, {"slice", "67108864"}};
    plan_.fabric.latency_ns = 2000;
  }

  uint32_t RankSet(const RankList& ranks) {
    const auto found = std::find(plan_.rank_sets.begin(), plan_.rank_sets.end(), ranks);
    const auto id = static_cast<uint32_t>(found - plan_.rank_sets.begin());
    if (found == plan_.rank_sets.end()) plan_.rank_sets.push_back(ranks);
    return id;
  }

  // A domain of `ranks`, each with a GPU and a NIC of its own.
  void Domain(const std::string& name, const RankList& ranks) {
    const auto domain = static_cast<uint32_t>(plan_.domains.size());
    plan_.domains.push_back({name, 10'000'000'000, 500});
    uint32_t gpu = 0;
    for (const Rank rank : ranks) {
      PlanSite site;
      site.rank = rank;
      site.node = name;
      site.gpu = gpu;
      site.domain = domain;
      site.nics = {static_cast<uint32_t>(plan_.nics.size())};
      plan_.nics.push_back({name + "/nic" + std::to_string(gpu), 1'000'000'000, -1});
      plan_.sites.push_back(site);
      ++gpu;
    }
  }

  uint32_t Super(NamePattern name, DType dtype, const std::vector<int64_t>& loop_begin,
                 const std::vector<int64_t>& loop_extent, const std::vector<int64_t>& shape,
                 const std::vector<PlanSuper::Dim>& dims) {
    plan_.supers.push_back({std::move(name), dtype, loop_begin, loop_extent, shape, dims});
    return static_cast<uint32_t>(plan_.supers.size() - 1);
  }

  // A plain row-major matrix, and a param of one instance.
  uint32_t Matrix(DType dtype, int64_t rows, int64_t columns) {
    return Super(Plain("w"), dtype, {}, {}, {rows, columns}, {{0, 1}, {1, 1}});
  }
  uint32_t Param(PlanSide side, const std::string& name, const std::vector<int64_t>& shape,
                 DType dtype, int64_t bytes, const RankList& ranks) {
    return Family(MakeFamily(side, Plain(name), shape, dtype, bytes), ranks);
  }

  uint32_t Family(PlanFamily family, const RankList& ranks) {
    family.rank_set = RankSet(ranks);
    plan_.families.push_back(std::move(family));
    return static_cast<uint32_t>(plan_.families.size() - 1);
  }

  void Place(uint32_t super, uint32_t family, int64_t base_bytes,
             const std::vector<PlanDimRange>& dims) {
    plan_.places.push_back(
        {super, family, base_bytes, 0, static_cast<uint32_t>(plan_.place_dims.size())});
    plan_.place_dims.insert(plan_.place_dims.end(), dims.begin(), dims.end());
  }

  void Fill(uint32_t family, int64_t base_bytes, const std::vector<PlanFillDim>& dims) {
    plan_.fills.push_back({family, PlanFillRule::kZero, base_bytes,
                           static_cast<uint32_t>(plan_.fill_dims.size()),
                           static_cast<uint32_t>(dims.size())});
    plan_.fill_dims.insert(plan_.fill_dims.end(), dims.begin(), dims.end());
  }

  // A class of one cell.
  uint32_t Class(const RankList& holders, const RankList& needers, int64_t bytes, uint32_t super,
                 const std::vector<PlanInterval>& box) {
    PlanCell cell{super, static_cast<uint32_t>(plan_.cell_dims.size())};
    for (const PlanInterval& interval : box) {
      const auto found = std::find(plan_.intervals.begin(), plan_.intervals.end(), interval);
      plan_.cell_dims.push_back(static_cast<uint32_t>(found - plan_.intervals.begin()));
      if (found == plan_.intervals.end()) plan_.intervals.push_back(interval);
    }
    plan_.classes.push_back(
        {RankSet(holders), RankSet(needers), bytes, static_cast<uint32_t>(plan_.cells.size()), 1});
    plan_.cells.push_back(cell);
    return static_cast<uint32_t>(plan_.classes.size() - 1);
  }

  // A stream with one tree.
  void Stream(int64_t bytes, bool local, const std::vector<PlanPiece>& pieces,
              const std::vector<Rank>& members, PlanTreeKind kind = PlanTreeKind::kChain) {
    const auto stream = static_cast<uint32_t>(plan_.streams.size());
    plan_.streams.push_back({static_cast<uint32_t>(plan_.pieces.size()),
                             static_cast<uint32_t>(pieces.size()), bytes, local});
    plan_.pieces.insert(plan_.pieces.end(), pieces.begin(), pieces.end());
    plan_.trees.push_back({stream, kind, static_cast<uint32_t>(plan_.tree_members.size()),
                           static_cast<uint32_t>(members.size())});
    plan_.tree_members.insert(plan_.tree_members.end(), members.begin(), members.end());
  }

  struct Message {
    uint32_t round, tree;
    int64_t begin, extent;
  };
  // Ranks are added in rising order, with what they send.
  void AddRank(Rank rank, int64_t recv_slot_bytes, int64_t pack_slot_bytes,
               const std::vector<Message>& sends) {
    plan_.ranks.push_back({rank, static_cast<uint32_t>(plan_.injects.size()),
                           static_cast<uint32_t>(sends.size()), recv_slot_bytes, pack_slot_bytes});
    for (const Message& m : sends) {
      plan_.injects.push_back({m.round, m.tree, rank, m.begin, m.extent});
    }
  }

  Plan Finish(const PlanTotals& totals, std::vector<PlanCut> cuts) {
    plan_.header.totals = totals;
    plan_.cuts = std::move(cuts);
    return std::move(plan_);
  }

 private:
  Plan plan_;
};

}  // namespace

Plan ToyPlan() {
  Builder b(1);
  b.Domain("train0", {0, 1});
  b.Domain("infer0", {2, 3});
  b.Domain("infer1", {4, 5});
  const uint32_t w = b.Matrix(DType::kF32, 8, 8);
  for (Rank r = 0; r < 2; ++r) {
    const uint32_t rows = b.Param(PlanSide::kSource, "w.rows", {4, 8}, DType::kF32, 128, {r});
    b.Place(w, rows, 0, {{4 * r, 4, 32, 0}, {0, 8, 4, 0}});
  }
  for (Rank c = 0; c < 4; ++c) {
    const uint32_t columns =
        b.Param(PlanSide::kDestination, "w.columns", {8, 2}, DType::kF32, 64, {2 + c});
    b.Place(w, columns, 0, {{0, 8, 8, 0}, {2 * c, 2, 4, 0}});
  }
  for (Rank c = 0; c < 4; ++c) {
    const uint32_t upper = b.Class({0}, {2 + c}, 32, w, {{0, 4}, {2 * c, 2}});
    const uint32_t lower = b.Class({1}, {2 + c}, 32, w, {{4, 4}, {2 * c, 2}});
    b.Stream(64, false, {{upper, 0, 32}, {lower, 0, 32}}, {2 + c});
  }
  b.AddRank(0, 0, 512, {{0, 0, 0, 32}, {0, 2, 0, 32}, {1, 1, 0, 32}, {1, 3, 0, 32}});
  b.AddRank(1, 0, 512, {{0, 0, 32, 32}, {0, 2, 32, 32}, {1, 1, 32, 32}, {1, 3, 32, 32}});
  for (Rank r = 2; r < 6; ++r) b.AddRank(r, 256, 0, {});
  const PlanTotals totals = {.source_bytes = 256,
                             .destination_bytes = 256,
                             .network_bytes = 256,
                             .local_bytes = 256,
                             .messages = 8,
                             .max_staging_bytes = 1024,
                             .rounds = 2,
                             .predicted_ns = 128 + 2 * kRoundNs,
                             .bound_ns = 128};
  return b.Finish(totals, {{PlanCutKind::kInjection, {0}, 256, 2'000'000'000},
                           {PlanCutKind::kIngress, {1}, 128, 2'000'000'000},
                           {PlanCutKind::kIngress, {2}, 128, 2'000'000'000}});
}

Plan ReplicatedPlan() {
  Builder b(11);
  b.Domain("train0", {0, 1});
  b.Domain("infer0", {2, 3});
  b.Domain("infer1", {4, 5});
  b.Domain("infer2", {6, 7});
  const RankList sources = {0, 1};
  const RankList needers = {2, 3, 4, 5, 6, 7};
  const uint32_t w = b.Matrix(DType::kBf16, 32, 64);
  const uint32_t held = b.Param(PlanSide::kSource, "w", {32, 64}, DType::kBf16, 4096, sources);
  b.Place(w, held, 0, {{0, 32, 128, 0}, {0, 64, 2, 0}});
  const uint32_t needed =
      b.Param(PlanSide::kDestination, "model.w", {32, 64}, DType::kBf16, 4096, needers);
  b.Place(w, needed, 0, {{0, 32, 128, 0}, {0, 64, 2, 0}});
  const uint32_t all = b.Class(sources, needers, 4096, w, {{0, 32}, {0, 64}});
  b.Stream(4096, false, {{all, 0, 4096}}, {2, 5, 6});
  b.AddRank(0, 0, 512, {{0, 0, 0, 512}, {1, 0, 1024, 512}, {2, 0, 2048, 512}, {3, 0, 3072, 512}});
  b.AddRank(1, 0, 512, {{0, 0, 512, 512}, {1, 0, 1536, 512}, {2, 0, 2560, 512}, {3, 0, 3584, 512}});
  for (Rank r = 2; r < 8; ++r) b.AddRank(r, r == 2 || r == 5 || r == 6 ? 1024 : 0, 0, {});
  const PlanTotals totals = {.source_bytes = 8192,
                             .destination_bytes = 24576,
                             .network_bytes = 12288,
                             .scaleup_bytes = 12288,
                             .local_bytes = 12288,
                             .messages = 16,
                             .max_staging_bytes = 3072,
                             .rounds = 6,
                             .predicted_ns = 6144 + 6 * kRoundNs,
                             .bound_ns = 2048};
  return b.Finish(totals, {{PlanCutKind::kIngress, {1}, 4096, 2'000'000'000},
                           {PlanCutKind::kInjection, {0}, 4096, 2'000'000'000}});
}

Plan ExpertPlan() {
  Builder b(21);
  b.Domain("train0", {0, 1});
  b.Domain("infer0", {2, 3});
  // Layers 1 and 2, experts 0 to 3 as 2 * high + low; 6 rows of 8.
  const NamePattern per_expert = {{"layers.", ".experts.", ".w"}, {{0, {1, 0}}, {0, {0, 1}}}};
  const NamePattern per_layer = {{"layers.", ".experts.w"}, {{0, {1}}}};
  const uint32_t w = b.Super(per_expert, DType::kBf16, {1, 0}, {2, 4}, {6, 8},
                             {{0, 1}, {1, 2}, {1, 1}, {2, 1}, {3, 1}});
  for (Rank high = 0; high < 2; ++high) {
    PlanFamily family = MakeFamily(PlanSide::kSource, per_expert, {6, 8}, DType::kBf16, 96);
    family.loop_begin = {1, 2 * high};
    family.loop_extent = {2, 2};
    const uint32_t held = b.Family(family, {high});
    b.Place(w, held, 0, {{1, 2, 0, 2}, {high, 1, 0, 0}, {0, 2, 0, 1}, {0, 6, 16, 0}, {0, 8, 2, 0}});
  }
  PlanFamily padded = MakeFamily(PlanSide::kDestination, per_layer, {2, 7, 8}, DType::kBf16, 224);
  padded.loop_begin = {1};
  padded.loop_extent = {2};
  padded.shares = {{{"tied.", ".w"}, {{0, {1}}}}};
  const uint32_t even = b.Family(padded, {2});
  b.Place(w, even, 0, {{1, 2, 0, 1}, {0, 2, 112, 0}, {0, 1, 0, 0}, {0, 6, 16, 0}, {0, 8, 2, 0}});
  b.Fill(even, 96, {{2, 112}, {16, 1}});
  PlanFamily transposed =
      MakeFamily(PlanSide::kDestination, per_layer, {2, 8, 6}, DType::kBf16, 192);
  transposed.loop_begin = {1};
  transposed.loop_extent = {2};
  const uint32_t odd = b.Family(transposed, {3});
  b.Place(w, odd, 0, {{1, 2, 0, 1}, {0, 2, 96, 0}, {1, 1, 0, 0}, {0, 6, 2, 0}, {0, 8, 12, 0}});
  PlanFamily external = MakeFamily(PlanSide::kDestination, Plain("scales"), {4}, DType::kF32, 16);
  external.external = true;
  b.Family(external, {2});
  for (int64_t low = 0; low < 2; ++low) {
    const RankList needer = {static_cast<Rank>(2 + low)};
    const uint32_t first = b.Class({0}, needer, 192, w, {{1, 2}, {0, 1}, {low, 1}, {0, 6}, {0, 8}});
    const uint32_t second =
        b.Class({1}, needer, 192, w, {{1, 2}, {1, 1}, {low, 1}, {0, 6}, {0, 8}});
    b.Stream(384, false, {{first, 0, 192}, {second, 0, 192}}, {static_cast<Rank>(2 + low)});
  }
  // Tree 0: slices [0, 256) and [256, 384); tree 1: [0, 128) and [128, 384).
  b.AddRank(0, 0, 512, {{0, 0, 0, 192}, {0, 1, 0, 128}, {1, 1, 128, 64}});
  b.AddRank(1, 0, 512, {{0, 0, 192, 64}, {1, 0, 256, 128}, {1, 1, 192, 192}});
  b.AddRank(2, 256, 0, {});
  b.AddRank(3, 256, 0, {});
  const PlanTotals totals = {.source_bytes = 768,
                             .destination_bytes = 832,
                             .network_bytes = 768,
                             .local_bytes = 768,
                             .messages = 6,
                             .max_staging_bytes = 1024,
                             .rounds = 2,
                             .predicted_ns = 640 + 2 * kRoundNs,
                             .bound_ns = 384};
  return b.Finish(totals, {{PlanCutKind::kIngress, {1}, 768, 2'000'000'000},
                           {PlanCutKind::kInjection, {0}, 768, 2'000'000'000}});
}

Plan ColocatedPlan() {
  Builder b(31);
  b.Domain("node0", {0, 1});
  b.Domain("node1", {2, 3});
  const uint32_t w = b.Matrix(DType::kF32, 4, 32);
  for (Rank r = 0; r < 4; ++r) {
    const uint32_t row = b.Param(PlanSide::kSource, "w.shard", {1, 32}, DType::kF32, 128, {r});
    b.Place(w, row, 0, {{r, 1, 0, 0}, {0, 32, 4, 0}});
  }
  const uint32_t full =
      b.Param(PlanSide::kDestination, "w.full", {4, 32}, DType::kF32, 512, {0, 1, 2});
  b.Place(w, full, 0, {{0, 4, 128, 0}, {0, 32, 4, 0}});
  const uint32_t last = b.Param(PlanSide::kDestination, "w.full", {1, 32}, DType::kF32, 128, {3});
  b.Place(w, last, 0, {{3, 1, 0, 0}, {0, 32, 4, 0}});
  for (Rank r = 0; r < 4; ++r) {
    const RankList needers = r == 3 ? RankList{0, 1, 2, 3} : RankList{0, 1, 2};
    const uint32_t row = b.Class({r}, needers, 128, w, {{r, 1}, {0, 32}});
    b.Stream(128, true, {{row, 0, 128}}, {r});
  }
  b.Stream(256, false, {{0, 0, 128}, {1, 0, 128}}, {2});
  b.Stream(256, false, {{2, 0, 128}, {3, 0, 128}}, {1});
  b.AddRank(0, 256, 256, {{0, 0, 0, 128}, {0, 4, 0, 128}});
  b.AddRank(1, 512, 256, {{0, 1, 0, 128}, {0, 4, 128, 128}});
  b.AddRank(2, 512, 256, {{0, 2, 0, 128}, {0, 5, 0, 128}});
  b.AddRank(3, 256, 256, {{0, 3, 0, 128}, {0, 5, 128, 128}});
  const PlanTotals totals = {.source_bytes = 512,
                             .destination_bytes = 1664,
                             .network_bytes = 512,
                             .scaleup_bytes = 640,
                             .local_bytes = 1024,
                             .messages = 4,
                             .max_staging_bytes = 2048,
                             .rounds = 1,
                             .predicted_ns = 256 + 1 * kRoundNs,
                             .bound_ns = 128};
  return b.Finish(totals, {{PlanCutKind::kIngress, {0}, 256, 2'000'000'000},
                           {PlanCutKind::kIngress, {1}, 256, 2'000'000'000},
                           {PlanCutKind::kInjection, {0}, 256, 2'000'000'000},
                           {PlanCutKind::kInjection, {1}, 256, 2'000'000'000}});
}

Plan BinaryPlan() {
  Plan plan = ReplicatedPlan();
  plan.trees[0].kind = PlanTreeKind::kBinary;
  // Rank 2 sends each slice to 5 and to 6, one round after it came.
  plan.header.totals.rounds = 5;
  plan.header.totals.predicted_ns = 1024 + 4 * 2048 + 5 * kRoundNs;
  return plan;
}

Plan CarriedPlan() {
  Builder b(41);
  b.Domain("train0", {0, 1});
  b.Domain("infer0", {2, 3});
  b.Domain("infer1", {4, 5});
  b.Domain("infer2", {6, 7});
  const RankList needers = {2, 3, 4, 5, 6, 7};
  const uint32_t w = b.Matrix(DType::kBf16, 32, 64);
  const uint32_t held = b.Param(PlanSide::kSource, "w", {32, 64}, DType::kBf16, 4096, {0});
  b.Place(w, held, 0, {{0, 32, 128, 0}, {0, 64, 2, 0}});
  const uint32_t needed =
      b.Param(PlanSide::kDestination, "model.w", {32, 64}, DType::kBf16, 4096, needers);
  b.Place(w, needed, 0, {{0, 32, 128, 0}, {0, 64, 2, 0}});
  const uint32_t all = b.Class({0}, needers, 4096, w, {{0, 32}, {0, 64}});
  b.Stream(4096, false, {{all, 0, 4096}}, {1, 2, 5, 6}, PlanTreeKind::kStemBinary);
  b.AddRank(0, 0, 1024,
            {{0, 0, 0, 1024}, {1, 0, 1024, 1024}, {2, 0, 2048, 1024}, {3, 0, 3072, 1024}});
  for (Rank r = 1; r < 8; ++r) {
    b.AddRank(r, r == 1 || r == 2 || r == 5 || r == 6 ? 1024 : 0, 0, {});
  }
  // Round 0 takes the scale-up fabric only, in round 1 rank 1 sends to 2, in the others 2 sends two
  // slices.
  const PlanTotals totals = {.source_bytes = 4096,
                             .destination_bytes = 24576,
                             .network_bytes = 12288,
                             .scaleup_bytes = 16384,
                             .local_bytes = 12288,
                             .messages = 12,
                             .max_staging_bytes = 3072,
                             .rounds = 6,
                             .predicted_ns = 1024 + 4 * 2048 + 6 * kRoundNs,
                             .bound_ns = 2048};
  return b.Finish(totals, {{PlanCutKind::kIngress, {1}, 4096, 2'000'000'000},
                           {PlanCutKind::kInjection, {0}, 4096, 2'000'000'000}});
}

std::vector<NamedPlan> SmallPlans() {
  std::vector<NamedPlan> plans;
  plans.push_back({"toy", ToyPlan()});
  plans.push_back({"replicated", ReplicatedPlan()});
  plans.push_back({"binary", BinaryPlan()});
  plans.push_back({"expert", ExpertPlan()});
  plans.push_back({"colocated", ColocatedPlan()});
  plans.push_back({"carried", CarriedPlan()});
  return plans;
}

}  // namespace reshard::testing
