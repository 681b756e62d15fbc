#include "runtime/base/dtype.h"

namespace reshard {
namespace {

struct Row {
  std::string_view text;
  int64_t bytes;
};
constexpr Row kRows[] = {
#define RESHARD_DTYPE(name, text, bytes) {text, bytes},
#include "runtime/base/dtypes.def"
#undef RESHARD_DTYPE
};

}  // namespace

std::string_view DTypeText(DType dtype) { return kRows[static_cast<uint8_t>(dtype)].text; }

int64_t DTypeBytes(DType dtype) { return kRows[static_cast<uint8_t>(dtype)].bytes; }

std::optional<DType> ParseDType(std::string_view text) {
  for (uint8_t i = 0; i < kDTypeCount; ++i) {
    if (kRows[i].text == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace reshard
