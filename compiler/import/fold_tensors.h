// FoldTensors: tensors whose names differ only in numbers become templates with loops, so that a
// layout of 36,945 tensors is written in a dozen lines.
//
// What a number is numbered_name.h says. Tensors of
// one form of name, one shape and one dtype are cut into products of index sets; each product is a
// template. Nothing is assumed: the templates stand for exactly the tensors given.
#ifndef RESHARD_COMPILER_IMPORT_FOLD_TENSORS_H_
#define RESHARD_COMPILER_IMPORT_FOLD_TENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_tensor.h"
#include "runtime/base/dtype.h"

namespace reshard {

struct TemplateLoop {
  std::string variable;         // "l" after "layers", "e" after "experts", else "i", "j", ...
  std::string after;            // the part of the name before the number
  std::vector<int64_t> values;  // rising, not empty
};

struct TensorTemplate {
  std::string name;  // as a layout file writes it: "model.layers.{l}.mlp.up_proj.weight"
  std::vector<TemplateLoop> loops;
  std::vector<int64_t> shape;
  DType dtype{};
  std::string first_name;  // of the first of its tensors, for messages
  Span span;               // of that name where it is listed

  int64_t tensor_count() const;
  // The loop of the number after `part` of the name, or nullptr.
  const TemplateLoop* LoopAfter(std::string_view part) const;
};

// In the order of the first tensor of each template. Names are distinct.
std::vector<TensorTemplate> FoldTensors(const std::vector<ModelTensor>& tensors);

// A range of a layout file with these rising values: "0..64", "0..64..2" or a list of such.
JsonDoc RangeDoc(const std::vector<int64_t>& values);

// An entry of "logical" for the template.
JsonDoc LogicalDoc(const TensorTemplate& tensors);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_FOLD_TENSORS_H_
