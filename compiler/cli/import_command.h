// reshardc import: what other systems write, as our layouts and topologies.
//
// Each format is a command of its own below `import`, in import_FORMAT_command.{h,cc}; here is the
// list of them.
#ifndef RESHARD_COMPILER_CLI_IMPORT_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_COMMAND_H_

#include <functional>
#include <ostream>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/cli/import_dcp_command.h"
#include "compiler/cli/import_dtensor_command.h"
#include "compiler/cli/import_files.h"
#include "compiler/cli/import_m2n_command.h"
#include "compiler/cli/import_mcore_sharded_command.h"
#include "compiler/cli/import_nccl_xml_command.h"
#include "compiler/cli/import_recorded_copies_command.h"
#include "compiler/cli/import_safetensors_command.h"
#include "compiler/cli/import_slurm_command.h"
#include "compiler/cli/import_smi_topo_command.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportArgs {
  ImportM2nArgs m2n;
  ImportSafetensorsArgs safetensors;
  ImportDtensorArgs dtensor;
  ImportMcoreShardedArgs mcore_sharded;
  ImportDcpArgs dcp;
  ImportRecordedCopiesArgs recorded_copies;
  ImportNcclXmlArgs nccl_xml;
  ImportSmiTopoArgs smi_topo;
  ImportSlurmArgs slurm;
  size_t max_errors = kDefaultMaxErrors;
  bool json = false;
  std::function<bool(ImportRun*)> run;  // the format that the command line names
};

void DeclareImport(CLI::App* app, ImportArgs* args);

ExitCode RunImport(const ImportArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_COMMAND_H_
