#include "compiler/schedule/small_sources.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

constexpr int64_t kLarge = 6'400'000;
constexpr int64_t kSmall = 1'000;

// Two large sources and `small` small ones after each of them, a class each.
struct Case {
  RoutedStream stream;
  std::vector<SourceRun> runs;

  explicit Case(uint32_t small) {
    for (int half = 0; half < 2; ++half) {
      Add(kLarge);
      for (uint32_t i = 0; i < small; ++i) Add(kSmall);
    }
  }

  void Add(int64_t bytes) {
    const auto id = static_cast<uint32_t>(runs.size());
    const int64_t begin = runs.empty() ? 0 : runs.back().begin + runs.back().extent;
    runs.push_back({begin, bytes, id});
    stream.bytes.push_back({id, 0, bytes});
  }
};

TEST_CASE("small sources are put apart where they need more rounds than their bytes") {
  Case job(600);
  // A range of two sources is cut between them.
  job.stream.bytes.erase(job.stream.bytes.begin() + 1);
  job.stream.bytes[0].extent += kSmall;
  const SmallSources found = FindSmallSources(job.stream, job.runs, 50);
  REQUIRE(found.large.size() == 2);
  CHECK(found.large[0].extent == kLarge);
  CHECK(found.large[1].cls == 601);
  CHECK(found.small.size() == 1200);
  CHECK(found.small[0].cls == 0);
  CHECK(found.small[0].begin == kLarge);
  CHECK(found.small[0].extent == kSmall);
  CHECK(found.rounds == 1200 / 14 + 1);
}

TEST_CASE("few small sources, or none that are large, stay where they are") {
  CHECK(FindSmallSources(Case(2).stream, Case(2).runs, 50).small.empty());
  Case equal(0);
  equal.stream.bytes.clear();
  equal.runs.clear();
  for (int i = 0; i < 1000; ++i) equal.Add(kSmall);
  const SmallSources found = FindSmallSources(equal.stream, equal.runs, 10);
  CHECK(found.small.empty());
  CHECK(found.rounds == 0);
}

}  // namespace
}  // namespace reshard
