#include "runtime/run/member_texts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace reshard {
namespace {

// Longer texts are cut: they are for people.
constexpr uint64_t kMaxTextBytes = 1 << 16;

}  // namespace

StatusOr<std::vector<std::string>> GatherTexts(ControlChannel* control, const std::string& mine,
                                               Deadline deadline) {
  std::vector<uint32_t> everybody(control->member_count());
  std::iota(everybody.begin(), everybody.end(), 0U);
  const uint64_t own_bytes = std::min<uint64_t>(mine.size(), kMaxTextBytes);
  std::vector<uint8_t> said(sizeof(own_bytes));
  std::memcpy(said.data(), &own_bytes, sizeof(own_bytes));
  std::vector<uint8_t> all(everybody.size() * sizeof(own_bytes));
  RESHARD_RETURN_IF_ERROR(control->AllGather(everybody, said, all, deadline));
  std::vector<uint64_t> text_bytes(everybody.size());
  std::memcpy(text_bytes.data(), all.data(), all.size());
  const uint64_t longest =
      std::min(kMaxTextBytes, *std::max_element(text_bytes.begin(), text_bytes.end()));
  std::vector<std::string> texts(everybody.size());
  if (longest == 0) return texts;
  said.assign(longest, 0);
  std::copy_n(mine.begin(), own_bytes, said.begin());
  all.resize(everybody.size() * longest);
  RESHARD_RETURN_IF_ERROR(control->AllGather(everybody, said, all, deadline));
  for (size_t m = 0; m < texts.size(); ++m) {
    texts[m].assign(reinterpret_cast<const char*>(all.data()) + m * longest,
                    std::min(text_bytes[m], longest));
  }
  return texts;
}

}  // namespace reshard
