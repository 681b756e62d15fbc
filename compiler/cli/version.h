// The version of this program, which is that of the Python package too.
#ifndef RESHARD_COMPILER_CLI_VERSION_H_
#define RESHARD_COMPILER_CLI_VERSION_H_

namespace reshard {

inline constexpr const char* kProgramVersion = "0.1.0";

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_VERSION_H_
