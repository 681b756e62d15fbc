#include "compiler/cli/import_slurm_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/cli/bandwidth_option.h"
#include "compiler/import/import_slurm.h"

namespace reshard {

void DeclareImportSlurm(CLI::App* app, ImportSlurmArgs* args) {
  app->add_option("topology", args->topology, "Slurm's topology.conf, with switches or blocks")
      ->required();
  DeclareMachine(app,
                 {.nic_help = "GB/s of the NIC of a GPU, as really arrives",
                  .nvlink_help = "GB/s of a GPU over NVLink, as really arrives; absent: no NVLink"},
                 &args->machine);
  app->add_option("--gpus-per-node", args->gpus_per_node, "GPUs of a host")
      ->required()
      ->check(CLI::Range(1, 1024));
  app->add_option("--uplink-bw", args->uplink_gb_per_s,
                  "GB/s of all uplinks of a leaf switch or block together; absent: no limit")
      ->check(CheckBandwidth);
}

bool RunImportSlurm(const ImportSlurmArgs& args, ImportRun* run) {
  const std::optional<uint32_t> topology = ReadTextFile(args.topology, run);
  const std::optional<uint32_t> ranks = ReadTextFile(args.machine.rank_file, run);
  if (!topology || !ranks) return false;
  SlurmInput input;
  input.topology = *topology;
  input.rank_file = *ranks;
  input.gpus_per_node = args.gpus_per_node;
  input.nic_gb_per_s = args.machine.nic_gb_per_s;
  input.nvlink_gb_per_s = args.machine.nvlink_gb_per_s;
  input.uplink_gb_per_s = args.uplink_gb_per_s;
  JsonDoc topo = JsonDoc::Object();
  return ImportSlurm(run->sources, input, &run->diags, &topo) &&
         WriteTopologyFile(args.machine.output, topo, run);
}

}  // namespace reshard
