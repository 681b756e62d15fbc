#include "compiler/transfer/transfer_set.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/transfer/coverage.h"
#include "compiler/transfer/name_ranks.h"
#include "compiler/transfer/overlap_pairs.h"
#include "compiler/transfer/refine.h"
#include "compiler/transfer/side_atoms.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/dtype.h"

namespace reshard {
namespace {

// Elementary steps; a layout within its piece budget that needs more is built to need them.
constexpr int64_t kMaxWork = int64_t{1} << 31;

// A cell before the cells of a class are brought together.
struct ClassedCell {
  ClassId cls = 0;
  Cell cell;
};

class TransferBuilder {
 public:
  TransferBuilder(const LogicalTable& table, const Layout& source, const Layout& destination,
                  Diagnostics* diags, TransferSet* out)
      : table_(table), source_(source), destination_(destination), diags_(diags), out_(out) {}

  bool Build();

 private:
  bool CheckSharedRanks();
  bool CheckSizes();
  void ChooseDims();
  bool RefineSide(const Layout& layout, Side side);
  void SortPlaces();
  void InternRanks();
  bool AddSupers();
  bool AddCells(SuperId super, const SideAtoms& source, const SideAtoms& destination,
                const std::vector<BoxPair>& overlaps);
  ClassId ClassOf(RankSetId holders, RankSetId needers);
  bool GatherClasses();
  PlaceRange NextRange(Side side, SuperId super, size_t* next) const;
  bool TooLarge(SuperId super);

