#include "runtime/exec/loopback/loopback_job.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/loopback/loopback_world.h"
#include "runtime/exec/loopback/testing/run_loopback.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using std::chrono::milliseconds;

// Element values of a param, in memory order, as bytes.
template <class T>
std::vector<uint8_t> Bytes(const std::vector<T>& elements) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(T));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

// What a param should hold, before (sources) or after (destinations) an execution.
using Content = std::function<std::vector<uint8_t>(uint32_t execution, const LoopbackParam& param)>;

// Runs the plan three times with new source content each time and compares every destination param.
void CheckMoves(const Plan& plan, const Content& content) {
  size_t compared = 0;
  uint32_t executions = 0;
  testing::LoopbackHooks hooks;
  hooks.fill = [&](uint32_t execution, const LoopbackParam& param) {
    std::fill(param.bytes.begin(), param.bytes.end(), uint8_t{0xEE});
    if (param.side != PlanSide::kSource) return;
    const std::vector<uint8_t> bytes = content(execution, param);
    REQUIRE(bytes.size() == param.bytes.size());
    std::copy(bytes.begin(), bytes.end(), param.bytes.begin());
  };
  hooks.inspect = [&](uint32_t execution, const LoopbackParam& param) {
    CAPTURE(execution);
    CAPTURE(param.rank);
    CAPTURE(param.name);
    CHECK(std::vector<uint8_t>(param.bytes.begin(), param.bytes.end()) ==
          content(execution, param));
    ++compared;
    executions = execution + 1;
    return Status();
  };
  LoopbackStats stats;
  const Status status = testing::RunLoopback(plan, 3, {std::chrono::seconds(20)}, hooks, &stats);
  CHECK(status.ToString() == "ok");
  CHECK(executions == 3);
  CHECK(stats.max_staging_bytes == plan.header.totals.max_staging_bytes);
  CHECK(compared > 0);
}

TEST_CASE("toy: columns out of rows") {
  CheckMoves(testing::ToyPlan(), [](uint32_t execution, const LoopbackParam& param) {
    std::vector<uint32_t> elements;
    const bool source = param.side == PlanSide::kSource;
    for (uint32_t row = source ? param.rank * 4 : 0; row < (source ? param.rank * 4 + 4 : 8);
         ++row) {
      const uint32_t first = source ? 0 : (param.rank - 2) * 2;
      for (uint32_t column = first; column < (source ? 8 : first + 2); ++column) {
        elements.push_back(execution * 100000 + row * 100 + column);
      }
    }
    return Bytes(elements);
  });
}

TEST_CASE("replicated: relays along a chain and copies inside domains") {
  CheckMoves(testing::ReplicatedPlan(), [](uint32_t execution, const LoopbackParam&) {
    std::vector<uint16_t> elements;
    for (uint32_t i = 0; i < 32 * 64; ++i) {
      elements.push_back(static_cast<uint16_t>(i * 31 + execution * 7));
    }
    return Bytes(elements);
  });
}

uint16_t ExpertElement(uint32_t execution, uint32_t layer, uint32_t expert, uint32_t row,
                       uint32_t column) {
  return static_cast<uint16_t>(execution * 20000 + layer * 1000 + expert * 100 + row * 10 + column);
}

TEST_CASE("experts: stacked, padded, transposed; an external param stays as it is") {
  CheckMoves(testing::ExpertPlan(), [](uint32_t execution, const LoopbackParam& param) {
    if (param.external) return std::vector<uint8_t>(16, 0xEE);
    const uint32_t layer = static_cast<uint32_t>(param.name[7] - '0');
    std::vector<uint16_t> elements;
    if (param.side == PlanSide::kSource) {
      const uint32_t expert = static_cast<uint32_t>(param.name[17] - '0');
      for (uint32_t i = 0; i < 48; ++i) {
        elements.push_back(ExpertElement(execution, layer, expert, i / 8, i % 8));
      }
    } else if (param.rank == 2) {
      for (uint32_t i = 0; i < 2 * 7 * 8; ++i) {
        const uint32_t row = i / 8 % 7;
        elements.push_back(row == 6 ? uint16_t{0}
                                    : ExpertElement(execution, layer, i / 56 * 2, row, i % 8));
      }
    } else {
      for (uint32_t i = 0; i < 2 * 8 * 6; ++i) {
        elements.push_back(ExpertElement(execution, layer, i / 48 * 2 + 1, i % 6, i / 6 % 8));
      }
    }
    return Bytes(elements);
  });
}

