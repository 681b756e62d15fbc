#include "compiler/import/layout_docs.h"

#include <utility>

#include "runtime/base/dtype.h"

namespace reshard {

JsonDoc ParamDoc(const ModelSpec& model, const ParamRule& rule, JsonDoc value) {
  JsonDoc doc = JsonDoc::Object();
  if (!rule.comment.empty()) doc.Set("comment", rule.comment);
  JsonDoc loops = LoopsDoc(model, rule.layers, rule.each_expert);
  if (!loops.members().empty()) doc.Set("for", std::move(loops));
  doc.Set("name", rule.name).Set("mesh", rule.mesh);
  if (!rule.where.empty()) doc.Set("where", JsonDoc::Array(rule.where));
  if (!rule.let.empty()) {
    JsonDoc let = JsonDoc::Object();
    for (const auto& [name, text] : rule.let) let.Set(name, text);
    doc.Set("let", std::move(let));
  }
  if (!rule.shares.empty()) doc.Set("shares", JsonDoc::Array(rule.shares));
  return doc.Set("value", std::move(value));
}

JsonDoc LayoutHeadDoc(const ModelSpec& model, const LayoutHead& head,
                      const std::vector<std::pair<std::string, int64_t>>& more) {
  JsonDoc symbols = JsonDoc::Object();
  for (const auto& [name, value] : SymbolsOf(model)) symbols.Set(name, value);
  for (const auto& [name, value] : more) symbols.Set(name, value);
  return JsonDoc::Object()
      .Set("format", "reshard-layout")
      .Set("version", 1)
      .Set("side", head.source ? "source" : "destination")
      .Set("comment", head.comment + "; shapes from " + model.shapes_from)
      .Set("rank_base", head.rank_base)
      .Set("world", head.world)
      .Set("symbols", std::move(symbols));
}

void SetLogical(const ModelSpec& model, JsonDoc* layout) {
  JsonDoc logical = JsonDoc::Array();
  for (const HfTensor& tensor : HfTensorsOf(model)) {
    JsonDoc entry = JsonDoc::Object();
    JsonDoc loops = LoopsDoc(model, tensor.layers, tensor.each_expert);
    if (!loops.members().empty()) entry.Set("for", std::move(loops));
    JsonDoc shape = JsonDoc::Array();
    for (const HfExtent& extent : tensor.shape) shape.Add(extent.text);
    entry.Set("name", tensor.name).Set("shape", std::move(shape));
    if (tensor.dtype != DType::kBf16) entry.Set("dtype", DTypeText(tensor.dtype));
    logical.Add(std::move(entry));
  }
  layout->Set("logical", std::move(logical));
  if (!model.tied) return;
  layout->Set(
      "aliases",
      JsonDoc::Array().Add(
          JsonDoc::Object().Set("name", "lm_head.weight").Set("of", "model.embed_tokens.weight")));
}

}  // namespace reshard
