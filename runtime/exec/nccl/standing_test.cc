#include "runtime/exec/nccl/standing.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_control.h"

namespace reshard::nccl {
namespace {

// What each member says when the members that take part stand as given.
std::vector<std::string> Blames(const std::vector<Standing>& standings, size_t present) {
  auto controls = MakeLoopbackControl(static_cast<uint32_t>(standings.size()));
  const std::vector<uint32_t> ranks = {10, 20, 30};
  std::vector<std::string> texts(present);
  std::vector<std::thread> threads;
  for (size_t m = 0; m < present; ++m) {
    threads.emplace_back([&, m] {
      const auto time = present < standings.size() ? std::chrono::milliseconds(50)
                                                   : std::chrono::milliseconds(20000);
      texts[m] = BlameText(controls[m].get(), ranks, standings[m], DeadlineIn(time));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return texts;
}

TEST_CASE("the rank that is furthest behind is named by the others, and not by itself") {
  const std::string blame = "; rank 20 is furthest behind, in round 7 of execution 1";
  CHECK(Blames({{1, 8}, {1, 7}, {2, 0}}, 3) == std::vector<std::string>{blame, "", blame});
}

TEST_CASE("who does not answer is named") {
  for (const std::string& text : Blames({{1, 8}, {1, 7}, {1, 7}}, 2)) {
    CHECK(text.find("; asked where they stand: ") == 0);
    CHECK(text.find("2") != std::string::npos);
  }
}

TEST_CASE("ranks are listed once, rising, and not for ever") {
  CHECK(RanksText({4}) == "rank 4");
  CHECK(RanksText({4, 2, 4}) == "ranks 2, 4");
  CHECK(RanksText({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}) == "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

}  // namespace
}  // namespace reshard::nccl
