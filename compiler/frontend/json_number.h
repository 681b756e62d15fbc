// Numbers of JSON texts, judged by their literals: a double would silently round 9007199254740993
// and turn 0.1 GB/s into something that is no whole number of bytes.
#ifndef RESHARD_COMPILER_FRONTEND_JSON_NUMBER_H_
#define RESHARD_COMPILER_FRONTEND_JSON_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reshard {

enum class NumberError : uint8_t { kNone, kNotWhole, kTooLarge };

// value is 0 unless error is kNone.
struct ExactNumber {
  int64_t value = 0;
  NumberError error = NumberError::kNone;
};

// literal * 10^decimals as an integer. kNotWhole: the product has a fraction; kTooLarge: it does
// not fit into 64 bits. `literal` follows JSON's grammar.
ExactNumber ScaledDecimal(std::string_view literal, int decimals);

// The integer that is written as one: kNotWhole for any literal with a fraction or an exponent,
// "4096.0" too, since those come from a division that went wrong.
ExactNumber WholeNumber(std::string_view literal);

// One text for all literals of one value: digits without leading or trailing zeros and a power of
// ten; "48.50", "4850e-2" and "48.5" are all "485e-1", and "-0.0" is "0".
std::string CanonicalNumber(std::string_view literal);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_JSON_NUMBER_H_
