#include "runtime/exec/nccl/copy_table.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/double/host_gpu.h"

namespace reshard::nccl {
namespace {

TEST_CASE("division by multiplication is exact at the edges and in between") {
  std::mt19937_64 random(1);
  std::vector<uint32_t> divisors;
  for (uint32_t d = 1; d <= 300; ++d) divisors.push_back(d);
  for (uint32_t shift = 9; shift <= 31; ++shift) {
    const uint32_t power = uint32_t{1} << shift;
    for (const uint32_t d : {power - 1, power, power + 1}) {
      if (d <= uint32_t{1} << 31) divisors.push_back(d);
    }
  }
  for (const uint32_t divisor : divisors) {
    const Divisor by = MakeDivisor(divisor);
    std::vector<uint64_t> dividends = {0, 1, divisor - 1, divisor, kDividendLimit - 1};
    for (const uint64_t k : {2U, 3U, 1000U}) {
      dividends.push_back(k * divisor - 1);
      dividends.push_back(k * divisor);
    }
    for (int i = 0; i < 20; ++i) dividends.push_back(random() % kDividendLimit);
    for (const uint64_t dividend : dividends) {
      if (dividend >= static_cast<uint64_t>(kDividendLimit)) continue;
      const auto number = static_cast<uint32_t>(dividend);
      if (Divide(number, by) != number / divisor) {
        FAIL("divided " << number << " by " << divisor);
      }
    }
  }
}

// One rank with a family of four instances.
constexpr int64_t kParamBytes = 40000;
struct Params {
  Params() {
    plan.rank_sets = {{0}};
    PlanFamily family;
    family.name = {{"w.", ""}, {{0, {1}}}};
    family.loop_begin = {0};
    family.loop_extent = {4};
    family.shape = {kParamBytes};
    family.dtype = DType::kU8;
    family.bytes = kParamBytes;
    plan.families = {family};
    std::vector<ParamBuffer> list;
    for (size_t i = 0; i < 4; ++i) {
      // Not aligned to anything.
      buffers.emplace_back(kParamBytes + 64);
      ParamBuffer buffer;
      buffer.name = "w." + std::to_string(i);
      buffer.data = buffers.back().data() + 1 + 3 * i;
      buffer.bytes = kParamBytes;
      list.push_back(buffer);
    }
    StatusOr<Bindings> bound = BindParams(plan, 0, list, kHostDevice);
    REQUIRE(bound.ok());
    bindings = *std::move(bound);
  }
  uint8_t* instance(int64_t i) { return bindings.instances(0)[static_cast<size_t>(i)]; }
  Plan plan;
  std::vector<std::vector<uint8_t>> buffers;
  Bindings bindings;
};

// Calls visit(byte of the param, byte of the message) for each byte of a nest, as walk.h says it.
template <class Visit>
void ForEachByte(Params* params, const RunNest& nest, Visit visit) {
  int64_t runs = 1;
  for (const RunNest::Dim& dim : nest.dims) runs *= dim.extent;
  for (int64_t run = 0; run < runs; ++run) {
    int64_t instance = nest.base_instance;
    int64_t position = nest.base_bytes;
    int64_t rest = run;
    for (size_t d = nest.dims.size(); d-- > 0;) {
      const int64_t index = rest % nest.dims[d].extent;
      rest /= nest.dims[d].extent;
      instance += index * nest.dims[d].instance_stride;
      position += index * nest.dims[d].stride_bytes;
    }
    for (int64_t b = 0; b < nest.run_bytes; ++b) {
      visit(params->instance(instance) + position + b,
            nest.message_offset + run * nest.run_bytes + b);
    }
  }
}

// Nests of runs of 1 byte to several tiles, with strides of either sign over bytes and instances.
RunNest RandomNest(std::mt19937_64* random) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>((*random)() % static_cast<uint64_t>(n));
  };
  const int64_t unit = int64_t{1} << below(6);
  RunNest nest;
  const bool long_runs = below(3) == 0;
  nest.run_bytes = long_runs ? 2000 + below(6000) : (1 + below(40)) * unit;
  const int64_t inner = 1 + below(long_runs ? 3 : 12);
  const int64_t pitch = nest.run_bytes + below(3) * unit;
  const bool backwards = below(4) == 0;
  nest.dims.push_back({inner, backwards ? -pitch : pitch, 0});
  nest.base_bytes = below(8) * unit + (backwards ? (inner - 1) * pitch : 0);
  if (below(2) == 0) {
    const bool down = below(2) == 0;
    nest.dims.insert(nest.dims.begin(), {3, 0, down ? -1 : 1});
    nest.base_instance = down ? 3 : below(2);
  }
  if (below(2) == 0 && !long_runs && inner * pitch * 2 + 8 * unit < kParamBytes) {
    nest.dims.insert(nest.dims.begin(), {2, inner * pitch, 0});
  }
  nest.message_offset = below(5) * unit;
  return nest;
}

