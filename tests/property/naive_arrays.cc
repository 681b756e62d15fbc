#include "tests/property/naive_arrays.h"

#include <memory>
#include <sstream>
#include <utility>

#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/plan_tools/naive_layout.h"
#include "tests/oracle/element_array.h"

namespace reshard {
namespace {

bool ReadSpec(const std::string& name, const std::string& text, SourceMap* sources, LayoutSpec* out,
              std::string* error) {
  Diagnostics diags;
  JsonNode root;
  if (ReadJson(*sources, sources->Add(name, text), &diags, &root) &&
      ReadLayoutSpec(root, &diags, out)) {
    return true;
  }
  std::ostringstream printed;
  diags.Print(*sources, 5, printed);
  *error = printed.str();
  return false;
}

int64_t RowMajor(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

// Element by element; an element that no piece or two pieces name is marked with -9.
ElementArray WriteOut(const NaiveView& view, const std::vector<NaiveTensor>& tensors,
                      const std::vector<int64_t>& first_ids) {
  constexpr int32_t kUnset = -9;
  ElementArray out;
  out.shape = view.shape;
  out.ids.assign(static_cast<size_t>(view.element_count()), kUnset);
  for (const NaivePiece& piece : view.pieces) {
    std::vector<int64_t> count(piece.digits.size());
    for (int64_t n = 0; n < piece.element_count(); ++n) {
      std::vector<int64_t> at = piece.at, from = piece.from;
      for (size_t d = 0; d < count.size(); ++d) {
        at[piece.digits[d].dim] += count[d] * piece.digits[d].step;
        if (!from.empty()) from[piece.digits[d].axis] += count[d] * piece.digits[d].tensor_step;
      }
      int32_t& id = out.ids[static_cast<size_t>(RowMajor(at, view.shape))];
      if (piece.tensor == kNaiveZeroFill) {
        id = id == kUnset ? ElementArray::kZero : kUnset;
      } else if (piece.tensor == kNaiveKeepFill) {
        id = id == kUnset ? ElementArray::kKeep : kUnset;
      } else {
        const int64_t element =
            first_ids[piece.tensor] + RowMajor(from, tensors[piece.tensor].shape);
        id = id == kUnset ? static_cast<int32_t>(element) : kUnset;
      }
      for (size_t d = count.size(); d-- > 0;) {
        if (++count[d] < piece.digits[d].extent) break;
        count[d] = 0;
      }
    }
  }
  return out;
}

}  // namespace

bool NaiveJobParams(const std::string& train, const std::string& infer, std::vector<JobParam>* out,
                    std::string* error) {
  SourceMap sources;
  LayoutSpec specs[2];
  if (!ReadSpec("train.json", train, &sources, &specs[0], error) ||
      !ReadSpec("infer.json", infer, &sources, &specs[1], error)) {
    return false;
  }
  NaiveTensors tensors;
  if (!tensors.Make(&specs[0], &specs[1], error)) return false;
  // Shared: there can be many thousand tensors and params.
  const auto all = std::make_shared<const std::vector<NaiveTensor>>(tensors.tensors());
  const auto first_ids = std::make_shared<std::vector<int64_t>>();
  int64_t next_id = 0;
  for (const NaiveTensor& tensor : tensors.tensors()) {
    first_ids->push_back(next_id);
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    next_id += count;
  }
  for (const bool destination : {false, true}) {
    NaiveLayout layout;
    if (!layout.Make(specs[destination ? 1 : 0], tensors, error)) return false;
    for (const uint32_t rank : layout.ranks()) {
      std::vector<NaiveParam> params;
      if (!layout.Params(rank, &params, error)) return false;
      for (NaiveParam& param : params) {
        if (param.external) continue;
        const int64_t element_bytes = DTypeBytes(param.view.dtype);
        out->push_back({rank, destination, param.name, element_bytes,
                        [all, first_ids, view = std::move(param.view)] {
                          return WriteOut(view, *all, *first_ids);
                        }});
      }
    }
  }
  return true;
}

}  // namespace reshard
