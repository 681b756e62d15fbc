// Parts of the layouts that importers write: operations on values, meshes, and what the layouts of
// one model have in common.
#ifndef RESHARD_COMPILER_IMPORT_LAYOUT_DOCS_H_
#define RESHARD_COMPILER_IMPORT_LAYOUT_DOCS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/hf_tensors.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"

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

// One entry of "params"; empty parts are left out.
struct ParamRule {
  std::string comment;
  Layers layers = Layers::kOutside;
  bool each_expert = false;
  std::string name;
  std::string mesh;
  std::vector<std::string> where;
  std::vector<std::pair<std::string, std::string>> let;
  std::vector<std::string> shares;
};
JsonDoc ParamDoc(const ModelSpec& model, const ParamRule& rule, JsonDoc value);

// The head of a layout: format, side, comment, rank_base, world, and the symbols of the model with
// `more` of the engine.
struct LayoutHead {
  bool source = false;
  std::string comment;
  int64_t rank_base = 0;
  int64_t world = 0;
};
JsonDoc LayoutHeadDoc(const ModelSpec& model, const LayoutHead& head,
                      const std::vector<std::pair<std::string, int64_t>>& more);

// "logical" of the model, and the alias of tied weights where there is one.
void SetLogical(const ModelSpec& model, JsonDoc* layout);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_LAYOUT_DOCS_H_
