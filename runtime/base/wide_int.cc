#include "runtime/base/wide_int.h"

#include <algorithm>

namespace reshard {

std::string WideText(Wide number) {
  const bool negative = number < 0;
  std::string text;  // the last digit first
  do {
    const int digit = static_cast<int>(number % 10);  // negative where the number is
    text += static_cast<char>('0' + (negative ? -digit : digit));
    number /= 10;
  } while (number != 0);
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace reshard
