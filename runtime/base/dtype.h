// DType: the element types that layouts and plans speak of. The numbers are stored in plans.
#ifndef RESHARD_RUNTIME_BASE_DTYPE_H_
#define RESHARD_RUNTIME_BASE_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace reshard {

enum class DType : uint8_t {
#define RESHARD_DTYPE(name, text, bytes) name,
#include "runtime/base/dtypes.def"
#undef RESHARD_DTYPE
};

inline constexpr uint8_t kDTypeCount = 0
#define RESHARD_DTYPE(name, text, bytes) +1
#include "runtime/base/dtypes.def"
#undef RESHARD_DTYPE
    ;

std::string_view DTypeText(DType dtype);
int64_t DTypeBytes(DType dtype);
std::optional<DType> ParseDType(std::string_view text);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_DTYPE_H_
