// ContentIds: numbers for contents, equal exactly where the contents are equal.
//
// What is compared of two plans becomes words; words that refer to other contents hold their ids.
// One table serves both plans, so that equal rows have equal ids whatever their place in a file.
// Nothing rests on a hash: words with the same hash are compared.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_CONTENT_IDS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_CONTENT_IDS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reshard {

class ContentIds {
 public:
  using Id = uint32_t;
  using Words = std::vector<int64_t>;

  ContentIds();
  Id Of(std::span<const int64_t> words);
  Id OfText(std::string_view text);
  // Valid until the next Of.
  std::span<const int64_t> WordsOf(Id id) const;

 private:
  // Open addressing. The hash is kept to read words only where they are likely to be equal.
  struct Slot {
    uint32_t hash = 0;
    Id id = 0;
  };
  void Grow();

  std::vector<int64_t> words_;
  std::vector<size_t> ends_;  // of each id's words
  std::vector<Slot> slots_;   // a power of two
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_CONTENT_IDS_H_
