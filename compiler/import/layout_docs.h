// What the layouts of one Hugging Face model have in common, whatever the engine.
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
