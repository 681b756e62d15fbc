// reshardc import safetensors: a Hugging Face model and a parallel.json.
#ifndef RESHARD_COMPILER_CLI_IMPORT_SAFETENSORS_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_SAFETENSORS_COMMAND_H_

#include <string>

#include "compiler/cli/import_files.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportSafetensorsArgs {
  std::string model;  // a folder, an index.json, a .safetensors file; empty when not given
  std::string parallel;
  std::string folder;
};

void DeclareImportSafetensors(CLI::App* app, ImportSafetensorsArgs* args);

// False after an error was printed or reported.
[[nodiscard]] bool RunImportSafetensors(const ImportSafetensorsArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_SAFETENSORS_COMMAND_H_
