#include "compiler/transfer/tensor_boxes.h"

#include "compiler/transfer/partition.h"
#include "compiler/transfer/refine.h"

namespace reshard {

TensorBoxes::TensorBoxes(const SuperTensor& super, const std::vector<RefinedDim>& dims)
    : super_(super), dims_(dims) {
  while (loop_dims_ < dims.size() && dims[loop_dims_].axis < super.loop_count()) ++loop_dims_;
}

bool TensorBoxes::TensorsIn(const BoxList& boxes, WorkBudget* budget, BoxList* out) const {
  BoxList projected(loop_dims_);
  for (uint32_t box = 0; box < boxes.count(); ++box) {
    const BoxView loops = boxes[box].first(loop_dims_);
    // Boxes of one tensor stand together when they are sorted.
    if (projected.count() > 0 && BoxesEqual(projected[projected.count() - 1], loops)) continue;
    projected.Add(loops);
  }
  Partition partition;
  if (!PartitionBoxes(projected, budget, &partition)) return false;
  *out = std::move(partition.atoms);
  return true;
}

bool TensorBoxes::TensorsOutside(const BoxList& boxes, WorkBudget* budget, BoxList* out) const {
  Place all;
  AxisWeights weights(super_.loop_count());
  for (size_t d = 0; d < loop_dims_; ++d) weights[dims_[d].axis].push_back(dims_[d].weight);
  for (size_t axis = 0; axis < super_.loop_count(); ++axis) {
    all.axes.push_back({super_.loop_begin[axis], {{super_.loop_extent[axis], 1, 0, 0}}});
  }
  std::vector<BoxPlace> whole;
  if (!RefinePlace(all, weights, Side::kSource, budget, &whole)) return false;
  BoxList touched(loop_dims_);
  if (!TensorsIn(boxes, budget, &touched)) return false;

  BoxList both(loop_dims_);
  for (const BoxPlace& place : whole) {
    std::vector<BoxDim> box;
    for (const BoxPlace::Dim& dim : place.dims) box.push_back({dim.begin, dim.extent});
    both.Add(box);
  }
  const uint32_t first_touched = both.count();
  for (uint32_t box = 0; box < touched.count(); ++box) both.Add(touched[box]);
  Partition partition;
  if (!PartitionBoxes(both, budget, &partition)) return false;
  *out = BoxList(loop_dims_);
  for (uint32_t atom = 0; atom < partition.atoms.count(); ++atom) {
    if (partition.Cover(atom).back() < first_touched) out->Add(partition.atoms[atom]);
  }
  return true;
}

void TensorBoxes::ForEach(const BoxList& tensors,
                          const std::function<bool(const std::vector<int64_t>& point)>& visit) {
  for (uint32_t box = 0; box < tensors.count(); ++box) {
    const BoxView view = tensors[box];
    std::vector<int64_t> point;
    for (const BoxDim& dim : view) point.push_back(dim.begin);
    for (bool more = true; more;) {
      if (!visit(point)) return;
      size_t d = point.size();
      while (d > 0 && ++point[d - 1] == view[d - 1].end()) {
        point[d - 1] = view[d - 1].begin;
        --d;
      }
      more = d > 0;
    }
  }
}

std::string TensorBoxes::Name(const std::vector<int64_t>& point) const {
  std::vector<int64_t> values(super_.loop_count());
  for (size_t d = 0; d < loop_dims_; ++d) values[dims_[d].axis] += point[d] * dims_[d].weight;
  return super_.name.Instance(values);
}

std::string TensorBoxes::Elements(BoxView box) const {
  std::string text = "[";
  for (size_t d = loop_dims_; d < dims_.size();) {
    size_t end = d + 1;
    while (end < dims_.size() && dims_[end].axis == dims_[d].axis) ++end;
    int64_t begin = 0;
    for (size_t i = d; i < end; ++i) begin += box[i].begin * dims_[i].weight;
    int64_t extent = 1;
    for (size_t i = end; i-- > d && extent == dims_[i].weight;) extent *= box[i].extent;
    if (text.size() > 1) text += ", ";
    text += std::to_string(begin) + ":" + std::to_string(begin + extent);
    d = end;
  }
  return text + "]";
}

bool TensorBoxes::Touches(BoxView box, const std::vector<int64_t>& point) const {
  for (size_t d = 0; d < loop_dims_; ++d) {
    if (point[d] < box[d].begin || point[d] >= box[d].end()) return false;
  }
  return true;
}

}  // namespace reshard
