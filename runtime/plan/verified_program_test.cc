#include "runtime/plan/verified_program.h"

#include <string>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

TEST_CASE("every rank of a right plan gets its program") {
  // Of the toy: a source packs and sends one message to each of 4 heads; a destination receives
  // from two sources and copies.
  const Plan plan = testing::ToyPlan();
  for (const uint32_t rank : {0U, 1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(rank);
    const StatusOr<Program> program = VerifiedProgram(plan, rank);
    REQUIRE(program.ok());
    CHECK(program->rank == rank);
    size_t sends = 0;
    size_t receives = 0;
    for (const Op& op : program->ops) {
      if (op.kind == OpKind::kSend) ++sends;
      if (op.kind == OpKind::kRecv) ++receives;
    }
    CHECK(sends == (rank < 2 ? 4 : 0));
    CHECK(receives == (rank < 2 ? 0 : 2));
  }
}

TEST_CASE("a rank that the plan does not have is not found") {
  CHECK(VerifiedProgram(testing::ToyPlan(), 77).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a broken local rule is an error of the rank that it concerns") {
  Plan plan = testing::ToyPlan();
  // One byte range of a destination's param is no longer written.
  plan.place_dims[plan.places.back().first_dim].extent -= 1;
  const RankList& concerned = plan.rank_sets[plan.families[plan.places.back().family].rank_set];
  const Status status = VerifiedProgram(plan, concerned[0]).status();
  CHECK(status.code() == StatusCode::kCorruptData);
  CHECK(status.message().find("param-coverage") != std::string::npos);
}

}  // namespace
}  // namespace reshard
