// ImportHf: a model's config.json, the tensors of its safetensors files and a parallel.json as the
// layouts of the trainer and of the inference engine.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_HF_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_HF_H_

#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/hf_layout.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_tensor.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

struct HfFiles {
  std::vector<ModelTensor> tensors;  // of all headers
  TensorFiles files;
  Span where;  // of the model as a whole
};

struct HfLayouts {
  JsonDoc train = JsonDoc::Object();
  JsonDoc infer = JsonDoc::Object();
};

// `files` is null where the shapes come from the config. Returns false after an error was reported.
[[nodiscard]] bool ImportHf(const JsonNode& config, const ParallelSpec& parallel,
                            const HfFiles* files, Diagnostics* diags, HfLayouts* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_HF_H_
