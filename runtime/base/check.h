// Checks of what only a bug of ours can break. They are on in every build mode.
//
// A failed check prints where and why, and ends the process with kBugExitCode
// at once: no destructors run, as other threads may still use what they destroy.
#ifndef RESHARD_RUNTIME_BASE_CHECK_H_
#define RESHARD_RUNTIME_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace reshard {

// Exit status of every program of ours that finds itself wrong.
inline constexpr int kBugExitCode = 3;

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition,
                                     std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: internal error: %.*s [%s]\n", file, line,
               static_cast<int>(message.size()), message.data(), condition);
  std::fflush(stderr);
  std::_Exit(kBugExitCode);
}

}  // namespace reshard

// `message` is anything that converts to std::string_view, a temporary
// std::string included; it is evaluated only when the check fails.
#define RESHARD_CHECK(condition, message) \
  (static_cast<bool>(condition)           \
       ? static_cast<void>(0)             \
       : ::reshard::CheckFailed(__FILE__, __LINE__, #condition, (message)))

#endif  // RESHARD_RUNTIME_BASE_CHECK_H_
