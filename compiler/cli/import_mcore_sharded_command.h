// reshardc import mcore-sharded: a layout from what ranks of Megatron-Core say that they have.
#ifndef RESHARD_COMPILER_CLI_IMPORT_MCORE_SHARDED_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_MCORE_SHARDED_COMMAND_H_

#include <cstdint>
#include <string>

#include "compiler/cli/import_files.h"
#include "compiler/cli/side_options.h"
#include "compiler/import/import_mcore_sharded.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportMcoreShardedArgs {
  std::string file;    // path of the export
  std::string shapes;  // path; "": the file has them
  std::string output;  // path of the layout
  SideArgs side;
  int64_t max_pieces = McoreOptions().max_pieces;
};

void DeclareImportMcoreSharded(CLI::App* app, ImportMcoreShardedArgs* args);
bool RunImportMcoreSharded(const ImportMcoreShardedArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_MCORE_SHARDED_COMMAND_H_
