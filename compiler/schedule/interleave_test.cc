#include "compiler/schedule/interleave.h"

#include <doctest/doctest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

constexpr int64_t kRate = 50'000'000'000;

TEST_CASE("chunks of all lanes take turns") {
  Job job;
  for (int i = 0; i < 4; ++i) job.AddClass({0}, {1}, {64});
  const ClassCuts cuts(job.transfers);
  const std::vector<ClassRange> bytes = {{0, 0, 64}, {1, 0, 64}, {2, 0, 64}, {3, 0, 64}};
  std::vector<std::pair<ClassId, int64_t>> order;  // class, begin
  int64_t total = 0;
  for (const ClassRange& range : InterleaveLanes(cuts, bytes, 2, 4)) {
    order.emplace_back(range.cls, range.begin);
    CHECK(range.extent == 32);
    total += range.extent;
  }
  CHECK(total == 256);
  CHECK(order == std::vector<std::pair<ClassId, int64_t>>{
                     {0, 0}, {2, 0}, {0, 32}, {2, 32}, {1, 0}, {3, 0}, {1, 32}, {3, 32}});
}

TEST_CASE("lines take turns, each in equal parts") {
  Job job;
  for (const int64_t bytes : {64, 128}) job.AddClass({0}, {1}, {bytes});
  const ClassCuts cuts(job.transfers);
  std::vector<std::tuple<ClassId, int64_t, int64_t>> order;  // class, begin, extent
  for (const ClassRange& range : TakeTurns(cuts, {{{0, 0, 64}}, {{1, 0, 128}}}, 4)) {
    order.emplace_back(range.cls, range.begin, range.extent);
  }
  CHECK(order == std::vector<std::tuple<ClassId, int64_t, int64_t>>{{0, 0, 16},
                                                                    {1, 0, 32},
                                                                    {0, 16, 16},
                                                                    {1, 32, 32},
                                                                    {0, 32, 16},
                                                                    {1, 64, 32},
                                                                    {0, 48, 16},
                                                                    {1, 96, 32}});
}

TEST_CASE("every byte stays, cut only where that is permitted") {
  Job job;
  job.AddClass({0}, {1}, {1000, 7, 333});
  job.AddClass({0}, {1}, {500});
  const ClassCuts cuts(job.transfers);
  const std::vector<ClassRange> bytes = {{0, 16, 1324}, {1, 0, 500}};
  for (const uint32_t lanes : {1U, 2U, 3U, 4U}) {
    for (const int64_t chunks : {1, 2, 7, 100}) {
      std::vector<int> seen(1840, 0);
      const auto at = [&](int64_t byte) -> int& { return seen[static_cast<size_t>(byte)]; };
      for (const ClassRange& range : InterleaveLanes(cuts, bytes, lanes, chunks)) {
        CHECK(cuts.Floor(range.cls, range.begin) == range.begin);
        for (int64_t i = 0; i < range.extent; ++i) ++at(range.cls * 1340 + range.begin + i);
      }
      for (int64_t i = 0; i < 1840; ++i) CHECK(at(i) == (i < 16 ? 0 : 1));
    }
  }
}

TEST_CASE("as many lanes as sources are needed to keep a head busy") {
  Job job;
  job.AddDomain(1, kRate / 3);
  job.AddDomain(1, kRate);
  job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  RoutedStream stream;
  stream.trees.push_back({PlanTreeKind::kChain, {2}, {{{0, 0, 1'000'000}, 0}}});
  CHECK(LaneCount(ports, stream, 0) == 3);
  stream.trees[0].sources[0].source = 1;
  CHECK(LaneCount(ports, stream, 0) == 1);
  // One slow source of many does not make the others wait.
  stream.trees[0].sources.push_back({{0, 1'000'000, 20'000}, 0});
  CHECK(LaneCount(ports, stream, 0) == 1);
  // Nor is there more to do than what the job has time for: 1 MB in 60 us is a third of its rate.
  stream.trees[0].sources = {{{0, 0, 1'000'000}, 0}};
  CHECK(LaneCount(ports, stream, 60'000'000) == 1);
  CHECK(LaneCount(ports, stream, 40'000'000) == 2);
}

TEST_CASE("a few bytes are spread over many") {
  Job job;
  job.AddClass({0}, {1}, {3200});
  job.AddClass({0}, {1}, {64});
  const ClassCuts cuts(job.transfers);
  const std::vector<ClassRange> spread = SpreadEvenly(cuts, {{0, 0, 3200}}, {{1, 0, 64}}, 4);
  REQUIRE(spread.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(spread[i].cls == i % 2);
    CHECK(spread[i].extent == (i % 2 == 0 ? 800 : 16));
    CHECK(spread[i].begin == static_cast<int64_t>(i / 2) * (i % 2 == 0 ? 800 : 16));
  }
  // Where a range ends near the place, it is not cut.
  std::vector<std::pair<ClassId, int64_t>> order;  // class, extent
  for (const ClassRange& range :
       SpreadEvenly(cuts, {{0, 0, 1500}, {0, 1500, 1700}}, {{1, 0, 64}}, 2)) {
    order.emplace_back(range.cls, range.extent);
  }
  CHECK(order == std::vector<std::pair<ClassId, int64_t>>{{0, 1500}, {1, 32}, {0, 1700}, {1, 32}});
}

}  // namespace
}  // namespace reshard
