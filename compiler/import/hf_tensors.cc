#include "compiler/import/hf_tensors.h"

#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/fold_tensors.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

constexpr std::string_view kLayerPrefix = "model.layers.";
constexpr std::string_view kScaleSuffix = "_scale_inv";

// Collects the templates of one model.
class TensorList {
 public:
  explicit TensorList(const ModelSpec& model) : model_(model) {}

  void AddLayers(Layers layers, const std::string& name, std::vector<HfExtent> shape) {
    Add("model.layers.{l}." + name, layers, false, std::move(shape));
  }
  void AddExperts(const std::string& name, std::vector<HfExtent> shape) {
    Add("model.layers.{l}.mlp.experts.{e}." + name, Layers::kMoe, true, std::move(shape));
  }
  void Add(std::string name, Layers layers, bool each_expert, std::vector<HfExtent> shape) {
    tensors_.push_back({std::move(name), layers, each_expert, std::move(shape), model_.dtype});
  }

  void AddGqa();
  void AddMla();
  void AddDenseMlp();
  void AddMoe();
  void AddStackedExperts();
  std::vector<HfTensor> Take() { return std::move(tensors_); }

 private:
  HfExtent H() const { return {"H", model_.hidden}; }

  const ModelSpec& model_;
  std::vector<HfTensor> tensors_;
};

void TensorList::AddGqa() {
  const HfExtent q = {"NQ*D", model_.heads * model_.head_dim};
  const HfExtent kv = {"NKV*D", model_.kv_heads * model_.head_dim};
  AddLayers(Layers::kAll, "self_attn.q_proj.weight", {q, H()});
  AddLayers(Layers::kAll, "self_attn.k_proj.weight", {kv, H()});
  AddLayers(Layers::kAll, "self_attn.v_proj.weight", {kv, H()});
  AddLayers(Layers::kAll, "self_attn.o_proj.weight", {H(), q});
  if (model_.qkv_bias) {
    AddLayers(Layers::kAll, "self_attn.q_proj.bias", {q});
    AddLayers(Layers::kAll, "self_attn.k_proj.bias", {kv});
    AddLayers(Layers::kAll, "self_attn.v_proj.bias", {kv});
  }
  if (model_.o_bias) AddLayers(Layers::kAll, "self_attn.o_proj.bias", {H()});
  if (model_.qk_norm) {
    AddLayers(Layers::kAll, "self_attn.q_norm.weight", {{"D", model_.head_dim}});
    AddLayers(Layers::kAll, "self_attn.k_norm.weight", {{"D", model_.head_dim}});
  }
  if (model_.sinks) AddLayers(Layers::kAll, "self_attn.sinks", {{"NQ", model_.heads}});
}

void TensorList::AddMla() {
  const HfExtent q = {"NQ*(NOPE+ROPE)", model_.heads * (model_.nope_dim + model_.rope_dim)};
  const HfExtent kv_rank = {"KL", model_.kv_rank};
  if (model_.q_rank > 0) {
    const HfExtent q_rank = {"QL", model_.q_rank};
    AddLayers(Layers::kAll, "self_attn.q_a_proj.weight", {q_rank, H()});
    AddLayers(Layers::kAll, "self_attn.q_a_layernorm.weight", {q_rank});
    AddLayers(Layers::kAll, "self_attn.q_b_proj.weight", {q, q_rank});
  } else {
    AddLayers(Layers::kAll, "self_attn.q_proj.weight", {q, H()});
  }
  AddLayers(Layers::kAll, "self_attn.kv_a_proj_with_mqa.weight",
            {{"KL+ROPE", model_.kv_rank + model_.rope_dim}, H()});
  AddLayers(Layers::kAll, "self_attn.kv_a_layernorm.weight", {kv_rank});
  AddLayers(Layers::kAll, "self_attn.kv_b_proj.weight",
            {{"NQ*(NOPE+VD)", model_.heads * (model_.nope_dim + model_.v_dim)}, kv_rank});
  AddLayers(Layers::kAll, "self_attn.o_proj.weight", {H(), {"NQ*VD", model_.heads * model_.v_dim}});
}

void TensorList::AddDenseMlp() {
  const HfExtent rows = {"I", model_.intermediate};
  AddLayers(Layers::kDense, "mlp.gate_proj.weight", {rows, H()});
  AddLayers(Layers::kDense, "mlp.up_proj.weight", {rows, H()});
  AddLayers(Layers::kDense, "mlp.down_proj.weight", {H(), rows});
}

