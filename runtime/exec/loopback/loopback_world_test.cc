#include "runtime/exec/loopback/loopback_world.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using std::chrono::milliseconds;

Deadline In(milliseconds time) { return std::chrono::steady_clock::now() + time; }
Deadline Soon() { return In(milliseconds(50)); }
Deadline Late() { return In(milliseconds(20000)); }

std::unique_ptr<LoopbackWorld> WorldOf(const std::vector<LoopbackRank>& ranks) {
  StatusOr<std::unique_ptr<LoopbackWorld>> world = LoopbackWorld::Create(ranks);
  REQUIRE(world.ok());
  return *std::move(world);
}

TEST_CASE("messages of many steps go round a ring, whoever is first") {
  constexpr uint32_t kRanks = 5;
  constexpr uint64_t kSteps = 200;
  std::vector<LoopbackRank> specs;
  for (uint32_t r = 0; r < kRanks; ++r) specs.push_back({r * 3, 64});
  const auto world = WorldOf(specs);
  std::vector<Status> results(kRanks);
  std::vector<uint64_t> wrong(kRanks, 0);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      RankTransport& transport = *world->transport(r);
      const uint32_t next = (r + 1) % kRanks * 3;
      const uint32_t previous = (r + kRanks - 1) % kRanks;
      for (uint64_t step = 1; step <= kSteps; ++step) {
        const uint64_t mine = step * 100 + r;
        std::memcpy(transport.arena(), &mine, 8);
        results[r] = transport.Receive(previous * 3, step, 8, 8);
        if (results[r].ok()) results[r] = transport.Send(next, step, 0, 8);
        if (results[r].ok()) results[r] = transport.FinishStep(step, Late(), nullptr);
        if (!results[r].ok()) return;
        uint64_t got = 0;
        std::memcpy(&got, transport.arena() + 8, 8);
        wrong[r] += got != step * 100 + previous;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t r = 0; r < kRanks; ++r) {
    CHECK(results[r].ToString() == "ok");
    CHECK(wrong[r] == 0);
  }
}

TEST_CASE("a receiver without a sender, and a sender without a receiver, time out by name") {
  const auto world = WorldOf({{1, 64}, {2, 64}, {3, 0}});
  REQUIRE(world->transport(0)->Receive(3, 7, 0, 8).ok());
  const Status receive = world->transport(0)->FinishStep(7, Soon(), nullptr);
  CHECK(receive.code() == StatusCode::kTimeout);
  CHECK(receive.message() == "rank 3 did not send its message of step 7");
  REQUIRE(world->transport(1)->Send(3, 7, 0, 8).ok());
  const Status send = world->transport(1)->FinishStep(7, Soon(), nullptr);
  CHECK(send.code() == StatusCode::kTimeout);
  CHECK(send.message() == "rank 3 did not take its message of step 7");
}

TEST_CASE("a timeout names the rank that all wait for in the end") {
  const auto world = WorldOf({{1, 64}, {2, 64}, {3, 64}});
  REQUIRE(world->transport(1)->Receive(3, 1, 0, 8).ok());
  std::thread middle(
      [&] { CHECK_FALSE(world->transport(1)->FinishStep(1, Late(), nullptr).ok()); });
  REQUIRE(world->transport(0)->Receive(2, 1, 0, 8).ok());
  const Status status = world->transport(0)->FinishStep(1, In(milliseconds(300)), nullptr);
  CHECK(status.message() ==
        "rank 2 did not send its message of step 1; it waits, in the end, for rank 3");
  world->transport(0)->Abort(status);
  middle.join();
}

TEST_CASE("a message of another length or step is refused, not taken") {
  for (const bool wrong_step : {false, true}) {
    CAPTURE(wrong_step);
    const auto world = WorldOf({{0, 64}, {1, 64}});
    std::memset(world->transport(1)->arena(), 0x11, 64);
    REQUIRE(world->transport(0)->Send(1, wrong_step ? 5 : 4, 0, wrong_step ? 16 : 8).ok());
    REQUIRE(world->transport(1)->Receive(0, 4, 0, 16).ok());
    const Status status = world->transport(1)->FinishStep(4, Late(), nullptr);
    CHECK(status.code() == StatusCode::kCorruptData);
    CHECK(status.message().find("rank 0 sends") == 0);
    CHECK(world->transport(1)->arena()[0] == 0x11);
  }
}