TEST_CASE("colocated: sources and destinations on the same ranks, local streams") {
  CheckMoves(testing::ColocatedPlan(), [](uint32_t execution, const LoopbackParam& param) {
    std::vector<uint32_t> elements;
    const bool one_row = param.side == PlanSide::kSource || param.rank == 3;
    for (uint32_t row = one_row ? param.rank : 0; row < (one_row ? param.rank + 1 : 4); ++row) {
      for (uint32_t column = 0; column < 32; ++column) {
        elements.push_back(execution * 1000 + row * 100 + column);
      }
    }
    return Bytes(elements);
  });
}

TEST_CASE("a rank that stores an element twice gets both copies") {
  Plan plan = testing::ToyPlan();
  PlanFamily copy = plan.families[plan.places[2].family];
  copy.name = {{"w.copy"}, {}};
  plan.families.push_back(copy);
  plan.places.insert(plan.places.begin() + 3, plan.places[2]);
  plan.places[3].family = static_cast<uint32_t>(plan.families.size() - 1);
  CheckMoves(plan, [](uint32_t execution, const LoopbackParam& param) {
    std::vector<uint32_t> elements;
    const bool source = param.side == PlanSide::kSource;
    for (uint32_t i = 0; i < (source ? 32U : 16U); ++i) {
      elements.push_back(source ? execution * 100 + param.rank * 32 + i
                                : execution * 100 + i / 2 * 8 + (param.rank - 2) * 2 + i % 2);
    }
    return Bytes(elements);
  });
}

// Row r of a matrix goes from rank r to rank `pairs` + r, in `slices` slices of 256 bytes, one
// every `every` rounds; eight ranks to a domain.
Plan PairsPlan(uint32_t pairs, uint32_t slices, uint32_t every) {
  Plan plan;
  const int64_t row_bytes = int64_t{256} * slices;
  plan.supers.push_back({{{"w"}, {}}, DType::kU8, {}, {}, {pairs, row_bytes}, {{0, 1}, {1, 1}}});
  for (uint32_t r = 0; r < 2 * pairs; ++r) {
    plan.rank_sets.push_back({r});
    PlanFamily family;
    family.side = r < pairs ? PlanSide::kSource : PlanSide::kDestination;
    family.name = {{"row"}, {}};
    family.shape = {row_bytes};
    family.dtype = DType::kU8;
    family.bytes = row_bytes;
    family.rank_set = r;
    plan.families.push_back(family);
    plan.places.push_back({0, r, 0, 0, 2 * r});
    plan.place_dims.push_back({r % pairs, 1, 0, 0});
    plan.place_dims.push_back({0, row_bytes, 1, 0});
    if (r % 8 == 0) plan.domains.push_back({"d" + std::to_string(r / 8), 1000, 1});
    plan.sites.push_back({r, "n", r % 8, r / 8, kNoId, {}, 0, 0, 0});
  }
  for (uint32_t r = 0; r < pairs; ++r) {
    plan.intervals.push_back({r, 1});
    plan.cells.push_back({0, 2 * r});
    plan.cell_dims.insert(plan.cell_dims.end(), {r, pairs});
    plan.classes.push_back({r, pairs + r, row_bytes, r, 1});
    plan.pieces.push_back({r, 0, row_bytes});
    plan.streams.push_back({r, 1, row_bytes, false});
    plan.trees.push_back({r, PlanTreeKind::kChain, r, 1});
    plan.tree_members.push_back(pairs + r);
    plan.ranks.push_back({r, r * slices, slices, 0, 256});
    for (uint32_t i = 0; i < slices; ++i) plan.injects.push_back({i * every, r, r, 256 * i, 256});
  }
  plan.intervals.push_back({0, row_bytes});
  for (uint32_t r = 0; r < pairs; ++r) plan.ranks.push_back({pairs + r, 0, 0, 256, 0});
  plan.header.totals.rounds = (slices - 1) * every + 1;
  plan.header.totals.max_staging_bytes = 768;
  return plan;
}

