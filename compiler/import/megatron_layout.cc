#include "compiler/import/megatron_layout.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/hf_tensors.h"
#include "compiler/import/layout_docs.h"
#include "compiler/import/megatron_stages.h"
#include "compiler/import/value_docs.h"

namespace reshard {
namespace {

const std::string kLayer = "model.layers.{l}.";

class MegatronWriter {
 public:
  MegatronWriter(const ModelSpec& model, const MegatronSpec& spec) : model_(model), spec_(spec) {}

  JsonDoc Write(const StageTable& stages) {
    JsonDoc layout = LayoutHeadDoc(model_, {true, Comment(), 0, spec_.world},
                                   {{"TP", spec_.tp}, {"PP", spec_.pp}, {"EP", spec_.ep}});
    SetLogical(model_, &layout);
    layout.Set("pipeline", PipelineDoc(stages));
    layout.Set("meshes", MeshDocs());
    AddEnds();
    if (model_.mla) {
      AddMla();
    } else {
      AddGqa();
    }
    if (model_.has_dense()) AddDenseMlp();
    if (model_.has_experts()) AddMoe();
    layout.Set("params", std::move(params_));
    return layout;
  }

 private:
  std::string Comment() const {
    std::string text = "Megatron-Core, " + std::string(FamilyText(model_.family)) + ": tp " +
                       std::to_string(spec_.tp) + " cp " + std::to_string(spec_.cp) + " pp " +
                       std::to_string(spec_.pp);
    if (spec_.vpp > 1) text += " vpp " + std::to_string(spec_.vpp);
    if (model_.has_experts()) {
      text += " ep " + std::to_string(spec_.ep) + " etp " + std::to_string(spec_.etp);
    }
    text += ", order ";
    for (const std::string& axis : spec_.order) {
      text += (&axis == &spec_.order.front() ? "" : "-") + axis;
    }
    return text;
  }

  JsonDoc PipelineDoc(const StageTable& stages) const {
    JsonDoc list = JsonDoc::Array();
    for (const auto& chunks : stages) {
      JsonDoc ranges = JsonDoc::Array();
      for (const auto& [begin, end] : chunks) ranges.Add(JsonDoc::Array<int64_t>({begin, end}));
      list.Add(spec_.vpp > 1 ? ranges : ranges.items()[0]);
    }
    return JsonDoc::Object().Set("axis", "pp").Set("stages", std::move(list));
  }

  JsonDoc MeshDocs() const {
    std::vector<std::pair<std::string, int64_t>> dense;
    std::vector<std::pair<std::string, int64_t>> expert;
    for (auto axis = spec_.order.rbegin(); axis != spec_.order.rend(); ++axis) {
      if (*axis == "pp") {
        dense.emplace_back("pp", spec_.pp);
        expert.emplace_back("pp", spec_.pp);
      } else if (*axis == "dp") {
        dense.emplace_back("dp", spec_.world / (spec_.tp * spec_.cp * spec_.pp));
        expert.emplace_back("edp", spec_.world / (spec_.etp * spec_.ep * spec_.pp));
      } else if (*axis == "cp") {
        dense.emplace_back("cp", spec_.cp);
      } else if (*axis == "tp") {
        dense.emplace_back("tp", spec_.tp);
        expert.emplace_back("etp", spec_.etp);
      } else {
        expert.emplace_back("ep", spec_.ep);
      }
    }
    JsonDoc meshes = JsonDoc::Object();
    meshes.Set("dense", MeshDoc(dense));
    if (model_.has_experts()) meshes.Set("expert", MeshDoc(expert));
    return meshes;
  }

  // Params of chunk 0 and of the last chunk have their chunk's name in front.
  std::string Prefix(const std::string& chunk) const {
    return spec_.vpp > 1 ? "model" + chunk + "." : "";
  }

