#include "runtime/exec/pack.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// The values that begin + sum(i_d * stride_d), 0 <= i_d < extent_d, takes at its ends.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
};

std::optional<Range> Widen(Range range, int64_t extent, int64_t stride) {
  const std::optional<int64_t> reach = CheckedMul(extent - 1, stride);
  if (!reach) return std::nullopt;
  const std::optional<int64_t> end = CheckedAdd(*reach < 0 ? range.low : range.high, *reach);
  if (!end) return std::nullopt;
  (*reach < 0 ? range.low : range.high) = *end;
  return range;
}

// Whether runs that start in `starts` and have `run_bytes` bytes lie inside [0, bytes).
bool Inside(const Range& starts, int64_t run_bytes, int64_t bytes) {
  return starts.low >= 0 && starts.high <= bytes && run_bytes <= bytes - starts.high;
}

Status Outside(const Plan& plan, uint32_t family) {
  const PlanFamily& f = plan.families[family];
  return Status(StatusCode::kCorruptData, "the plan leaves the buffer of '" +
                                              f.name.Describe(f.loop_begin, f.loop_extent) + "'");
}

// Runs of a row; a fixed size lets the compiler copy one with a few instructions.
template <int64_t kRunBytes, bool kGather>
void CopyRowOf(uint8_t* param, uint8_t* message, int64_t runs, int64_t stride) {
  for (int64_t i = 0; i < runs; ++i) {
    if (kGather) {
      std::memcpy(message, param, kRunBytes);
    } else {
      std::memcpy(param, message, kRunBytes);
    }
    param += stride;
    message += kRunBytes;
  }
}

template <bool kGather>
void CopyRow(uint8_t* param, uint8_t* message, int64_t run_bytes, int64_t runs, int64_t stride) {
  switch (run_bytes) {
    case 1:
      return CopyRowOf<1, kGather>(param, message, runs, stride);
    case 2:
      return CopyRowOf<2, kGather>(param, message, runs, stride);
    case 4:
      return CopyRowOf<4, kGather>(param, message, runs, stride);
    case 8:
      return CopyRowOf<8, kGather>(param, message, runs, stride);
    case 16:
      return CopyRowOf<16, kGather>(param, message, runs, stride);
    case 32:
      return CopyRowOf<32, kGather>(param, message, runs, stride);
    case 64:
      return CopyRowOf<64, kGather>(param, message, runs, stride);
    case 128:
      return CopyRowOf<128, kGather>(param, message, runs, stride);
    case 256:
      return CopyRowOf<256, kGather>(param, message, runs, stride);
    default:
      break;
  }
  for (int64_t i = 0; i < runs; ++i) {
    if (kGather) {
      std::memcpy(message, param, static_cast<size_t>(run_bytes));
    } else {
      std::memcpy(param, message, static_cast<size_t>(run_bytes));
    }
    param += stride;
    message += run_bytes;
  }
}

}  // namespace

StatusOr<CopyList::Instances> CopyList::Check(const Plan& plan, const Bindings& bindings,
                                              const RunNest& nest, int64_t message_bytes) {
  const std::span<uint8_t* const> instances = bindings.instances(nest.family);
  std::optional<Range> bytes = Range{nest.base_bytes, nest.base_bytes};
  std::optional<Range> places = Range{nest.base_instance, nest.base_instance};
  std::optional<int64_t> moved = nest.run_bytes;
  for (const RunNest::Dim& dim : nest.dims) {
    if (dim.extent < 1) return Outside(plan, nest.family);
    if (bytes) bytes = Widen(*bytes, dim.extent, dim.stride_bytes);
    if (places) places = Widen(*places, dim.extent, dim.instance_stride);
    if (moved) moved = CheckedMul(*moved, dim.extent);
  }
  if (!bytes || !places || !moved || nest.run_bytes < 1 ||
      !Inside(*bytes, nest.run_bytes, plan.families[nest.family].bytes) ||
      !Inside(*places, 1, static_cast<int64_t>(instances.size())) || nest.message_offset < 0 ||
      *moved > message_bytes || nest.message_offset > message_bytes - *moved) {
    return Outside(plan, nest.family);
  }
  for (int64_t i = places->low; i <= places->high; ++i) {
    if (instances[static_cast<size_t>(i)] == nullptr) return Outside(plan, nest.family);
  }
  return Instances{places->low, places->high};
}

StatusOr<CopyRange> CopyList::Append(const Plan& plan, const Bindings& bindings,
                                     std::span<const RunNest> nests, int64_t message_bytes,
                                     bool written) {
  CopyRange range{nests_.size(), nests_.size()};
  for (const RunNest& nest : nests) {
    const StatusOr<Instances> instances = Check(plan, bindings, nest, message_bytes);
    if (!instances.ok()) return instances.status();
    bool in_place = false;
    for (int64_t i = instances->low; written && i <= instances->high; ++i) {
      in_place = in_place || bindings.in_place(nest.family, i);
    }
    in_place ? AppendWritten(bindings, nest) : AppendChecked(bindings, nest);
  }
  range.end = nests_.size();
  return range;
}

void CopyList::AppendChecked(const Bindings& bindings, const RunNest& from) {
  Nest nest;
  nest.family = from.family;
  nest.instances = bindings.instances(from.family).data();
  nest.base_instance = from.base_instance;
  nest.base_bytes = from.base_bytes;
  nest.run_bytes = from.run_bytes;
  nest.message_offset = from.message_offset;
  nest.first_dim = dims_.size();
  nest.dim_count = from.dims.size();
  if (!from.dims.empty() && from.dims.back().instance_stride == 0) {
    nest.row_runs = from.dims.back().extent;
    nest.row_stride_bytes = from.dims.back().stride_bytes;
    --nest.dim_count;
  }
  for (size_t d = 0; d < nest.dim_count; ++d) {
    nest.row_count *= from.dims[d].extent;  // a factor of what Check found to fit
    dims_.push_back(from.dims[d]);
  }
  if (nest.dim_count > index_.size()) index_.resize(nest.dim_count);
  nests_.push_back(nest);
}