void TensorList::AddMoe() {
  const HfExtent experts = {"E", model_.experts};
  AddLayers(Layers::kMoe, "mlp.gate.weight", {experts, H()});
  if (model_.score_bias) {
    AddLayers(Layers::kMoe, "mlp.gate.e_score_correction_bias", {experts});
    tensors_.back().dtype = DType::kF32;
  }
  if (model_.shared_intermediate > 0) {
    const HfExtent shared = {"IS", model_.shared_intermediate};
    AddLayers(Layers::kMoe, "mlp.shared_experts.gate_proj.weight", {shared, H()});
    AddLayers(Layers::kMoe, "mlp.shared_experts.up_proj.weight", {shared, H()});
    AddLayers(Layers::kMoe, "mlp.shared_experts.down_proj.weight", {H(), shared});
  }
  const HfExtent rows = {"IE", model_.expert_intermediate};
  AddExperts("gate_proj.weight", {rows, H()});
  AddExperts("up_proj.weight", {rows, H()});
  AddExperts("down_proj.weight", {H(), rows});
}

void TensorList::AddStackedExperts() {
  const HfExtent experts = {"E", model_.experts};
  const HfExtent rows = {"IE", model_.expert_intermediate};
  const HfExtent both = {"2*IE", 2 * model_.expert_intermediate};
  AddLayers(Layers::kMoe, "mlp.router.weight", {experts, H()});
  AddLayers(Layers::kMoe, "mlp.router.bias", {experts});
  AddLayers(Layers::kMoe, "mlp.experts.gate_up_proj", {experts, H(), both});
  AddLayers(Layers::kMoe, "mlp.experts.gate_up_proj_bias", {experts, both});
  AddLayers(Layers::kMoe, "mlp.experts.down_proj", {experts, rows, H()});
  AddLayers(Layers::kMoe, "mlp.experts.down_proj_bias", {experts, H()});
}

// `name` with its variables replaced.
std::string Instance(const std::string& name, int64_t layer, int64_t expert) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '{') {
      out += name[i];
      continue;
    }
    out += std::to_string(name[i + 1] == 'l' ? layer : expert);
    i += 2;
  }
  return out;
}

// The number of the layer that the name speaks of.
std::optional<int64_t> LayerOf(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return std::nullopt;
  const std::string_view rest = name.substr(kLayerPrefix.size());
  int64_t layer = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') return std::nullopt;
  return layer;
}

// Compares the tensors of files with those of the model.
class TensorCheck {
 public:
  TensorCheck(const ModelSpec& model, const std::vector<ModelTensor>& tensors,
              const HfFileRules& rules, Span where, Diagnostics* diags)
      : model_(model), tensors_(tensors), rules_(rules), where_(where), diags_(diags) {
    for (size_t i = 0; i < tensors.size(); ++i) index_.try_emplace(tensors[i].name, i);
    known_.resize(tensors.size());
  }

  bool Run() {
    const size_t before = diags_->error_count();
    for (const HfTensor& expected : HfTensorsOf(model_)) CheckTemplate(expected);
    if (model_.tied) Mark("lm_head.weight");
    CheckOthers();
    return diags_->error_count() == before;
  }

 private:
  void Mark(const std::string& name) {
    const auto found = index_.find(name);
    if (found != index_.end()) known_[found->second] = true;
  }

  void CheckTemplate(const HfTensor& expected) {
    std::vector<int64_t> shape;
    for (const HfExtent& extent : expected.shape) shape.push_back(extent.value);
    int64_t missing = 0;
    bool wrong = false;
    std::string first_missing;
    for (const std::string& name : HfTensorNames(model_, expected)) {
      const auto found = index_.find(name);
      if (found == index_.end()) {
        if (missing++ == 0) first_missing = name;
        continue;
      }
      known_[found->second] = true;
      // One error for a template: the others have the same cause.
      wrong = wrong || !Fits(tensors_[found->second], shape, expected.dtype);
    }
    if (missing == 0) return;
    diags_->Error(DiagnosticCode::kUnknownTensor, where_,
                  "there is no '" + first_missing + "'" + More(missing) + ", which a model of " +
                      "the family " + std::string(FamilyText(model_.family)) + " has");
  }

  static std::string More(int64_t count) {
    if (count == 1) return "";
    return " (and " + std::to_string(count - 1) + " more like it)";
  }

  bool Fits(const ModelTensor& tensor, const std::vector<int64_t>& shape, DType dtype) {
    if (tensor.shape != shape) {
      diags_->Error(DiagnosticCode::kShapeMismatch, tensor.span,
                    "'" + tensor.name + "' has shape " + ListText(tensor.shape) + ", expected " +
                        ListText(shape) + " from the config");
      return false;
    }
    const bool dequantized = rules_.dequantized && tensor.dtype == DType::kF8E4M3 &&
                             index_.contains(tensor.name + std::string(kScaleSuffix));
    if (tensor.dtype != dtype && !dequantized) {
      diags_->Error(DiagnosticCode::kDtypeMismatch, tensor.span,
                    "'" + tensor.name + "' is " + std::string(DTypeText(tensor.dtype)) +
                        ", expected " + std::string(DTypeText(dtype)) + " from the config");
      return false;
    }
    return true;
  }

