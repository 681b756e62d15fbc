#include "compiler/import/fold_tensors.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/import/numbered_name.h"

namespace reshard {
namespace {

using Indices = std::vector<std::vector<int64_t>>;  // sorted tuples
using Product = std::vector<std::vector<int64_t>>;  // the values of each loop

// Cuts the tuples [begin, end), equal before `dim`, into products of the values from `dim` on.
std::vector<Product> CutProducts(Indices::const_iterator begin, Indices::const_iterator end,
                                 size_t dim) {
  if (dim == begin->size()) return {{}};
  std::vector<std::pair<std::vector<Product>, std::vector<int64_t>>> groups;
  std::map<std::vector<Product>, size_t> known;
  while (begin != end) {
    const int64_t value = (*begin)[dim];
    const auto next =
        std::find_if(begin, end, [&](const auto& tuple) { return tuple[dim] != value; });
    std::vector<Product> rest = CutProducts(begin, next, dim + 1);
    const auto [place, added] = known.try_emplace(rest, groups.size());
    if (added) groups.push_back({std::move(rest), {}});
    groups[place->second].second.push_back(value);
    begin = next;
  }
  std::vector<Product> products;
  for (const auto& [rest, values] : groups) {
    for (const Product& product : rest) {
      products.push_back({values});
      products.back().insert(products.back().end(), product.begin(), product.end());
    }
  }
  return products;
}

std::string VariableFor(std::string_view after, const std::vector<TemplateLoop>& loops) {
  const auto is_free = [&](std::string_view name) {
    return std::none_of(loops.begin(), loops.end(),
                        [&](const TemplateLoop& loop) { return loop.variable == name; });
  };
  if (after == "layers" && is_free("l")) return "l";
  if (after == "experts" && is_free("e")) return "e";
  for (char c = 'i';; ++c) {
    if (c != 'l' && is_free({&c, 1})) return std::string(1, c);
  }
}

TensorTemplate MakeTemplate(const NameForm& form, const Product& product) {
  TensorTemplate made;
  std::vector<std::string> variables;
  std::string after;
  for (const NameForm::Part& part : form.parts) {
    if (part.is_number) {
      made.loops.push_back({VariableFor(after, made.loops), after, product[made.loops.size()]});
      variables.push_back("{" + made.loops.back().variable + "}");
    }
    after = part.word;
  }
  made.name = WriteName(form, variables);
  return made;
}

std::string RangeText(int64_t first, int64_t last, int64_t step) {
  std::string text = std::to_string(first) + ".." + std::to_string(last + 1);
  if (step != 1) text += ".." + std::to_string(step);
  return text;
}

}  // namespace

int64_t TensorTemplate::tensor_count() const {
  int64_t count = 1;
  for (const TemplateLoop& loop : loops) count *= static_cast<int64_t>(loop.values.size());
  return count;
}

const TemplateLoop* TensorTemplate::LoopAfter(std::string_view part) const {
  for (const TemplateLoop& loop : loops) {
    if (loop.after == part) return &loop;
  }
  return nullptr;
}

std::vector<TensorTemplate> FoldTensors(const std::vector<ModelTensor>& tensors) {
  struct Group {
    size_t first = 0;  // of its tensors
    Indices indices;
    std::map<std::vector<int64_t>, size_t> tensor_of;
  };
  std::map<std::tuple<NameForm, std::vector<int64_t>, DType>, Group> groups;
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto [form, indices] = CutName(tensors[i].name);
    const auto [place, added] =
        groups.try_emplace({std::move(form), tensors[i].shape, tensors[i].dtype});
    if (added) place->second.first = i;
    place->second.tensor_of.try_emplace(indices, i);
    place->second.indices.push_back(std::move(indices));
  }
  std::vector<std::pair<size_t, TensorTemplate>> made;  // by first tensor
  for (auto& [key, group] : groups) {
    std::sort(group.indices.begin(), group.indices.end());
    for (const Product& product : CutProducts(group.indices.begin(), group.indices.end(), 0)) {
      TensorTemplate tensor = MakeTemplate(std::get<0>(key), product);
      std::vector<int64_t> lowest;
      for (const std::vector<int64_t>& values : product) lowest.push_back(values.front());
      const size_t first = group.tensor_of.at(lowest);
      tensor.shape = std::get<1>(key);
      tensor.dtype = std::get<2>(key);
      tensor.first_name = tensors[first].name;
      tensor.span = tensors[first].span;
      made.emplace_back(first, std::move(tensor));
    }
  }
  std::sort(made.begin(), made.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorTemplate> out;
  for (auto& [first, tensor] : made) out.push_back(std::move(tensor));
  return out;
}

JsonDoc RangeDoc(const std::vector<int64_t>& values) {
  JsonDoc list = JsonDoc::Array();
  for (size_t i = 0; i < values.size();) {
    // As many values as follow at one distance.
    size_t end = i + 1;
    const int64_t step = end < values.size() ? values[end] - values[i] : 1;
    while (end < values.size() && values[end] - values[end - 1] == step) ++end;
    if (end - i == values.size()) return RangeText(values[i], values[end - 1], step);
    if (end - i >= 3) {
      list.Add(RangeText(values[i], values[end - 1], step));
      i = end;
    } else {
      list.Add(values[i++]);
    }
  }
  return list;
}

JsonDoc LogicalDoc(const TensorTemplate& tensors) {
  JsonDoc entry = JsonDoc::Object();
  if (!tensors.loops.empty()) {
    JsonDoc loops = JsonDoc::Object();
    for (const TemplateLoop& loop : tensors.loops) loops.Set(loop.variable, RangeDoc(loop.values));
    entry.Set("for", std::move(loops));
  }
  entry.Set("name", tensors.name).Set("shape", JsonDoc::Array(tensors.shape));
  if (tensors.dtype != DType::kBf16) entry.Set("dtype", DTypeText(tensors.dtype));
  return entry;
}

}  // namespace reshard
