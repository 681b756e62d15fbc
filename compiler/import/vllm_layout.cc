#include "compiler/import/vllm_layout.h"

#include <string>
#include <utility>
#include <vector>

#include "compiler/import/hf_tensors.h"
#include "compiler/import/layout_docs.h"
#include "compiler/import/value_docs.h"

namespace reshard {
namespace {

const std::string kLayer = "model.layers.{l}.";
// From 0.24 on the params of experts belong to a module of their own.
constexpr int64_t kFirstNestedExperts = 24;
// Before, gpt-oss's params of attention have other names.
constexpr int64_t kFirstGptOss = 12;

class VllmWriter {
 public:
  VllmWriter(const ModelSpec& model, const VllmSpec& spec)
      : model_(model), spec_(spec), over_dp_(spec.one_engine && spec.dp > 1) {
    expert_ranks_ = over_dp_ ? spec.dp * spec.tp : spec.tp;
    expert_axes_ = over_dp_ ? std::vector<std::string>{"dp", "tp"} : std::vector<std::string>{"tp"};
    experts_path_ = spec.minor_version.value_or(0) >= kFirstNestedExperts
                        ? "mlp.experts.routed_experts."
                        : "mlp.experts.";
    expert_parallel_ = spec.expert_parallel && expert_ranks_ > 1;
  }

  JsonDoc Write(int64_t rank_base) {
    std::vector<std::pair<std::string, int64_t>> more = {{"TP", spec_.tp}};
    if (spec_.pp > 1) more.emplace_back("PP", spec_.pp);
    if (expert_parallel_) more.emplace_back("EP", expert_ranks_);
    JsonDoc layout = LayoutHeadDoc(model_, {false, Comment(), rank_base, spec_.world}, more);
    std::vector<std::pair<std::string, int64_t>> axes = {
        {spec_.one_engine ? "dp" : "replica", spec_.dp}};
    if (spec_.pp > 1) axes.emplace_back("pp", spec_.pp);
    axes.emplace_back("tp", spec_.tp);
    layout.Set("meshes", JsonDoc::Object().Set("serve", MeshDoc(axes)));
    if (spec_.pp > 1) layout.Set("pipeline", PipelineDoc());
    AddEnds();
    AddLayer(Layers::kAll, "input_layernorm.weight", kLayer + "input_layernorm.weight");
    AddLayer(Layers::kAll, "post_attention_layernorm.weight",
             kLayer + "post_attention_layernorm.weight");
    if (model_.mla) {
      AddMla();
    } else {
      AddGqa();
    }
    if (model_.has_dense()) AddGatedMlp(Layers::kDense, "mlp.", false);
    if (model_.has_experts() && model_.stacked_experts) AddStackedExperts();
    if (model_.has_experts() && !model_.stacked_experts) AddMoe();
    layout.Set("params", std::move(params_));
    return layout;
  }

 private:
  std::string Comment() const {
    std::string text =
        "vLLM, " + std::string(FamilyText(model_.family)) + ": tp " + std::to_string(spec_.tp);
    if (spec_.pp > 1) text += " pp " + std::to_string(spec_.pp);
    if (spec_.dp > 1 && spec_.one_engine) {
      text += ", one engine of dp " + std::to_string(spec_.dp);
    } else if (spec_.dp > 1) {
      text += ", " + std::to_string(spec_.dp) + " independent replicas";
    }
    if (!model_.has_experts()) return text;
    if (!expert_parallel_) return text + ", experts cut over " + std::to_string(expert_ranks_);
    return text + ", experts over " + std::to_string(expert_ranks_) + " ranks, " +
           (spec_.round_robin ? "round robin" : "linear");
  }

  // vLLM gives the layers that are left over to the stages before the last one.
  JsonDoc PipelineDoc() const {
    JsonDoc stages = JsonDoc::Array();
    const int64_t left_over = model_.layers % spec_.pp;
    int64_t at = 0;
    for (int64_t stage = 0; stage < spec_.pp; ++stage) {
      const int64_t from_end = spec_.pp - stage;  // 1: the last
      const int64_t more = from_end >= 2 && from_end < left_over + 2 ? 1 : 0;
      const int64_t end = at + model_.layers / spec_.pp + more;
      stages.Add(JsonDoc::Array<int64_t>({at, end}));
      at = end;
    }
    return JsonDoc::Object().Set("axis", "pp").Set("stages", std::move(stages));
  }

