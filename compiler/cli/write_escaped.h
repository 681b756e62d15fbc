// Text for a terminal: names from files may hold control characters, which must not reach it.
#ifndef RESHARD_COMPILER_CLI_WRITE_ESCAPED_H_
#define RESHARD_COMPILER_CLI_WRITE_ESCAPED_H_

#include <ostream>
#include <sstream>
#include <string>

#include "compiler/diag/diagnostics.h"

namespace reshard {

// Prints `text`, which ends with a newline, escaped line by line.
inline void WriteEscaped(const std::string& text, std::ostream& out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out << EscapeForTerminal(line) << "\n";
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_WRITE_ESCAPED_H_
