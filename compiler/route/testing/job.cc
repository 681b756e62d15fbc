#include "compiler/route/testing/job.h"

#include <string>
#include <utility>

namespace reshard::testing {
namespace {

constexpr int64_t kScaleupRate = 370'000'000'000;
constexpr uint32_t kGpusPerDomain = 8;

}  // namespace

Job::Job() {
  SuperTensor super;
  super.name.text = {"t.", ""};
  super.name.holes = {{0, {1}}};
  super.loop_begin = {0};
  super.loop_extent = {int64_t{1} << 40};
  super.shape = {int64_t{1} << 40};
  super.dtype = DType::kU8;
  table.supers.push_back(super);
  transfers.dims = {{{0, 1}, {1, 1}}};
}

void Job::AddDomain(uint32_t rank_count, int64_t nic_bytes_per_s, uint32_t ranks_per_nic) {
  const auto domain_id = static_cast<DomainId>(topology.domains.size());
  const auto node_id = static_cast<NodeId>(topology.nodes.size());
  topology.nodes.push_back({"node" + std::to_string(node_id), 0, kNone});
  Domain domain;
  domain.name = "domain" + std::to_string(domain_id);
  domain.bytes_per_s = kScaleupRate;
  for (uint32_t gpu = 0; gpu < rank_count; ++gpu) {
    RankSite site;
    site.rank = static_cast<Rank>(topology.sites.size());
    site.node = node_id;
    site.gpu = gpu;
    site.domain = domain_id;
    if (ranks_per_nic > 0) {
      if (gpu % ranks_per_nic == 0) {
        domain.nics.push_back(static_cast<NicId>(topology.nics.size()));
        topology.nics.push_back(
            {"nic" + std::to_string(topology.nics.size()), node_id, nic_bytes_per_s, -1});
      }
      site.nics = {domain.nics.back()};
    }
    domain.ranks.push_back(site.rank);
    topology.site_index[site.rank] = static_cast<uint32_t>(topology.sites.size());
    topology.sites.push_back(site);
  }
  topology.domains.push_back(std::move(domain));
}

void Job::AddClass(const RankList& holders, const RankList& needers,
                   const std::vector<int64_t>& cell_bytes) {
  TransferClass cls;
  cls.holders = transfers.rank_sets.Intern(holders);
  cls.needers = transfers.rank_sets.Intern(needers);
  cls.first_cell = static_cast<uint32_t>(transfers.cells.size());
  cls.cell_count = static_cast<uint32_t>(cell_bytes.size());
  for (const int64_t bytes : cell_bytes) {
    const auto tensor = static_cast<int64_t>(transfers.cells.size());
    transfers.cells.push_back({0, {{tensor, 1}, {0, bytes}}, bytes});
    cls.bytes += bytes;
  }
  transfers.classes.push_back(cls);
}

RankList Strided(Rank first, uint32_t count, uint32_t stride) {
  RankList ranks;
  for (uint32_t i = 0; i < count; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

Job MoeJob(const MoeShape& shape) {
  Job job;
  const uint32_t stage_ranks = shape.ep * shape.edp;
  const uint32_t sources = shape.pp * stage_ranks;
  const uint32_t destinations = shape.tp * shape.replicas;
  for (uint32_t i = 0; i < sources; i += kGpusPerDomain) {
    job.AddDomain(std::min(kGpusPerDomain, sources - i), shape.source_rate);
  }
  for (uint32_t i = 0; i < destinations; i += kGpusPerDomain) {
    job.AddDomain(std::min(kGpusPerDomain, destinations - i), shape.destination_rate);
  }
  const int64_t stage_bytes = shape.model_bytes / shape.pp;
  const int64_t dense_bytes = stage_bytes * 3 / 100;
  const int64_t expert_bytes = (stage_bytes - dense_bytes) / shape.ep / shape.tp / 32 * 32;
  for (uint32_t stage = 0; stage < shape.pp; ++stage) {
    const Rank first = stage * stage_ranks;
    for (uint32_t t = 0; t < shape.tp; ++t) {
      const RankList needers = Strided(sources + t, shape.replicas, shape.tp);
      for (uint32_t e = 0; e < shape.ep; ++e) {
        job.AddClass(Strided(first + e, shape.edp, shape.ep), needers,
                     {expert_bytes / 2, expert_bytes / 2});
      }
      job.AddClass(Strided(first, stage_ranks, 1), needers, {dense_bytes / 2 / shape.tp / 16 * 16});
    }
    job.AddClass(Strided(first, stage_ranks, 1), Strided(sources, destinations, 1),
                 {dense_bytes / 4 / 16 * 16, dense_bytes / 4 / 16 * 16, 1792, 30});
  }
  return job;
}

}  // namespace reshard::testing
