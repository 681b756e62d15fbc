#include "runtime/run/content.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("elements of all tensors and generations differ") {
  std::unordered_set<uint64_t> values;
  size_t made = 0;
  for (uint64_t generation = 0; generation < 3; ++generation) {
    for (int tensor = 0; tensor < 20; ++tensor) {
      const uint64_t key = TensorKey("layers." + std::to_string(tensor) + ".w", generation);
      for (int64_t element = 0; element < 2000; ++element, ++made) {
        values.insert(ElementValue(key, element));
      }
    }
  }
  CHECK(values.size() == made);
}

TEST_CASE("a single byte of the value has no short period and all values") {
  const uint64_t key = TensorKey("w", 0);
  for (const int shift : {0, 8, 56}) {
    for (const int64_t period : {1, 2, 16, 128, 256, 4096, 65536}) {
      CAPTURE(shift);
      CAPTURE(period);
      int equal = 0;
      for (int64_t e = 0; e < 4096; ++e) {
        equal += ((ElementValue(key, e) ^ ElementValue(key, e + period)) >> shift & 0xFF) == 0;
      }
      CHECK(equal < 4 * 4096 / 256);
    }
  }
}

TEST_CASE("garbage is a function of place and generation, byte by byte") {
  const GarbageKey key = MakeGarbageKey(3, 1, 4, 1);
  std::vector<uint8_t> bytes(1003, 0);
  FillGarbage(key, bytes);
  size_t wrong = 0;
  for (size_t b = 0; b < bytes.size(); ++b) {
    wrong += bytes[b] != GarbageByte(key, static_cast<int64_t>(b));
  }
  CHECK(wrong == 0);
  std::unordered_set<uint64_t> keys = {key.value};
  keys.insert(MakeGarbageKey(2, 1, 4, 1).value);
  keys.insert(MakeGarbageKey(3, 2, 4, 1).value);
  keys.insert(MakeGarbageKey(3, 1, 5, 1).value);
  keys.insert(MakeGarbageKey(3, 1, 4, 2).value);
  CHECK(keys.size() == 5);
}

TEST_CASE("the hash of bytes depends on each of them") {
  std::vector<uint8_t> bytes(100, 7);
  const uint64_t hash = HashBytes(bytes);
  for (size_t b = 0; b < bytes.size(); ++b) {
    bytes[b] ^= 1;
    CHECK(HashBytes(bytes) != hash);
    bytes[b] ^= 1;
  }
  CHECK(HashBytes(bytes) == hash);
}

}  // namespace
}  // namespace reshard
