#include "compiler/cli/import_smi_topo_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/import/import_smi_topo.h"

namespace reshard {

void DeclareImportSmiTopo(CLI::App* app, ImportSmiTopoArgs* args) {
  app->add_option("matrix", args->matrix, "what `nvidia-smi topo -m` printed on a host")
      ->required();
  DeclareMachine(
      app,
      {.nic_help = "GB/s of each NIC, as really arrives",
       .nvlink_help = "GB/s of a GPU over NVLink, as really arrives; required with NVLink"},
      &args->machine);
}

bool RunImportSmiTopo(const ImportSmiTopoArgs& args, ImportRun* run) {
  const std::optional<uint32_t> matrix = ReadTextFile(args.matrix, run);
  const std::optional<uint32_t> ranks = ReadTextFile(args.machine.rank_file, run);
  if (!matrix || !ranks) return false;
  SmiTopoInput input;
  input.matrix = *matrix;
  input.rank_file = *ranks;
  input.nic_gb_per_s = args.machine.nic_gb_per_s;
  input.nvlink_gb_per_s = args.machine.nvlink_gb_per_s;
  JsonDoc topo = JsonDoc::Object();
  return ImportSmiTopo(run->sources, input, &run->diags, &topo) &&
         WriteTopologyFile(args.machine.output, topo, run);
}

}  // namespace reshard