  // One param of each layer of `layers`.
  void AddLayer(Layers layers, const std::string& name, JsonDoc value, std::string comment = "") {
    AddLayerParam({std::move(comment), layers, false, name, "dense", {}, {}, {}}, std::move(value));
  }
  void AddLayerParam(ParamRule rule, JsonDoc value) {
    rule.where.insert(rule.where.begin(), "pp==stage(l)");
    rule.let.insert(rule.let.begin(),
                    {"j", spec_.vpp > 1 ? "l-layer_start(l)" : "l-stage_start(pp)"});
    rule.name = Prefix("{chunk(l)}") + "decoder.layers.{j}." + rule.name;
    params_.Add(ParamDoc(model_, rule, std::move(value)));
  }

  static JsonDoc Tp(int64_t dim, JsonDoc in, std::string unit = "") {
    return ShardDoc({dim, {"tp"}, std::move(unit), false}, std::move(in));
  }
  static JsonDoc Etp(int64_t dim, JsonDoc in) {
    return ShardDoc({dim, {"etp"}, "", false}, std::move(in));
  }

  void AddEnds() {
    const std::string divisor = std::to_string(spec_.vocab_divisible_by) + "*TP";
    const auto vocab = [&](const char* tensor) {
      return Tp(0, PadDoc("multiple", divisor, tensor));
    };
    const std::string padded = "the vocabulary is padded to a multiple of " + divisor;
    params_.Add(ParamDoc(model_,
                         {padded,
                          Layers::kOutside,
                          false,
                          Prefix("0") + "embedding.word_embeddings.weight",
                          "dense",
                          {"pp==0"},
                          {},
                          {}},
                         vocab("model.embed_tokens.weight")));
    const std::string last = Prefix(std::to_string(spec_.vpp - 1));
    // With tied weights one stage has one buffer; the last of several has a copy of its own.
    if (!model_.tied || spec_.pp > 1) {
      params_.Add(ParamDoc(model_,
                           {model_.tied ? "tied: a copy of the embedding" : padded,
                            Layers::kOutside,
                            false,
                            last + "output_layer.weight",
                            "dense",
                            {"pp==PP-1"},
                            {},
                            {}},
                           vocab(model_.tied ? "model.embed_tokens.weight" : "lm_head.weight")));
    }
    params_.Add(ParamDoc(model_,
                         {"",
                          Layers::kOutside,
                          false,
                          last + "decoder.final_layernorm.weight",
                          "dense",
                          {"pp==PP-1"},
                          {},
                          {}},
                         "model.norm.weight"));
  }

  void AddGqa() {
    const std::string own = kLayer + "self_attn.";
    AddLayer(Layers::kAll, "self_attention.linear_qkv.layer_norm_weight",
             kLayer + "input_layernorm.weight");
    const auto qkv = [&](const char* suffix) {
      return Tp(0, GroupCatDoc("NKV", {own + "q_proj." + suffix, own + "k_proj." + suffix,
                                       own + "v_proj." + suffix}));
    };
    AddLayer(Layers::kAll, "self_attention.linear_qkv.weight", qkv("weight"),
             "for each KV head its query heads, k and v, then cut over tp");
    if (model_.qkv_bias) AddLayer(Layers::kAll, "self_attention.linear_qkv.bias", qkv("bias"));
    if (model_.qk_norm) {
      AddLayer(Layers::kAll, "self_attention.q_layernorm.weight", own + "q_norm.weight");
      AddLayer(Layers::kAll, "self_attention.k_layernorm.weight", own + "k_norm.weight");
    }
    if (model_.sinks) {
      AddLayer(Layers::kAll, "self_attention.core_attention.softmax_offset", Tp(0, own + "sinks"));
    }
    AddLayer(Layers::kAll, "self_attention.linear_proj.weight", Tp(1, own + "o_proj.weight"));
    if (model_.o_bias) {
      AddLayer(Layers::kAll, "self_attention.linear_proj.bias", own + "o_proj.bias");
    }
  }

