// Measures how fast CopyList gathers and scatters rows that lie apart. Prints one JSON list.
//
// Usage: pack_bench [REPEAT]
//
// Each against a plain loop over the same rows, and against memcpy of as many adjacent bytes;
// repetitions take turns.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/exec/pack.h"

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The fastest is disturbed least by whatever else the machine does.
double Fastest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

constexpr int64_t kPayloadBytes = int64_t{32} << 20;

// Not inlined, so that the row length stays a variable, as it is in any general loop.
__attribute__((noinline)) void PlainRows(uint8_t* to, int64_t to_pitch, const uint8_t* from,
                                         int64_t from_pitch, int64_t rows, int64_t row_bytes) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_pitch, from + r * from_pitch, static_cast<size_t>(row_bytes));
  }
}

void PrintPack(int64_t row_bytes, int repeat, bool last) {
  const int64_t rows = kPayloadBytes / row_bytes;
  const int64_t pitch = 2 * row_bytes;
  std::vector<uint8_t> param(static_cast<size_t>(rows * pitch), 1);
  std::vector<uint8_t> message(static_cast<size_t>(kPayloadBytes), 2);
  reshard::Plan plan;
  plan.families.emplace_back();
  plan.families[0].bytes = rows * pitch;
  const reshard::Bindings bindings = reshard::Bindings::OfInstances({{param.data()}});
  reshard::RunNest nest;
  nest.run_bytes = row_bytes;
  nest.dims = {{rows, pitch, 0}};
  reshard::CopyList list;
  const auto range = list.Append(plan, bindings, std::vector{nest}, kPayloadBytes);
  std::vector<double> gather, scatter, plain_gather, plain_scatter, copy;
  const auto measure = [](std::vector<double>* times, const auto& work) {
    const auto begin = Clock::now();
    work();
    times->push_back(Seconds(begin));
  };
  for (int i = 0; i < 5 * repeat; ++i) {
    // In turns, forwards and backwards: caches remember what came before.
    switch (i / 5 % 2 == 0 ? i % 5 : 4 - i % 5) {
      case 0:
        measure(&gather, [&] { list.Gather(*range, message.data()); });
        break;
      case 1:
        measure(&plain_gather, [&] {
          PlainRows(message.data(), row_bytes, param.data(), pitch, rows, row_bytes);
        });
        break;
      case 2:
        measure(&scatter, [&] { list.Scatter(*range, message.data()); });
        break;
      case 3:
        measure(&plain_scatter, [&] {
          PlainRows(param.data(), pitch, message.data(), row_bytes, rows, row_bytes);
        });
        break;
      default:
        measure(&copy, [&] { std::memcpy(message.data(), param.data(), message.size()); });
    }
  }
  const auto rate = [](const std::vector<double>& times) {
    return static_cast<double>(kPayloadBytes) / Fastest(times) / 1e9;
  };
  std::printf(
      "  {\"row_bytes\": %lld, \"pack_gb_per_s\": %.2f, \"plain_pack_gb_per_s\": %.2f, "
      "\"pack_over_plain\": %.3f, \"unpack_gb_per_s\": %.2f, \"plain_unpack_gb_per_s\": %.2f, "
      "\"unpack_over_plain\": %.3f, \"memcpy_gb_per_s\": %.2f}%s\n",
      static_cast<long long>(row_bytes), rate(gather), rate(plain_gather),
      rate(gather) / rate(plain_gather), rate(scatter), rate(plain_scatter),
      rate(scatter) / rate(plain_scatter), rate(copy), last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
  const int repeat = argc > 1 ? std::atoi(argv[1]) : 15;
  std::printf("[\n");
  PrintPack(128, repeat, false);
  PrintPack(1024, repeat, false);
  PrintPack(65536, repeat, true);
  std::printf("]\n");
  return 0;
}
