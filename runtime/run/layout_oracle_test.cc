#include "runtime/run/layout_oracle.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"
#include "runtime/run/explain_difference.h"

namespace reshard {
namespace {

// A job whose buffers are right after execution `generation`, without anything of a plan but its
// layouts: whatever should be somewhere is written there by `spoil`, which may then break it.
struct FinishedJob {
  FinishedJob(const Plan& from, uint64_t g) : plan(from), generation(g) {
    StatusOr<std::unique_ptr<LoopbackJob>> created = LoopbackJob::Create(plan, {});
    REQUIRE(created.ok());
    job = *std::move(created);
    const LayoutOracle oracle(plan);
    for (size_t r = 0; r < job->rank_count(); ++r) oracle.Fill(job->params_of(r), generation);
    REQUIRE(job->Execute().ok());
  }
  std::span<uint8_t> Param(size_t rank, const std::string& name) {
    for (const LoopbackParam& param : job->params_of(rank)) {
      if (param.name == name) return param.bytes;
    }
    FAIL("no such param");
    return {};
  }
  RankCheck Check(size_t rank) {
    return LayoutOracle(plan).CheckDestination(job->params_of(rank), generation);
  }
  ContentDifference Explain(size_t rank) {
    const RankCheck check = Check(rank);
    REQUIRE(check.first);
    return ExplainDifference(plan, job->params_of(rank), *check.first, generation);
  }
  const Plan plan;
  const uint64_t generation;
  std::unique_ptr<LoopbackJob> job;
};

TEST_CASE("each single wrong byte of a destination or external param is found") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    FinishedJob finished(named.plan, 1);
    for (size_t r = 0; r < finished.job->rank_count(); ++r) {
      int64_t destination_bytes = 0;
      for (const LoopbackParam& param : finished.job->params_of(r)) {
        if (param.side == PlanSide::kDestination) {
          destination_bytes += static_cast<int64_t>(param.bytes.size());
        }
      }
      const RankCheck right = finished.Check(r);
      CHECK(right.wrong_bytes == 0);
      CHECK_FALSE(right.first);
      CHECK(right.compared_bytes == destination_bytes);
      for (const LoopbackParam& param : finished.job->params_of(r)) {
        if (param.side != PlanSide::kDestination) continue;
        // A large prime apart, and the ends.
        for (size_t b = 0; b < param.bytes.size(); b += b + 1 == param.bytes.size() ? 1 : 37) {
          if (b + 37 >= param.bytes.size()) b = param.bytes.size() - 1;
          param.bytes[b] ^= 0x40;
          const RankCheck wrong = finished.Check(r);
          REQUIRE(wrong.first);
          CHECK(wrong.wrong_bytes > 0);
          CHECK(&finished.job->params_of(r)[wrong.first->param] == &param);
          CHECK(wrong.first->offset_bytes <= static_cast<int64_t>(b));
          CHECK(wrong.first->offset_bytes > static_cast<int64_t>(b) - 8);
          param.bytes[b] ^= 0x40;
        }
      }
    }
  }
}

TEST_CASE("swapped experts are named") {
  FinishedJob finished(testing::ExpertPlan(), 0);
  std::span<uint8_t> stacked = finished.Param(2, "layers.2.experts.w");
  std::vector<uint8_t> kept(stacked.begin(), stacked.begin() + 96);
  std::memcpy(stacked.data(), stacked.data() + 112, 96);
  std::memcpy(stacked.data() + 112, kept.data(), 96);
  CHECK(finished.Check(2).wrong_bytes == 192);
  CHECK(finished.Explain(2).Text() ==
        "rank 2, 'layers.2.experts.w' [0, 0, 0] (byte 0): expected layers.2.experts.0.w[0, 0], "
        "found layers.2.experts.2.w[0, 0]");
}

TEST_CASE("rows shifted by one, and a matrix that is not transposed, are named") {
  FinishedJob replicated(testing::ReplicatedPlan(), 3);
  std::span<uint8_t> w = replicated.Param(6, "model.w");
  std::memmove(w.data() + 128, w.data(), w.size() - 128);
  CHECK(replicated.Explain(6).Text() ==
        "rank 6, 'model.w' [1, 0] (byte 128): expected w[1, 0], found w[0, 0]");

  FinishedJob expert(testing::ExpertPlan(), 0);
  std::span<uint8_t> transposed = expert.Param(3, "layers.1.experts.w");
  std::vector<uint8_t> plain(transposed.begin(), transposed.begin() + 96);
  for (size_t row = 0; row < 6; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      std::memcpy(plain.data() + (row * 8 + column) * 2, transposed.data() + (column * 6 + row) * 2,
                  2);
    }
  }
  std::copy(plain.begin(), plain.end(), transposed.begin());
  // [0, 0] is right; the run down the first column comes upon elements along another axis.
  CHECK(expert.Explain(3).found == "layers.1.experts.1.w[0, 1]");
}