  void AddMla() {
    const std::string own = kLayer + "self_attn.";
    const std::string to = "self_attention.";
    AddLayer(Layers::kAll, "input_layernorm.weight", kLayer + "input_layernorm.weight");
    if (model_.q_rank > 0) {
      AddLayer(Layers::kAll, to + "linear_q_down_proj.weight", own + "q_a_proj.weight");
      AddLayer(Layers::kAll, to + "linear_q_up_proj.layer_norm_weight",
               own + "q_a_layernorm.weight");
      AddLayer(Layers::kAll, to + "linear_q_up_proj.weight",
               Tp(0, own + "q_b_proj.weight", "NOPE+ROPE"));
    } else {
      AddLayer(Layers::kAll, to + "linear_q_proj.weight",
               Tp(0, own + "q_proj.weight", "NOPE+ROPE"));
    }
    AddLayer(Layers::kAll, to + "linear_kv_down_proj.weight", own + "kv_a_proj_with_mqa.weight");
    AddLayer(Layers::kAll, to + "linear_kv_up_proj.layer_norm_weight",
             own + "kv_a_layernorm.weight");
    AddLayer(Layers::kAll, to + "linear_kv_up_proj.weight",
             Tp(0, own + "kv_b_proj.weight", "NOPE+VD"));
    AddLayer(Layers::kAll, to + "linear_proj.weight", Tp(1, own + "o_proj.weight"));
  }

  // gate and up as one param, each cut first.
  void AddGatedMlp(Layers layers, const std::string& to, const std::string& from,
                   const std::string& comment) {
    AddLayer(layers, to + "linear_fc1.weight",
             CatDoc({Tp(0, from + "gate_proj.weight"), Tp(0, from + "up_proj.weight")}), comment);
    AddLayer(layers, to + "linear_fc2.weight", Tp(1, from + "down_proj.weight"));
  }

  void AddDenseMlp() {
    AddLayer(Layers::kDense, "mlp.linear_fc1.layer_norm_weight",
             kLayer + "post_attention_layernorm.weight");
    AddGatedMlp(Layers::kDense, "mlp.", kLayer + "mlp.", "this rank's gate, then its up");
  }

  void AddMoe() {
    const std::string own = kLayer + "mlp.";
    AddLayer(Layers::kMoe, "pre_mlp_layernorm.weight", kLayer + "post_attention_layernorm.weight");
    AddLayer(Layers::kMoe, "mlp.router.weight",
             own + (model_.stacked_experts ? "router.weight" : "gate.weight"));
    if (model_.stacked_experts) AddLayer(Layers::kMoe, "mlp.router.bias", own + "router.bias");
    if (model_.score_bias) {
      AddLayer(Layers::kMoe, "mlp.router.expert_bias", own + "gate.e_score_correction_bias");
    }
    if (model_.shared_intermediate > 0) {
      AddGatedMlp(Layers::kMoe, "mlp.shared_experts.", own + "shared_experts.", "");
    }
    AddExperts();
  }

  // This rank's rows of gate and of up of one expert.
  JsonDoc Fc1(JsonDoc gate, JsonDoc up) const {
    if (spec_.glu_interleave == 0) return CatDoc({Etp(0, std::move(gate)), Etp(0, std::move(up))});
    const std::string blocks =
        "IE//" + std::to_string(spec_.etp) + "//" + std::to_string(spec_.glu_interleave);
    return GroupCatDoc(blocks, {Etp(0, std::move(gate)), Etp(0, std::move(up))});
  }

  std::string Fc1Order() const {
    if (spec_.glu_interleave == 0) return "this rank's gate, then its up";
    return "blocks of " + std::to_string(spec_.glu_interleave) +
           " rows, of this rank's gate and of its up in turn";
  }

  // Every other column of a stacked tensor, as rows of expert e.
  static JsonDoc Half(const std::string& tensor, int64_t first, bool weight) {
    JsonDoc half = SliceDoc(-1, first, "2*IE", 2, IndexDoc(0, "e", tensor));
    return weight ? PermuteDoc({1, 0}, std::move(half)) : half;
  }

