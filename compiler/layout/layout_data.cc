#include "compiler/layout/layout_data.h"

namespace reshard {

int64_t ParamFamily::instance_count() const {
  int64_t count = 1;
  for (const int64_t extent : loop_extent) count *= extent;
  return count;
}

}  // namespace reshard
