// The options of importers of topologies: the rank file, the output, and bandwidths that no file
// of another system says.
#ifndef RESHARD_COMPILER_CLI_MACHINE_OPTIONS_H_
#define RESHARD_COMPILER_CLI_MACHINE_OPTIONS_H_

#include <string>

namespace CLI {
class App;
}

namespace reshard {

struct MachineArgs {
  std::string rank_file;  // path
  std::string output;     // path of the topology
  // GB/s in one direction, as text of a JSON number; "": not given.
  std::string nic_gb_per_s, nvlink_gb_per_s;
};

// What differs between the formats.
struct MachineTexts {
  const char* nic_help = "";
  bool nic_required = true;
  const char* nvlink_help = "";
};

// Declares --ranks, -o, --nic-bw and --nvlink-bw.
void DeclareMachine(CLI::App* app, const MachineTexts& texts, MachineArgs* args);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_MACHINE_OPTIONS_H_
