// Measures how long a rank takes to load its part of a plan: reading the file, checking digests and
// bounds, its local rules, and its program.
//
// Usage: load_rank_bench PLAN REPEAT RANK...
// Prints per rank "RANK WALL_NS CPU_NS OPS", each time the median of REPEAT loads after one more.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/plan/load_plan.h"
#include "runtime/plan/verified_program.h"

namespace {

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int64_t Median(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int64_t CpuNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

reshard::StatusOr<reshard::Program> LoadProgram(const char* path, uint32_t rank) {
  const reshard::StatusOr<reshard::LoadedPlan> loaded = reshard::LoadPlanFile(path, {});
  if (!loaded.ok()) return loaded.status();
  return reshard::VerifiedProgram(loaded->plan, rank);
}

// False when the rank cannot be loaded.
bool Measure(const char* path, uint32_t rank, uint32_t repeat) {
  std::vector<int64_t> wall_ns;
  std::vector<int64_t> cpu_ns;
  size_t op_count = 0;
  for (uint32_t run = 0; run <= repeat; ++run) {
    const auto wall_begin = std::chrono::steady_clock::now();
    const int64_t cpu_begin = CpuNanoseconds();
    const reshard::StatusOr<reshard::Program> program = LoadProgram(path, rank);
    const int64_t cpu = CpuNanoseconds() - cpu_begin;
    const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - wall_begin;
    if (!program.ok()) {
      std::fprintf(stderr, "load_rank_bench: %s\n", program.status().message().c_str());
      return false;
    }
    if (run == 0) continue;  // the file was not in memory, perhaps
    wall_ns.push_back(wall.count());
    cpu_ns.push_back(cpu);
    op_count = program->ops.size();
  }
  std::printf("%u %lld %lld %zu\n", rank, static_cast<long long>(Median(wall_ns)),
              static_cast<long long>(Median(cpu_ns)), op_count);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<uint32_t> repeat = argc > 3 ? ParseNumber(argv[2]) : std::nullopt;
  if (!repeat || *repeat < 1) {
    std::fputs("usage: load_rank_bench PLAN REPEAT RANK...\n", stderr);
    return 2;
  }
  for (int i = 3; i < argc; ++i) {
    const std::optional<uint32_t> rank = ParseNumber(argv[i]);
    if (!rank || !Measure(argv[1], *rank, *repeat)) return 2;
  }
  return 0;
}
