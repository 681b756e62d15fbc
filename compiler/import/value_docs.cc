#include "compiler/import/value_docs.h"

namespace reshard {
namespace {

JsonDoc ListDoc(std::vector<JsonDoc> items) {
  JsonDoc list = JsonDoc::Array();
  for (JsonDoc& item : items) list.Add(std::move(item));
  return list;
}

}  // namespace

JsonDoc ShardDoc(const ShardRule& rule, JsonDoc in) {
  JsonDoc doc = JsonDoc::Object();
  doc.Set("op", "shard").Set("dim", rule.dim).Set("axes", JsonDoc::Array(rule.axes));
  if (!rule.unit.empty()) doc.Set("unit", rule.unit);
  if (rule.replicate_if_fewer) doc.Set("replicate_if_fewer", JsonDoc::Literal("true"));
  return doc.Set("in", std::move(in));
}

JsonDoc CatDoc(std::vector<JsonDoc> in) {
  return JsonDoc::Object().Set("op", "cat").Set("in", ListDoc(std::move(in)));
}

JsonDoc GroupCatDoc(std::string groups, std::vector<JsonDoc> in) {
  return JsonDoc::Object()
      .Set("op", "group_cat")
      .Set("groups", groups)
      .Set("in", ListDoc(std::move(in)));
}

JsonDoc StackDoc(std::string variable, std::string range, JsonDoc in) {
  return JsonDoc::Object()
      .Set("op", "stack")
      .Set("over", JsonDoc::Object().Set(std::move(variable), range))
      .Set("in", std::move(in));
}

JsonDoc PadDoc(const char* key, JsonDoc extent, JsonDoc in) {
  return JsonDoc::Object().Set("op", "pad").Set(key, std::move(extent)).Set("in", std::move(in));
}

JsonDoc IndexDoc(int64_t dim, JsonDoc at, JsonDoc in) {
  return JsonDoc::Object()
      .Set("op", "index")
      .Set("dim", dim)
      .Set("at", std::move(at))
      .Set("in", std::move(in));
}

JsonDoc PermuteDoc(const std::vector<int64_t>& dims, JsonDoc in) {
  return JsonDoc::Object()
      .Set("op", "permute")
      .Set("dims", JsonDoc::Array(dims))
      .Set("in", std::move(in));
}

JsonDoc SliceDoc(int64_t dim, JsonDoc start, JsonDoc stop, int64_t step, JsonDoc in) {
  JsonDoc doc = JsonDoc::Object();
  doc.Set("op", "slice").Set("dim", dim).Set("start", std::move(start));
  doc.Set("stop", std::move(stop));
  if (step != 1) doc.Set("step", step);
  return doc.Set("in", std::move(in));
}

JsonDoc MeshDoc(const std::vector<std::pair<std::string, int64_t>>& axes) {
  JsonDoc names = JsonDoc::Array();
  JsonDoc shape = JsonDoc::Array();
  for (const auto& [name, size] : axes) {
    names.Add(name);
    shape.Add(size);
  }
  return JsonDoc::Object().Set("axes", std::move(names)).Set("shape", std::move(shape));
}

}  // namespace reshard
