#include "runtime/exec/loopback/pacer.h"

#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_world.h"

namespace reshard {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Ranks 0 and 1 share a domain of 100 MB/s ports, ranks 2 and 3 have domains of their own. NICs of
// 10 MB/s; rank 3 has two, of 10 and 30. Rank 3's group has an uplink of 5 MB/s.
Plan SlowPlan() {
  Plan plan;
  const int64_t mb = 1'000'000;
  for (int i = 0; i < 4; ++i) plan.nics.push_back({"n" + std::to_string(i), 10 * mb});
  plan.nics.push_back({"n4", 30 * mb});
  plan.domains = {{"a", 100 * mb, 0}, {"b", 0, 0}, {"c", 0, 0}};
  plan.groups = {{"g", 5 * mb}, {"h", 5 * mb}};
  plan.sites = {{0, "x", 0, 0, kNoId, {0}, 0, 0, 0},
                {1, "x", 1, 0, kNoId, {1}, 0, 0, 0},
                {2, "y", 0, 1, kNoId, {2}, 0, 0, 0},
                {3, "z", 0, 2, kNoId, {3, 4}, 0, 0, 0}};
  for (uint32_t r = 0; r < 4; ++r) plan.ranks.push_back({r, 0, 0, 1024, 0});
  return plan;
}

constexpr Pacer::Time kStart{};
int64_t Ms(Pacer::Time time) {
  return std::chrono::duration_cast<milliseconds>(time - kStart).count();
}

TEST_CASE("a message takes the time of its slower end") {
  Pacer pacer(SlowPlan(), 1);
  CHECK(Ms(pacer.Message(2, 0, 1'000'000, kStart)) == 100);
  // Two NICs carry their parts at the same time, but the sender has 10 MB/s.
  CHECK(Ms(pacer.Message(1, 3, 1'000'000, kStart)) == 100);
  CHECK(Ms(pacer.Copy(0, 1, 1'000'000, kStart)) == 10);
  // Inside a domain messages take its ports.
  CHECK(Ms(pacer.Message(1, 0, 1'000'000, kStart)) == 10);
}

TEST_CASE("ports pay for one transfer after the other; directions do not meet") {
  Pacer pacer(SlowPlan(), 1);
  CHECK(Ms(pacer.Message(0, 2, 1'000'000, kStart)) == 100);
  CHECK(Ms(pacer.Message(0, 3, 1'000'000, kStart)) == 200);  // the same sender
  CHECK(Ms(pacer.Message(1, 2, 1'000'000, kStart)) == 200);  // the same receiver
  CHECK(Ms(pacer.Message(2, 1, 1'000'000, kStart)) == 100);  // the other way
  // Idle time is not saved up.
  CHECK(Ms(pacer.Message(0, 2, 1'000'000, kStart + milliseconds(1000))) == 1100);
}

TEST_CASE("links are slowed; uplinks count between groups only") {
  Pacer slowed(SlowPlan(), 10);
  CHECK(Ms(slowed.Message(2, 0, 1'000'000, kStart)) == 1000);
  Plan plan = SlowPlan();
  plan.sites[2].group = 0;
  plan.sites[3].group = 1;
  Pacer between(plan, 1);
  CHECK(Ms(between.Message(2, 3, 1'000'000, kStart)) == 200);
  plan.sites[3].group = 0;
  Pacer inside(plan, 1);
  CHECK(Ms(inside.Message(2, 3, 1'000'000, kStart)) == 100);
  plan.fabric.bytes_per_s = 1'000'000;
  Pacer shared(plan, 1);
  CHECK(Ms(shared.Message(2, 3, 1'000'000, kStart)) == 1000);
}

TEST_CASE("a clock forgives short delays of the machine and counts long ones") {
  PacedClock clock;
  const auto now = steady_clock::now();
  CHECK(clock.Ready() >= now);  // it was never used: a long time
  clock.Reach(steady_clock::now() + milliseconds(50));
  const auto reached = clock.time();
  CHECK(clock.Ready() == reached);
  std::this_thread::sleep_until(reached + milliseconds(20));
  CHECK(clock.Ready() >= reached + milliseconds(20));
}

TEST_CASE("a paced world delivers the right bytes and not too early") {
  const Plan plan = SlowPlan();
  std::vector<LoopbackRank> ranks;
  for (uint32_t r = 0; r < 4; ++r) ranks.push_back({r, 1 << 20});
  const auto world = *LoopbackWorld::Create(ranks, std::make_unique<Pacer>(plan, 1));
  const auto late = steady_clock::now() + std::chrono::seconds(20);
  world->transport(0)->arena()[5] = 77;
  const auto start = steady_clock::now();
  Pacer::Time received, sent, read;
  std::thread sender([&] {
    CHECK(world->transport(0)->Send(2, 1, 0, 500'000).ok());
    CHECK(world->transport(0)->FinishStep(1, late, nullptr).ok());
    sent = steady_clock::now();
  });
  std::thread receiver([&] {
    CHECK(world->transport(2)->Receive(0, 1, 0, 500'000).ok());
    CHECK(world->transport(2)->FinishStep(1, late, nullptr).ok());
    received = steady_clock::now();
    CHECK(world->transport(2)->PublishLanded(1).ok());
  });
  std::thread reader([&] {
    CHECK(world->transport(0)->arena()[5] == 77);
    CHECK(world->transport(1)->PublishLanded(1).ok());
    world->transport(1)->NoteRead(0, 1'000'000);
    CHECK(world->transport(1)->PublishReads(1).ok());
    read = steady_clock::now();
  });
  sender.join();
  receiver.join();
  reader.join();
  // 500 kB at 10 MB/s, of which the clock may forgive some; 1 MB at 100 MB/s.
  CHECK(received - start >= milliseconds(50) - PacedClock::kForgiven);
  CHECK(sent - start >= milliseconds(50) - PacedClock::kForgiven);
  CHECK(read - start >= milliseconds(10) - PacedClock::kForgiven);
  CHECK(world->transport(2)->arena()[5] == 77);
}

}  // namespace
}  // namespace reshard
