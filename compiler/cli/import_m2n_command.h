// reshardc import m2n: the two input files of NCCL M2N's model benchmark.
#ifndef RESHARD_COMPILER_CLI_IMPORT_M2N_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_M2N_COMMAND_H_

#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/import/import_m2n.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportM2nArgs {
  std::string model;
  std::string system;
  std::string folder;
  M2nTopology machine;
};

void DeclareImportM2n(CLI::App* app, ImportM2nArgs* args);

// False after an error was printed or reported.
[[nodiscard]] bool RunImportM2n(const ImportM2nArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_M2N_COMMAND_H_