  static JsonDoc Tp(int64_t dim, JsonDoc in, std::string unit = "") {
    return ShardDoc({dim, {"tp"}, std::move(unit), false}, std::move(in));
  }
  JsonDoc OverExpertRanks(int64_t dim, JsonDoc in, std::string unit = "") const {
    return ShardDoc({dim, expert_axes_, std::move(unit), false}, std::move(in));
  }

  void AddParam(ParamRule rule, JsonDoc value) {
    rule.mesh = "serve";
    if (rule.layers != Layers::kOutside) {
      rule.name = kLayer + rule.name;
      if (spec_.pp > 1) rule.where.insert(rule.where.begin(), "pp==stage(l)");
    }
    params_.Add(ParamDoc(model_, rule, std::move(value)));
  }
  void AddLayer(Layers layers, const std::string& name, JsonDoc value, std::string comment = "") {
    AddParam({std::move(comment), layers, false, name, "", {}, {}, {}}, std::move(value));
  }

  void AddEnd(const std::string& name, const char* where, JsonDoc value, bool shares = false) {
    ParamRule rule;
    rule.name = name;
    if (spec_.pp > 1) rule.where = {where};
    if (shares) rule.shares = {"lm_head.weight"};
    AddParam(std::move(rule), std::move(value));
  }

  void AddEnds() {
    const auto vocab = [&](const char* tensor) {
      return Tp(0, PadDoc("multiple", spec_.vocab_pad_to, tensor));
    };
    const bool oss = model_.family == ModelFamily::kGptOss;
    AddEnd(oss ? "model.embedding.weight" : "model.embed_tokens.weight",
           model_.tied ? "pp==0 or pp==PP-1" : "pp==0", vocab("model.embed_tokens.weight"),
           model_.tied && spec_.pp == 1);
    if (!model_.tied) AddEnd("lm_head.weight", "pp==PP-1", vocab("lm_head.weight"));
    AddEnd("model.norm.weight", "pp==PP-1", "model.norm.weight");
  }

  void AddGqa() {
    const std::string from = kLayer + "self_attn.";
    const std::string to = model_.family == ModelFamily::kGptOss ? "attn." : "self_attn.";
    const auto qkv = [&](const std::string& suffix) {
      const ShardRule kv = {0, {"tp"}, "D", true};
      return CatDoc({Tp(0, from + "q_proj." + suffix, "D"), ShardDoc(kv, from + "k_proj." + suffix),
                     ShardDoc(kv, from + "v_proj." + suffix)});
    };
    AddLayer(Layers::kAll, to + "qkv_proj.weight", qkv("weight"),
             "this rank's heads of q, k and v; fewer KV heads than ranks are replicated");
    if (model_.qkv_bias) AddLayer(Layers::kAll, to + "qkv_proj.bias", qkv("bias"));
    if (model_.qk_norm) {
      AddLayer(Layers::kAll, to + "q_norm.weight", from + "q_norm.weight");
      AddLayer(Layers::kAll, to + "k_norm.weight", from + "k_norm.weight");
    }
    if (model_.sinks) AddLayer(Layers::kAll, to + "sinks", Tp(0, from + "sinks"));
    AddLayer(Layers::kAll, to + "o_proj.weight", Tp(1, from + "o_proj.weight"));
    if (model_.o_bias) AddLayer(Layers::kAll, to + "o_proj.bias", from + "o_proj.bias");
  }

