#include "runtime/exec/messages/message_control.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/tcp/testing/local_members.h"

namespace reshard {
namespace {

using std::chrono::seconds;

struct Outcome {
  Status status;
  std::vector<uint8_t> all;
};

// Two calls of all members, each on a thread of its own that ends its port as soon as it is done:
// the outcome of the second one, before which members for which `absent` is true end theirs.
std::vector<Outcome> GatherTwice(uint32_t count, const std::function<bool(uint32_t)>& absent,
                                 std::chrono::nanoseconds timeout) {
  std::vector<std::unique_ptr<MessagePort>> ports = testing::LocalTcpPorts(count);
  REQUIRE(ports.size() == count);
  std::vector<uint32_t> group(count);
  std::iota(group.begin(), group.end(), 0U);
  std::vector<Outcome> outcomes(count);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < count; ++m) {
    threads.emplace_back([&, m] {
      std::unique_ptr<ControlChannel> control = MakeMessageControl(ports[m].get());
      outcomes[m].all.resize(count);
      for (uint32_t call = 0; call < (absent(m) ? 1U : 2U); ++call) {
        const uint8_t mine = static_cast<uint8_t>(100 * call + m);
        outcomes[m].status =
            control->AllGather(group, {&mine, 1}, outcomes[m].all, DeadlineIn(timeout));
      }
      control.reset();
      ports[m].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST_CASE("everybody gets what all said, also when those before have ended already") {
  for (const uint32_t count : {1U, 2U, 3U, 4U, 7U, 12U}) {
    for (int round = 0; round < 10; ++round) {
      std::vector<uint8_t> expected(count);
      std::iota(expected.begin(), expected.end(), uint8_t{100});
      for (const Outcome& outcome : GatherTwice(
               count, [](uint32_t) { return false; }, seconds(60))) {
        CHECK(outcome.status.ToString() == "ok");
        CHECK(outcome.all == expected);
      }
    }
  }
}

TEST_CASE("a member that has ended is named to all, long before the deadline") {
  for (const uint32_t gone : {0U, 1U, 5U, 11U}) {
    CAPTURE(gone);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Outcome> outcomes = GatherTwice(
        12, [&](uint32_t member) { return member == gone; }, seconds(600));
    CHECK(std::chrono::steady_clock::now() - begin < seconds(300));
    for (uint32_t m = 0; m < 12; ++m) {
      if (m == gone) continue;
      CAPTURE(m);
      CHECK(outcomes[m].status.code() == StatusCode::kTimeout);
      CHECK(outcomes[m].status.message() == "no answer from member " + std::to_string(gone));
    }
  }
}

TEST_CASE("a call that only some made is found by the next, which says how to go on") {
  std::vector<std::unique_ptr<MessagePort>> ports = testing::LocalTcpPorts(3);
  REQUIRE(ports.size() == 3);
  const std::vector<uint32_t> group{0, 1, 2};
  std::vector<std::unique_ptr<ControlChannel>> controls;
  for (const auto& port : ports) controls.push_back(MakeMessageControl(port.get()));
  const auto gather = [&](uint32_t m, size_t bytes, std::chrono::nanoseconds timeout) {
    const std::vector<uint8_t> mine(bytes);
    std::vector<uint8_t> all(3 * bytes);
    return controls[m]->AllGather(group, mine, all, DeadlineIn(timeout));
  };
  // Member 2 makes a short call that nobody else makes, as when one rank commits alone.
  CHECK(gather(2, 16, std::chrono::milliseconds(100)).code() == StatusCode::kTimeout);
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < 3; ++m) {
    threads.emplace_back([&, m] { results[m] = gather(m, 512, seconds(5)); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results[0].code() == StatusCode::kAborted);
  CHECK(results[0].message() ==
        "member 2 makes another call than this rank, as when only some ranks call commit after a "
        "failure: go on with executors on new backends");
}

}  // namespace
}  // namespace reshard
