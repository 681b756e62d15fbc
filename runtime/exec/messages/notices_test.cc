#include "runtime/exec/messages/notices.h"

#include <optional>
#include <set>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// Three members; nothing that is sent to the members in `full` ever leaves.
class StuckPort final : public MessagePort {
 public:
  std::set<int> full;
  std::set<int> lost;

  int member() const override { return 0; }
  int member_count() const override { return 3; }
  int64_t max_message_bytes() const override { return 1 << 20; }
  Status Send(int member, int, std::span<const uint8_t>, MessageRequest* request) override {
    *request = {static_cast<uint64_t>(member), true};
    return Status();
  }
  Status Receive(int, int, std::span<uint8_t>, MessageRequest* request) override {
    *request = {kNeverOver, true};
    return Status();
  }
  StatusOr<bool> Test(MessageRequest* request, Arrival*) override {
    if (!request->active) return true;
    if (request->bits == kNeverOver || full.count(static_cast<int>(request->bits)) > 0) {
      return false;
    }
    request->active = false;
    return true;
  }
  StatusOr<std::optional<int64_t>> Probe(int, int) override { return std::optional<int64_t>(); }
  bool Abandon(MessageRequest* request) override {
    request->active = false;
    return false;
  }
  bool LostForSends(int member) const override { return lost.count(member) > 0; }

 private:
  static constexpr uint64_t kNeverOver = 99;
};

TEST_CASE("who does not take notices is named, as long as it can") {
  StuckPort port;
  Notices notices(&port, 5, 1, 4);
  REQUIRE(notices.Start().ok());
  CHECK(*notices.FirstUnsent() == -1);
  port.full = {2};
  REQUIRE(notices.Send(1, {}).ok());
  REQUIRE(notices.Send(2, {}).ok());
  CHECK(*notices.FirstUnsent() == 2);
  port.lost = {2};
  CHECK(*notices.FirstUnsent() == -1);
}

}  // namespace
}  // namespace reshard
