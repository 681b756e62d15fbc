// Where the bytes of a class may be cut: at cell boundaries, and inside a cell at multiples of
// kCutAlignBytes from the cell's start. Every element size divides kCutAlignBytes, so no cut
// splits an element.
#ifndef RESHARD_COMPILER_ROUTE_CLASS_CUTS_H_
#define RESHARD_COMPILER_ROUTE_CLASS_CUTS_H_

#include <cstdint>
#include <vector>

#include "compiler/transfer/transfer_set.h"

namespace reshard {

class ClassCuts {
 public:
  explicit ClassCuts(const TransferSet& transfers);

  // The last permitted cut at or below `at_bytes`, and the first one at or above it, of a class;
  // 0 <= at_bytes <= bytes of the class.
  int64_t Floor(ClassId cls, int64_t at_bytes) const;
  int64_t Ceil(ClassId cls, int64_t at_bytes) const;

 private:
  struct CellRange {
    int64_t begin = 0;
    int64_t end = 0;
  };
  CellRange CellAt(ClassId cls, int64_t at_bytes) const;

  const TransferSet* transfers_;
  std::vector<int64_t> cell_begin_;  // per cell: its first byte in its class
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_CLASS_CUTS_H_
