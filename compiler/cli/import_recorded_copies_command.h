// reshardc import recorded-copies: the copies that an engine's weight loader made.
#ifndef RESHARD_COMPILER_CLI_IMPORT_RECORDED_COPIES_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_RECORDED_COPIES_COMMAND_H_

#include <string>
#include <vector>

#include "compiler/cli/import_files.h"
#include "compiler/import/import_recorded_copies.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportRecordedCopiesArgs {
  std::vector<std::string> files;
  std::string shapes;
  std::string output;
  RecordedCopiesOptions options;
};

void DeclareImportRecordedCopies(CLI::App* app, ImportRecordedCopiesArgs* args);

// False after an error was printed or reported.
[[nodiscard]] bool RunImportRecordedCopies(const ImportRecordedCopiesArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_RECORDED_COPIES_COMMAND_H_
