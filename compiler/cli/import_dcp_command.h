// reshardc import dcp: what the ranks of a job saved with torch.distributed.checkpoint.
#ifndef RESHARD_COMPILER_CLI_IMPORT_DCP_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_DCP_COMMAND_H_

#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/cli/side_options.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportDcpArgs {
  std::string file;
  std::string output;
  SideArgs side;
};

void DeclareImportDcp(CLI::App* app, ImportDcpArgs* args);

// False after an error was printed or reported.
[[nodiscard]] bool RunImportDcp(const ImportDcpArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_DCP_COMMAND_H_
