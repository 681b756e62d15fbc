#include "compiler/import/fsdp_layout.h"

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/hf_tensors.h"
#include "compiler/import/layout_docs.h"
#include "compiler/import/value_docs.h"

namespace reshard {
namespace {

bool EndsWithOne(std::string_view name, const std::vector<std::string_view>& suffixes) {
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

// The placement on the tensor-parallel axis under the plan "column_row".
std::string TensorParallel(const std::string& name) {
  if (EndsWithOne(name, {"o_proj.weight", "down_proj.weight"})) return "S(1)";
  if (EndsWithOne(name, {"embed_tokens.weight", "lm_head.weight", "q_proj.weight", "k_proj.weight",
                         "v_proj.weight", "q_proj.bias", "k_proj.bias", "v_proj.bias",
                         "gate_proj.weight", "up_proj.weight"})) {
    return "S(0)";
  }
  return "R";
}

JsonDoc Placements(const std::string& name, const FsdpSpec& spec) {
  JsonDoc list = JsonDoc::Array();
  // A buffer, which FSDP2 leaves whole on each rank.
  const bool whole = name.ends_with("e_score_correction_bias");
  if (spec.dp_replicate > 1) list.Add("R");
  if (spec.tp == 1) return list.Add(whole ? "R" : "S(0)");
  // FSDP2 cuts dim 0 of what tensor parallelism has left.
  const std::string tp = TensorParallel(name);
  list.Add(tp == "S(0)" ? "_S(0," + std::to_string(spec.tp) + ")" : "S(0)");
  return list.Add(tp);
}

JsonDoc FsdpParam(const ModelSpec& model, const FsdpSpec& spec, const HfTensor& tensor) {
  JsonDoc param = JsonDoc::Object();
  JsonDoc loops = LoopsDoc(model, tensor.layers, tensor.each_expert);
  if (!loops.members().empty()) param.Set("for", std::move(loops));
  param.Set("name", tensor.name).Set("mesh", "fsdp").Set("tensor", tensor.name);
  param.Set("placements", Placements(tensor.name, spec));
  if (spec.tp > 1) param.Set("strided", spec.strided);
  if (model.tied && tensor.name == "model.embed_tokens.weight") {
    param.Set("shares", JsonDoc::Array().Add("lm_head.weight"));
  }
  return param;
}

// All experts of a layer as one param; `each` is the part of expert e.
JsonDoc StackedParam(const ModelSpec& model, const FsdpSpec& spec, const std::string& name,
                     JsonDoc each) {
  const ParamRule rule = {"",     Layers::kMoe, false, "model.layers.{l}.mlp.experts." + name,
                          "fsdp", {},           {},    {}};
  JsonDoc param = ParamDoc(model, rule, StackDoc("e", "0..E", std::move(each)));
  return param.Set("placements", Placements(name, spec));
}

bool CheckFsdp(const ModelSpec& model, const FsdpSpec& spec, Span span, Diagnostics* diags) {
  const size_t before = diags->error_count();
  const std::string family(FamilyText(model.family));
  if (spec.tp > 1 && (model.mla || model.has_experts())) {
    diags->Error(DiagnosticCode::kUnsupported, span,
                 "FSDP2 over tensor parallelism is not known for models of the family " + family);
  }
  const bool choice = model.has_experts() && !model.stacked_experts;
  if (choice && spec.experts == FsdpExperts::kUnstated) {
    diags->Error(DiagnosticCode::kMissingKey, span,
                 "'train' has no 'experts', which says how a model of experts stores them");
  }
  if (!choice && spec.experts != FsdpExperts::kUnstated) {
    diags->Error(DiagnosticCode::kBadValue, span,
                 "'train' has 'experts', about which there is no choice in the family " + family);
  }
  return diags->error_count() == before;
}

}  // namespace

bool FsdpLayout(const ModelSpec& model, const FsdpSpec& spec, Span span, Diagnostics* diags,
                JsonDoc* out) {
  if (!CheckFsdp(model, spec, span, diags)) return false;
  const int64_t dp_shard = spec.world / spec.tp / spec.dp_replicate;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::string sizes = "dp_shard " + std::to_string(dp_shard);
  if (spec.dp_replicate > 1) {
    axes.emplace_back("dp_replicate", spec.dp_replicate);
    sizes = "dp_replicate " + std::to_string(spec.dp_replicate) + " " + sizes;
  }
  axes.emplace_back("dp_shard", dp_shard);
  if (spec.tp > 1) {
    axes.emplace_back("tp", spec.tp);
    sizes += " tp " + std::to_string(spec.tp);
  }
  *out = LayoutHeadDoc(
      model,
      {true, "FSDP2, " + std::string(FamilyText(model.family)) + ": " + sizes, 0, spec.world}, {});
  SetLogical(model, out);
  out->Set("meshes", JsonDoc::Object().Set("fsdp", MeshDoc(axes)));
  JsonDoc params = JsonDoc::Array();
  const bool stacked = spec.experts == FsdpExperts::kStacked;
  for (const HfTensor& tensor : HfTensorsOf(model)) {
    if (!stacked || !tensor.each_expert) params.Add(FsdpParam(model, spec, tensor));
  }
  if (stacked) {
    const std::string each = "model.layers.{l}.mlp.experts.{e}.";
    params.Add(StackedParam(model, spec, "gate_up_proj",
                            CatDoc({each + "gate_proj.weight", each + "up_proj.weight"})));
    params.Add(StackedParam(model, spec, "down_proj", each + "down_proj.weight"));
  }
  out->Set("params", std::move(params));
  return true;
}

}  // namespace reshard
