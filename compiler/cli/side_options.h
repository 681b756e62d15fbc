// --side and --rank-base: what an import says of a file that describes one side of a job.
#ifndef RESHARD_COMPILER_CLI_SIDE_OPTIONS_H_
#define RESHARD_COMPILER_CLI_SIDE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "compiler/import/exported_side.h"

namespace CLI {
class App;
}

namespace reshard {

struct SideArgs {
  std::string side = "source";
  int64_t rank_base = 0;
};

void DeclareSide(CLI::App* app, SideArgs* args);

ExportedSide SideOf(const SideArgs& args);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_SIDE_OPTIONS_H_
