// reshardc compile: three files in, a plan file out.
#ifndef RESHARD_COMPILER_CLI_COMPILE_COMMAND_H_
#define RESHARD_COMPILER_CLI_COMPILE_COMMAND_H_

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/pipeline.h"

namespace CLI {
class App;
}

namespace reshard {

struct CompileArgs {
  std::string train, infer, topo;
  std::string output;               // empty: compile and report only
  std::optional<Stage> dump_after;  // print this stage's result instead of writing a plan
  CompileOptions options;
  size_t max_errors = kDefaultMaxErrors;
  bool json = false;
  bool quiet = false;    // no summary, no progress
  bool verbose = false;  // also print the candidates
};

void DeclareCompile(CLI::App* app, CompileArgs* args);

ExitCode RunCompile(const CompileArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_COMPILE_COMMAND_H_
