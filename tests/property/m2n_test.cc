// NCCL M2N's functional matrix (tests/data/m2n), and the kinds of case that M2N refuses.
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/property/m2n_cases.h"
#include "tests/property/mesh_job.h"
#include "tests/property/run_job.h"

namespace reshard {
namespace {

void RunCase(const MeshCase& mesh_case, uint32_t gpus_per_node) {
  int64_t bytes = mesh_case.element_bytes;
  for (const int64_t extent : mesh_case.tensor_shape) bytes *= extent;
  INFO(mesh_case.name);
  // Small values can agree by chance: small jobs run more often, with other values.
  const JobResult result = RunJob(MakeMeshJob(mesh_case, gpus_per_node), bytes < (1 << 16) ? 4 : 1);
  CHECK(result.problem == "");
}

void RunCases(const std::string& path, size_t expected_count) {
  const std::vector<MeshCase> cases = ReadM2nCases(path);
  CHECK(cases.size() == expected_count);
  uint32_t gpus_per_node = 1;
  for (const MeshCase& mesh_case : cases) {
    RunCase(mesh_case, gpus_per_node);
    gpus_per_node = gpus_per_node == 8 ? 1 : 2 * gpus_per_node;
  }
}

TEST_CASE("all 61 cases on 4 ranks") { RunCases("tests/data/m2n/cases_w4.json", 61); }

TEST_CASE("all 200 cases on 8 ranks") { RunCases("tests/data/m2n/cases_w8.json", 200); }

TEST_CASE("uneven shards, empty ones too") {
  for (const int64_t extent : {1, 3, 5, 7, 9, 13}) {
    RunCase({"uneven",
             {extent, 3},
             2,
             {{4}, {"S(0)"}, RanksFrom(0, 4)},
             {{3}, {"S(0)"}, RanksFrom(4, 3)}},
            2);
    RunCase({"uneven",
             {4, extent},
             4,
             {{2, 2}, {"S(0)", "S(1)"}, RanksFrom(0, 4)},
             {{3}, {"S(1)"}, RanksFrom(4, 3)}},
            4);
  }
}

TEST_CASE("two mesh dims that cut one tensor dim") {
  for (const int64_t extent : {8, 10, 11}) {
    RunCase({"two on one",
             {extent, 2},
             4,
             {{2, 2}, {"S(0)", "S(0)"}, RanksFrom(0, 4)},
             {{2, 3}, {"S(0)", "S(0)"}, RanksFrom(4, 6)}},
            2);
    RunCase({"three on one",
             {2, extent},
             1,
             {{2, 1, 2}, {"S(1)", "S(1)", "S(1)"}, RanksFrom(0, 4)},
             {{2, 2}, {"S(1)", "R"}, RanksFrom(4, 4)}},
            8);
  }
}

TEST_CASE("tensors of rank 4, 5 and 8, and of rank 0") {
  RunCase({"rank 4",
           {4, 6, 2, 3},
           2,
           {{2, 3}, {"S(0)", "S(1)"}, RanksFrom(0, 6)},
           {{3, 2}, {"S(3)", "S(2)"}, RanksFrom(6, 6)}},
          4);
  RunCase({"rank 5",
           {2, 3, 4, 3, 2},
           4,
           {{4}, {"S(2)"}, RanksFrom(0, 4)},
           {{2, 2}, {"S(4)", "S(0)"}, RanksFrom(4, 4)}},
          2);
  RunCase({"rank 8",
           {2, 2, 2, 2, 2, 2, 2, 3},
           1,
           {{2, 2}, {"S(1)", "S(6)"}, RanksFrom(0, 4)},
           {{3, 2}, {"S(7)", "S(3)"}, RanksFrom(4, 6)}},
          4);
  RunCase({"rank 0", {}, 4, {{2}, {"R"}, RanksFrom(0, 2)}, {{3}, {"R"}, RanksFrom(2, 3)}}, 2);
}

TEST_CASE("ranks in any order and with gaps") {
  RunCase(
      {"gaps", {12, 4}, 2, {{2, 2}, {"S(0)", "S(1)"}, {9, 2, 30, 5}}, {{3}, {"S(0)"}, {17, 3, 11}}},
      2);
  RunCase({"interleaved",
           {12, 4},
           4,
           {{4}, {"S(0)"}, {0, 2, 4, 6}},
           {{2, 2}, {"R", "S(1)"}, {7, 5, 3, 1}}},
          4);
}

TEST_CASE("ranks on both sides") {
  RunCase({"the same ranks",
           {8, 8},
           2,
           {{4}, {"S(0)"}, RanksFrom(0, 4)},
           {{4}, {"S(1)"}, RanksFrom(0, 4)}},
          2);
  RunCase({"the same places",
           {8, 8},
           2,
           {{4}, {"S(0)"}, RanksFrom(0, 4)},
           {{4}, {"S(0)"}, RanksFrom(0, 4)}},
          2);
  RunCase({"some ranks",
           {8, 6},
           4,
           {{4}, {"S(0)"}, {0, 1, 2, 3}},
           {{2, 3}, {"R", "S(1)"}, {3, 2, 4, 5, 6, 7}}},
          4);
}

TEST_CASE("more than 16 sources") {
  RunCase({"20 rows to 3",
           {40, 6},
           4,
           {{20}, {"S(0)"}, RanksFrom(0, 20)},
           {{3}, {"S(1)"}, RanksFrom(20, 3)}},
          8);
  RunCase({"40 to 1", {80}, 2, {{40}, {"S(0)"}, RanksFrom(0, 40)}, {{1}, {"R"}, {40}}}, 4);
  RunCase({"24 replicas to 24",
           {64, 16},
           2,
           {{24, 2}, {"R", "S(0)"}, RanksFrom(0, 48)},
           {{24}, {"R"}, RanksFrom(48, 24)}},
          8);
}

// Every mesh of up to four ranks, every placement, small shapes: all of it.
TEST_CASE("all placements of small tensors on meshes of up to four ranks") {
  struct Placed {
    std::vector<int64_t> mesh_shape;
    std::vector<std::string> placements;
    uint32_t ranks;
  };
  std::vector<Placed> all;
  const std::vector<std::string> kinds = {"R", "S(0)", "S(1)"};
  for (const int64_t a : {1, 2, 3, 4}) {
    for (const std::string& p : kinds) all.push_back({{a}, {p}, static_cast<uint32_t>(a)});
  }
  for (const std::string& p : kinds) {
    for (const std::string& q : kinds) all.push_back({{2, 2}, {p, q}, 4});
  }
  uint32_t count = 0;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{4, 6}, {5, 3}}) {
    for (const Placed& source : all) {
      for (const Placed& destination : all) {
        RunCase({"small",
                 shape,
                 4,
                 {source.mesh_shape, source.placements, RanksFrom(0, source.ranks)},
                 {destination.mesh_shape, destination.placements,
                  RanksFrom(source.ranks, destination.ranks)}},
                1 + count % 4);
        ++count;
      }
    }
  }
  CHECK(count == 2 * 21 * 21);
}

}  // namespace
}  // namespace reshard
