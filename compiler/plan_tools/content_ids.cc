#include "compiler/plan_tools/content_ids.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace reshard {
namespace {

constexpr ContentIds::Id kNone = UINT32_MAX;
constexpr size_t kFirstSlots = 1024;

uint32_t HashOf(std::span<const int64_t> words) {
  uint64_t hash = 0x9E3779B97F4A7C15ULL ^ words.size();
  for (const int64_t word : words) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xFF51AFD7ED558CCDULL;
    hash ^= hash >> 32U;
  }
  return static_cast<uint32_t>(hash);
}

}  // namespace

ContentIds::ContentIds() : slots_(kFirstSlots, Slot{0, kNone}) {}

ContentIds::Id ContentIds::Of(std::span<const int64_t> words) {
  if (2 * ends_.size() >= slots_.size()) Grow();
  const uint32_t hash = HashOf(words);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot].id != kNone; slot = (slot + 1) & mask) {
    if (slots_[slot].hash == hash && std::ranges::equal(WordsOf(slots_[slot].id), words)) {
      return slots_[slot].id;
    }
  }
  const Id id = static_cast<Id>(ends_.size());
  words_.insert(words_.end(), words.begin(), words.end());
  ends_.push_back(words_.size());
  slots_[slot] = {hash, id};
  return id;
}

ContentIds::Id ContentIds::OfText(std::string_view text) {
  Words words(1 + (text.size() + sizeof(int64_t) - 1) / sizeof(int64_t), 0);
  words[0] = static_cast<int64_t>(text.size());
  std::memcpy(words.data() + 1, text.data(), text.size());
  return Of(words);
}

std::span<const int64_t> ContentIds::WordsOf(Id id) const {
  const size_t begin = id == 0 ? 0 : ends_[id - 1];
  return {words_.data() + begin, ends_[id] - begin};
}

void ContentIds::Grow() {
  std::vector<Slot> larger(4 * slots_.size(), Slot{0, kNone});
  const size_t mask = larger.size() - 1;
  for (const Slot& entry : slots_) {
    if (entry.id == kNone) continue;
    size_t slot = entry.hash & mask;
    while (larger[slot].id != kNone) slot = (slot + 1) & mask;
    larger[slot] = entry;
  }
  slots_ = std::move(larger);
}

}  // namespace reshard
