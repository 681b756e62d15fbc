// Progress: says on standard error what a slow command is doing, one line per stage, and nothing
// while the command is quick.
#ifndef RESHARD_COMPILER_CLI_PROGRESS_H_
#define RESHARD_COMPILER_CLI_PROGRESS_H_

#include <chrono>
#include <functional>
#include <ostream>
#include <string_view>
#include <utility>

namespace reshard {

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit Progress(std::ostream& err, Clock now = &std::chrono::steady_clock::now)
      : err_(err), now_(std::move(now)), start_(now_()) {}

  // The command enters `stage`. Printed from the first second on.
  void Enter(std::string_view stage) {
    const std::chrono::duration<double> passed = now_() - start_;
    if (passed.count() < 1.0) return;
    err_ << "reshardc: " << stage << " (after " << static_cast<int>(passed.count()) << " s)\n"
         << std::flush;
  }

 private:
  std::ostream& err_;
  Clock now_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_PROGRESS_H_
