#include "compiler/import/model_spec.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/object_reader.h"

namespace reshard {
namespace {

constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxExperts = 65'536;
// Of a model's experts in all layers: the names of their tensors are gone through.
constexpr int64_t kMaxExpertsInAll = 1 << 18;
constexpr int64_t kMaxExtent = int64_t{1} << 32;

// Members of a config.json: keys that are asked for, of any other no notice is taken. null stands
// for absent, as in files that transformers writes.
class ConfigReader {
 public:
  ConfigReader(const JsonNode& node, Diagnostics* diags) : node_(node), diags_(diags) {}

  bool ok() const { return ok_; }
  const JsonNode* Find(std::string_view key) const {
    const JsonNode* value = node_.Find(key);
    return value != nullptr && value->kind != JsonNode::Kind::kNull ? value : nullptr;
  }
  std::optional<int64_t> MaybeInteger(std::string_view key, int64_t lowest, int64_t highest) {
    const JsonNode* value = Find(key);
    if (value == nullptr) return std::nullopt;
    const std::optional<int64_t> number =
        ReadInteger(*value, "'" + std::string(key) + "' of the config", lowest, highest, diags_);
    ok_ = ok_ && number.has_value();
    return number;
  }
  int64_t Integer(std::string_view key, int64_t lowest = 1, int64_t highest = kMaxExtent) {
    if (Find(key) != nullptr) return MaybeInteger(key, lowest, highest).value_or(1);
    Refuse(DiagnosticCode::kMissingKey, node_.span, "the config has no '" + std::string(key) + "'");
    return 1;
  }
  bool Flag(std::string_view key, bool absent) {
    const JsonNode* value = Find(key);
    if (value == nullptr) return absent;
    ok_ = ExpectKind(*value, JsonNode::Kind::kBool, "'" + std::string(key) + "' of the config",
                     diags_) &&
          ok_;
    return value->boolean;
  }
  // Refuses a config whose value of `key` is another one than this; absent is fine.
  void OnlyInteger(std::string_view key, int64_t expected) {
    const JsonNode* value = Find(key);
    const std::optional<int64_t> number = MaybeInteger(key, 0, kMaxExtent);
    if (number && *number != expected) {
      Refuse(DiagnosticCode::kUnsupported, value->span,
             "'" + std::string(key) + "' is " + std::to_string(*number) +
                 ", the importer knows models where it is " + std::to_string(expected));
    }
  }
  void Refuse(DiagnosticCode code, Span span, std::string text) {
    diags_->Error(code, span, std::move(text));
    ok_ = false;
  }

