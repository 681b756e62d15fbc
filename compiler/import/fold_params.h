// FoldParams: explicit params of one group of ranks whose names differ only in numbers, and whose
// pieces shift evenly with these numbers, become one entry with loops.
#ifndef RESHARD_COMPILER_IMPORT_FOLD_PARAMS_H_
#define RESHARD_COMPILER_IMPORT_FOLD_PARAMS_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/json_doc.h"
#include "compiler/import/recorded_copy.h"
#include "runtime/base/dtype.h"

namespace reshard {

struct ExplicitPiece {
  std::string tensor;
  CopyPiece box;
  friend auto operator<=>(const ExplicitPiece&, const ExplicitPiece&) = default;
};

struct ExplicitParam {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype{};
  bool covered = true;  // by its pieces; otherwise the rest is left as it is
  std::vector<ExplicitPiece> pieces;
  friend auto operator<=>(const ExplicitParam&, const ExplicitParam&) = default;
};

// Whether the pieces, which do not overlap, have all elements of the param.
bool IsCovered(const ExplicitParam& param);

// Entries of "explicit" of these `ranks`, in the order of their first params. Names are distinct.
std::vector<JsonDoc> FoldParams(const std::vector<ExplicitParam>& params, const std::string& ranks);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_FOLD_PARAMS_H_
