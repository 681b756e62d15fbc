// Bandwidths as options take them.
#ifndef RESHARD_COMPILER_CLI_BANDWIDTH_OPTION_H_
#define RESHARD_COMPILER_CLI_BANDWIDTH_OPTION_H_

#include <string>

namespace reshard {

// "" when `text` is GB/s as a topology file takes it, else what is expected: what is no such number
// is refused before it is written.
std::string CheckBandwidth(const std::string& text);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_BANDWIDTH_OPTION_H_