void CopyList::AppendWritten(const Bindings& bindings, const RunNest& nest) {
  const bool steps = std::any_of(nest.dims.begin(), nest.dims.end(), [](const RunNest::Dim& dim) {
    return dim.instance_stride != 0 && dim.extent > 1;
  });
  if (!steps) {
    if (!bindings.in_place(nest.family, nest.base_instance)) AppendChecked(bindings, nest);
    return;
  }
  // One nest per value of the outermost dim, which is a contiguous part of the message.
  const RunNest::Dim outer = nest.dims.front();
  RunNest part = nest;
  part.dims.erase(part.dims.begin());
  int64_t part_bytes = part.run_bytes;
  for (const RunNest::Dim& dim : part.dims) part_bytes *= dim.extent;
  for (int64_t i = 0; i < outer.extent; ++i) {
    AppendWritten(bindings, part);
    part.base_instance += outer.instance_stride;
    part.base_bytes += outer.stride_bytes;
    part.message_offset += part_bytes;
  }
}

int64_t CopyList::Bytes(CopyRange range) const {
  int64_t bytes = 0;
  for (size_t n = range.first; n < range.end; ++n) {
    bytes += nests_[n].run_bytes * nests_[n].row_runs * nests_[n].row_count;
  }
  return bytes;
}

template <class Visit>
void CopyList::ForEachRow(const Nest& nest, Visit visit) {
  std::fill_n(index_.begin(), nest.dim_count, 0);
  int64_t instance = nest.base_instance;
  int64_t offset = nest.base_bytes;
  int64_t message = nest.message_offset;
  const RunNest::Dim* const dims = dims_.data() + nest.first_dim;
  for (int64_t row = 0; row < nest.row_count; ++row) {
    visit(nest.instances[instance] + offset, message);
    message += nest.run_bytes * nest.row_runs;
    for (size_t d = nest.dim_count; d-- > 0;) {
      instance += dims[d].instance_stride;
      offset += dims[d].stride_bytes;
      if (++index_[d] < dims[d].extent) break;
      instance -= dims[d].instance_stride * dims[d].extent;
      offset -= dims[d].stride_bytes * dims[d].extent;
      index_[d] = 0;
    }
  }
}

void CopyList::Gather(CopyRange range, uint8_t* message) {
  for (size_t n = range.first; n < range.end; ++n) {
    const Nest& nest = nests_[n];
    ForEachRow(nest, [&](uint8_t* param, int64_t offset) {
      CopyRow<true>(param, message + offset, nest.run_bytes, nest.row_runs, nest.row_stride_bytes);
    });
  }
}

void CopyList::Scatter(CopyRange range, const uint8_t* message) {
  for (size_t n = range.first; n < range.end; ++n) {
    const Nest& nest = nests_[n];
    ForEachRow(nest, [&](uint8_t* param, int64_t offset) {
      // CopyRow<false> only reads the message.
      CopyRow<false>(param, const_cast<uint8_t*>(message) + offset, nest.run_bytes, nest.row_runs,
                     nest.row_stride_bytes);
    });
  }
}

Status FillList::Append(const Plan& plan, const Bindings& bindings, const PlanFill& fill) {
  std::span<const PlanFillDim> dims(plan.fill_dims);
  dims = dims.subspan(fill.first_dim, fill.dim_count);
  // The last dim is contiguous bytes: the runs.
  int64_t run_bytes = 1;
  if (!dims.empty() && dims.back().stride_bytes == 1) {
    run_bytes = dims.back().extent;
    dims = dims.first(dims.size() - 1);
  }
  std::optional<Range> starts = Range{fill.base_bytes, fill.base_bytes};
  std::optional<int64_t> run_count = 1;
  for (const PlanFillDim& dim : dims) {
    if (dim.extent < 1) return Outside(plan, fill.family);
    if (starts) starts = Widen(*starts, dim.extent, dim.stride_bytes);
    if (run_count) run_count = CheckedMul(*run_count, dim.extent);
  }
  if (!starts || !run_count || run_bytes < 1 ||
      !Inside(*starts, run_bytes, plan.families[fill.family].bytes)) {
    return Outside(plan, fill.family);
  }
  const size_t first_dim = dims_.size();
  dims_.insert(dims_.end(), dims.begin(), dims.end());
  if (dims.size() > index_.size()) index_.resize(dims.size());
  for (uint8_t* buffer : bindings.instances(fill.family)) {
    if (buffer == nullptr) continue;
    nests_.push_back({buffer + fill.base_bytes, run_bytes, *run_count, first_dim, dims.size()});
  }
  return Status();
}

void FillList::Zero() {
  for (const Nest& nest : nests_) {
    std::fill_n(index_.begin(), nest.dim_count, 0);
    int64_t offset = 0;
    const PlanFillDim* const dims = dims_.data() + nest.first_dim;
    for (int64_t run = 0; run < nest.run_count; ++run) {
      std::memset(nest.base + offset, 0, static_cast<size_t>(nest.run_bytes));
      for (size_t d = nest.dim_count; d-- > 0;) {
        offset += dims[d].stride_bytes;
        if (++index_[d] < dims[d].extent) break;
        offset -= dims[d].stride_bytes * dims[d].extent;
        index_[d] = 0;
      }
    }
  }
}

}  // namespace reshard