  void AddMla() {
    const std::string from = kLayer + "self_attn.";
    const std::string to = "self_attn.";
    AddLayer(Layers::kAll, to + "kv_a_layernorm.weight", from + "kv_a_layernorm.weight");
    if (model_.q_rank > 0) {
      AddLayer(Layers::kAll, to + "q_a_layernorm.weight", from + "q_a_layernorm.weight");
      AddLayer(Layers::kAll, to + "fused_qkv_a_proj.weight",
               CatDoc({from + "q_a_proj.weight", from + "kv_a_proj_with_mqa.weight"}),
               "whole on each rank");
      AddLayer(Layers::kAll, to + "q_b_proj.weight", Tp(0, from + "q_b_proj.weight", "NOPE+ROPE"));
    } else {
      AddLayer(Layers::kAll, to + "q_proj.weight", Tp(0, from + "q_proj.weight", "NOPE+ROPE"));
      AddLayer(Layers::kAll, to + "kv_a_proj_with_mqa.weight", from + "kv_a_proj_with_mqa.weight");
    }
    AddLayer(Layers::kAll, to + "kv_b_proj.weight", Tp(0, from + "kv_b_proj.weight", "NOPE+VD"));
    AddLayer(Layers::kAll, to + "o_proj.weight", Tp(1, from + "o_proj.weight"));
  }

  void AddGatedMlp(Layers layers, const std::string& path, bool whole) {
    const std::string from = kLayer + path;
    const auto part = [&](int64_t dim, const std::string& tensor) {
      return whole ? JsonDoc(from + tensor) : Tp(dim, from + tensor);
    };
    AddLayer(layers, path + "gate_up_proj.weight",
             CatDoc({part(0, "gate_proj.weight"), part(0, "up_proj.weight")}));
    AddLayer(layers, path + "down_proj.weight", part(1, "down_proj.weight"));
  }

  // A param that stacks this rank's experts; `each` is the part of expert e.
  void AddStack(const std::string& name, JsonDoc each, const std::string& comment) {
    ParamRule rule = {comment, Layers::kMoe, false, experts_path_ + name, "", {}, {}, {}};
    std::string range = "0..E";
    if (expert_parallel_) {
      rule.let = {{"r", over_dp_ ? "dp*TP+tp" : "tp"}};
      range = spec_.round_robin ? "r..E..EP"
              : model_.experts % expert_ranks_ == 0
                  ? "r*(E//EP)..(r+1)*(E//EP)"
                  : "r*(E//EP)+min(r,E%EP)..(r+1)*(E//EP)+min(r+1,E%EP)";
    }
    AddParam(std::move(rule), StackDoc("e", range, std::move(each)));
  }

  void AddMoe() {
    const std::string from = kLayer + "mlp.";
    AddLayer(Layers::kMoe, "mlp.gate.weight", from + "gate.weight");
    if (model_.score_bias) {
      AddLayer(Layers::kMoe, "mlp.gate.e_score_correction_bias",
               from + "gate.e_score_correction_bias");
    }
    if (model_.shared_intermediate > 0) {
      AddGatedMlp(Layers::kMoe, "mlp.shared_experts.", spec_.shared_replicated.value_or(false));
    }
    const auto part = [&](int64_t dim, const char* tensor) {
      const std::string name = from + "experts.{e}." + tensor;
      return expert_parallel_ ? JsonDoc(name) : OverExpertRanks(dim, name);
    };
    AddStack("w13_weight", CatDoc({part(0, "gate_proj.weight"), part(0, "up_proj.weight")}),
             "gate, then up, of each expert");
    AddStack("w2_weight", part(1, "down_proj.weight"), "");
  }

  // gpt-oss: the model's tensors are stacked already, and transposed; gate and up stay in turn.
  void AddStackedExperts() {
    const std::string from = kLayer + "mlp.";
    const std::string both = from + "experts.gate_up_proj";
    const std::string down = from + "experts.down_proj";
    AddLayer(Layers::kMoe, "mlp.router.weight", from + "router.weight");
    AddLayer(Layers::kMoe, "mlp.router.bias", from + "router.bias");
    const auto part = [&](int64_t dim, const std::string& tensor, const char* unit) {
      return expert_parallel_ ? OverExpertRanks(0, tensor) : OverExpertRanks(dim, tensor, unit);
    };
    AddLayer(Layers::kMoe, experts_path_ + "w13_weight", PermuteDoc({0, 2, 1}, part(2, both, "2")),
             "transposed; gate and up in turn");
    AddLayer(Layers::kMoe, experts_path_ + "w13_bias", part(1, both + "_bias", "2"));
    AddLayer(Layers::kMoe, experts_path_ + "w2_weight", PermuteDoc({0, 2, 1}, part(1, down, "")),
             "transposed");
    const std::string bias = experts_path_ + "w2_bias";
    if (expert_parallel_ || expert_ranks_ == 1) {
      AddLayer(Layers::kMoe, bias,
               expert_parallel_ ? OverExpertRanks(0, down + "_bias") : JsonDoc(down + "_bias"));
      return;
    }
    const std::string rank = over_dp_ ? "dp*TP+tp" : "tp";
    AddParam(
        {"ranks add up: one has the bias", Layers::kMoe, false, bias, "", {rank + "==0"}, {}, {}},
        down + "_bias");
    AddParam({"and the others zeros", Layers::kMoe, false, bias, "", {rank + "!=0"}, {}, {}},
             PadDoc("to", "E", SliceDoc(0, 0, 0, 1, down + "_bias")));
  }