Content RowContent(uint32_t pairs) {
  return [pairs](uint32_t execution, const LoopbackParam& param) {
    std::vector<uint8_t> bytes(param.bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i / 256 * 13 + i + param.rank % pairs * 3 + execution);
    }
    return bytes;
  };
}

TEST_CASE("hundreds of ranks share two cores") {
  CheckMoves(PairsPlan(256, 12, 1), RowContent(256));
}

TEST_CASE("rounds in which a rank does nothing do not confuse its slots") {
  for (const uint32_t every : {2U, 3U, 6U}) {
    CAPTURE(every);
    CheckMoves(PairsPlan(8, 9, every), RowContent(8));
  }
}

TEST_CASE("a local stream of many rounds with many readers") {
  // Rank 0 holds a row of 12 slices, the seven others of its domain need it.
  Plan plan = PairsPlan(1, 12, 1);
  plan.domains = {{"d", 1000, 1}};
  plan.rank_sets = {{0}, {1, 2, 3, 4, 5, 6, 7}};
  plan.sites.clear();
  plan.ranks = {{0, 0, 12, 256, 0}};
  for (uint32_t r = 0; r < 8; ++r) {
    plan.sites.push_back({r, "n", r, 0, kNoId, {}, 0, 0, 0});
    if (r > 0) plan.ranks.push_back({r, 12, 0, 0, 0});
  }
  plan.streams[0].local = true;
  plan.tree_members = {0};
  CheckMoves(plan, [](uint32_t execution, const LoopbackParam& param) {
    std::vector<uint8_t> bytes(param.bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i / 256 * 13 + i + execution * 5);
    }
    return bytes;
  });
}

TEST_CASE("the memory of a job is known before it is made") {
  const StatusOr<LoopbackMemory> memory = LoopbackMemoryOf(testing::ToyPlan());
  REQUIRE(memory.ok());
  // Rounded up to 64 bytes each, and at least one byte more than the param.
  CHECK(memory->source_bytes == 2 * 192);
  CHECK(memory->destination_bytes == 4 * 128);
  CHECK(memory->staging_bytes == 2 * 1024 + 4 * 768);
  Plan plan = testing::ToyPlan();
  plan.families[0].loop_extent = {INT64_MAX};
  CHECK(LoopbackMemoryOf(plan).status().code() == StatusCode::kLimitExceeded);
}

TEST_CASE("hooks see every param; their error ends the run") {
  std::vector<std::string> filled;
  testing::LoopbackHooks hooks;
  hooks.fill = [&](uint32_t, const LoopbackParam& param) {
    CHECK(param.bytes[0] == ParamBuffers::kUnsetByte);
    filled.push_back(std::to_string(param.rank) + " " + param.name);
  };
  hooks.inspect = [](uint32_t, const LoopbackParam& param) {
    return param.rank < 4 ? Status() : Status(StatusCode::kCorruptData, "rank 4 it is");
  };
  const Status status = testing::RunLoopback(testing::ToyPlan(), 1, {}, hooks);
  CHECK(status.message() == "rank 4 it is");
  CHECK(filled == std::vector<std::string>{"0 w.rows", "1 w.rows", "2 w.columns", "3 w.columns",
                                           "4 w.columns", "5 w.columns"});
}

