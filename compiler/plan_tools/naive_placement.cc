#include "compiler/plan_tools/naive_placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

using Kind = PlacementSpec::Kind;

// Part `part` of `parts` as torch.chunk cuts: equal parts rounded up, the last ones short or empty.
bool Chunk(size_t dim, int64_t parts, int64_t part, NaiveOps* ops, NaiveView* view) {
  const int64_t extent = view->shape[dim];
  const int64_t full = *CheckedCeilDiv(extent, parts);
  const int64_t begin = *CheckedMul(full, part);
  return ops->Slice(dim, std::min(begin, extent), std::min(begin + full, extent), 1, view);
}

// Which mesh axes cut each dim, in the order in which they do. A strided shard with factor f comes
// after axes of f ranks together, which stand to its right in the mesh.
bool CutOrder(const std::vector<PlacementSpec>& placements, const std::vector<size_t>& dims,
              const NaiveMesh& mesh, std::map<size_t, std::vector<size_t>>* out) {
  for (size_t axis = placements.size(); axis-- > 0;) {
    const PlacementSpec& placement = placements[axis];
    if (placement.kind == Kind::kReplicate) continue;
    std::vector<size_t>& order = (*out)[dims[axis]];
    const int64_t before = placement.kind == Kind::kStridedShard ? placement.split_factor : 1;
    int64_t product = 1;
    size_t at = 0;
    while (product != before && at < order.size()) product *= mesh.shape[order[at++]];
    if (product != before) return false;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  return true;
}

bool ApplyInOrder(const std::vector<PlacementSpec>& placements, const std::vector<size_t>& dims,
                  const NaiveMesh& mesh, const std::vector<int64_t>& coords, NaiveOps* ops,
                  NaiveView* view) {
  std::map<size_t, std::vector<size_t>> order;
  if (!CutOrder(placements, dims, mesh, &order)) {
    return ops->Fail("no order of the mesh axes gives these split factors");
  }
  for (const auto& [dim, axes] : order) {
    for (const size_t axis : axes) {
      if (!Chunk(dim, mesh.shape[axis], coords[axis], ops, view)) return false;
    }
  }
  return true;
}

// Left to right; a strided shard takes its part of each of `split_factor` chunks.
bool Replay(const std::vector<PlacementSpec>& placements, const std::vector<size_t>& dims,
            const NaiveMesh& mesh, const std::vector<int64_t>& coords, NaiveOps* ops,
            NaiveView* view) {
  for (size_t axis = 0; axis < placements.size(); ++axis) {
    const PlacementSpec& placement = placements[axis];
    if (placement.kind == Kind::kReplicate) continue;
    const size_t dim = dims[axis];
    if (placement.kind == Kind::kShard) {
      if (!Chunk(dim, mesh.shape[axis], coords[axis], ops, view)) return false;
      continue;
    }
    std::vector<NaiveView> parts;
    // Chunks behind the end of the dim are empty.
    const int64_t chunks = std::min(placement.split_factor, std::max<int64_t>(1, view->shape[dim]));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      NaiveView& part = parts.emplace_back(*view);
      if (!Chunk(dim, placement.split_factor, chunk, ops, &part)) return false;
      if (!Chunk(dim, mesh.shape[axis], coords[axis], ops, &part)) return false;
    }
    if (!ops->Cat(dim, std::move(parts), view)) return false;
  }
  return true;
}

using Reading = bool (*)(const std::vector<PlacementSpec>&, const std::vector<size_t>&,
                         const NaiveMesh&, const std::vector<int64_t>&, NaiveOps*, NaiveView*);

// The indices of a dim of `extent` that a reading keeps, in order, as runs of (first, count).
bool RunsAlong(Reading read, size_t dim, int64_t extent, std::vector<PlacementSpec> placements,
               std::vector<size_t> dims, const NaiveMesh& mesh, const std::vector<int64_t>& coords,
               NaiveOps* ops, std::vector<std::pair<int64_t, int64_t>>* out) {
  for (size_t axis = 0; axis < placements.size(); ++axis) {
    if (dims[axis] != dim) placements[axis].kind = Kind::kReplicate;
    dims[axis] = 0;
  }
  NaiveView line;
  if (!ops->Whole(0, {extent}, DType::kU8, &line)) return false;
  if (!read(placements, dims, mesh, coords, ops, &line)) return false;
  std::sort(line.pieces.begin(), line.pieces.end(),
            [](const NaivePiece& a, const NaivePiece& b) { return a.at < b.at; });
  for (const NaivePiece& piece : line.pieces) {
    const bool continues = !out->empty() && out->back().first + out->back().second == piece.from[0];
    if (!continues) out->emplace_back(piece.from[0], 0);
    out->back().second += piece.element_count();
  }
  return true;
}

}  // namespace

std::optional<std::vector<int64_t>> NaiveMesh::Coordinates(uint32_t rank) const {
  const auto it = position.find(rank);
  if (it == position.end()) return std::nullopt;
  std::vector<int64_t> coords(shape.size());
  auto rest = static_cast<int64_t>(it->second);
  for (size_t i = shape.size(); i-- > 0;) {
    coords[i] = rest % shape[i];
    rest /= shape[i];
  }
  return coords;
}

bool ApplyPlacements(const ParamSpec& spec, const NaiveMesh& mesh,
                     const std::vector<int64_t>& coords, NaiveOps* ops, NaiveView* view) {
  const auto rank = static_cast<int64_t>(view->shape.size());
  if (spec.placements.size() != mesh.axes.size()) {
    return ops->Fail("there are not as many placements as mesh axes");
  }
  std::vector<size_t> dims;
  bool strided = false;
  for (const PlacementSpec& placement : spec.placements) {
    if (placement.kind == Kind::kPartial) return ops->Fail("a partial placement holds no values");
    const int64_t dim = placement.dim < 0 ? placement.dim + rank : placement.dim;
    const bool cuts = placement.kind != Kind::kReplicate;
    if (cuts && (dim < 0 || dim >= rank)) return ops->Fail("a placement cuts no dim of the value");
    dims.push_back(cuts ? static_cast<size_t>(dim) : 0);
    strided = strided || placement.kind == Kind::kStridedShard;
  }
  if (!strided || spec.strided == StridedReading::kReplay) {
    return Replay(spec.placements, dims, mesh, coords, ops, view);
  }
  if (spec.strided == StridedReading::kOrder) {
    return ApplyInOrder(spec.placements, dims, mesh, coords, ops, view);
  }
  for (size_t dim = 0; dim < view->shape.size(); ++dim) {
    std::vector<std::pair<int64_t, int64_t>> order;
    std::vector<std::pair<int64_t, int64_t>> replay;
    const int64_t extent = view->shape[dim];
    if (!RunsAlong(ApplyInOrder, dim, extent, spec.placements, dims, mesh, coords, ops, &order) ||
        !RunsAlong(Replay, dim, extent, spec.placements, dims, mesh, coords, ops, &replay)) {
      return false;
    }
    if (order != replay) return ops->Fail("the two readings of a strided shard differ here");
  }
  return ApplyInOrder(spec.placements, dims, mesh, coords, ops, view);
}

}  // namespace reshard
