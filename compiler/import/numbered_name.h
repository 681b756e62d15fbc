// NumberedName: a name cut at its dots into words and numbers, so that names which differ only in
// numbers are seen to be of one form.
//
// A number is a part that has only digits, at most 9, and no leading zero; or such digits after
// "weight" or "bias", as Transformer Engine numbers the experts of one module.
#ifndef RESHARD_COMPILER_IMPORT_NUMBERED_NAME_H_
#define RESHARD_COMPILER_IMPORT_NUMBERED_NAME_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard {

// The parts of a name between its dots.
struct NameForm {
  struct Part {
    bool is_number = false;
    bool joined = false;  // to the part before, without a dot
    std::string word;     // where it is no number
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;
  friend auto operator<=>(const NameForm&, const NameForm&) = default;
};

struct NumberedName {
  NameForm form;
  std::vector<int64_t> numbers;  // in the order of the name
};

// At most the first 6 numbers are cut out; further ones stay words.
NumberedName CutName(std::string_view name);

// A name of a layout file: words as they are, their braces doubled, and `texts[k]` in the place of
// number k.
std::string WriteName(const NameForm& form, const std::vector<std::string>& texts);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_NUMBERED_NAME_H_
