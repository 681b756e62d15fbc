#include "runtime/c_api/caller_control.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <vector>

#include "doctest/doctest.h"

namespace reshard::c_api {
namespace {

// A channel on which only some members answer, with bytes of their number.
struct Channel {
  std::set<uint32_t> present;
  int32_t result = RESHARD_ERROR_TIMEOUT;

  static int32_t Gather(void* user, const uint32_t* group, size_t count, const void* mine,
                        size_t bytes, void* all, int64_t) {
    const Channel& channel = *static_cast<Channel*>(user);
    for (size_t m = 0; m < count; ++m) {
      char* const part = static_cast<char*>(all) + m * bytes;
      if (channel.present.count(group[m]) == 0) continue;
      if (group[m] == 1) {
        std::memcpy(part, mine, bytes);
      } else {
        std::fill_n(part, bytes, static_cast<char>(group[m]));
      }
    }
    return channel.result;
  }
};

Status GatherOver(Channel* channel, size_t bytes) {
  reshard_control given = RESHARD_CONTROL_INIT;
  given.all_gather = Channel::Gather;
  given.user = channel;
  given.member = 1;
  given.member_count = 4;
  StatusOr<std::unique_ptr<ControlChannel>> control = ControlOf(&given);
  REQUIRE(control.ok());
  (*control)->SetRanks(std::vector<uint32_t>{10, 20, 30, 40});
  const std::vector<uint32_t> group = {0, 1, 3};
  const std::vector<uint8_t> mine(bytes, uint8_t{7});
  std::vector<uint8_t> all(group.size() * bytes);
  return (*control)->AllGather(group, mine, all, DeadlineIn(std::chrono::seconds(1)));
}

TEST_CASE("a channel that leaves the parts that came: those who are missing are named") {
  Channel channel{{0, 1}};
  CHECK(GatherOver(&channel, 16) == Status(StatusCode::kTimeout, "no answer from rank 40"));
  channel.present = {1};
  CHECK(GatherOver(&channel, 8) == Status(StatusCode::kTimeout, "no answer from ranks 10, 40"));
}

TEST_CASE("a channel that says nothing of the parts: nobody is named") {
  const Status nobody(StatusCode::kTimeout, "the caller's control channel: timeout");
  Channel channel;
  CHECK(GatherOver(&channel, 16) == nobody);
  // Without its own part nobody knows what the others mean, nor where so few bytes say nothing.
  channel.present = {0};
  CHECK(GatherOver(&channel, 16) == nobody);
  channel.present = {0, 1};
  CHECK(GatherOver(&channel, 4) == nobody);
  channel.present = {0, 1, 3};
  CHECK(GatherOver(&channel, 16) == nobody);
  channel.result = RESHARD_ERROR_IO;
  channel.present = {0, 1};
  CHECK(GatherOver(&channel, 16) ==
        Status(StatusCode::kIoError, "the caller's control channel: io-error"));
}

TEST_CASE("all parts come through") {
  Channel channel{{0, 1, 3}, RESHARD_OK};
  CHECK(GatherOver(&channel, 16).ok());
}

}  // namespace
}  // namespace reshard::c_api
