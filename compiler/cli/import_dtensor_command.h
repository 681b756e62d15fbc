// reshardc import dtensor: what reshard.torch.export_dtensors wrote.
#ifndef RESHARD_COMPILER_CLI_IMPORT_DTENSOR_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_DTENSOR_COMMAND_H_

#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/cli/side_options.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportDtensorArgs {
  std::string file;
  std::string output;
  SideArgs side;
};

void DeclareImportDtensor(CLI::App* app, ImportDtensorArgs* args);

// False after an error was printed or reported.
[[nodiscard]] bool RunImportDtensor(const ImportDtensorArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_DTENSOR_COMMAND_H_
