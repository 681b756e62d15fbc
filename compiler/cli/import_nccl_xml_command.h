// reshardc import nccl-xml: a topology from what NCCL writes about hosts and a rank file.
#ifndef RESHARD_COMPILER_CLI_IMPORT_NCCL_XML_COMMAND_H_
#define RESHARD_COMPILER_CLI_IMPORT_NCCL_XML_COMMAND_H_

#include <string>
#include <vector>

#include "compiler/cli/import_files.h"
#include "compiler/cli/machine_options.h"

namespace CLI {
class App;
}

namespace reshard {

struct ImportNcclXmlArgs {
  std::vector<std::string> files;  // paths
  MachineArgs machine;
};

void DeclareImportNcclXml(CLI::App* app, ImportNcclXmlArgs* args);
bool RunImportNcclXml(const ImportNcclXmlArgs& args, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_NCCL_XML_COMMAND_H_
