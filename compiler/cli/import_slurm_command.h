// reshardc import slurm: a topology from Slurm's topology.conf and a rank file.
#ifndef RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_

#include <cstdint>
#include <string>

#include "compiler/cli/import_files.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportSlurmArgs {
  std::string topology, rank_file;  // paths
  std::string output;               // path of the topology
  uint32_t gpus_per_node = 0;
  std::string nic_gb_per_s, nvlink_gb_per_s, uplink_gb_per_s;
};

void DeclareImportSlurm(CLI::App* app, ImportSlurmArgs* args);
bool RunImportSlurm(const ImportSlurmArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_SLURM_COMMAND_H_