  const LogicalTable& table_;
  const Layout& source_;
  const Layout& destination_;
  Diagnostics* diags_;
  TransferSet* out_;
  WorkBudget pieces_{kMaxPieces};
  WorkBudget work_{kMaxWork};
  std::vector<AxisWeights> weights_;  // per super-tensor
  std::vector<ClassedCell> cells_;
  std::unordered_map<uint64_t, ClassId> class_ids_;  // by holders and needers; only looked up
};

bool TransferBuilder::TooLarge(SuperId super) {
  const SuperTensor& tensor = table_.supers[super];
  diags_->Error(DiagnosticCode::kTooManyPieces, tensor.declared,
                "'" + tensor.name.Describe(tensor.loop_begin, tensor.loop_extent) +
                    "' and what stands before it make more than " + std::to_string(kMaxPieces) +
                    " pieces where the two layouts meet");
  return false;
}

bool TransferBuilder::CheckSharedRanks() {
  const RankList shared = Intersection(source_.ranks, destination_.ranks);
  if (shared.empty() || destination_.colocated) return true;
  const auto mesh_span = [&](const Layout& layout) {
    for (const Mesh& mesh : layout.meshes) {
      if (std::find(mesh.ranks.begin(), mesh.ranks.end(), shared[0]) != mesh.ranks.end()) {
        return mesh.span;
      }
    }
    return Span{layout.file, 0, 0};
  };
  Diagnostic& error = diags_->Error(
      DiagnosticCode::kRanksShared, mesh_span(destination_),
      "both layouts have " + NameRanks(shared) +
          ", expected none in common unless the destination says \"colocated\": true");
  error.notes.push_back(
      {mesh_span(source_), "rank " + std::to_string(shared[0]) + " of the source is here"});
  return false;
}

// Every count of elements or bytes of one super-tensor fits from here on.
bool TransferBuilder::CheckSizes() {
  bool ok = true;
  for (const SuperTensor& tensor : table_.supers) {
    std::vector<int64_t> factors = tensor.loop_extent;
    factors.insert(factors.end(), tensor.shape.begin(), tensor.shape.end());
    factors.push_back(DTypeBytes(tensor.dtype));
    if (CheckedProduct(std::span<const int64_t>(factors))) continue;
    diags_->Error(DiagnosticCode::kTooLarge, tensor.declared,
                  "'" + tensor.name.Describe(tensor.loop_begin, tensor.loop_extent) +
                      "' has more bytes than 64 bits can count");
    ok = false;
  }
  return ok;
}

void TransferBuilder::ChooseDims() {
  std::vector<std::vector<std::vector<int64_t>>> steps(table_.supers.size());
  for (size_t super = 0; super < table_.supers.size(); ++super) {
    steps[super].resize(table_.supers[super].axis_count());
  }
  for (const Layout* layout : {&source_, &destination_}) {
    for (const Place& place : layout->places) {
      for (size_t axis = 0; axis < place.axes.size(); ++axis) {
        for (const PlaceDigit& digit : NormalDigits(place.axes[axis])) {
          steps[place.super][axis].push_back(digit.step);
        }
      }
    }
  }
  weights_.resize(table_.supers.size());
  out_->dims.resize(table_.supers.size());
  for (size_t super = 0; super < table_.supers.size(); ++super) {
    const SuperTensor& tensor = table_.supers[super];
    for (size_t axis = 0; axis < tensor.axis_count(); ++axis) {
      const bool loop = axis < tensor.loop_count();
      const int64_t end = loop ? tensor.loop_begin[axis] + tensor.loop_extent[axis]
                               : tensor.shape[axis - tensor.loop_count()];
      weights_[super].push_back(ChooseWeights(std::move(steps[super][axis]), end));
      for (const int64_t weight : weights_[super].back()) {
        out_->dims[super].push_back({static_cast<uint32_t>(axis), weight});
      }
    }
  }
}

bool TransferBuilder::RefineSide(const Layout& layout, Side side) {
  for (const Place& place : layout.places) {
    const bool empty = std::any_of(place.axes.begin(), place.axes.end(), [](const PlaceAxis& axis) {
      return std::any_of(axis.digits.begin(), axis.digits.end(),
                         [](const PlaceDigit& digit) { return digit.extent == 0; });
    });
    if (empty) continue;
    if (!pieces_.Spend(1) ||
        !RefinePlace(place, weights_[place.super], side, &pieces_, &out_->places)) {
      return TooLarge(place.super);
    }
  }
  return true;
}

// By side, super-tensor and box; then by where the bytes are, so that the order is total.
void TransferBuilder::SortPlaces() {
  std::sort(out_->places.begin(), out_->places.end(), [](const BoxPlace& a, const BoxPlace& b) {
    if (a.side != b.side) return a.side < b.side;
    if (a.super != b.super) return a.super < b.super;
    for (size_t d = 0; d < a.dims.size(); ++d) {
      if (a.dims[d].begin != b.dims[d].begin) return a.dims[d].begin < b.dims[d].begin;
    }
    for (size_t d = 0; d < a.dims.size(); ++d) {
      if (a.dims[d].extent != b.dims[d].extent) return a.dims[d].extent < b.dims[d].extent;
    }
    if (a.family != b.family) return a.family < b.family;
    if (a.base_instance != b.base_instance) return a.base_instance < b.base_instance;
    return a.base_bytes < b.base_bytes;
  });
}

void TransferBuilder::InternRanks() {
  for (BoxPlace& place : out_->places) {
    const Layout& layout = place.side == Side::kSource ? source_ : destination_;
    place.ranks = out_->rank_sets.Intern(layout.rank_sets[layout.families[place.family].ranks]);
  }
}

PlaceRange TransferBuilder::NextRange(Side side, SuperId super, size_t* next) const {
  PlaceRange range{*next, *next};
  while (range.end < out_->places.size() && out_->places[range.end].side == side &&
         out_->places[range.end].super == super) {
    ++range.end;
  }
  *next = range.end;
  return range;
}

ClassId TransferBuilder::ClassOf(RankSetId holders, RankSetId needers) {
  const auto [entry, added] = class_ids_.try_emplace(uint64_t{holders} << 32 | needers,
                                                     static_cast<ClassId>(out_->classes.size()));
  if (added) out_->classes.push_back({holders, needers, 0, 0, 0});
  return entry->second;
}

bool TransferBuilder::AddCells(SuperId super, const SideAtoms& source, const SideAtoms& destination,
                               const std::vector<BoxPair>& overlaps) {
  if (!pieces_.Spend(overlaps.size())) return false;
  const size_t dim_count = source.atoms().dim_count();
  // Where one side was cut, pieces of what was one box on both sides can come together again.
  // Cells that different places store stay apart: a cell lies in one place of each rank.
  using CoverPair = std::pair<uint32_t, uint32_t>;
  const bool any_cut = source.partition.any_cut || destination.partition.any_cut;
  std::map<CoverPair, BoxList> by_cover;
  BoxList boxes(dim_count);
  std::vector<CoverPair> covers;
  std::vector<BoxDim> common;
  for (const auto& [i, j] : overlaps) {
    IntersectBoxes(source.atoms()[i], destination.atoms()[j], &common);
    const CoverPair cover{source.partition.atom_cover[i], destination.partition.atom_cover[j]};
    if (any_cut) {
      by_cover.try_emplace(cover, BoxList(dim_count)).first->second.Add(common);
    } else {
      boxes.Add(common);
      covers.push_back(cover);
    }
  }
  for (const auto& [cover, parts] : by_cover) {
    const BoxList merged = MergeBoxes(parts);
    for (uint32_t box = 0; box < merged.count(); ++box) {
      boxes.Add(merged[box]);
      covers.push_back(cover);
    }
  }
  std::vector<uint32_t> order(boxes.count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return BoxLess(boxes[a], boxes[b]); });
  const int64_t element_bytes = DTypeBytes(table_.supers[super].dtype);
  for (const uint32_t box : order) {
    const BoxView view = boxes[box];
    const ClassId cls =
        ClassOf(source.cover_ranks[covers[box].first], destination.cover_ranks[covers[box].second]);
    cells_.push_back({cls, Cell{super, std::vector<BoxDim>(view.begin(), view.end()),
                                BoxVolume(view) * element_bytes}});
  }
  return true;
}

bool TransferBuilder::AddSupers() {
  CoverageInputs inputs;
  inputs.table = &table_;
  inputs.source = &source_;
  inputs.destination = &destination_;
  inputs.places = &out_->places;
  inputs.dims = &out_->dims;
  inputs.rank_sets = &out_->rank_sets;
  CoverageCheck coverage(inputs, &work_);
  size_t next_source = 0;
  size_t next_destination = static_cast<size_t>(
      std::find_if(out_->places.begin(), out_->places.end(),
                   [](const BoxPlace& place) { return place.side == Side::kDestination; }) -
      out_->places.begin());
  for (SuperId super = 0; super < table_.supers.size(); ++super) {
    const PlaceRange source_range = NextRange(Side::kSource, super, &next_source);
    const PlaceRange destination_range = NextRange(Side::kDestination, super, &next_destination);
    const size_t dim_count = out_->dims[super].size();
    SideAtoms source, destination;
    std::vector<BoxPair> overlaps;
    if (!BuildSideAtoms(out_->places, source_range, dim_count, &work_, &out_->rank_sets, &source) ||
        !BuildSideAtoms(out_->places, destination_range, dim_count, &work_, &out_->rank_sets,
                        &destination) ||
        !OverlappingPairs(source.atoms(), destination.atoms(), &work_, &overlaps) ||
        !coverage.AddSuper(super, source, destination, overlaps) ||
        !AddCells(super, source, destination, overlaps)) {
      return TooLarge(super);
    }
  }
  const size_t errors = diags_->error_count();
  if (!coverage.Report(diags_)) return TooLarge(static_cast<SuperId>(table_.supers.size() - 1));
  return diags_->error_count() == errors;
}

// Cells of a class come together, in the order of super-tensors and boxes.
bool TransferBuilder::GatherClasses() {
  for (const ClassedCell& entry : cells_) {
    TransferClass& cls = out_->classes[entry.cls];
    const std::optional<int64_t> bytes = CheckedAdd(cls.bytes, entry.cell.bytes);
    if (!bytes) {
      diags_->Error(DiagnosticCode::kTooLarge, table_.supers[entry.cell.super].declared,
                    "tensors up to this one have more bytes than 64 bits can count");
      return false;
    }
    cls.bytes = *bytes;
    ++cls.cell_count;
  }
  uint32_t first = 0;
  std::vector<uint32_t> next;
  for (TransferClass& cls : out_->classes) {
    cls.first_cell = first;
    next.push_back(first);
    first += cls.cell_count;
  }
  out_->cells.resize(cells_.size());
  for (ClassedCell& entry : cells_) out_->cells[next[entry.cls]++] = std::move(entry.cell);
  return true;
}

bool TransferBuilder::Build() {
  bool ok = CheckSharedRanks();
  if (!CheckSizes()) return false;
  ChooseDims();
  if (!RefineSide(source_, Side::kSource) || !RefineSide(destination_, Side::kDestination)) {
    return false;
  }
  SortPlaces();
  InternRanks();
  ok &= AddSupers();
  if (!ok) return false;
  if (!GatherClasses()) return false;
  if (out_->cells.empty()) {
    diags_->Error(DiagnosticCode::kNothingToMove, Span{destination_.file, 0, 0},
                  "there is nothing to move: no byte that the source holds is needed by the "
                  "destination");
    return false;
  }
  return true;
}

}  // namespace

bool BuildTransfers(const LogicalTable& table, const Layout& source, const Layout& destination,
                    Diagnostics* diags, TransferSet* out) {
  *out = TransferSet{};
  return TransferBuilder(table, source, destination, diags, out).Build();
}

}  // namespace reshard
