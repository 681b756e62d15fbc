#include "tests/property/job_content.h"

namespace reshard {
namespace {

// A value that no other element of the model has (up to what `element_bytes` can tell apart).
uint64_t ValueOf(int32_t id, uint32_t execution) {
  uint64_t x = static_cast<uint64_t>(static_cast<uint32_t>(id)) * 0x9E3779B97F4A7C15u +
               (uint64_t{execution} + 1) * 0xD1B54A32D192ED03u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// What a destination element holds before an execution.
uint64_t StaleValue(uint32_t execution) { return 0x1111111111111111u * (execution + 3); }

uint64_t ExpectedValue(int32_t id, bool destination, uint32_t execution) {
  if (id >= 0) return ValueOf(id, execution);
  // Padding of a source is never looked at: anything may be in it.
  if (!destination || id == ElementArray::kKeep) return StaleValue(execution);
  return 0;
}

}  // namespace

std::vector<uint8_t> ParamContent(const JobParam& param, const ElementArray& array,
                                  uint32_t execution, bool after) {
  const auto element_bytes = static_cast<size_t>(param.element_bytes);
  std::vector<uint8_t> bytes(array.ids.size() * element_bytes);
  uint8_t* at = bytes.data();
  for (const int32_t id : array.ids) {
    uint64_t value = param.destination && !after ? StaleValue(execution)
                                                 : ExpectedValue(id, param.destination, execution);
    for (size_t b = 0; b < element_bytes; ++b, value >>= 8) *at++ = static_cast<uint8_t>(value);
  }
  return bytes;
}

}  // namespace reshard
