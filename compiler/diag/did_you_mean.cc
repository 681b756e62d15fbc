#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

namespace {

// Names beyond this are never misspelled by hand; it also bounds the work on hostile input.
constexpr size_t kMaxNameBytes = 512;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, or `limit`+1
// when there are more than `limit`. Only the band of that width around the diagonal is computed.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  const size_t far = limit + 1;
  std::vector<size_t> before(b.size() + 1, far), above(b.size() + 1, far), row(b.size() + 1, far);
  for (size_t j = 0; j <= std::min(b.size(), limit); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::fill(row.begin(), row.end(), far);
    if (i <= limit) row[0] = i;
    size_t best = row[0];
    const size_t first = i > limit ? i - limit : 1;
    const size_t last = std::min(b.size(), i + limit);
    for (size_t j = first; j <= last; ++j) {
      size_t cost = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost = std::min({cost, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost = std::min(cost, before[j - 2] + 1);
      row[j] = std::min(cost, far);
      best = std::min(best, row[j]);
    }
    if (best > limit) return far;
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  if (name.empty() || name.size() > kMaxNameBytes) return "";
  // One edit in three characters: more would suggest unrelated short words.
  const size_t limit = std::max<size_t>(1, name.size() / 3);
  size_t best_distance = limit + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    if (candidate.size() > kMaxNameBytes || candidate == name) continue;
    const size_t distance = EqualIgnoringCase(name, candidate)
                                ? 0
                                : EditDistance(name, candidate, std::min(limit, best_distance));
    if (distance > limit || distance > best_distance) continue;
    if (distance == best_distance && best != nullptr && candidate >= *best) continue;
    // A name of one or two letters matches only what shares a letter with it.
    if (distance >= std::max(name.size(), candidate.size())) continue;
    best_distance = distance;
    best = &candidate;
  }
  return best == nullptr ? "" : ", did you mean '" + *best + "'?";
}

}  // namespace reshard
