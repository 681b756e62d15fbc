#include "compiler/schedule/matching.h"

#include <algorithm>
#include <utility>

#include "compiler/layout/topology.h"

namespace reshard {
namespace {

// Others that are displaced for one taker, one after the other.
constexpr int kMostDisplaced = 16;

class Matcher {
 public:
  Matcher(const std::vector<Taker>& takers, const std::vector<int64_t>& room_bytes, int64_t* work)
      : takers_(takers),
        room_bytes_(room_bytes),
        work_(*work),
        giver_of_(takers.size(), kNone),
        takers_of_(room_bytes.size()),
        given_bytes_(room_bytes.size(), 0),
        displaced_for_(room_bytes.size(), kNone) {}

  std::vector<uint32_t> Run() {
    for (uint32_t taker = 0; taker < takers_.size(); ++taker) {
      for_ = taker;
      Find(taker, 0);
    }
    return std::move(giver_of_);
  }

 private:
  bool HasRoom(uint32_t giver, int64_t bytes) const {
    const int64_t given = given_bytes_[giver];
    return given == 0 || given + bytes <= room_bytes_[giver];
  }
  void Give(uint32_t giver, uint32_t taker) {
    takers_of_[giver].push_back(taker);
    given_bytes_[giver] += takers_[taker].bytes;
    giver_of_[taker] = giver;
  }
  void TakeBack(uint32_t giver, uint32_t taker) {
    std::erase(takers_of_[giver], taker);
    given_bytes_[giver] -= takers_[taker].bytes;
    giver_of_[taker] = kNone;
  }

  bool Find(uint32_t taker, int displaced) {
    const std::vector<uint32_t>& givers = takers_[taker].givers;
    work_ -= static_cast<int64_t>(givers.size());
    const auto found = std::find_if(givers.begin(), givers.end(), [&](uint32_t giver) {
      return HasRoom(giver, takers_[taker].bytes);
    });
    if (found != givers.end()) {
      Give(*found, taker);
      return true;
    }
    return displaced < kMostDisplaced &&
           std::any_of(givers.begin(), givers.end(),
                       [&](uint32_t giver) { return Displace(giver, taker, displaced); });
  }

  // Each giver is asked once for a taker.
  bool Displace(uint32_t giver, uint32_t taker, int displaced) {
    if (displaced_for_[giver] == for_) return false;
    displaced_for_[giver] = for_;
    for (const uint32_t other : std::vector<uint32_t>(takers_of_[giver])) {
      if (work_ <= 0) return false;
      TakeBack(giver, other);
      if (HasRoom(giver, takers_[taker].bytes)) {
        Give(giver, taker);
        if (Find(other, displaced + 1)) return true;
        TakeBack(giver, taker);
      }
      Give(giver, other);
    }
    return false;
  }

  const std::vector<Taker>& takers_;
  const std::vector<int64_t>& room_bytes_;
  int64_t& work_;
  std::vector<uint32_t> giver_of_;
  std::vector<std::vector<uint32_t>> takers_of_;  // per giver
  std::vector<int64_t> given_bytes_;
  std::vector<uint32_t> displaced_for_;  // per giver, the last taker that it was asked for
  uint32_t for_ = 0;                     // whom others are displaced for
};

}  // namespace

std::vector<uint32_t> MatchTakers(const std::vector<Taker>& takers,
                                  const std::vector<int64_t>& room_bytes, int64_t* work) {
  return Matcher(takers, room_bytes, work).Run();
}

}  // namespace reshard
