#include "runtime/exec/prepared_program.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// Memory for one rank and its program.
struct Prepared {
  Prepared(const Plan& plan, uint32_t rank) {
    std::vector<ParamBuffer> buffers;
    for (const ExpectedParam& spec : ParamsOfRank(plan, rank)) {
      blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
      buffers.push_back(
          {spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()), spec.bytes});
    }
    StatusOr<Bindings> bound = BindParams(plan, rank, buffers);
    REQUIRE(bound.ok());
    StatusOr<PreparedProgram> prepared =
        PrepareProgram(plan, BuildProgramIndex(plan), rank, *std::move(bound));
    REQUIRE(prepared.ok());
    program = *std::move(prepared);
  }
  std::vector<std::vector<uint64_t>> blocks;
  PreparedProgram program;
};

TEST_CASE("a lander of a chain: what it forwards, copies and waits for") {
  const Plan plan = testing::ReplicatedPlan();
  const Prepared lander(plan, 5);
  const PreparedProgram& program = lander.program;
  CHECK(program.neighbours == std::vector<uint32_t>{4});
  CHECK(program.Peers() == std::vector<uint32_t>{2, 6});
  // Receives in rounds 1 to 4, forwards in 2 to 5, copies what landed in the round before.
  REQUIRE(program.rounds.size() == 5);
  for (uint32_t i = 0; i < 5; ++i) {
    const PreparedRound& round = program.rounds[i];
    CAPTURE(i);
    CHECK(round.round == i + 1);
    CHECK(round.lands == (i < 4));
    CHECK(round.receive_end - round.first_receive == (i < 4 ? 1 : 0));
    CHECK(round.send_end - round.first_send == (i > 0 ? 1 : 0));
    CHECK(round.read_end - round.first_read == (i > 0 ? 1 : 0));
    CHECK(round.pack_end == round.first_pack);
    // Round 4 lands in the slot of round 1.
    CHECK(round.slot_free_below == (i == 3 ? 2 : 0));
    CHECK(round.reads_done_below == (i < 4 ? i + 1 : plan.header.totals.rounds));
  }
  CHECK(program.reads_begin == 1);
  const PreparedRead& read = program.reads[0];
  CHECK(read.lander == 5);
  CHECK(program.scatters.Bytes(read.copies) == 1024);
}

TEST_CASE("a neighbour reads one round later; its last reads may follow the last round") {
  const Plan plan = testing::ReplicatedPlan();
  const Prepared neighbour(plan, 7);
  const PreparedProgram& program = neighbour.program;
  REQUIRE(program.rounds.size() == 4);
  CHECK(program.rounds.front().round == 3);
  CHECK(program.rounds.back().round == 6);
  CHECK(program.rounds.back().reads_done_below == 6);
  CHECK(program.reads_begin == 2);
  CHECK(program.reads[3].lander == 6);
  CHECK(program.reads[3].round == 5);
  CHECK(program.Peers().empty());
}

TEST_CASE("a source reads nothing and never holds its domain up") {
  const Plan plan = testing::ReplicatedPlan();
  const Prepared source(plan, 0);
  CHECK(source.program.reads_begin == plan.header.totals.rounds);
  REQUIRE(source.program.rounds.size() == 4);
  CHECK(source.program.packs.size() == 4);
  CHECK(source.program.gathers.Bytes(source.program.packs[1].copies) == 512);
  CHECK_FALSE(source.program.rounds[0].lands);
}

TEST_CASE("a plan and bindings that do not fit are refused") {
  Plan plan = testing::ToyPlan();
  const ProgramIndex index = BuildProgramIndex(plan);
  CHECK_FALSE(PrepareProgram(plan, index, 9, Bindings()).ok());
  // Rank 1 made to send bytes of class 0, which only rank 0 holds.
  plan.injects[4].begin = 0;
  std::vector<uint32_t> block(64);
  const std::vector<ParamBuffer> buffers = {
      {PlanSide::kSource, "w.rows", reinterpret_cast<uint8_t*>(block.data()), 128}};
  StatusOr<Bindings> bound = BindParams(plan, 1, buffers);
  REQUIRE(bound.ok());
  const StatusOr<PreparedProgram> prepared =
      PrepareProgram(plan, BuildProgramIndex(plan), 1, *std::move(bound));
  REQUIRE_FALSE(prepared.ok());
  CHECK(prepared.status().code() == StatusCode::kCorruptData);
}

}  // namespace
}  // namespace reshard
