#include "compiler/cli/machine_options.h"

#include <CLI/CLI.hpp>

#include "compiler/cli/bandwidth_option.h"

namespace reshard {

void DeclareMachine(CLI::App* app, const MachineTexts& texts, MachineArgs* args) {
  app->add_option("--ranks", args->rank_file, "rank file: RANK HOST GPU on each line")->required();
  app->add_option("-o,--output", args->output, "topology file to write, '-' for standard output")
      ->required();
  app->add_option("--nic-bw", args->nic_gb_per_s, texts.nic_help)
      ->required(texts.nic_required)
      ->check(CheckBandwidth);
  app->add_option("--nvlink-bw", args->nvlink_gb_per_s, texts.nvlink_help)->check(CheckBandwidth);
}

}  // namespace reshard