 private:
  const JsonNode& node_;
  Diagnostics* diags_;
  bool ok_ = true;
};

std::optional<ModelFamily> ReadFamily(ConfigReader* config, Span config_span) {
  std::string known;
#define RESHARD_MODEL_FAMILY(name, architecture, text) \
  known += (known.empty() ? "" : ", ") + std::string(architecture);
#include "compiler/import/model_families.def"
#undef RESHARD_MODEL_FAMILY
  const JsonNode* list = config->Find("architectures");
  if (list == nullptr || list->kind != JsonNode::Kind::kArray || list->items.size() != 1 ||
      list->items[0].kind != JsonNode::Kind::kString) {
    config->Refuse(list == nullptr ? DiagnosticCode::kMissingKey : DiagnosticCode::kBadValue,
                   list == nullptr ? config_span : list->span,
                   "expected 'architectures' with one of " + known);
    return std::nullopt;
  }
  const std::string& word = list->items[0].text;
#define RESHARD_MODEL_FAMILY(name, architecture, text) \
  if (word == architecture) return ModelFamily::name;
#include "compiler/import/model_families.def"
#undef RESHARD_MODEL_FAMILY
  config->Refuse(DiagnosticCode::kUnsupported, list->items[0].span,
                 "the architecture '" + word + "' is not among those that are known: " + known);
  return std::nullopt;
}

DType ReadDtype(ConfigReader* config, Span config_span) {
  const JsonNode* value = config->Find("torch_dtype");
  if (value == nullptr) value = config->Find("dtype");
  if (value == nullptr) {
    config->Refuse(DiagnosticCode::kMissingKey, config_span,
                   "the config has neither 'torch_dtype' nor 'dtype'");
    return DType::kBf16;
  }
  const std::pair<std::string_view, DType> kWords[] = {
      {"bfloat16", DType::kBf16}, {"float16", DType::kF16}, {"float32", DType::kF32}};
  for (const auto& [word, dtype] : kWords) {
    if (value->kind == JsonNode::Kind::kString && value->text == word) return dtype;
  }
  config->Refuse(DiagnosticCode::kUnsupported, value->span,
                 "the dtype of the model is " + DescribeJson(*value) +
                     ", expected \"bfloat16\", \"float16\" or \"float32\"");
  return DType::kBf16;
}

void ReadQuantization(ConfigReader* config, ModelSpec* spec) {
  const JsonNode* quantization = config->Find("quantization_config");
  if (quantization == nullptr) return;
  spec->quantized = true;
  const JsonNode* method = quantization->Find("quant_method");
  spec->quant_method = method != nullptr && method->kind == JsonNode::Kind::kString
                           ? std::string_view(method->text)
                           : "unknown";
}

void ReadGqa(ConfigReader* config, ModelSpec* spec) {
  spec->heads = config->Integer("num_attention_heads");
  spec->kv_heads = config->MaybeInteger("num_key_value_heads", 1, kMaxExtent).value_or(spec->heads);
  const std::optional<int64_t> head_dim = config->MaybeInteger("head_dim", 1, kMaxExtent);
  spec->head_dim = head_dim ? *head_dim : spec->hidden / spec->heads;
  if (!head_dim && spec->hidden % spec->heads != 0) {
    config->Refuse(DiagnosticCode::kMissingKey, config->Find("num_attention_heads")->span,
                   "the hidden size " + std::to_string(spec->hidden) + " is no multiple of the " +
                       std::to_string(spec->heads) + " heads, and there is no 'head_dim'");
  }
}

void ReadMla(ConfigReader* config, ModelSpec* spec) {
  spec->mla = true;
  spec->heads = config->Integer("num_attention_heads");
  spec->q_rank = config->MaybeInteger("q_lora_rank", 1, kMaxExtent).value_or(0);
  spec->kv_rank = config->Integer("kv_lora_rank");
  spec->nope_dim = config->Integer("qk_nope_head_dim");
  spec->rope_dim = config->Integer("qk_rope_head_dim");
  spec->v_dim = config->Integer("v_head_dim");
  if (config->Flag("attention_bias", false)) {
    config->Refuse(DiagnosticCode::kUnsupported, config->Find("attention_bias")->span,
                   "'attention_bias' is true, which is not known for this architecture");
  }
}

void ReadQwen3Moe(ConfigReader* config, ModelSpec* spec) {
  spec->dense_layers = 0;
  spec->experts = config->Integer("num_experts", 1, kMaxExperts);
  spec->expert_intermediate = config->Integer("moe_intermediate_size");
  config->OnlyInteger("decoder_sparse_step", 1);
  const JsonNode* plain = config->Find("mlp_only_layers");
  if (plain != nullptr && !plain->items.empty()) {
    config->Refuse(DiagnosticCode::kUnsupported, plain->span,
                   "'mlp_only_layers' is not empty; layers of two kinds are known for "
                   "DeepSeek-V3 only");
  }
}

void ReadDeepseekV3(ConfigReader* config, ModelSpec* spec) {
  spec->experts = config->Integer("n_routed_experts", 1, kMaxExperts);
  spec->expert_intermediate = config->Integer("moe_intermediate_size");
  spec->dense_layers = config->MaybeInteger("first_k_dense_replace", 0, spec->layers).value_or(0);
  if (spec->has_dense()) spec->intermediate = config->Integer("intermediate_size");
  config->OnlyInteger("moe_layer_freq", 1);
  const int64_t shared = config->MaybeInteger("n_shared_experts", 0, 1024).value_or(0);
  spec->shared_intermediate = shared * spec->expert_intermediate;
  spec->expert_groups = config->MaybeInteger("n_group", 1, kMaxExperts).value_or(0);
  spec->mtp_layers = config->MaybeInteger("num_nextn_predict_layers", 0, kMaxLayers).value_or(0);
  spec->score_bias = true;
  const JsonNode* method = config->Find("topk_method");
  if (method != nullptr && method->text != "noaux_tc") {
    config->Refuse(DiagnosticCode::kUnsupported, method->span,
                   "'topk_method' is " + DescribeJson(*method) +
                       ", the importer knows \"noaux_tc\", with a bias of the scores");
  }
}

}  // namespace

std::string_view FamilyText(ModelFamily family) {
  switch (family) {
#define RESHARD_MODEL_FAMILY(name, architecture, text) \
  case ModelFamily::name:                              \
    return text;
#include "compiler/import/model_families.def"
#undef RESHARD_MODEL_FAMILY
  }
  return "";
}

bool ReadModelSpec(const JsonNode& node, Diagnostics* diags, ModelSpec* out) {
  if (!ExpectKind(node, JsonNode::Kind::kObject, "the config", diags)) return false;
  ConfigReader config(node, diags);
  ModelSpec spec;
  const std::optional<ModelFamily> family = ReadFamily(&config, node.span);
  if (!family) return false;
  spec.family = *family;
  spec.dtype = ReadDtype(&config, node.span);
  spec.hidden = config.Integer("hidden_size");
  spec.layers = config.Integer("num_hidden_layers", 1, kMaxLayers);
  spec.vocab = config.Integer("vocab_size");
  // Versions of transformers and families differ in what an absent key means.
  spec.tied = config.Flag("tie_word_embeddings", false);
  if (config.Find("tie_word_embeddings") == nullptr) {
    config.Refuse(DiagnosticCode::kMissingKey, node.span,
                  "the config has no 'tie_word_embeddings'");
  }
  ReadQuantization(&config, &spec);
  if (spec.family == ModelFamily::kDeepseekV3) {
    ReadMla(&config, &spec);
    ReadDeepseekV3(&config, &spec);
  } else {
    ReadGqa(&config, &spec);
    const bool bias = config.Flag("attention_bias", spec.family == ModelFamily::kGptOss);
    spec.qkv_bias = bias || spec.family == ModelFamily::kQwen2;
    spec.o_bias = bias && spec.family != ModelFamily::kQwen2;
    spec.qk_norm = spec.family == ModelFamily::kQwen3 || spec.family == ModelFamily::kQwen3Moe;
    spec.sinks = spec.family == ModelFamily::kGptOss;
    if (spec.family == ModelFamily::kQwen3Moe) {
      ReadQwen3Moe(&config, &spec);
    } else if (spec.family == ModelFamily::kGptOss) {
      spec.stacked_experts = true;
      spec.experts = config.Integer("num_local_experts", 1, kMaxExperts);
      spec.expert_intermediate = config.Integer("intermediate_size");
    } else {
      spec.dense_layers = spec.layers;
      spec.intermediate = config.Integer("intermediate_size");
    }
  }
  if (config.Flag("mlp_bias", false)) {
    config.Refuse(DiagnosticCode::kUnsupported, config.Find("mlp_bias")->span,
                  "'mlp_bias' is true, which is not known");
  }
  if ((spec.layers - spec.dense_layers) * spec.experts > kMaxExpertsInAll) {
    config.Refuse(DiagnosticCode::kTooLarge, node.span,
                  "the model has " + std::to_string(spec.experts) + " experts in each of " +
                      std::to_string(spec.layers - spec.dense_layers) + " layers, at most " +
                      std::to_string(kMaxExpertsInAll) + " in all are read");
  }
  *out = spec;
  return config.ok();
}

}  // namespace reshard
