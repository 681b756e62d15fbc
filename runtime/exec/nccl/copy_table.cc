#include "runtime/exec/nccl/copy_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/base/checked_math.h"

namespace reshard::nccl {
namespace {

constexpr int64_t kTableAlignBytes = 256;

Status TooManyParts(int64_t run_bytes) {
  return Status(StatusCode::kLimitExceeded,
                "a piece in runs of " + std::to_string(run_bytes) +
                    " bytes has more than 2^31 parts; smaller slices avoid it");
}

// The lowest bit that is set in any of the numbers collected.
class CommonAlignment {
 public:
  void Add(uint64_t number) { bits_ |= number; }
  uint32_t at_most_unit() const { return static_cast<uint32_t>(bits_ & ~(bits_ - 1)); }

 private:
  uint64_t bits_ = kMaxUnitBytes;
};

// Where a table begins in a block of several.
struct Part {
  int64_t position = 0;
  int64_t bytes = 0;
};
template <class T>
Part Append(const std::vector<T>& table, int64_t* end) {
  const Part part{*end, static_cast<int64_t>(table.size() * sizeof(T))};
  *end = (part.position + part.bytes + kTableAlignBytes - 1) / kTableAlignBytes * kTableAlignBytes;
  return part;
}

}  // namespace

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  Reset();
  gpu_ = std::exchange(other.gpu_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void DeviceBlock::Reset() {
  if (data_ != nullptr) gpu_->Free(data_);
  data_ = nullptr;
}

StatusOr<DeviceBlock> DeviceBlock::Make(GpuRuntime* gpu, int64_t bytes) {
  const StatusOr<uint8_t*> data = gpu->Allocate(bytes);
  if (!data.ok()) return data.status();
  DeviceBlock block;
  block.gpu_ = gpu;
  block.data_ = *data;
  block.bytes_ = bytes;
  return block;
}

StatusOr<DeviceBlock> DeviceBlock::Upload(GpuRuntime* gpu, const void* from, int64_t bytes) {
  StatusOr<DeviceBlock> block = Make(gpu, bytes);
  if (block.ok() && bytes > 0) {
    RESHARD_RETURN_IF_ERROR(gpu->CopyToDevice(block->data(), from, bytes));
  }
  return block;
}

uint32_t CopyTableBuilder::UnitBytes(const CopyNest& nest, std::span<const RunNest::Dim> dims,
                                     std::span<uint8_t* const> places) {
  if (nest.run_bytes >= kLongRunBytes) return 0;
  CommonAlignment alignment;
  alignment.Add(static_cast<uint64_t>(nest.run_bytes));
  alignment.Add(reinterpret_cast<uintptr_t>(nest.message));
  // Of a negative number the low bits are those of its absolute value.
  for (const RunNest::Dim& dim : dims) alignment.Add(static_cast<uint64_t>(dim.stride_bytes));
  for (const uint8_t* place : places) {
    alignment.Add(reinterpret_cast<uintptr_t>(place) + static_cast<uint64_t>(nest.base_bytes));
  }
  return alignment.at_most_unit();
}

Status CopyTableBuilder::AddNest(CopyNest nest, std::span<const RunNest::Dim> dims,
                                 std::span<uint8_t* const> places) {
  nest.unit_bytes = UnitBytes(nest, dims, places);
  const int64_t part_bytes = nest.unit_bytes == 0 ? kChunkBytes : nest.unit_bytes;
  const int64_t parts_per_run = (nest.run_bytes + part_bytes - 1) / part_bytes;
  std::optional<int64_t> parts = parts_per_run;
  nest.first_dim = static_cast<uint32_t>(dims_.size());
  nest.dim_count = static_cast<uint32_t>(dims.size());
  for (const RunNest::Dim& dim : dims) {
    parts = CheckedMul(*parts, dim.extent);
    if (!parts || *parts >= kDividendLimit) return TooManyParts(nest.run_bytes);
    dims_.push_back(
        {MakeDivisor(static_cast<uint32_t>(dim.extent)), dim.stride_bytes, dim.instance_stride});
  }
  const uint32_t tile_parts = static_cast<uint32_t>(kTileBytes / part_bytes);
  const std::optional<int64_t> tiles =
      CheckedAdd(static_cast<int64_t>(tiles_.size()), *parts / tile_parts + 1);
  if (*parts >= kDividendLimit || !tiles || *tiles >= kDividendLimit) {
    return TooManyParts(nest.run_bytes);
  }
  nest.parts_per_run = MakeDivisor(static_cast<uint32_t>(parts_per_run));
  const auto number = static_cast<uint32_t>(nests_.size());
  const auto part_count = static_cast<uint32_t>(*parts);
  for (uint32_t first = 0; first < part_count; first += tile_parts) {
    tiles_.push_back({number, first, std::min(tile_parts, part_count - first)});
  }
  const auto [found, added] = interned_.try_emplace({places.data(), places.size()}, places_.size());
  if (added) places_.insert(places_.end(), places.begin(), places.end());
  first_place_.push_back(found->second);
  nests_.push_back(nest);
  return Status();
}

Status CopyTableBuilder::Add(const CopyList& list, CopyRange range, uint8_t* message) {
  for (const CopyList::Nest& from : list.nests(range)) {
    std::vector<RunNest::Dim> dims(list.dims(from).begin(), list.dims(from).end());
    if (from.row_runs > 1) dims.push_back({from.row_runs, from.row_stride_bytes, 0});
    // The instances that it visits; CopyList has checked that they exist.
    int64_t low = from.base_instance;
    int64_t high = from.base_instance;
    for (const RunNest::Dim& dim : dims) {
      const int64_t reach = (dim.extent - 1) * dim.instance_stride;
      (reach < 0 ? low : high) += reach;
    }
    CopyNest nest;
    nest.message = message + from.message_offset;
    nest.base_instance = from.base_instance - low;
    nest.base_bytes = from.base_bytes;
    nest.run_bytes = from.run_bytes;
    const std::span places(from.instances + low, static_cast<size_t>(high - low + 1));
    RESHARD_RETURN_IF_ERROR(AddNest(nest, dims, places));
  }
  return Status();
}

Status CopyTableBuilder::AddZeros(const FillList& fills) {
  for (const FillList::Nest& from : fills.nests()) {
    std::vector<RunNest::Dim> dims;
    for (const PlanFillDim& dim : fills.dims(from)) {
      dims.push_back({dim.extent, dim.stride_bytes, 0});
    }
    CopyNest nest;
    nest.run_bytes = from.run_bytes;
    RESHARD_RETURN_IF_ERROR(AddNest(nest, dims, std::span(&from.base, 1)));
  }
  return Status();
}

StatusOr<CopyTable> CopyTableBuilder::Upload(GpuRuntime* gpu) const {
  int64_t bytes = 0;
  const Part places = Append(places_, &bytes);
  const Part nests = Append(nests_, &bytes);
  const Part dims = Append(dims_, &bytes);
  const Part tiles = Append(tiles_, &bytes);
  CopyTable table;
  StatusOr<DeviceBlock> block = DeviceBlock::Make(gpu, bytes);
  if (!block.ok()) return block.status();
  table.block_ = *std::move(block);
  uint8_t* const base = table.block_.data();
  std::vector<CopyNest> resolved = nests_;
  for (size_t n = 0; n < resolved.size(); ++n) {
    resolved[n].instances =
        reinterpret_cast<uint8_t* const*>(base + places.position) + first_place_[n];
  }
  RESHARD_RETURN_IF_ERROR(gpu->CopyToDevice(base + places.position, places_.data(), places.bytes));
  RESHARD_RETURN_IF_ERROR(gpu->CopyToDevice(base + nests.position, resolved.data(), nests.bytes));
  RESHARD_RETURN_IF_ERROR(gpu->CopyToDevice(base + dims.position, dims_.data(), dims.bytes));
  RESHARD_RETURN_IF_ERROR(gpu->CopyToDevice(base + tiles.position, tiles_.data(), tiles.bytes));
  table.tables_.nests = reinterpret_cast<const CopyNest*>(base + nests.position);
  table.tables_.dims = reinterpret_cast<const CopyDim*>(base + dims.position);
  table.tables_.tiles = reinterpret_cast<const CopyTile*>(base + tiles.position);
  return table;
}

}  // namespace reshard::nccl
