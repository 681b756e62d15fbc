// reshardc import slurm: a topology from Slurm's topology.conf and a rank file.
#ifndef RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_

#include <cstdint>
#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/cli/machine_options.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportSlurmArgs {
  std::string topology;  // path
  MachineArgs machine;
  uint32_t gpus_per_node = 0;
  std::string uplink_gb_per_s;
};

void DeclareImportSlurm(CLI::App* app, ImportSlurmArgs* args);
bool RunImportSlurm(const ImportSlurmArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_
