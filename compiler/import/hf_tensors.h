// The tensors of a model under their Hugging Face names, as templates of a layout file, and whether
// files hold just these.
#ifndef RESHARD_COMPILER_IMPORT_HF_TENSORS_H_
#define RESHARD_COMPILER_IMPORT_HF_TENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/model_tensor.h"
#include "runtime/base/dtype.h"

namespace reshard {

// Which layers have a tensor or a param.
enum class Layers : uint8_t { kOutside, kAll, kDense, kMoe };

struct HfExtent {
  std::string text;  // an expression over the symbols of the model
  int64_t value = 0;
};

struct HfTensor {
  std::string name;  // "model.layers.{l}.mlp.experts.{e}.up_proj.weight"
  Layers layers = Layers::kOutside;
  bool each_expert = false;
  std::vector<HfExtent> shape;
  DType dtype{};
};

// In the order of the model. Tied lm_head is not among them.
std::vector<HfTensor> HfTensorsOf(const ModelSpec& model);

// The names of its tensors: layers, and experts in each, in rising order.
std::vector<std::string> HfTensorNames(const ModelSpec& model, const HfTensor& tensor);

// The symbols that shapes and loops use, with their values.
std::vector<std::pair<std::string, int64_t>> SymbolsOf(const ModelSpec& model);

// "for" of a template: {"l": "DENSE..L", "e": "0..E"}; an object without members for kOutside.
JsonDoc LoopsDoc(const ModelSpec& model, Layers layers, bool each_expert);

// What the user says of tensors in the files that the job does not have.
struct HfFileRules {
  bool omit_mtp = false;     // layers after the last one are left out
  bool dequantized = false;  // the job holds the dtype of the config in place of fp8 with scales
};

// Checks that the files hold the tensors of the model, with their shapes and dtypes, and no others.
// `where` is what a missing tensor is reported at.
[[nodiscard]] bool CheckHfTensors(const ModelSpec& model, const std::vector<ModelTensor>& tensors,
                                  const HfFileRules& rules, Span where, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_HF_TENSORS_H_
