// Operations on values, and meshes, as documents: what importers build the params of a layout from.
#ifndef RESHARD_COMPILER_IMPORT_VALUE_DOCS_H_
#define RESHARD_COMPILER_IMPORT_VALUE_DOCS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/json_doc.h"

namespace reshard {

// Values; docs/layout.md says what each operation means.
struct ShardRule {
  int64_t dim = 0;
  std::vector<std::string> axes;
  std::string unit;  // an expression, or empty
  bool replicate_if_fewer = false;
};
JsonDoc ShardDoc(const ShardRule& rule, JsonDoc in);
JsonDoc CatDoc(std::vector<JsonDoc> in);
JsonDoc GroupCatDoc(std::string groups, std::vector<JsonDoc> in);
JsonDoc StackDoc(std::string variable, std::string range, JsonDoc in);
JsonDoc PadDoc(const char* key, JsonDoc extent, JsonDoc in);  // key: "multiple" or "to"
JsonDoc IndexDoc(int64_t dim, JsonDoc at, JsonDoc in);
JsonDoc PermuteDoc(const std::vector<int64_t>& dims, JsonDoc in);
JsonDoc SliceDoc(int64_t dim, JsonDoc start, JsonDoc stop, int64_t step, JsonDoc in);

// {"axes": [...], "shape": [...]}, outermost first.
JsonDoc MeshDoc(const std::vector<std::pair<std::string, int64_t>>& axes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_VALUE_DOCS_H_
