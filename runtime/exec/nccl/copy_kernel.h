// The copy kernel: gathering, scattering and zeroing strided runs on a GPU.
//
// What is copied is a list of nests, each a message (adjacent bytes) against rows of a param. A
// nest is cut into tiles of about kTileBytes; a block of threads copies one tile. Everything about
// a tile lies in tables on the device, so that a launch only says which tiles. Runs below
// kLongRunBytes are cut into units, the largest power of two up to 16 bytes that divides every
// address and length of the nest, and one thread copies one unit at a time. Longer runs are cut
// into chunks, and a warp copies one chunk at a time, in 16-byte steps wherever both ends can be
// aligned together.
//
// The functions here are what the kernel does for one thread. They compile for the host too: the
// test double and the tests run this very arithmetic without a GPU.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_COPY_KERNEL_H_
#define RESHARD_RUNTIME_EXEC_NCCL_COPY_KERNEL_H_

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define RESHARD_KERNEL_CODE __host__ __device__
#else
#define RESHARD_KERNEL_CODE
#endif

namespace reshard::nccl {

inline constexpr uint32_t kWarpThreads = 32;
inline constexpr uint32_t kBlockThreads = 256;
inline constexpr int64_t kTileBytes = 64 * 1024;
inline constexpr int64_t kChunkBytes = 4096;
inline constexpr int64_t kLongRunBytes = 2048;
inline constexpr uint32_t kMaxUnitBytes = 16;

enum class CopyKind : uint8_t { kGather, kScatter, kZero };

// Division by a number that is known beforehand, by multiplication: exact for every dividend below
// 2^31 (kDividendLimit) and every divisor from 1 to 2^31.
struct Divisor {
  uint32_t divisor = 1;
  uint32_t multiplier = 1;
  uint32_t shift = 0;
};
inline constexpr int64_t kDividendLimit = int64_t{1} << 31;

inline Divisor MakeDivisor(uint32_t divisor) {
  uint32_t shift = 0;
  while ((uint64_t{1} << shift) < divisor) ++shift;
  const uint64_t excess = (uint64_t{1} << shift) - divisor;
  return {divisor, static_cast<uint32_t>((excess << 32) / divisor + 1), shift};
}

RESHARD_KERNEL_CODE inline uint32_t Divide(uint32_t dividend, const Divisor& by) {
  const uint64_t product = static_cast<uint64_t>(dividend) * by.multiplier;
  return (static_cast<uint32_t>(product >> 32) + dividend) >> by.shift;
}

struct CopyDim {
  Divisor extent;
  int64_t stride_bytes = 0;
  int64_t instance_stride = 0;
};

// Run (i0, i1, ...) lies at message + (row-major number of the run) * run_bytes and in the param at
// instances[base_instance + sum(i_d * instance_stride_d)] + base_bytes + sum(i_d * stride_bytes_d).
struct CopyNest {
  uint8_t* const* instances = nullptr;
  uint8_t* message = nullptr;  // null for zeros
  int64_t base_instance = 0;
  int64_t base_bytes = 0;
  int64_t run_bytes = 0;
  uint32_t first_dim = 0;
  uint32_t dim_count = 0;
  uint32_t unit_bytes = 0;  // 0: long runs, cut into chunks
  Divisor parts_per_run;    // units, or chunks
};

// Parts [first_part, first_part + part_count) of a nest, all its runs numbered through.
struct CopyTile {
  uint32_t nest = 0;
  uint32_t first_part = 0;
  uint32_t part_count = 0;
};

struct CopyTables {
  const CopyNest* nests = nullptr;
  const CopyDim* dims = nullptr;
  const CopyTile* tiles = nullptr;
};

template <uint32_t kBytes>
RESHARD_KERNEL_CODE inline void MoveUnit(uint8_t* to, const uint8_t* from) {
#ifdef __CUDA_ARCH__
  if constexpr (kBytes == 16) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(from);
  } else if constexpr (kBytes == 4) {
    *reinterpret_cast<uint32_t*>(to) = *reinterpret_cast<const uint32_t*>(from);
  } else if constexpr (kBytes == 2) {
    *reinterpret_cast<uint16_t*>(to) = *reinterpret_cast<const uint16_t*>(from);
  } else {
    *to = *from;
  }
#else
  std::memcpy(to, from, kBytes);
#endif
}

template <uint32_t kBytes>
RESHARD_KERNEL_CODE inline void ZeroUnit(uint8_t* to) {
#ifdef __CUDA_ARCH__
  if constexpr (kBytes == 16) {
    *reinterpret_cast<uint4*>(to) = uint4{0, 0, 0, 0};
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<uint2*>(to) = uint2{0, 0};
  } else if constexpr (kBytes == 4) {
    *reinterpret_cast<uint32_t*>(to) = 0;
  } else if constexpr (kBytes == 2) {
    *reinterpret_cast<uint16_t*>(to) = 0;
  } else {
    *to = 0;
  }
#else
  std::memset(to, 0, kBytes);
#endif
}

template <uint32_t kBytes, CopyKind kKind>
RESHARD_KERNEL_CODE inline void CopyUnit(uint8_t* param, uint8_t* message) {
  if constexpr (kKind == CopyKind::kGather) {
    MoveUnit<kBytes>(message, param);
  } else if constexpr (kKind == CopyKind::kScatter) {
    MoveUnit<kBytes>(param, message);
  } else {
    ZeroUnit<kBytes>(param);
  }
}

