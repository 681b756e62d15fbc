#include "runtime/exec/messages/message_control.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
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

// The first call of every member but those with `waits` true, for which it is made when all others
// are over; these have ended their ports then where `ends`.
std::vector<Status> GatherLate(uint32_t count, const std::function<bool(uint32_t)>& waits,
                               bool ends) {
  std::vector<std::unique_ptr<MessagePort>> ports = testing::LocalTcpPorts(count);
  REQUIRE(ports.size() == count);
  std::vector<std::unique_ptr<ControlChannel>> controls;
  for (const auto& port : ports) controls.push_back(MakeMessageControl(port.get()));
  std::vector<uint32_t> group(count);
  std::iota(group.begin(), group.end(), 0U);
  std::vector<Status> results(count);
  for (const bool late : {false, true}) {
    std::vector<std::thread> threads;
    for (uint32_t m = 0; m < count; ++m) {
      if (waits(m) != late) continue;
      threads.emplace_back([&, m] {
        const uint8_t mine = 1;
        std::vector<uint8_t> all(count);
        results[m] = controls[m]->AllGather(group, {&mine, 1}, all,
                                            DeadlineIn(std::chrono::milliseconds(500)));
        if (!ends) return;
        controls[m].reset();
        ports[m].reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return results;
}

// Stops, as a process does at SIGSTOP, when it is first asked whether a message with `tag` is here.
class StoppingPort final : public MessagePort {
 public:
  StoppingPort(MessagePort* port, int tag, std::chrono::nanoseconds pause)
      : port_(*port), tag_(tag), pause_(pause) {}
  int member() const override { return port_.member(); }
  int member_count() const override { return port_.member_count(); }
  int64_t max_message_bytes() const override { return port_.max_message_bytes(); }
  Status Send(int member, int tag, std::span<const uint8_t> bytes,
              MessageRequest* request) override {
    return port_.Send(member, tag, bytes, request);
  }
  Status Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) override {
    return port_.Receive(member, tag, bytes, request);
  }
  StatusOr<bool> Test(MessageRequest* request, Arrival* arrival) override {
    return port_.Test(request, arrival);
  }
  StatusOr<std::optional<int64_t>> Probe(int member, int tag) override {
    if (tag == tag_) std::this_thread::sleep_for(std::exchange(pause_, {}));
    return port_.Probe(member, tag);
  }
  Status Progress() override { return port_.Progress(); }
  bool Abandon(MessageRequest* request) override { return port_.Abandon(request); }
  bool LostForReceives(int member) const override { return port_.LostForReceives(member); }
  bool LostForSends(int member) const override { return port_.LostForSends(member); }

 private:
  MessagePort& port_;
  const int tag_;
  std::chrono::nanoseconds pause_;
};

TEST_CASE("whoever is stopped inside a call until it is over is named, and does not succeed") {
  struct Stop {
    uint32_t member;
    int tag;
  };
  // The first member while it collects parts, others before the result.
  for (const Stop stop :
       {Stop{0, kControlTag}, Stop{1, kControlTag + 1}, Stop{4, kControlTag + 1}}) {
    CAPTURE(stop.member);
    std::vector<std::unique_ptr<MessagePort>> ports = testing::LocalTcpPorts(6);
    REQUIRE(ports.size() == 6);
    std::vector<uint32_t> group(6);
    std::iota(group.begin(), group.end(), 0U);
    std::vector<Status> results(6);
    std::vector<std::thread> threads;
    for (uint32_t m = 0; m < 6; ++m) {
      threads.emplace_back([&, m] {
        StoppingPort port(ports[m].get(), m == stop.member ? stop.tag : -1, seconds(3));
        const std::unique_ptr<ControlChannel> control = MakeMessageControl(&port);
        const uint8_t mine = 1;
        std::vector<uint8_t> all(6);
        results[m] = control->AllGather(group, {&mine, 1}, all, DeadlineIn(seconds(1)));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint32_t m = 0; m < 6; ++m) {
      CAPTURE(m);
      // Those who had the result before may have gone on: all held what they said.
      if (results[m].ok() && m != 0 && m != stop.member) continue;
      CHECK(results[m].ToString() ==
            "no answer from member " + std::to_string(stop.member) + " [timeout]");
    }
    if (stop.member == 0) CHECK_FALSE(results[5].ok());
    if (stop.member == 1) CHECK_FALSE(results[3].ok());
  }
}

TEST_CASE("a member that comes when the others have given up does not succeed") {
  for (const bool ends : {false, true}) {
    for (const uint32_t late : {0U, 1U, 3U}) {
      CAPTURE(ends);
      CAPTURE(late);
      const std::vector<Status> results = GatherLate(
          6, [&](uint32_t member) { return member == late; }, ends);
      for (uint32_t m = 0; m < 6; ++m) {
        CAPTURE(m);
        CHECK(results[m].code() == StatusCode::kTimeout);
        if (m != late) {
          CHECK(results[m].message() == "no answer from member " + std::to_string(late));
        }
      }
    }
  }
}

}  // namespace
}  // namespace reshard
