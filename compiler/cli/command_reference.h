// The man page and the shells' completions of reshardc, made from the declarations of its commands,
// as --help is.
#ifndef RESHARD_COMPILER_CLI_COMMAND_REFERENCE_H_
#define RESHARD_COMPILER_CLI_COMMAND_REFERENCE_H_

#include <ostream>
#include <string>

#include "compiler/cli/exit_code.h"

namespace CLI {
class App;
}

namespace reshard {

struct CompletionArgs {
  std::string shell;  // "bash" or "zsh"
};

void DeclareCompletion(CLI::App* app, CompletionArgs* args);

// `root` is the whole program with all its commands.
ExitCode RunCompletion(const CLI::App& root, const CompletionArgs& args, std::ostream& out);
// Section 1, for `man -l`.
ExitCode RunMan(const CLI::App& root, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_COMMAND_REFERENCE_H_