  void AddExperts() {
    const std::string own = kLayer + "mlp.experts.";
    if (!model_.stacked_experts) {
      const std::string each = own + "{e}.";
      AddExpert("linear_fc1.weight", Fc1(each + "gate_proj.weight", each + "up_proj.weight"),
                Fc1Order());
      AddExpert("linear_fc2.weight", Etp(1, each + "down_proj.weight"), "");
      return;
    }
    const std::string both = own + "gate_up_proj";
    AddExpert("linear_fc1.weight", Fc1(Half(both, 0, true), Half(both, 1, true)),
              "gate and up alternate in the model's columns; here " + Fc1Order());
    AddExpert("linear_fc1.bias",
              Fc1(Half(both + "_bias", 0, false), Half(both + "_bias", 1, false)), "");
    AddExpert("linear_fc2.weight", Etp(1, PermuteDoc({1, 0}, IndexDoc(0, "e", own + "down_proj"))),
              "");
    AddExpert("linear_fc2.bias", IndexDoc(0, "e", own + "down_proj_bias"), "");
  }

  // `name` is "linear_fc1.weight" and the like; `value` speaks of expert e.
  void AddExpert(const std::string& name, JsonDoc value, const std::string& comment) {
    const std::string base = "mlp.experts.";
    if (spec_.experts == ExpertStorage::kSingleGrouped) {
      AddLayerParam({comment, Layers::kMoe, false, base + name, "expert", {}, {}, {}},
                    StackDoc("e", "ep*(E//EP)..(ep+1)*(E//EP)", std::move(value)));
      return;
    }
    const std::string numbered = spec_.experts == ExpertStorage::kSequential
                                     ? base + "local_experts.{k}." + name
                                     : base + name + "{k}";
    AddLayerParam({comment,
                   Layers::kMoe,
                   true,
                   numbered,
                   "expert",
                   {"e//(E//EP)==ep"},
                   {{"k", "e%(E//EP)"}},
                   {}},
                  std::move(value));
  }

  const ModelSpec& model_;
  const MegatronSpec& spec_;
  JsonDoc params_ = JsonDoc::Array();
};

bool CheckMegatron(const ModelSpec& model, const MegatronSpec& spec, Span span,
                   Diagnostics* diags) {
  const size_t before = diags->error_count();
  if (spec.tie_embeddings && *spec.tie_embeddings != model.tied) {
    diags->Error(DiagnosticCode::kUnsupported, spec.tie_span,
                 std::string("'tie_embeddings' is ") + (model.tied ? "false" : "true") +
                     ", but the model's config says the opposite");
  }
  if (model.has_experts() && spec.experts == ExpertStorage::kUnstated) {
    diags->Error(DiagnosticCode::kMissingKey, spec.experts_span,
                 "'train' has no 'experts', which says how a model of experts stores them");
  }
  if (!model.has_experts() && (spec.ep > 1 || spec.experts != ExpertStorage::kUnstated)) {
    diags->Error(DiagnosticCode::kBadValue, spec.experts_span,
                 "'train' speaks of experts, which a model of the family " +
                     std::string(FamilyText(model.family)) + " does not have");
  }
  if (model.has_experts() && model.experts % spec.ep != 0) {
    diags->Error(DiagnosticCode::kUnevenShard, span,
                 std::to_string(model.experts) + " experts do not divide over ep " +
                     std::to_string(spec.ep));
  }
  const int64_t rows = model.expert_intermediate / spec.etp;
  if (spec.glu_interleave > 0 && rows % spec.glu_interleave != 0) {
    diags->Error(DiagnosticCode::kUnevenShard, span,
                 "the " + std::to_string(rows) +
                     " rows of gate on a rank do not divide in blocks of " +
                     std::to_string(spec.glu_interleave) + " ('glu_interleave')");
  }
  return diags->error_count() == before;
}

}  // namespace

bool MegatronLayout(const ModelSpec& model, const MegatronSpec& spec, Span span, Diagnostics* diags,
                    JsonDoc* out) {
  const bool ok = CheckMegatron(model, spec, span, diags);
  const Span stages_span = spec.pipeline_span.has_file() ? spec.pipeline_span : span;
  const std::optional<StageTable> stages = MegatronStages(model.layers, spec, stages_span, diags);
  if (!ok || !stages) return false;
  *out = MegatronWriter(model, spec).Write(*stages);
  return true;
}

}  // namespace reshard