TEST_CASE("what was never written, zeros, and the execution before are told apart") {
  FinishedJob finished(testing::ReplicatedPlan(), 5);
  const LayoutOracle oracle(finished.plan);
  std::span<uint8_t> w = finished.Param(4, "model.w");
  const std::vector<uint8_t> right(w.begin(), w.end());

  std::fill(w.begin() + 256, w.begin() + 512, uint8_t{0});
  CHECK(finished.Explain(4).found == "zeros");
  CHECK(finished.Explain(4).index == std::vector<int64_t>{2, 0});

  oracle.Fill(finished.job->params_of(4), 5);
  CHECK(finished.Explain(4).found == "what was there before: it was not written");

  FinishedJob before(testing::ReplicatedPlan(), 4);
  std::span<uint8_t> old = before.Param(4, "model.w");
  std::copy(old.begin(), old.end(), w.begin());
  CHECK(finished.Explain(4).found == "w[0, 0] of the execution before");

  std::copy(right.begin(), right.end(), w.begin());
  w[4095] ^= 1;
  CHECK(finished.Explain(4).found == "an unknown value");
  CHECK(finished.Explain(4).expected == "w[31, 63]");
}

TEST_CASE("padding that is not zero, and kept and external bytes that were written") {
  Plan plan = testing::ExpertPlan();
  FinishedJob zero(plan, 2);
  zero.Param(2, "layers.1.experts.w")[96 + 5] = 1;
  CHECK(zero.Check(2).wrong_bytes == 1);
  CHECK(zero.Explain(2).Text() ==
        "rank 2, 'layers.1.experts.w' [0, 6, 2] (byte 101): expected zero as padding, "
        "found another value");
  zero.Param(2, "layers.1.experts.w")[96 + 5] = 0;
  zero.Param(2, "scales")[15] ^= 1;
  CHECK(zero.Check(2).first->kind == FindingKind::kExternal);

  plan.fills[0].rule = PlanFillRule::kKeep;
  FinishedJob kept(plan, 2);
  CHECK_FALSE(kept.Check(2).first);
  kept.Param(2, "layers.2.experts.w")[112 + 96] = 0;
  CHECK(kept.Check(2).first->kind == FindingKind::kKept);
}

TEST_CASE("bytes that the layouts state never or twice are reported") {
  Plan plan = testing::ExpertPlan();
  FinishedJob right(plan, 0);
  plan.fill_dims[plan.fills[0].first_dim + plan.fills[0].dim_count - 1].extent = 14;
  const RankCheck less =
      LayoutOracle(plan).CheckDestination(right.job->params_of(2), right.generation);
  REQUIRE(less.first);
  CHECK(less.first->kind == FindingKind::kCoverage);
  CHECK(less.wrong_bytes == 2 * 4);
  plan = right.plan;
  plan.fills.push_back(plan.fills[0]);
  CHECK(LayoutOracle(plan).CheckDestination(right.job->params_of(2), 0).first->kind ==
        FindingKind::kCoverage);
}

TEST_CASE("a source param that was written is found by name") {
  FinishedJob finished(testing::ExpertPlan(), 0);
  const std::span<const LoopbackParam> params = finished.job->params_of(1);
  const std::vector<uint64_t> hashes = LayoutOracle::HashSources(params);
  CHECK(LayoutOracle::CheckSource(params, hashes).wrong_bytes == 0);
  finished.Param(1, "layers.2.experts.2.w")[95] ^= 1;
  const RankCheck check = LayoutOracle::CheckSource(params, hashes);
  CHECK(check.wrong_bytes == 96);
  REQUIRE(check.first);
  CHECK(ExplainDifference(finished.plan, params, *check.first, 0).Text() ==
        "rank 1, 'layers.2.experts.2.w' [0, 0] (byte 0): expected a source param to be left alone, "
        "found that it was written");
}

}  // namespace
}  // namespace reshard
