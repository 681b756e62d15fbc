// Greeting: who connects, and proof that it may.
#ifndef RESHARD_RUNTIME_EXEC_TCP_GREETING_H_
#define RESHARD_RUNTIME_EXEC_TCP_GREETING_H_

#include <array>
#include <cstdint>

namespace reshard {

// What a connection begins with.
struct Greeting {
  static constexpr uint64_t kMagic = 0x3130504344485352;  // "RSHDCP01", also tells the byte order

  uint64_t magic = kMagic;
  uint32_t from = 0;
  uint32_t to = 0;
  std::array<uint64_t, 2> secret{};  // of `to`
};
static_assert(sizeof(Greeting) == 32);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_GREETING_H_
