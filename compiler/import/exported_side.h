// Side of a job that a file describes, for formats that do not say it.
#ifndef RESHARD_COMPILER_IMPORT_EXPORTED_SIDE_H_
#define RESHARD_COMPILER_IMPORT_EXPORTED_SIDE_H_

#include <cstdint>

namespace reshard {

struct ExportedSide {
  bool source = true;
  int64_t rank_base = 0;  // added to the ranks of the file
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_EXPORTED_SIDE_H_
