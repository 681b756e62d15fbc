// CopyTable: the copies of one rank as tables in device memory, made once.
//
// A builder takes the prepared runs of a program in the order in which they will be launched; a
// launch then names a range of tiles. What is not to be moved again (a new program) is a new table.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_COPY_TABLE_H_
#define RESHARD_RUNTIME_EXEC_NCCL_COPY_TABLE_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/copy_kernel.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/pack.h"

namespace reshard::nccl {

// Device memory that goes with this object.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;
  ~DeviceBlock() { Reset(); }

  // Zeros, or `bytes` from `from`.
  static StatusOr<DeviceBlock> Make(GpuRuntime* gpu, int64_t bytes);
  static StatusOr<DeviceBlock> Upload(GpuRuntime* gpu, const void* from, int64_t bytes);

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void Reset();

  GpuRuntime* gpu_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

class CopyTable {
 public:
  const CopyTables& tables() const { return tables_; }

 private:
  friend class CopyTableBuilder;
  DeviceBlock block_;
  CopyTables tables_;
};

class CopyTableBuilder {
 public:
  // Nests of a prepared list; `message` is the first byte of their message, on the device. Error
  // when a nest has too many parts for the kernel's arithmetic.
  Status Add(const CopyList& list, CopyRange range, uint8_t* message);
  Status AddZeros(const FillList& fills);

  // The tiles added so far: a range from one mark to the next is one launch.
  uint32_t mark() const { return static_cast<uint32_t>(tiles_.size()); }
  TileRange Since(uint32_t mark) const { return {mark, this->mark() - mark}; }

  StatusOr<CopyTable> Upload(GpuRuntime* gpu) const;

 private:
  // Adds dims to dims_ and the nest with all its tiles. `places` are the instances that it visits.
  Status AddNest(CopyNest nest, std::span<const RunNest::Dim> dims,
                 std::span<uint8_t* const> places);
  static uint32_t UnitBytes(const CopyNest& nest, std::span<const RunNest::Dim> dims,
                            std::span<uint8_t* const> places);

  std::vector<CopyNest> nests_;      // `instances` is null until Upload
  std::vector<size_t> first_place_;  // per nest, into places_
  std::vector<CopyDim> dims_;
  std::vector<CopyTile> tiles_;
  std::vector<uint8_t*> places_;
  std::map<std::pair<uint8_t* const*, size_t>, size_t> interned_;  // into places_
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_COPY_TABLE_H_