// The ranks of a plan as engines in one world, run by the test.
struct Ranks {
  explicit Ranks(const std::vector<const Plan*>& plan_of_rank) {
    std::vector<LoopbackRank> specs;
    for (uint32_t r = 0; r < plan_of_rank.size(); ++r) {
      specs.push_back({r, plan_of_rank[r]->ranks[r].staging_bytes()});
    }
    world = *LoopbackWorld::Create(specs);
    for (uint32_t r = 0; r < plan_of_rank.size(); ++r) {
      const Plan& plan = *plan_of_rank[r];
      std::vector<ParamBuffer> buffers;
      for (const ExpectedParam& spec : ParamsOfRank(plan, r)) {
        blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
        buffers.push_back(
            {spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()), spec.bytes});
      }
      const ProgramIndex index = BuildProgramIndex(plan);
      programs.push_back(std::make_unique<PreparedProgram>(
          *PrepareProgram(plan, index, r, *BindParams(plan, r, buffers))));
      EngineSpec spec;
      spec.rank = r;
      spec.arena_bytes = plan.ranks[r].staging_bytes();
      spec.program = programs.back().get();
      engines.push_back(
          *MakeHostEngine(spec, std::shared_ptr<RankTransport>(world, world->transport(r))));
      records.emplace_back();
      records.back().Prepare(*programs.back(), /*trace=*/false);
    }
  }
  // Results of all ranks but `absent`.
  std::vector<Status> Run(uint32_t absent, milliseconds timeout) {
    std::vector<Status> results(engines.size());
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < engines.size(); ++r) {
      if (r == absent) continue;
      threads.emplace_back([&, r] { results[r] = engines[r]->Execute({timeout}, &records[r]); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }
  std::vector<std::vector<uint64_t>> blocks;
  std::shared_ptr<LoopbackWorld> world;
  std::vector<std::unique_ptr<PreparedProgram>> programs;
  std::vector<std::unique_ptr<ExecutionEngine>> engines;
  std::vector<ExecutionRecord> records;
};
constexpr uint32_t kNobodyAbsent = UINT32_MAX;

TEST_CASE("a rank that does not take part fails all that depend on it, by name, in time") {
  const Plan plan = testing::ReplicatedPlan();
  // A source, a relay, a rank that only reads from its neighbour.
  for (const uint32_t absent : {1U, 5U, 3U}) {
    CAPTURE(absent);
    Ranks ranks(std::vector<const Plan*>(8, &plan));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Status> results = ranks.Run(absent, milliseconds(200));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    CHECK(ranks.world->failure().code() == StatusCode::kTimeout);
    CHECK(ranks.world->failure().message().find("rank " + std::to_string(absent)) !=
          std::string::npos);
    size_t failed = 0;
    for (const Status& result : results) failed += !result.ok();
    CHECK(failed > 0);
    // Whoever failed refuses to go on.
    for (uint32_t r = 0; r < 8; ++r) {
      if (!results[r].ok())
        CHECK(ranks.engines[r]->Execute({milliseconds(1)}, &ranks.records[r]) == results[r]);
    }
  }
}

TEST_CASE("a failure in a later execution is reported with its round and execution") {
  const Plan plan = testing::ToyPlan();
  Ranks ranks(std::vector<const Plan*>(6, &plan));
  for (const Status& result : ranks.Run(kNobodyAbsent, milliseconds(20000))) CHECK(result.ok());
  const std::vector<Status> results = ranks.Run(0, milliseconds(100));
  for (uint32_t r = 2; r < 6; ++r) CHECK_FALSE(results[r].ok());
  const std::string text = ranks.world->failure().message();
  CHECK(text.find(" of execution 1: rank 0 did not send its message") != std::string::npos);
  CHECK(text.find("(gave up after 0.1 s)") != std::string::npos);
}

TEST_CASE("ranks that run different programs are told apart, not mixed up") {
  const Plan plan = testing::ToyPlan();
  Plan other = plan;
  // Rank 0 believes that its first message is half as long.
  other.injects[0].extent = 16;
  Ranks ranks({&other, &plan, &plan, &plan, &plan, &plan});
  const std::vector<Status> results = ranks.Run(kNobodyAbsent, milliseconds(20000));
  CHECK(ranks.world->failure().code() == StatusCode::kCorruptData);
  CHECK(ranks.world->failure().message().find("rank 2: round 0 of execution 0: rank 0 sends 16 "
                                              "bytes") == 0);
  CHECK(results[0].code() == StatusCode::kAborted);
}

}  // namespace
}  // namespace reshard
