// reshardc report: a plan, or two and what differs between them, as one HTML file.
#ifndef RESHARD_COMPILER_CLI_REPORT_COMMAND_H_
#define RESHARD_COMPILER_CLI_REPORT_COMMAND_H_

#include <ostream>
#include <string>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"

namespace CLI {
class App;
}

namespace reshard {

struct ReportArgs {
  std::string plan;
  std::string other;   // compared with `plan`; or empty
  std::string output;  // the page
  bool quiet = false;  // no progress
};

void DeclareReport(CLI::App* app, ReportArgs* args);

// Writes the page of any plan that can be read. kNo when a plan breaks a rule, kCannotJudge when
// the verifier could not decide. That two plans differ is no failure.
ExitCode RunReport(const ReportArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_REPORT_COMMAND_H_