TEST_CASE("tables gather and scatter what the nests say, whatever the alignment") {
  std::mt19937_64 random(7);
  HostMachine machine;
  HostGpu gpu(&machine, {});
  const CurrentDevice current(&gpu);
  const StreamHandle stream = *gpu.CreateStream(false);
  size_t moved_bytes = 0;
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    Params params;
    const RunNest nest = RandomNest(&random);
    int64_t message_bytes = nest.message_offset;
    int64_t nest_bytes = nest.run_bytes;
    for (const RunNest::Dim& dim : nest.dims) nest_bytes *= dim.extent;
    message_bytes += nest_bytes;
    moved_bytes += static_cast<size_t>(nest_bytes);
    CopyList list;
    const StatusOr<CopyRange> range =
        list.Append(params.plan, params.bindings, {&nest, 1}, message_bytes);
    REQUIRE(range.status().ToString() == "ok");
    std::vector<uint8_t> storage(static_cast<size_t>(message_bytes) + 32, 0xEE);
    uint8_t* const message = storage.data() + random() % 16;
    CopyTableBuilder builder;
    REQUIRE(builder.Add(list, *range, message).ok());
    const StatusOr<CopyTable> table = builder.Upload(&gpu);
    REQUIRE(table.ok());
    const TileRange tiles = builder.Since(0);

    for (std::vector<uint8_t>& buffer : params.buffers) {
      for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(random());
    }
    std::vector<uint8_t> expected = storage;
    uint8_t* const expected_message = expected.data() + (message - storage.data());
    ForEachByte(&params, nest,
                [&](const uint8_t* param, int64_t at) { expected_message[at] = *param; });
    REQUIRE(gpu.LaunchCopies(CopyKind::kGather, table->tables(), tiles, stream).ok());
    REQUIRE(gpu.Synchronize(stream).ok());
    CHECK(storage == expected);

    // And back, into other bytes: only those of the nest may change.
    for (int64_t b = 0; b < message_bytes; ++b) message[b] = static_cast<uint8_t>(random());
    const std::vector<std::vector<uint8_t>> before = params.buffers;
    REQUIRE(gpu.LaunchCopies(CopyKind::kScatter, table->tables(), tiles, stream).ok());
    REQUIRE(gpu.Synchronize(stream).ok());
    const std::vector<std::vector<uint8_t>> scattered = params.buffers;
    params.buffers = before;
    // `buffers` kept their storage: the bindings still point into them.
    ForEachByte(&params, nest, [&](uint8_t* param, int64_t at) { *param = message[at]; });
    CHECK(scattered == params.buffers);
  }
  CHECK(moved_bytes > 1000000);
  gpu.DestroyStream(stream);
  CHECK(machine.blocks_in_use() == 0);
}

TEST_CASE("zeros go where the fill is, and nowhere else") {
  Params params;
  PlanFill fill;
  fill.base_bytes = 5;
  fill.dim_count = 2;
  params.plan.fill_dims = {{3, 9000}, {2500, 1}};
  FillList fills;
  REQUIRE(fills.Append(params.plan, params.bindings, fill).ok());
  CopyTableBuilder builder;
  REQUIRE(builder.AddZeros(fills).ok());
  HostMachine machine;
  HostGpu gpu(&machine, {});
  const CurrentDevice current(&gpu);
  const StatusOr<CopyTable> table = builder.Upload(&gpu);
  REQUIRE(table.ok());
  for (std::vector<uint8_t>& buffer : params.buffers) buffer.assign(buffer.size(), 0xEE);
  const StreamHandle stream = *gpu.CreateStream(false);
  REQUIRE(gpu.LaunchCopies(CopyKind::kZero, table->tables(), builder.Since(0), stream).ok());
  REQUIRE(gpu.Synchronize(stream).ok());
  gpu.DestroyStream(stream);
  size_t wrong = 0;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t b = 0; b < kParamBytes; ++b) {
      const bool inside = b >= 5 && (b - 5) / 9000 < 3 && (b - 5) % 9000 < 2500;
      wrong += params.instance(i)[b] != (inside ? 0 : 0xEE);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a nest with too many parts is refused, not cut short") {
  Params params;
  params.plan.families[0].bytes = int64_t{1} << 40;
  RunNest nest;
  nest.run_bytes = 1;
  nest.dims = {{1 << 16, 0, 0}, {1 << 16, 2, 0}};
  CopyList list;
  const StatusOr<CopyRange> range =
      list.Append(params.plan, params.bindings, {&nest, 1}, int64_t{1} << 32);
  REQUIRE(range.ok());
  CopyTableBuilder builder;
  CHECK(builder.Add(list, *range, params.buffers[0].data()).code() == StatusCode::kLimitExceeded);
}

}  // namespace
}  // namespace reshard::nccl
