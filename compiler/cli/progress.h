// Progress: says on standard error what a slow command is doing, and nothing while the command is
// quick: one line per stage, and more of them for a stage that takes long.
#ifndef RESHARD_COMPILER_CLI_PROGRESS_H_
#define RESHARD_COMPILER_CLI_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

namespace reshard {

// Lines are made by Enter, and by Tick while a stage goes on. One thread at a time.
class ProgressLines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  ProgressLines(std::ostream& err, Time start) : err_(err), start_(start) {}

  // The command enters `stage`: said at once from the first second on.
  void Enter(std::string_view stage, Time now);
  // The stage goes on: said when the first second has passed, and then every ten seconds.
  void Tick(Time now);

 private:
  void Print(Time now);

  std::ostream& err_;
  Time start_;
  std::string stage_;
  bool said_ = false;  // of this stage
  Time last_{};        // line of this stage
};

// ProgressLines with a clock and a thread that ticks. Nobody else may write to `err` between Enter
// and Leave (or the end of this).
class Progress {
 public:
  explicit Progress(std::ostream& err, bool quiet = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Leave(); }

  void Enter(std::string_view stage);
  void Leave();

 private:
  void Watch();

  bool quiet_;
  std::mutex mutex_;  // of all below
  std::condition_variable left_;
  bool watching_ = false;
  ProgressLines lines_;
  std::thread watcher_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_PROGRESS_H_
