#include "compiler/layout/nic_affinity.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace reshard {

namespace {

constexpr uint32_t kNoSet = UINT32_MAX;

// GPU -> the set that it is in, or kNoSet.
std::vector<uint32_t> SetOf(const GpuSets& sets, uint32_t gpus) {
  std::vector<uint32_t> out(gpus, kNoSet);
  for (uint32_t s = 0; s < sets.size(); ++s) {
    for (const uint32_t gpu : sets[s]) out[gpu] = s;
  }
  return out;
}

// Distances of one NIC to every GPU; nullopt: not known.
using Distances = std::vector<std::optional<PciePath>>;

Distances DistancesOf(const NodeTypeSpec& type, const NicSpec& nic,
                      const std::vector<uint32_t>& numa_of,
                      const std::vector<uint32_t>& switch_of) {
  Distances out(type.gpus);
  uint32_t numa = nic.numa.value_or(kNoSet);
  if (numa == kNoSet && !nic.gpus.empty()) numa = numa_of[nic.gpus[0]];
  for (uint32_t gpu = 0; gpu < type.gpus; ++gpu) {
    if (numa == kNoSet || numa_of[gpu] == kNoSet) continue;
    out[gpu] = numa_of[gpu] == numa ? PciePath::kNode : PciePath::kSys;
  }
  for (const uint32_t own : nic.gpus) {
    if (switch_of[own] == kNoSet) continue;
    for (const uint32_t gpu : type.pcie.switches[switch_of[own]]) out[gpu] = PciePath::kPxb;
  }
  if (nic.path && nic.gpus.empty()) {
    for (uint32_t gpu = 0; gpu < type.gpus; ++gpu) {
      if (out[gpu] != PciePath::kSys) out[gpu] = nic.path;
    }
  }
  for (const uint32_t own : nic.gpus) out[own] = nic.path.value_or(PciePath::kPix);
  for (const auto& [gpu, path] : nic.gpu_paths) out[gpu] = path;
  return out;
}

int64_t SmallerLimit(int64_t a, int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// What the way between a GPU and a NIC at this distance lets through; 0: no limit is stated.
int64_t HostLimit(const NodeTypeSpec& type, const NicSpec& nic, std::optional<PciePath> distance) {
  const PcieSpec& pcie = type.pcie;
  int64_t limit = nic.c2c ? type.c2c_bytes_per_s : pcie.gpu_bytes_per_s;
  const bool between_numa = distance == PciePath::kSys;
  if (between_numa) limit = SmallerLimit(limit, type.inter_numa_bytes_per_s);
  if (nic.c2c) return limit;
  if (!nic.gdr || !pcie.p2p) return SmallerLimit(limit, pcie.host_bounce_bytes_per_s);
  if (!distance) return limit;
  if (between_numa) return SmallerLimit(limit, pcie.cross_numa_bytes_per_s);
  const bool one_switch = distance == PciePath::kPix || distance == PciePath::kPxb;
  return SmallerLimit(limit,
                      one_switch ? pcie.same_switch_bytes_per_s : pcie.cross_switch_bytes_per_s);
}

}  // namespace

std::vector<GpuNics> ResolveGpuNics(const NodeTypeSpec& type) {
  const std::vector<uint32_t> numa_of = SetOf(type.numa, type.gpus);
  const std::vector<uint32_t> switch_of = SetOf(type.pcie.switches, type.gpus);
  std::vector<GpuNics> out(type.gpus);
  // How near the NICs are that a GPU has so far: its own are nearest, unknown ones farthest.
  constexpr int kOwn = -1;
  constexpr int kUnknown = static_cast<int>(PciePath::kSys) + 1;
  std::vector<int> nearest(type.gpus, kUnknown + 1);
  for (uint32_t n = 0; n < type.nics.size(); ++n) {
    const NicSpec& nic = type.nics[n];
    const Distances distances = DistancesOf(type, nic, numa_of, switch_of);
    std::vector<bool> owns(type.gpus, false);
    for (const uint32_t gpu : nic.gpus) owns[gpu] = true;
    for (uint32_t gpu = 0; gpu < type.gpus; ++gpu) {
      const int distance = owns[gpu]        ? kOwn
                           : distances[gpu] ? static_cast<int>(*distances[gpu])
                                            : kUnknown;
      if (distance > nearest[gpu]) continue;
      if (distance < nearest[gpu]) out[gpu] = GpuNics();
      nearest[gpu] = distance;
      out[gpu].nics.push_back(n);
      out[gpu].host_bytes_per_s =
          SmallerLimit(out[gpu].host_bytes_per_s, HostLimit(type, nic, distances[gpu]));
    }
  }
  return out;
}

}  // namespace reshard
