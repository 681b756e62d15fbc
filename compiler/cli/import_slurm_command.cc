#include "compiler/cli/import_slurm_command.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "compiler/cli/bandwidth_option.h"
#include "compiler/cli/read_input.h"
#include "compiler/import/import_slurm.h"

namespace reshard {

void DeclareImportSlurm(CLI::App* app, ImportSlurmArgs* args) {
  app->add_option("topology", args->topology, "Slurm's topology.conf, with switches or blocks")
      ->required();
  app->add_option("--ranks", args->rank_file, "rank file: RANK HOST GPU on each line")->required();
  app->add_option("-o,--output", args->output, "topology file to write")->required();
  app->add_option("--gpus-per-node", args->gpus_per_node, "GPUs of a host")
      ->required()
      ->check(CLI::Range(1, 1024));
  app->add_option("--nic-bw", args->nic_gb_per_s, "GB/s of the NIC of a GPU, as really arrives")
      ->required()
      ->check(CheckBandwidth);
  app->add_option("--nvlink-bw", args->nvlink_gb_per_s,
                  "GB/s of a GPU over NVLink, as really arrives; absent: no NVLink")
      ->check(CheckBandwidth);
  app->add_option("--uplink-bw", args->uplink_gb_per_s,
                  "GB/s of all uplinks of a leaf switch or block together; absent: no limit")
      ->check(CheckBandwidth);
}

bool RunImportSlurm(const ImportSlurmArgs& args, ImportRun* run) {
  std::optional<InputFile> topology = ReadInput(args.topology, run->files, run->err);
  std::optional<InputFile> ranks = ReadInput(args.rank_file, run->files, run->err);
  if (!topology || !ranks) return false;
  SlurmInput input;
  input.topology = run->sources.Add(std::move(topology->path), std::move(topology->text));
  input.rank_file = run->sources.Add(std::move(ranks->path), std::move(ranks->text));
  input.gpus_per_node = args.gpus_per_node;
  input.nic_gb_per_s = args.nic_gb_per_s;
  input.nvlink_gb_per_s = args.nvlink_gb_per_s;
  input.uplink_gb_per_s = args.uplink_gb_per_s;
  JsonDoc topo = JsonDoc::Object();
  if (!ImportSlurm(run->sources, input, &run->diags, &topo) ||
      !WriteDocFile(args.output, topo, run)) {
    return false;
  }
  Topology read_again;
  if (!ReadTopology({ShownPath(args.output), PrintDoc(topo)}, &run->diags, &run->sources,
                    &read_again)) {
    return false;
  }
  run->written.push_back({args.output, "topology", 0, 0, 0, 0});
  return true;
}

}  // namespace reshard
