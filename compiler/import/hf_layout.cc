#include "compiler/import/hf_layout.h"

#include <algorithm>

#include "compiler/import/hf_tensors.h"
#include "compiler/import/layout_docs.h"
#include "compiler/import/value_docs.h"

namespace reshard {
namespace {

// The files of a template's tensors: layers, and experts in each, in rising order. Empty after an
// error was reported.
std::vector<int64_t> FilesOf(const ModelSpec& model, const HfTensor& tensor,
                             const TensorFiles& files, Span span, Diagnostics* diags) {
  std::vector<int64_t> numbers;
  for (const std::string& name : HfTensorNames(model, tensor)) {
    const auto found = files.file_of.find(name);
    if (found == files.file_of.end()) {
      diags->Error(DiagnosticCode::kUnknownTensor, span,
                   "no file holds '" + name + "', which 'file_per_rank' needs");
      return {};
    }
    numbers.push_back(static_cast<int64_t>(found->second));
  }
  return numbers;
}

// Which entry of its template's table an instance has.
std::string TableIndex(const ModelSpec& model, const HfTensor& tensor) {
  const bool mixed = model.has_dense() && model.has_experts();
  const std::string layer = tensor.layers == Layers::kMoe && mixed ? "(l-DENSE)" : "l";
  return tensor.each_expert ? layer + "*E+e" : layer;
}

}  // namespace

bool HfLayout(const ModelSpec& model, const HfSpec& spec, const TensorFiles& files,
              int64_t rank_base, Diagnostics* diags, JsonDoc* out) {
  if (spec.file_per_rank && std::cmp_not_equal(files.files.size(), spec.world)) {
    diags->Error(DiagnosticCode::kWorldMismatch, spec.span,
                 "'infer' has a world of " + std::to_string(spec.world) + " ranks, but there are " +
                     std::to_string(files.files.size()) + " files");
    return false;
  }
  *out = LayoutHeadDoc(
      model,
      {false,
       spec.file_per_rank ? "whole tensors; rank i holds those of the i-th safetensors file"
                          : "whole tensors on every rank",
       rank_base, spec.world},
      {});
  out->Set("meshes", JsonDoc::Object().Set("all", MeshDoc({{"rank", spec.world}})));
  JsonDoc tables = JsonDoc::Object();
  JsonDoc params = JsonDoc::Array();
  for (const HfTensor& tensor : HfTensorsOf(model)) {
    ParamRule rule = {"", tensor.layers, tensor.each_expert, tensor.name, "all", {}, {}, {}};
    if (model.tied && tensor.name == "model.embed_tokens.weight") rule.shares = {"lm_head.weight"};
    if (spec.file_per_rank) {
      const std::vector<int64_t> numbers = FilesOf(model, tensor, files, spec.span, diags);
      if (numbers.empty()) return false;
      if (std::all_of(numbers.begin(), numbers.end(),
                      [&](int64_t number) { return number == numbers[0]; })) {
        rule.where = {"rank==" + std::to_string(numbers[0])};
      } else {
        const std::string table = "file" + std::to_string(params.items().size());
        tables.Set(table, JsonDoc::Array(numbers));
        rule.where = {"rank==" + table + "[" + TableIndex(model, tensor) + "]"};
      }
    }
    params.Add(ParamDoc(model, rule, tensor.name));
  }
  if (!tables.members().empty()) out->Set("tables", std::move(tables));
  out->Set("params", std::move(params));
  return true;
}

}  // namespace reshard
