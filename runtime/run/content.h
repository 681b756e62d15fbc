// Identifying content: what reshard-run writes into source params, so that every element of every
// tensor has a value of its own.
//
// An element's value is a 64-bit mix of the tensor's name, the element's index and the generation;
// its low bytes are stored. Nothing repeats with a short period, so a swapped expert, a shifted row
// or a stale buffer cannot look right by accident (but for one byte in 256).
#ifndef RESHARD_RUNTIME_RUN_CONTENT_H_
#define RESHARD_RUNTIME_RUN_CONTENT_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace reshard {

// A bijection of 64 bits in which each input bit moves about half of the output bits.
constexpr uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  x ^= x >> 31;
  return x;
}

// Stands for one tensor in one generation.
uint64_t TensorKey(std::string_view tensor_name, uint64_t generation);

// Of the element at row-major index `element` of the tensor's shape.
constexpr uint64_t ElementValue(uint64_t tensor_key, int64_t element) {
  return Mix64(tensor_key + static_cast<uint64_t>(element) * 0x9E3779B97F4A7C15ULL);
}

// Bytes that mean nothing: what destination params hold before a run, and source bytes that no
// tensor covers. A function of place and generation, so that "unchanged" can be checked.
struct GarbageKey {
  uint64_t value = 0;
};
GarbageKey MakeGarbageKey(uint32_t rank, uint32_t family, int64_t instance, uint64_t generation);
void FillGarbage(GarbageKey key, std::span<uint8_t> bytes);
constexpr uint64_t GarbageWord(GarbageKey key, uint64_t word) {
  return Mix64(key.value + word * 0xD1342543DE82EF95ULL);
}
constexpr uint8_t GarbageByte(GarbageKey key, int64_t offset) {
  const uint64_t word = GarbageWord(key, static_cast<uint64_t>(offset) / 8);
  return static_cast<uint8_t>(word >> (offset % 8 * 8));
}

uint64_t HashBytes(std::span<const uint8_t> bytes);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_CONTENT_H_
