#include "compiler/cli/progress.h"

namespace reshard {
namespace {

constexpr std::chrono::seconds kSilence{1};
constexpr std::chrono::seconds kRepeat{10};
constexpr std::chrono::milliseconds kTick{250};

}  // namespace

void ProgressLines::Enter(std::string_view stage, Time now) {
  stage_ = stage;
  said_ = false;
  if (now - start_ >= kSilence) Print(now);
}

void ProgressLines::Tick(Time now) {
  if (stage_.empty() || now - start_ < kSilence) return;
  if (!said_ || now - last_ >= kRepeat) Print(now);
}

void ProgressLines::Print(Time now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  err_ << "reshardc: " << stage_ << " (after " << seconds << " s)\n" << std::flush;
  said_ = true;
  last_ = now;
}

Progress::Progress(std::ostream& err, bool quiet)
    : quiet_(quiet), lines_(err, std::chrono::steady_clock::now()) {}

void Progress::Enter(std::string_view stage) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  lines_.Enter(stage, std::chrono::steady_clock::now());
  if (watching_) return;
  watching_ = true;
  watcher_ = std::thread([this] { Watch(); });
}

void Progress::Leave() {
  {
    const std::lock_guard lock(mutex_);
    if (!watching_) return;
    watching_ = false;
  }
  left_.notify_all();
  watcher_.join();
}

void Progress::Watch() {
  std::unique_lock lock(mutex_);
  while (!left_.wait_for(lock, kTick, [this] { return !watching_; })) {
    lines_.Tick(std::chrono::steady_clock::now());
  }
}

}  // namespace reshard
