#include "runtime/exec/loopback/loopback_backend.h"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/exec/host_engine.h"
#include "runtime/exec/loopback/loopback_control.h"
#include "runtime/exec/loopback/loopback_world.h"

namespace reshard {

// One world per executor that the members make together.
class LoopbackGroup::Worlds {
 public:
  Worlds(uint32_t member_count, double pace) : member_count_(member_count), pace_(pace) {}

  // The world of the members' `number`-th executor. The first that asks makes it, for all.
  StatusOr<std::shared_ptr<LoopbackWorld>> Get(uint64_t number, const Plan& plan) {
    const std::lock_guard lock(mutex_);
    Entry& entry = worlds_[number];
    if (entry.asked++ == 0) {
      std::vector<LoopbackRank> ranks;
      for (const PlanRank& rank : plan.ranks) ranks.push_back({rank.rank, rank.staging_bytes()});
      StatusOr<std::unique_ptr<LoopbackWorld>> world =
          LoopbackWorld::Create(ranks, pace_ > 0 ? std::make_unique<Pacer>(plan, pace_) : nullptr);
      if (world.ok()) {
        entry.world = *std::move(world);
        last_ = entry.world;
      } else {
        entry.status = world.status();
      }
    }
    const Entry result = entry;
    if (entry.asked == member_count_) worlds_.erase(number);
    if (!result.status.ok()) return result.status;
    return result.world;
  }

  Status failure() {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<LoopbackWorld> world = last_.lock();
    return world ? world->failure() : Status();
  }

 private:
  struct Entry {
    std::shared_ptr<LoopbackWorld> world;
    Status status;
    uint32_t asked = 0;
  };
  const uint32_t member_count_;
  const double pace_;
  std::mutex mutex_;
  std::map<uint64_t, Entry> worlds_;   // guarded by mutex_
  std::weak_ptr<LoopbackWorld> last_;  // guarded by mutex_
};

class LoopbackGroup::Member final : public Backend {
 public:
  Member(std::shared_ptr<Worlds> worlds, std::unique_ptr<ControlChannel> control)
      : worlds_(std::move(worlds)), control_(std::move(control)) {}

  std::string_view name() const override { return "loopback"; }
  ControlChannel* control() override { return control_.get(); }

  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline) override {
    StatusOr<std::shared_ptr<LoopbackWorld>> world = worlds_->Get(engine_count_++, *spec.plan);
    if (!world.ok()) return world.status();
    RankTransport* const transport =
        (*world)->transport(spec.index->RankIndex(*spec.plan, spec.rank));
    return MakeHostEngine(spec, std::shared_ptr<RankTransport>(*std::move(world), transport));
  }

 private:
  const std::shared_ptr<Worlds> worlds_;
  const std::unique_ptr<ControlChannel> control_;
  uint64_t engine_count_ = 0;
};

LoopbackGroup::LoopbackGroup(uint32_t member_count, double pace)
    : worlds_(std::make_shared<Worlds>(member_count, pace)) {
  for (std::unique_ptr<ControlChannel>& control : MakeLoopbackControl(member_count)) {
    backends_.push_back(std::make_shared<Member>(worlds_, std::move(control)));
  }
}

Status LoopbackGroup::failure() const { return worlds_->failure(); }

}  // namespace reshard
