#include "compiler/cli/import_smi_topo_command.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "compiler/cli/bandwidth_option.h"
#include "compiler/cli/read_input.h"
#include "compiler/import/import_smi_topo.h"

namespace reshard {

void DeclareImportSmiTopo(CLI::App* app, ImportSmiTopoArgs* args) {
  app->add_option("matrix", args->matrix, "what `nvidia-smi topo -m` printed on a host")
      ->required();
  app->add_option("--ranks", args->rank_file, "rank file: RANK HOST GPU on each line")->required();
  app->add_option("-o,--output", args->output, "topology file to write")->required();
  app->add_option("--nic-bw", args->nic_gb_per_s, "GB/s of each NIC, as really arrives")
      ->required()
      ->check(CheckBandwidth);
  app->add_option("--nvlink-bw", args->nvlink_gb_per_s,
                  "GB/s of a GPU over NVLink, as really arrives; required with NVLink")
      ->check(CheckBandwidth);
}

bool RunImportSmiTopo(const ImportSmiTopoArgs& args, ImportRun* run) {
  std::optional<InputFile> matrix = ReadInput(args.matrix, run->files, run->err);
  std::optional<InputFile> ranks = ReadInput(args.rank_file, run->files, run->err);
  if (!matrix || !ranks) return false;
  SmiTopoInput input;
  input.matrix = run->sources.Add(std::move(matrix->path), std::move(matrix->text));
  input.rank_file = run->sources.Add(std::move(ranks->path), std::move(ranks->text));
  input.nic_gb_per_s = args.nic_gb_per_s;
  input.nvlink_gb_per_s = args.nvlink_gb_per_s;
  JsonDoc topo = JsonDoc::Object();
  if (!ImportSmiTopo(run->sources, input, &run->diags, &topo) ||
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
