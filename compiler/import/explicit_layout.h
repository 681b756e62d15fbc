// ExplicitLayoutDoc: a layout of explicit params, each with the ranks that have just it.
#ifndef RESHARD_COMPILER_IMPORT_EXPLICIT_LAYOUT_H_
#define RESHARD_COMPILER_IMPORT_EXPLICIT_LAYOUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/fold_params.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_tensor.h"

namespace reshard {

struct ExplicitLayout {
  bool source = true;
  std::string comment;
  std::string mesh;                  // its name
  std::vector<ModelTensor> tensors;  // the logical ones, of distinct names
  // By ranks, which rise. Params of one rank have distinct names.
  std::map<std::vector<int64_t>, std::vector<ExplicitParam>> params;
};
JsonDoc ExplicitLayoutDoc(const ExplicitLayout& layout);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_EXPLICIT_LAYOUT_H_
