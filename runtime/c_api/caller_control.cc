#include "runtime/c_api/caller_control.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "runtime/c_api/api_support.h"

namespace reshard::c_api {
namespace {

// What parts hold that have not come. Nobody says so many bytes of it.
constexpr uint8_t kAbsent = 0xA7;
constexpr size_t kFewestBytes = 8;

bool IsAbsent(std::span<const uint8_t> part) {
  return std::all_of(part.begin(), part.end(), [](uint8_t byte) { return byte == kAbsent; });
}

// The caller's function as a channel.
class CallerControl final : public ControlChannel {
 public:
  explicit CallerControl(const reshard_control& control) : control_(control) {}

  uint32_t member() const override { return control_.member; }
  uint32_t member_count() const override { return control_.member_count; }

  Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                   std::span<uint8_t> all, Deadline deadline) override {
    std::fill(all.begin(), all.end(), kAbsent);
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
        deadline - std::chrono::steady_clock::now());
    const int32_t result =
        control_.all_gather(control_.user, group.data(), group.size(), mine.data(), mine.size(),
                            all.data(), std::max<int64_t>(left.count(), 0));
    if (result == RESHARD_OK) return Status();
    const std::vector<uint32_t> missing =
        result == RESHARD_ERROR_TIMEOUT ? Missing(group, mine, all) : std::vector<uint32_t>();
    if (!missing.empty()) {
      return Status(StatusCode::kTimeout, "no answer from " + NamesOf(missing));
    }
    return Status(result == RESHARD_ERROR_TIMEOUT ? StatusCode::kTimeout : StatusCode::kIoError,
                  std::string("the caller's control channel: ") + reshard_result_name(result));
  }

 private:
  // Whose parts have not come, where the function left those that have: its own is among them.
  std::vector<uint32_t> Missing(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                                std::span<const uint8_t> all) const {
    std::vector<uint32_t> missing;
    if (mine.size() < kFewestBytes) return missing;
    for (size_t m = 0; m < group.size(); ++m) {
      const std::span<const uint8_t> part = all.subspan(m * mine.size(), mine.size());
      if (group[m] == member() && !std::equal(mine.begin(), mine.end(), part.begin())) return {};
      if (IsAbsent(part)) missing.push_back(group[m]);
    }
    return missing;
  }

  const reshard_control control_;
};

}  // namespace

StatusOr<std::unique_ptr<ControlChannel>> ControlOf(const reshard_control* given) {
  if (given == nullptr) return std::unique_ptr<ControlChannel>();
  reshard_control control;
  RESHARD_RETURN_IF_ERROR(ReadStruct(given, sizeof(control), "reshard_control", &control));
  if (control.all_gather == nullptr || control.member >= control.member_count) {
    return Status(StatusCode::kInvalidArgument,
                  "a control channel needs a function and a member below member_count");
  }
  return std::unique_ptr<ControlChannel>(std::make_unique<CallerControl>(control));
}

}  // namespace reshard::c_api
