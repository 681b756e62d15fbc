// ModelSpec: the sizes of a model of a known family, as its config.json states them.
//
// ReadModelSpec refuses by name what would make the model's tensors others than its family has:
// layers of mixed kinds, quantized weights, unknown architectures. Sizes that only affect
// computation are not read.
#ifndef RESHARD_COMPILER_IMPORT_MODEL_SPEC_H_
#define RESHARD_COMPILER_IMPORT_MODEL_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "runtime/base/dtype.h"

namespace reshard {

enum class ModelFamily : uint8_t {
#define RESHARD_MODEL_FAMILY(name, architecture, text) name,
#include "compiler/import/model_families.def"
#undef RESHARD_MODEL_FAMILY
};
std::string_view FamilyText(ModelFamily family);

struct ModelSpec {
  ModelFamily family{};
  std::string shapes_from;  // where the shapes come from, for the layouts' comments
  DType dtype{};
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t vocab = 0;
  bool tied = false;              // lm_head.weight is model.embed_tokens.weight
  int64_t mtp_layers = 0;         // tensors of further layers, for multi-token prediction
  bool quantized = false;         // the files hold quantized weights with scales
  std::string_view quant_method;  // if quantized; points into the JSON node

  // Attention.
  int64_t heads = 0;
  int64_t kv_heads = 0, head_dim = 0;  // not mla
  bool qk_norm = false, qkv_bias = false, o_bias = false, sinks = false;
  bool mla = false;
  int64_t q_rank = 0;  // 0: q_proj in one piece
  int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, v_dim = 0;

  // MLP: the first `dense_layers` layers have a plain one, the others experts.
  int64_t dense_layers = 0;
  int64_t intermediate = 0;  // of plain layers
  int64_t experts = 0;
  int64_t expert_intermediate = 0;
  int64_t shared_intermediate = 0;  // of the shared experts together; 0: none
  int64_t expert_groups = 0;        // of the router; 0: none
  bool score_bias = false;          // e_score_correction_bias
  bool stacked_experts = false;     // gpt-oss: [experts, in, out] tensors with biases

  bool has_dense() const { return dense_layers > 0; }
  bool has_experts() const { return dense_layers < layers; }
};

[[nodiscard]] bool ReadModelSpec(const JsonNode& config, Diagnostics* diags, ModelSpec* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_MODEL_SPEC_H_
