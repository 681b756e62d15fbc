#include "runtime/run/content.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace reshard {

uint64_t TensorKey(std::string_view tensor_name, uint64_t generation) {
  return XXH3_64bits_withSeed(tensor_name.data(), tensor_name.size(), generation);
}

GarbageKey MakeGarbageKey(uint32_t rank, uint32_t family, int64_t instance, uint64_t generation) {
  uint64_t key = Mix64(generation + 0xA0761D6478BD642FULL);
  key = Mix64(key + rank);
  key = Mix64(key + family);
  return {Mix64(key + static_cast<uint64_t>(instance))};
}

void FillGarbage(GarbageKey key, std::span<uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = GarbageWord(key, at / 8);
    std::memcpy(bytes.data() + at, &word, std::min<size_t>(8, bytes.size() - at));
  }
}

uint64_t HashBytes(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace reshard