  const ModelSpec& model_;
  const VllmSpec& spec_;
  bool over_dp_;  // experts are spread over the dp ranks of one engine
  bool expert_parallel_ = false;
  std::string experts_path_;
  int64_t expert_ranks_ = 1;  // ranks that experts are spread over
  std::vector<std::string> expert_axes_;
  JsonDoc params_ = JsonDoc::Array();
};

}  // namespace

bool VllmLayout(const ModelSpec& model, const VllmSpec& spec, int64_t rank_base, Diagnostics* diags,
                JsonDoc* out) {
  const size_t before = diags->error_count();
  if (spec.round_robin && model.expert_groups <= 1) {
    diags->Error(DiagnosticCode::kUnsupported, spec.placement_span,
                 "vLLM places experts 'round_robin' only in models with groups of experts, and "
                 "otherwise 'linear': write what it does");
  }
  if (!model.has_experts() && spec.expert_parallel) {
    diags->Error(DiagnosticCode::kUnsupported, spec.span,
                 "'enable_expert_parallel' is true for a model without experts");
  }
  const bool spread = spec.one_engine && spec.dp > 1 && spec.tp > 1 && spec.expert_parallel;
  if (spread && model.shared_intermediate > 0 && !spec.shared_replicated) {
    diags->Error(DiagnosticCode::kUnsupported, spec.span,
                 "with tp, dp and expert parallelism vLLM's all-to-all back end decides how shared "
                 "experts are stored: write \"shared_experts\": \"sharded\" or \"replicated\"");
  }
  if (model.has_experts() && !spec.minor_version) {
    diags->Error(DiagnosticCode::kMissingKey, spec.span,
                 "'infer' has no 'version', which decides how vLLM names the params of experts");
  }
  if (model.family == ModelFamily::kGptOss &&
      spec.minor_version.value_or(kFirstGptOss) < kFirstGptOss) {
    diags->Error(DiagnosticCode::kUnsupported, spec.span,
                 "how vLLM 0." + std::to_string(*spec.minor_version) +
                     " names the params of gpt-oss is not known, expected 0." +
                     std::to_string(kFirstGptOss) + " or later");
  }
  const int64_t expert_ranks = spec.one_engine ? spec.dp * spec.tp : spec.tp;
  if (model.has_experts() && spec.expert_parallel && expert_ranks > model.experts) {
    diags->Error(DiagnosticCode::kUnevenShard, spec.span,
                 std::to_string(model.experts) + " experts are spread over " +
                     std::to_string(expert_ranks) + " ranks, so that some have none");
  }
  if (spec.pp > model.layers) {
    diags->Error(DiagnosticCode::kPipelineLayers, spec.span,
                 "'infer' has pp " + std::to_string(spec.pp) + ", but the model " +
                     std::to_string(model.layers) + " layers");
  }
  if (spec.dtype && *spec.dtype != DTypeText(model.dtype)) {
    diags->Error(DiagnosticCode::kDtypeMismatch, spec.span,
                 "'infer' has the dtype " + *spec.dtype + ", the model's config " +
                     std::string(DTypeText(model.dtype)) + "; plans do not convert");
  }
  if (diags->error_count() != before) return false;
  *out = VllmWriter(model, spec).Write(rank_base);
  return true;
}

}  // namespace reshard
