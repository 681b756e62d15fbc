#include "compiler/import/import_hf.h"

#include <string>

#include "compiler/import/fsdp_layout.h"
#include "compiler/import/hf_tensors.h"
#include "compiler/import/megatron_layout.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/vllm_layout.h"

namespace reshard {
namespace {

// What the model has and the user has to say something about.
bool CheckModel(const ModelSpec& model, const ParallelSpec& parallel, const HfFiles* files,
                Diagnostics* diags) {
  const size_t before = diags->error_count();
  if (model.mtp_layers > 0 && !parallel.omit_mtp) {
    diags->Error(DiagnosticCode::kUnsupported, parallel.model_span,
                 "the model has layers for multi-token prediction, " +
                     std::to_string(model.mtp_layers) +
                     " in number, which are not known; write \"mtp\": \"omitted\" where neither "
                     "side has them");
  }
  if (model.quantized && !parallel.dequantized) {
    diags->Error(DiagnosticCode::kUnsupported, parallel.model_span,
                 "the files hold weights quantized with '" + std::string(model.quant_method) +
                     "'; write \"dequantized\": true where both sides hold " +
                     std::string(DTypeText(model.dtype)));
  } else if (model.quantized && files != nullptr && model.quant_method != "fp8") {
    diags->Error(DiagnosticCode::kUnsupported, parallel.model_span,
                 "files quantized with '" + std::string(model.quant_method) +
                     "' are not known; write \"shapes\": \"from-config\"");
  }
  return diags->error_count() == before;
}

}  // namespace

bool ImportHf(const JsonNode& config, const ParallelSpec& parallel, const HfFiles* files,
              Diagnostics* diags, HfLayouts* out) {
  ModelSpec model;
  if (!ReadModelSpec(config, diags, &model)) return false;
  model.shapes_from = "the model's config";
  if (files != nullptr) {
    const size_t count = files->files.files.size();
    model.shapes_from =
        "the headers of " + std::to_string(count) + " safetensors file" + (count == 1 ? "" : "s");
  }
  bool ok = CheckModel(model, parallel, files, diags);
  if (ok && files != nullptr) {
    const HfFileRules rules = {parallel.omit_mtp, parallel.dequantized};
    ok = CheckHfTensors(model, files->tensors, rules, files->where, diags);
  }
  const bool megatron = parallel.train_engine == TrainEngine::kMegatron;
  if (megatron) {
    ok = MegatronLayout(model, parallel.megatron, parallel.train_span, diags, &out->train) && ok;
  } else {
    ok = FsdpLayout(model, parallel.fsdp, parallel.train_span, diags, &out->train) && ok;
  }
  const int64_t rank_base = megatron ? parallel.megatron.world : parallel.fsdp.world;
  if (parallel.infer_engine == InferEngine::kVllm) {
    return VllmLayout(model, parallel.vllm, rank_base, diags, &out->infer) && ok;
  }
  if (files == nullptr && parallel.hf.file_per_rank) {
    diags->Error(DiagnosticCode::kUnsupported, parallel.hf.span,
                 "'file_per_rank' needs the files: write \"shapes\": \"from-safetensors-headers\"");
    return false;
  }
  const TensorFiles none;
  return HfLayout(model, parallel.hf, files == nullptr ? none : files->files, rank_base, diags,
                  &out->infer) &&
         ok;
}

}  // namespace reshard
