#include "runtime/plan/plan_digests.h"

#include <algorithm>
#include <array>

#include "runtime/base/sha256.h"

namespace reshard {

Digest RootDigest(uint32_t version, const std::vector<SectionDigest>& sections) {
  Sha256 hasher;
  std::array<uint8_t, 4> number{};
  for (size_t i = 0; i < number.size(); ++i) number[i] = static_cast<uint8_t>(version >> (8 * i));
  hasher.Update(std::as_bytes(std::span(number)));
  for (const SectionDigest& section : sections) {
    hasher.Update(std::as_bytes(std::span(&section.kind, 1)));
    hasher.Update(std::as_bytes(std::span(section.digest)));
  }
  return hasher.Finish();
}

Digest EnvelopeDigest(std::span<const uint8_t> file, const std::vector<FileRange>& sections,
                      const FileRange& own) {
  constexpr std::array<uint8_t, sizeof(Digest)> kZeros{};
  Sha256 hasher;
  size_t next = 0;
  const auto hash_until = [&](size_t end) {
    if (end > next) hasher.Update(std::as_bytes(file.subspan(next, end - next)));
    next = std::max(next, end);
  };
  bool own_done = false;
  const auto hash_own = [&] {
    hash_until(own.begin);
    hasher.Update(std::as_bytes(std::span(kZeros)));
    next = std::max(next, own.begin + own.size);
    own_done = true;
  };
  for (const FileRange& section : sections) {
    if (!own_done && own.begin < section.begin) hash_own();
    hash_until(section.begin);
    next = std::max(next, section.begin + section.size);
  }
  if (!own_done) hash_own();
  hash_until(file.size());
  return hasher.Finish();
}

}  // namespace reshard
