// reshardc import nvidia-smi-topo: a topology from what nvidia-smi prints and a rank file.
#ifndef RESHARD_COMPILER_CLI_IMPORT_SMI_TOPO_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_SMI_TOPO_COMMAND_H_

#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/cli/machine_options.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportSmiTopoArgs {
  std::string matrix;  // path
  MachineArgs machine;
};

void DeclareImportSmiTopo(CLI::App* app, ImportSmiTopoArgs* args);
bool RunImportSmiTopo(const ImportSmiTopoArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_SMI_TOPO_COMMAND_H_
