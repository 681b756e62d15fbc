#include "runtime/plan/load_rank.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/emit/serialize_plan.h"
#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// Writes the plan to a file of the test; returns its path.
std::string Write(const Plan& plan) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/plan.fb";
  const StatusOr<std::vector<uint8_t>> bytes = SerializePlan(plan);
  REQUIRE(bytes.ok());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite((*bytes).data(), 1, (*bytes).size(), file) == (*bytes).size());
  REQUIRE(std::fclose(file) == 0);
  return path;
}

TEST_CASE("every rank of a right plan gets its program") {
  // Of the toy: a source packs and sends one message to each of 4 heads; a destination receives
  // from two sources and copies.
  const std::string path = Write(testing::ToyPlan());
  for (const uint32_t rank : {0U, 1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(rank);
    const StatusOr<LoadedRank> loaded = LoadRankFile(path, rank, {});
    REQUIRE(loaded.ok());
    const Program& program = (*loaded).program;
    CHECK(program.rank == rank);
    size_t sends = 0;
    size_t receives = 0;
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::kSend) ++sends;
      if (op.kind == OpKind::kRecv) ++receives;
    }
    CHECK(sends == (rank < 2 ? 4 : 0));
    CHECK(receives == (rank < 2 ? 0 : 2));
  }
}

TEST_CASE("a rank that the plan does not have is not found") {
  CHECK(LoadRankFile(Write(testing::ToyPlan()), 77, {}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a broken local rule is an error of the rank that it concerns") {
  Plan plan = testing::ToyPlan();
  // One byte range of a destination's param is no longer written.
  plan.place_dims[plan.places.back().first_dim].extent -= 1;
  const std::string path = Write(plan);
  const uint32_t concerned = plan.rank_sets[plan.families[plan.places.back().family].rank_set][0];
  const StatusOr<LoadedRank> loaded = LoadRankFile(path, concerned, {});
  REQUIRE(!loaded.ok());
  CHECK(loaded.status().code() == StatusCode::kCorruptData);
  CHECK(loaded.status().message().find("param-coverage") != std::string::npos);
}

TEST_CASE("a file that is no plan is refused as LoadPlan refuses it") {
  CHECK(LoadRankFile("absent.fb", 0, {}).status().code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace reshard