TEST_CASE("an abort ends waits of every kind and names the rank that failed") {
  const auto world = WorldOf({{0, 64}, {1, 64}, {2, 64}, {3, 64}, {4, 64}});
  REQUIRE(world->transport(1)->Receive(0, 1, 0, 8).ok());
  REQUIRE(world->transport(2)->Send(0, 1, 0, 8).ok());
  std::vector<Status> results(5);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { results[1] = world->transport(1)->FinishStep(1, Late(), nullptr); });
  threads.emplace_back([&] { results[2] = world->transport(2)->FinishStep(1, Late(), nullptr); });
  threads.emplace_back(
      [&] { results[3] = world->transport(3)->AwaitLanded(0, 1, Late()).status(); });
  threads.emplace_back([&] { results[4] = world->transport(4)->AwaitReads(0, 1, Late()); });
  std::this_thread::sleep_for(milliseconds(20));
  world->transport(0)->Abort(Status(StatusCode::kIoError, "broken cable"));
  world->transport(1)->Abort(Status(StatusCode::kTimeout, "too late to be the reason"));
  for (std::thread& thread : threads) thread.join();
  for (size_t r = 1; r < 5; ++r) {
    CHECK(results[r].code() == StatusCode::kAborted);
    CHECK(results[r].message() == "rank 0 failed: broken cable");
  }
  CHECK(world->failure() == Status(StatusCode::kIoError, "rank 0: broken cable"));
  CHECK(world->transport(3)->PublishLanded(1).code() == StatusCode::kAborted);
}

TEST_CASE("landed and read steps only have to be reached, and times out otherwise") {
  const auto world = WorldOf({{0, 64}, {1, 64}});
  RankTransport& lander = *world->transport(0);
  RankTransport& reader = *world->transport(1);
  CHECK(reader.AwaitLanded(0, 3, Soon()).status().message() == "rank 0 did not land step 3");
  CHECK(lander.AwaitReads(1, 3, Soon()).message() == "rank 1 did not finish reading step 3");
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    lander.arena()[5] = 42;
    CHECK(lander.PublishLanded(4).ok());
  });
  const StatusOr<const uint8_t*> arena = reader.AwaitLanded(0, 3, Late());
  REQUIRE(arena.ok());
  CHECK((*arena)[5] == 42);
  later.join();
  CHECK(reader.PublishReads(4).ok());
  CHECK(lander.AwaitReads(1, 4, Soon()).ok());
  CHECK_FALSE(lander.AwaitReads(1, 5, Soon()).ok());
}

TEST_CASE("offsets outside the arena, strangers and too many messages are refused") {
  const auto world = WorldOf({{0, 64}, {1, 64}});
  RankTransport& transport = *world->transport(0);
  CHECK_FALSE(transport.Send(1, 1, 60, 8).ok());
  CHECK_FALSE(transport.Send(1, 1, -1, 8).ok());
  CHECK_FALSE(transport.Receive(1, 1, 64, 1).ok());
  CHECK_FALSE(transport.Receive(1, 1, INT64_MAX, INT64_MAX).ok());
  CHECK_FALSE(transport.Receive(7, 1, 0, 8).ok());
  CHECK_FALSE(transport.Send(0, 1, 0, 8).ok());
  for (int i = 0; i < 32; ++i) CHECK(transport.Receive(1, 1, 0, 1).ok());
  CHECK(transport.Receive(1, 1, 0, 1).code() == StatusCode::kLimitExceeded);
  CHECK_FALSE(LoopbackWorld::Create(std::vector<LoopbackRank>{{1, 0}, {1, 0}}).ok());
  CHECK_FALSE(LoopbackWorld::Create(std::vector<LoopbackRank>{{1, -8}}).ok());
  CHECK(world->max_arena_bytes() == 64);
}

}  // namespace
}  // namespace reshard
