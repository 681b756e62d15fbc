#include "compiler/transfer/glob.h"

#include <cstddef>

namespace reshard {

bool GlobMatches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  // Where to go on when the text after the last star does not fit: one byte later.
  size_t star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view GlobPrefix(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("*?"));
}

}  // namespace reshard
