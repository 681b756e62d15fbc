#include "tests/property/layout_arrays.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "compiler/layout/rank_params.h"
#include "compiler/layout/testing/layout_test_input.h"
#include "compiler/plan_tools/naive_layout.h"
#include "tests/oracle/element_array.h"

namespace reshard {
namespace {

constexpr int32_t kUnset = -9;   // no place or fill covers the element
constexpr int32_t kTwice = -10;  // more than one does

struct Input {
  LayoutTestInput input;
  std::map<std::string, int64_t> first_ids;
};

// Visits every combination of counts below `extents`.
template <typename Visit>
void ForEachCount(const std::vector<int64_t>& extents, Visit visit) {
  std::vector<int64_t> count(extents.size(), 0);
  while (true) {
    visit(count);
    size_t d = extents.size();
    while (d > 0 && ++count[d - 1] == extents[d - 1]) count[--d] = 0;
    if (d == 0) return;
  }
}

class ArrayWriter {
 public:
  ArrayWriter(const Input& input, const Layout& layout, const ParamInstance& param)
      : input_(input), layout_(layout), param_(param), family_(layout.families[param.family]) {
    out_.shape = family_.shape;
    item_bytes_ = DTypeBytes(family_.dtype);
    out_.ids.assign(static_cast<size_t>(family_.bytes / item_bytes_), kUnset);
  }

  ElementArray Write() {
    for (const Place& place : PlacesOf(layout_, param_.family)) AddPlace(place);
    for (const Fill& fill : FillsOf(layout_, param_.family)) AddFill(fill);
    return out_;
  }

 private:
  void Set(int64_t offset_bytes, int32_t id) {
    // An element that is cut or outside shows as a difference too.
    if (offset_bytes % item_bytes_ != 0 || offset_bytes / item_bytes_ < 0 ||
        offset_bytes / item_bytes_ >= static_cast<int64_t>(out_.ids.size())) {
      out_.ids.push_back(kTwice);
      return;
    }
    int32_t& at = out_.ids[static_cast<size_t>(offset_bytes / item_bytes_)];
    at = at == kUnset ? id : kTwice;
  }

  void AddPlace(const Place& place) {
    const SuperTensor& super = input_.input.table.supers[place.super];
    std::vector<int64_t> extents;
    std::vector<std::pair<size_t, PlaceDigit>> digits;
    for (size_t axis = 0; axis < place.axes.size(); ++axis) {
      for (const PlaceDigit& digit : place.axes[axis].digits) {
        extents.push_back(digit.extent);
        digits.emplace_back(axis, digit);
      }
    }
    ForEachCount(extents, [&](const std::vector<int64_t>& count) {
      std::vector<int64_t> index;
      for (const PlaceAxis& axis : place.axes) index.push_back(axis.begin);
      int64_t offset = place.base_bytes;
      int64_t instance = place.base_instance;
      for (size_t i = 0; i < count.size(); ++i) {
        index[digits[i].first] += count[i] * digits[i].second.step;
        offset += count[i] * digits[i].second.stride_bytes;
        instance += count[i] * digits[i].second.instance_stride;
      }
      if (instance != param_.instance) return;
      const auto dims = index.begin() + static_cast<std::ptrdiff_t>(super.loop_count());
      int64_t element = input_.first_ids.at(super.name.Instance({index.begin(), dims}));
      int64_t row_major = 0;
      for (size_t d = 0; d < super.shape.size(); ++d) {
        row_major = row_major * super.shape[d] + dims[static_cast<std::ptrdiff_t>(d)];
      }
      element += row_major;
      Set(offset, static_cast<int32_t>(element));
    });
  }

  void AddFill(const Fill& fill) {
    const int32_t id = fill.rule == FillRule::kZero ? ElementArray::kZero : ElementArray::kKeep;
    std::vector<int64_t> extents;
    for (const Fill::Dim& dim : fill.dims) extents.push_back(dim.extent);
    ForEachCount(extents, [&](const std::vector<int64_t>& count) {
      int64_t offset = fill.base_bytes;
      for (size_t i = 0; i < count.size(); ++i) offset += count[i] * fill.dims[i].stride_bytes;
      // Fills speak of bytes: one per element is looked at.
      if (offset % item_bytes_ == 0) Set(offset, id);
    });
  }

  const Input& input_;
  const Layout& layout_;
  const ParamInstance param_;
  const ParamFamily& family_;
  ElementArray out_;
  int64_t item_bytes_ = 1;
};

}  // namespace

bool LayoutJobParams(const std::string& train, const std::string& infer, std::vector<JobParam>* out,
                     std::string* error) {
  const auto shared = std::make_shared<Input>(Input{LayoutTestInput(train, infer), {}});
  const LayoutTestInput& input = shared->input;
  if (!input.good) {
    *error = input.Text();
    return false;
  }
  NaiveTensors tensors;
  if (!tensors.Make(&input.source_spec, infer.empty() ? nullptr : &input.destination_spec, error)) {
    return false;
  }
  int64_t next_id = 0;
  for (const NaiveTensor& tensor : tensors.tensors()) {
    shared->first_ids[tensor.name] = next_id;
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    next_id += count;
  }
  for (const bool destination : {false, true}) {
    const Layout& layout = destination ? input.destination : input.source;
    for (const Rank rank : layout.ranks) {
      for (const ParamInstance& param : ParamsOfRank(layout, rank)) {
        const ParamFamily& family = layout.families[param.family];
        if (family.external) continue;
        out->push_back(
            {rank, destination, NameOf(layout, param), DTypeBytes(family.dtype),
             [shared, &layout, param] { return ArrayWriter(*shared, layout, param).Write(); }});
      }
    }
  }
  return true;
}

std::string DifferenceOf(const std::vector<JobParam>& found,
                         const std::vector<JobParam>& expected) {
  using Key = std::tuple<uint32_t, bool, std::string>;
  std::map<Key, const JobParam*> by_key;
  for (const JobParam& param : expected) {
    by_key[{param.rank, param.destination, param.name}] = &param;
  }
  const auto text = [](const JobParam& param) {
    return "'" + param.name + "' on " + (param.destination ? "destination" : "source") + " rank " +
           std::to_string(param.rank);
  };
  for (const JobParam& param : found) {
    const auto it = by_key.find({param.rank, param.destination, param.name});
    if (it == by_key.end()) return text(param) + " is not expected, or twice";
    const ElementArray got = param.elements();
    const ElementArray wanted = it->second->elements();
    if (got.shape != wanted.shape) return text(param) + " has another shape";
    if (param.element_bytes != it->second->element_bytes) return text(param) + ": element size";
    for (size_t i = 0; i < std::max(got.ids.size(), wanted.ids.size()); ++i) {
      const int32_t g = i < got.ids.size() ? got.ids[i] : kUnset;
      const int32_t w = i < wanted.ids.size() ? wanted.ids[i] : kUnset;
      if (g == w) continue;
      return text(param) + ": element " + std::to_string(i) + " is " + std::to_string(g) +
             ", expected " + std::to_string(w);
    }
    by_key.erase(it);
  }
  return by_key.empty() ? "" : text(*by_key.begin()->second) + " is missing";
}

}  // namespace reshard
