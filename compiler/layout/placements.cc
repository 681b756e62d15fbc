#include "compiler/layout/placements.h"

#include <algorithm>
#include <string>

namespace reshard {
namespace {

using Kind = PlacementSpec::Kind;

// Rising, disjoint runs of indices, none empty, no two adjacent in memory order.
struct IndexRun {
  int64_t begin = 0;
  int64_t count = 0;
  bool operator==(const IndexRun&) const = default;
};
using IndexRuns = std::vector<IndexRun>;

int64_t CountOf(const IndexRuns& runs) {
  int64_t count = 0;
  for (const IndexRun& run : runs) count += run.count;
  return count;
}

void Append(const IndexRun& run, IndexRuns* out) {
  if (run.count == 0) return;
  if (!out->empty() && out->back().begin + out->back().count == run.begin) {
    out->back().count += run.count;
  } else {
    out->push_back(run);
  }
}

// Entries [first, last) of the indices that `runs` list.
IndexRuns Part(const IndexRuns& runs, int64_t first, int64_t last) {
  IndexRuns part;
  int64_t position = 0;
  for (const IndexRun& run : runs) {
    const int64_t begin = std::max(first, position);
    const int64_t end = std::min(last, position + run.count);
    if (begin < end) Append({run.begin + begin - position, end - begin}, &part);
    position += run.count;
  }
  return part;
}

// torch.chunk: parts of ceil(n / parts) entries, of which the last ones may be short or empty.
IndexRuns Chunk(const IndexRuns& runs, int64_t parts, int64_t index) {
  const int64_t count = CountOf(runs);
  const int64_t each = count / parts + (count % parts != 0 ? 1 : 0);
  const int64_t first = index > count / std::max<int64_t>(each, 1) ? count : index * each;
  return Part(runs, std::min(first, count), std::min(first + each, count));
}

// The mesh axes that cut one dim, in the order in which they cut in the "order" reading: a strided
// shard with split factor f stands behind the later axes whose sizes multiply to f.
bool CutOrder(const ParamSpec& spec, const Mesh& mesh, const std::vector<int64_t>& dims,
              int64_t dim, std::vector<size_t>* order) {
  for (size_t axis = spec.placements.size(); axis-- > 0;) {
    const PlacementSpec& placement = spec.placements[axis];
    if (placement.kind == Kind::kReplicate || dims[axis] != dim) continue;
    const int64_t factor = placement.kind == Kind::kStridedShard ? placement.split_factor : 1;
    int64_t product = 1;
    size_t at = 0;
    while (product != factor && at < order->size()) product *= mesh.shape[(*order)[at++]];
    if (product != factor) return false;
    order->insert(order->begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  return true;
}

class PlacementCutter {
 public:
  PlacementCutter(const ParamSpec& spec, const Mesh& mesh, EvalContext* context, View* view)
      : spec_(spec), mesh_(mesh), context_(*context), view_(*view) {}

  Outcome Apply() {
    const auto rank = static_cast<int64_t>(view_.shape.size());
    bool strided = false;
    for (const PlacementSpec& placement : spec_.placements) {
      dims_.push_back(placement.dim);
      if (placement.kind == Kind::kReplicate) continue;
      if (placement.dim < -rank || placement.dim >= rank) {
        return context_.Fail(DiagnosticCode::kBadPlacement, placement.span,
                             "dim " + std::to_string(placement.dim) + " of a value with " +
                                 std::to_string(rank) + " dimensions");
      }
      if (placement.dim < 0) dims_.back() += rank;
      strided |= placement.kind == Kind::kStridedShard;
      if (placement.kind == Kind::kStridedShard && placement.split_factor < 1) {
        return context_.Fail(
            DiagnosticCode::kBadPlacement, placement.span,
            "split factor " + std::to_string(placement.split_factor) + ", expected at least 1");
      }
    }
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (const Outcome o = CutDim(dim, strided); o != Outcome::kDone) return o;
    }
    return Outcome::kDone;
  }

 private:
  Outcome CutDim(int64_t dim, bool strided) {
    const bool touched = std::any_of(
        spec_.placements.begin(), spec_.placements.end(), [&](const PlacementSpec& placement) {
          const auto axis = static_cast<size_t>(&placement - spec_.placements.data());
          return placement.kind != Kind::kReplicate && dims_[axis] == dim;
        });
    if (!touched) return Outcome::kDone;
    const int64_t extent = view_.shape[static_cast<size_t>(dim)];
    IndexRuns kept;
    if (!strided || spec_.strided == StridedReading::kReplay) {
      if (const Outcome o = Replay(dim, extent, &kept); o != Outcome::kDone) return o;
    } else if (spec_.strided == StridedReading::kOrder) {
      if (const Outcome o = Order(dim, extent, &kept); o != Outcome::kDone) return o;
    } else {
      IndexRuns replayed;
      if (const Outcome o = Replay(dim, extent, &replayed); o != Outcome::kDone) return o;
      if (const Outcome o = Order(dim, extent, &kept); o != Outcome::kDone) return o;
      if (kept != replayed) {
        return context_.Fail(DiagnosticCode::kStridedAmbiguous, spec_.placements_span,
                             "the strided placements can be read in two ways that differ here; "
                             "state \"strided\": \"order\" or \"replay\"");
      }
    }
    Keep(static_cast<uint32_t>(dim), extent, kept);
    return Outcome::kDone;
  }

  int64_t coordinate(size_t axis) const { return context_.scope->value(axis); }

  // Placements left to right. A strided shard cuts each of `split_factor` chunks and keeps its part
  // of every one.
  Outcome Replay(int64_t dim, int64_t extent, IndexRuns* kept) {
    kept->clear();
    Append({0, extent}, kept);
    for (size_t axis = 0; axis < spec_.placements.size(); ++axis) {
      const PlacementSpec& placement = spec_.placements[axis];
      if (placement.kind == Kind::kReplicate || dims_[axis] != dim) continue;
      const int64_t ranks = mesh_.shape[axis];
      if (placement.kind == Kind::kShard) {
        *kept = Chunk(*kept, ranks, coordinate(axis));
        continue;
      }
      // Chunks behind the last element are empty.
      const int64_t chunks = std::min(placement.split_factor, std::max<int64_t>(CountOf(*kept), 1));
      if (!context_.budget->Charge(chunks)) {
        return context_.Fail(DiagnosticCode::kTooManyPieces, placement.span,
                             "the strided shard has too many parts");
      }
      IndexRuns next;
      for (int64_t c = 0; c < chunks; ++c) {
        const IndexRuns chunk = Chunk(*kept, placement.split_factor, c);
        for (const IndexRun& run : Chunk(chunk, ranks, coordinate(axis))) Append(run, &next);
      }
      *kept = std::move(next);
    }
    return Outcome::kDone;
  }

  Outcome Order(int64_t dim, int64_t extent, IndexRuns* kept) {
    std::vector<size_t> order;
    if (!CutOrder(spec_, mesh_, dims_, dim, &order)) {
      return context_.Fail(DiagnosticCode::kBadPlacement, spec_.placements_span,
                           "a split factor is no product of the sizes of later mesh axes that cut "
                           "dim " +
                               std::to_string(dim));
    }
    kept->clear();
    Append({0, extent}, kept);
    for (const size_t axis : order) *kept = Chunk(*kept, mesh_.shape[axis], coordinate(axis));
    return Outcome::kDone;
  }

  void Keep(uint32_t dim, int64_t extent, const IndexRuns& kept) {
    if (kept.size() == 1 && kept[0].count == extent) return;
    std::vector<View> parts;
    for (const IndexRun& run : kept) {
      parts.push_back(SliceView(view_, dim, run.begin, run.begin + run.count, 1, context_.budget));
    }
    if (parts.empty()) parts.push_back(SliceView(view_, dim, 0, 0, 1, context_.budget));
    view_ = parts.size() == 1 ? std::move(parts[0]) : ConcatViews(parts, dim, context_.budget);
  }

  const ParamSpec& spec_;
  const Mesh& mesh_;
  EvalContext& context_;
  View& view_;
  std::vector<int64_t> dims_;  // of each placement, from 0
};

}  // namespace

VarMask PlacementMask(const ParamSpec& spec, const Mesh& mesh) {
  VarMask mask = 0;
  for (size_t axis = 0; axis < spec.placements.size() && axis < mesh.axes.size(); ++axis) {
    if (spec.placements[axis].kind != Kind::kReplicate) mask |= VarMask{1} << axis;
  }
  return mask;
}

bool CheckPlacements(const ParamSpec& spec, const Mesh& mesh, Diagnostics* diags) {
  if (!spec.has_placements) return true;
  if (spec.placements.size() != mesh.axes.size()) {
    diags->Error(DiagnosticCode::kBadPlacement, spec.placements_span,
                 std::to_string(spec.placements.size()) + " placements, expected " +
                     std::to_string(mesh.axes.size()) + ": one per axis of mesh '" + mesh.name +
                     "'");
    return false;
  }
  for (const PlacementSpec& placement : spec.placements) {
    if (placement.kind != Kind::kPartial) continue;
    diags->Error(DiagnosticCode::kPartialPlacement, placement.span,
                 "'" + spec.name.source +
                     "' has a partial placement: its bytes are not the value; reduce it first");
    return false;
  }
  return true;
}

Outcome ApplyPlacements(const ParamSpec& spec, const Mesh& mesh, EvalContext* context, View* view) {
  if (!spec.has_placements) return Outcome::kDone;
  return PlacementCutter(spec, mesh, context, view).Apply();
}

}  // namespace reshard
