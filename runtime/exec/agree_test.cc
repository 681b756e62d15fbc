#include "runtime/exec/agree.h"

#include <optional>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_control.h"

namespace reshard {
namespace {

Deadline In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

Digest DigestOf(uint8_t byte) {
  Digest digest{};
  digest.fill(byte);
  return digest;
}

std::string Hex(const char* byte) {
  std::string text;
  for (int i = 0; i < 32; ++i) text += byte;
  return text;
}

// What every member gets when each makes its claim.
std::vector<StatusOr<std::vector<uint32_t>>> Agree(const std::vector<RankClaim>& claims,
                                                   const std::vector<uint32_t>& expected) {
  const auto channels = MakeLoopbackControl(static_cast<uint32_t>(claims.size()));
  std::vector<StatusOr<std::vector<uint32_t>>> results(
      claims.size(), Status(StatusCode::kTimeout, "did not return"));
  std::vector<std::thread> threads;
  for (size_t m = 0; m < claims.size(); ++m) {
    threads.emplace_back([&, m] {
      results[m] =
          AgreeOnPlan(channels[m].get(), claims[m], expected, In(std::chrono::seconds(20)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST_CASE("ranks with one plan learn who is who") {
  const auto results =
      Agree({{7, DigestOf(1), {}}, {0, DigestOf(1), {}}, {3, DigestOf(1), {}}}, {0, 3, 7});
  for (const auto& result : results) {
    REQUIRE(result.ok());
    CHECK(*result == std::vector<uint32_t>{7, 0, 3});
  }
}

TEST_CASE("a rank with another plan is an error on every rank, with ranks and digests") {
  const auto results = Agree({{0, DigestOf(0x11), {}},
                              {1, DigestOf(0x11), {}},
                              {2, DigestOf(0x22), {}},
                              {3, DigestOf(0x11), {}}},
                             {0, 1, 2, 3});
  for (const auto& result : results) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == StatusCode::kAborted);
    CHECK(result.status().message() ==
          "ranks hold different plans: ranks 0-1,3 " + Hex("11") + ", rank 2 " + Hex("22"));
  }
}

TEST_CASE("ranks that verify different numbers of executions are named on every rank") {
  const auto results = Agree({{0, DigestOf(1), {}, 0},
                              {1, DigestOf(1), {}, 3},
                              {2, DigestOf(1), {}, 0},
                              {3, DigestOf(1), {}, 0}},
                             {0, 1, 2, 3});
  for (const auto& result : results) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().ToString() ==
          "verify_executions has to be the same on all ranks: 0 on ranks 0,2-3, 3 on rank 1 "
          "[invalid-argument]");
  }
}

TEST_CASE("missing, doubled and unknown ranks are named on every rank") {
  const auto results =
      Agree({{0, DigestOf(1), {}}, {0, DigestOf(1), {}}, {9, DigestOf(1), {}}}, {0, 1, 2});
  for (const auto& result : results) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == StatusCode::kInvalidArgument);
    CHECK(result.status().message() ==
          "3 members for a plan of 3 ranks: no member for ranks 1-2; several members for rank 0; "
          "members for what the plan does not have: rank 9");
  }
}

TEST_CASE("a rank that cannot go on keeps all others from going on") {
  const Status own(StatusCode::kInvalidArgument, "'w' has no buffer");
  const auto results =
      Agree({{0, DigestOf(1), {}}, {1, DigestOf(1), own}, {2, DigestOf(1), {}}}, {0, 1, 2});
  CHECK(results[1].status() == own);
  for (const size_t other : {size_t{0}, size_t{2}}) {
    CHECK(results[other].status().code() == StatusCode::kAborted);
    CHECK(results[other].status().message() == "rank 1 failed: 'w' has no buffer");
  }
}

TEST_CASE("texts that are too long are cut and say so") {
  const Status own(StatusCode::kIoError, std::string(1000, 'x'));
  const auto results = Agree({{0, DigestOf(1), own}, {1, DigestOf(1), {}}}, {0, 1});
  CHECK(results[0].status() == own);
  CHECK(results[1].status().message() == "rank 0 failed: " + std::string(448, 'x') + "...");
}

TEST_CASE("a member that does not come is named") {
  const auto channels = MakeLoopbackControl(3);
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (const size_t m : {size_t{0}, size_t{2}}) {
    threads.emplace_back([&, m] {
      results[m] =
          AgreeOnStatus(channels[m].get(), {4, 5, 6}, Status(), In(std::chrono::milliseconds(200)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const size_t m : {size_t{0}, size_t{2}}) {
    CHECK(results[m].code() == StatusCode::kTimeout);
    CHECK(results[m].message() == "no answer from member 1");
  }
}

TEST_CASE("groups gather on their own; calls of one group keep their order") {
  const auto channels = MakeLoopbackControl(4);
  std::vector<std::vector<uint8_t>> got(4);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < 4; ++m) {
    threads.emplace_back([&, m] {
      const std::vector<uint32_t> group =
          m % 2 == 0 ? std::vector<uint32_t>{0, 2} : std::vector<uint32_t>{1, 3};
      for (uint8_t call = 0; call < 50; ++call) {
        const std::vector<uint8_t> mine = {static_cast<uint8_t>(m), call};
        std::vector<uint8_t> all(4);
        if (!channels[m]->AllGather(group, mine, all, In(std::chrono::seconds(20))).ok()) return;
        got[m].insert(got[m].end(), all.begin(), all.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint8_t m = 0; m < 4; ++m) {
    REQUIRE(got[m].size() == 200);
    for (uint8_t call = 0; call < 50; ++call) {
      const uint8_t low = m % 2;
      const std::vector<uint8_t> expected = {low, call, static_cast<uint8_t>(low + 2), call};
      CHECK(std::vector<uint8_t>(got[m].begin() + 4 * call, got[m].begin() + 4 * call + 4) ==
            expected);
    }
  }
}

TEST_CASE("a group without the caller, or room for another size, is refused") {
  const auto channels = MakeLoopbackControl(2);
  const std::vector<uint8_t> mine = {1};
  std::vector<uint8_t> all(2);
  const auto call = [&](const std::vector<uint32_t>& group) {
    return channels[0]->AllGather(group, mine, all, In(std::chrono::milliseconds(1))).code();
  };
  CHECK(call({1}) == StatusCode::kInvalidArgument);
  CHECK(call({1, 0}) == StatusCode::kInvalidArgument);
  CHECK(call({0, 2}) == StatusCode::kInvalidArgument);
  all.resize(3);
  CHECK(call({0, 1}) == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace reshard
