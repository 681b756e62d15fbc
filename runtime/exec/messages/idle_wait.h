// IdleWait: waiting without a spin.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_IDLE_WAIT_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_IDLE_WAIT_H_

#include <cstdint>

namespace reshard {

// Called again and again while nothing happens: first lets other threads run, then sleeps for a
// moment, so that ranks that share a core do not take it from those with work.
class IdleWait {
 public:
  void Reset() { idle_calls_ = 0; }
  void Pause();

 private:
  uint32_t idle_calls_ = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_IDLE_WAIT_H_
