#include "runtime/exec/loopback/loopback_control.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace reshard {
namespace {

// What the members of one group say in one call. Kept until all have read it.
struct Meeting {
  std::vector<std::vector<uint8_t>> said;  // by position in the group; empty: not yet
  std::vector<bool> here;
  size_t present = 0;
  size_t read = 0;
};

using MeetingKey = std::pair<std::vector<uint32_t>, uint64_t>;  // group, number of the call

struct Room {
  explicit Room(uint32_t members) : member_count(members) {}
  const uint32_t member_count;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<MeetingKey, Meeting> meetings;  // guarded by mutex
};

class Channel final : public ControlChannel {
 public:
  Channel(std::shared_ptr<Room> room, uint32_t member) : room_(std::move(room)), member_(member) {}
  uint32_t member() const override { return member_; }
  uint32_t member_count() const override { return room_->member_count; }
  Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                   std::span<uint8_t> all, Deadline deadline) override;

 private:
  Status CheckGroup(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                    std::span<uint8_t> all, size_t* position) const;

  const std::shared_ptr<Room> room_;
  const uint32_t member_;
  std::map<std::vector<uint32_t>, uint64_t> calls_;  // made so far, by group
};

Status Channel::CheckGroup(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                           std::span<uint8_t> all, size_t* position) const {
  const auto own = std::lower_bound(group.begin(), group.end(), member_);
  const bool rising =
      std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) == group.end();
  if (!rising || own == group.end() || *own != member_ || group.back() >= member_count() ||
      all.size() != group.size() * mine.size()) {
    return Status(StatusCode::kInvalidArgument,
                  "member " + std::to_string(member_) + " calls with a group that is not its own");
  }
  *position = static_cast<size_t>(own - group.begin());
  return Status();
}

Status Channel::AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                          std::span<uint8_t> all, Deadline deadline) {
  size_t position = 0;
  RESHARD_RETURN_IF_ERROR(CheckGroup(group, mine, all, &position));
  std::vector<uint32_t> members(group.begin(), group.end());
  const MeetingKey key(members, calls_[members]++);
  std::unique_lock lock(room_->mutex);
  Meeting& meeting = room_->meetings[key];
  meeting.said.resize(members.size());
  meeting.here.resize(members.size());
  meeting.said[position].assign(mine.begin(), mine.end());
  meeting.here[position] = true;
  if (++meeting.present == members.size()) room_->changed.notify_all();
  // A meeting stays until all of its members have left it, so the reference stays good.
  const bool complete =
      room_->changed.wait_until(lock, deadline, [&] { return meeting.present == members.size(); });
  if (!complete) {
    std::vector<uint32_t> missing;
    for (size_t m = 0; m < members.size(); ++m) {
      if (!meeting.here[m]) missing.push_back(members[m]);
    }
    return Status(StatusCode::kTimeout, "no answer from " + NamesOf(missing));
  }
  for (size_t m = 0; m < members.size(); ++m) {
    if (meeting.said[m].size() != mine.size()) {
      return OutOfStep(members[m]);
    }
    std::copy(meeting.said[m].begin(), meeting.said[m].end(),
              all.begin() + static_cast<ptrdiff_t>(m * mine.size()));
  }
  if (++meeting.read == members.size()) room_->meetings.erase(key);
  return Status();
}

}  // namespace

std::vector<std::unique_ptr<ControlChannel>> MakeLoopbackControl(uint32_t member_count) {
  const auto room = std::make_shared<Room>(member_count);
  std::vector<std::unique_ptr<ControlChannel>> channels;
  for (uint32_t m = 0; m < member_count; ++m) {
    channels.push_back(std::make_unique<Channel>(room, m));
  }
  return channels;
}

}  // namespace reshard