  bool MayBeLeftOut(const ModelTensor& tensor) const {
    if (rules_.omit_mtp) {
      const std::optional<int64_t> layer = LayerOf(tensor.name);
      if (layer && *layer >= model_.layers && *layer < model_.layers + model_.mtp_layers) {
        return true;
      }
    }
    if (!rules_.dequantized || !tensor.name.ends_with(kScaleSuffix)) return false;
    const auto weight =
        index_.find(tensor.name.substr(0, tensor.name.size() - kScaleSuffix.size()));
    return weight != index_.end() && known_[weight->second] &&
           tensors_[weight->second].dtype == DType::kF8E4M3;
  }

  // Every tensor that is left is refused, with those like it in one error.
  void CheckOthers() {
    std::vector<ModelTensor> others;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!known_[i] && !MayBeLeftOut(tensors_[i])) others.push_back(tensors_[i]);
    }
    for (const TensorTemplate& other : FoldTensors(others)) {
      diags_->Error(DiagnosticCode::kUnsupported, other.span,
                    "'" + other.first_name + "'" + More(other.tensor_count()) +
                        " is no tensor that is known of the family " +
                        std::string(FamilyText(model_.family)));
    }
  }

  const ModelSpec& model_;
  const std::vector<ModelTensor>& tensors_;
  const HfFileRules& rules_;
  Span where_;
  Diagnostics* diags_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<bool> known_;
};

}  // namespace

std::vector<HfTensor> HfTensorsOf(const ModelSpec& model) {
  TensorList list(model);
  const HfExtent vocab = {"V", model.vocab};
  const HfExtent hidden = {"H", model.hidden};
  list.Add("model.embed_tokens.weight", Layers::kOutside, false, {vocab, hidden});
  if (!model.tied) list.Add("lm_head.weight", Layers::kOutside, false, {vocab, hidden});
  list.Add("model.norm.weight", Layers::kOutside, false, {hidden});
  list.AddLayers(Layers::kAll, "input_layernorm.weight", {hidden});
  list.AddLayers(Layers::kAll, "post_attention_layernorm.weight", {hidden});
  if (model.mla) {
    list.AddMla();
  } else {
    list.AddGqa();
  }
  if (model.has_dense()) list.AddDenseMlp();
  if (model.has_experts() && model.stacked_experts) list.AddStackedExperts();
  if (model.has_experts() && !model.stacked_experts) list.AddMoe();
  return list.Take();
}

std::vector<std::string> HfTensorNames(const ModelSpec& model, const HfTensor& tensor) {
  const int64_t begin = tensor.layers == Layers::kMoe ? model.dense_layers : 0;
  const int64_t end = tensor.layers == Layers::kDense     ? model.dense_layers
                      : tensor.layers == Layers::kOutside ? 1
                                                          : model.layers;
  std::vector<std::string> names;
  for (int64_t l = begin; l < end; ++l) {
    for (int64_t e = 0; e < (tensor.each_expert ? model.experts : 1); ++e) {
      names.push_back(Instance(tensor.name, l, e));
    }
  }
  return names;
}

std::vector<std::pair<std::string, int64_t>> SymbolsOf(const ModelSpec& model) {
  std::vector<std::pair<std::string, int64_t>> symbols = {
      {"H", model.hidden}, {"L", model.layers}, {"V", model.vocab}, {"NQ", model.heads}};
  if (model.mla) {
    if (model.q_rank > 0) symbols.emplace_back("QL", model.q_rank);
    symbols.insert(symbols.end(), {{"KL", model.kv_rank},
                                   {"NOPE", model.nope_dim},
                                   {"ROPE", model.rope_dim},
                                   {"VD", model.v_dim}});
  } else {
    symbols.insert(symbols.end(), {{"NKV", model.kv_heads}, {"D", model.head_dim}});
  }
  if (model.has_dense()) symbols.emplace_back("I", model.intermediate);
  if (model.has_experts()) {
    if (model.has_dense()) symbols.emplace_back("DENSE", model.dense_layers);
    symbols.insert(symbols.end(), {{"E", model.experts}, {"IE", model.expert_intermediate}});
    if (model.shared_intermediate > 0) symbols.emplace_back("IS", model.shared_intermediate);
  }
  return symbols;
}

JsonDoc LoopsDoc(const ModelSpec& model, Layers layers, bool each_expert) {
  JsonDoc loops = JsonDoc::Object();
  const bool mixed = model.has_dense() && model.has_experts();
  switch (layers) {
    case Layers::kOutside:
      break;
    case Layers::kAll:
      loops.Set("l", "0..L");
      break;
    case Layers::kDense:
      loops.Set("l", mixed ? "0..DENSE" : "0..L");
      break;
    case Layers::kMoe:
      loops.Set("l", mixed ? "DENSE..L" : "0..L");
      break;
  }
  if (each_expert) loops.Set("e", "0..E");
  return loops;
}

bool CheckHfTensors(const ModelSpec& model, const std::vector<ModelTensor>& tensors,
                    const HfFileRules& rules, Span where, Diagnostics* diags) {
  return TensorCheck(model, tensors, rules, where, diags).Run();
}

}  // namespace reshard
