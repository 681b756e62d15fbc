#include "compiler/import/explicit_layout.h"

#include <set>
#include <utility>

#include "compiler/import/export_reader.h"
#include "compiler/import/fold_tensors.h"
#include "runtime/base/list_text.h"

namespace reshard {

JsonDoc ExplicitLayoutDoc(const ExplicitLayout& layout) {
  JsonDoc logical = JsonDoc::Array();
  for (const TensorTemplate& folded : FoldTensors(layout.tensors)) logical.Add(LogicalDoc(folded));
  JsonDoc entries = JsonDoc::Array();
  std::set<int64_t> all;
  for (const auto& [ranks, params] : layout.params) {
    all.insert(ranks.begin(), ranks.end());
    for (JsonDoc& entry : FoldParams(params, RangesText(ranks))) entries.Add(std::move(entry));
  }
  JsonDoc mesh = JsonDoc::Object();
  mesh.Set("axes", JsonDoc::Array().Add("rank"))
      .Set("ranks", JsonDoc::Array(std::vector<int64_t>(all.begin(), all.end())));
  JsonDoc doc = JsonDoc::Object();
  doc.Set("format", "reshard-layout")
      .Set("version", 1)
      .Set("side", layout.source ? "source" : "destination")
      .Set("comment", layout.comment)
      .Set("logical", std::move(logical))
      .Set("meshes", JsonDoc::Object().Set(layout.mesh, std::move(mesh)))
      .Set("explicit", std::move(entries));
  return doc;
}

}  // namespace reshard