// The first byte of a run in its param.
RESHARD_KERNEL_CODE inline uint8_t* RunAddress(const CopyNest& nest, const CopyDim* dims,
                                               uint32_t run) {
  int64_t instance = nest.base_instance;
  int64_t position = nest.base_bytes;
  for (uint32_t d = nest.dim_count; d-- > 0;) {
    const CopyDim& dim = dims[nest.first_dim + d];
    const uint32_t outer = Divide(run, dim.extent);
    const int64_t index = run - outer * dim.extent.divisor;
    position += index * dim.stride_bytes;
    instance += index * dim.instance_stride;
    run = outer;
  }
  return nest.instances[instance] + position;
}

template <uint32_t kBytes, CopyKind kKind>
RESHARD_KERNEL_CODE inline void CopyUnits(const CopyNest& nest, const CopyDim* dims,
                                          const CopyTile& tile, uint32_t thread,
                                          uint32_t thread_count) {
  for (uint32_t part = thread; part < tile.part_count; part += thread_count) {
    const uint32_t unit = tile.first_part + part;
    const uint32_t run = Divide(unit, nest.parts_per_run);
    const int64_t within =
        static_cast<int64_t>(unit - run * nest.parts_per_run.divisor) * int64_t{kBytes};
    uint8_t* const message =
        kKind == CopyKind::kZero ? nullptr : nest.message + run * nest.run_bytes + within;
    CopyUnit<kBytes, kKind>(RunAddress(nest, dims, run) + within, message);
  }
}

// Bytes [0, count) in steps of kBytes after a head that brings both ends to a multiple of it; the
// lanes of a warp take turns.
template <uint32_t kBytes, CopyKind kKind>
RESHARD_KERNEL_CODE inline void CopyAligned(uint8_t* param, uint8_t* message, int64_t count,
                                            uint32_t lane) {
  const int64_t misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(param) % kBytes);
  int64_t head = misaligned == 0 ? 0 : int64_t{kBytes} - misaligned;
  if (head > count) head = count;
  const int64_t steps = (count - head) / kBytes;
  for (int64_t i = lane; i < head; i += kWarpThreads) {
    CopyUnit<1, kKind>(param + i, kKind == CopyKind::kZero ? nullptr : message + i);
  }
  for (int64_t i = lane; i < steps; i += kWarpThreads) {
    const int64_t at = head + i * int64_t{kBytes};
    CopyUnit<kBytes, kKind>(param + at, kKind == CopyKind::kZero ? nullptr : message + at);
  }
  for (int64_t i = head + steps * int64_t{kBytes} + lane; i < count; i += kWarpThreads) {
    CopyUnit<1, kKind>(param + i, kKind == CopyKind::kZero ? nullptr : message + i);
  }
}

template <CopyKind kKind>
RESHARD_KERNEL_CODE inline void CopyChunk(uint8_t* param, uint8_t* message, int64_t count,
                                          uint32_t lane) {
  // Ends that differ in these low bits are never aligned together.
  const uintptr_t apart =
      kKind == CopyKind::kZero
          ? 0
          : (reinterpret_cast<uintptr_t>(param) ^ reinterpret_cast<uintptr_t>(message)) % 16;
  if (apart == 0) {
    CopyAligned<16, kKind>(param, message, count, lane);
  } else if (apart % 8 == 0) {
    CopyAligned<8, kKind>(param, message, count, lane);
  } else if (apart % 4 == 0) {
    CopyAligned<4, kKind>(param, message, count, lane);
  } else if (apart % 2 == 0) {
    CopyAligned<2, kKind>(param, message, count, lane);
  } else {
    CopyAligned<1, kKind>(param, message, count, lane);
  }
}

template <CopyKind kKind>
RESHARD_KERNEL_CODE inline void CopyChunks(const CopyNest& nest, const CopyDim* dims,
                                           const CopyTile& tile, uint32_t thread,
                                           uint32_t thread_count) {
  const uint32_t warps = thread_count / kWarpThreads;
  for (uint32_t part = thread / kWarpThreads; part < tile.part_count; part += warps) {
    const uint32_t chunk = tile.first_part + part;
    const uint32_t run = Divide(chunk, nest.parts_per_run);
    const int64_t begin =
        static_cast<int64_t>(chunk - run * nest.parts_per_run.divisor) * kChunkBytes;
    const int64_t left = nest.run_bytes - begin;
    uint8_t* const message =
        kKind == CopyKind::kZero ? nullptr : nest.message + run * nest.run_bytes + begin;
    CopyChunk<kKind>(RunAddress(nest, dims, run) + begin, message,
                     left < kChunkBytes ? left : kChunkBytes, thread % kWarpThreads);
  }
}

// What thread `thread` of the block of tile `tile` does. `thread_count` is a multiple of a warp.
template <CopyKind kKind>
RESHARD_KERNEL_CODE inline void RunTile(const CopyTables& tables, uint32_t tile, uint32_t thread,
                                        uint32_t thread_count) {
  const CopyTile t = tables.tiles[tile];
  const CopyNest nest = tables.nests[t.nest];
  switch (nest.unit_bytes) {
    case 16:
      return CopyUnits<16, kKind>(nest, tables.dims, t, thread, thread_count);
    case 8:
      return CopyUnits<8, kKind>(nest, tables.dims, t, thread, thread_count);
    case 4:
      return CopyUnits<4, kKind>(nest, tables.dims, t, thread, thread_count);
    case 2:
      return CopyUnits<2, kKind>(nest, tables.dims, t, thread, thread_count);
    case 1:
      return CopyUnits<1, kKind>(nest, tables.dims, t, thread, thread_count);
    default:
      return CopyChunks<kKind>(nest, tables.dims, t, thread, thread_count);
  }
}

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_COPY_KERNEL_H_
