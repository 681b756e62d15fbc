// Terminal: what is shown where people look, and only there: colours, and tables that fit.
//
// What a pipe or a file gets is the same always: no colours, nothing shortened.
#ifndef RESHARD_COMPILER_CLI_TERMINAL_H_
#define RESHARD_COMPILER_CLI_TERMINAL_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace reshard {

struct TerminalArgs {
  std::string color = "auto";  // or "always", "never"
  bool quiet = false;          // no results and no progress, only errors and the exit status
};
void DeclareTerminal(CLI::App* app, TerminalArgs* args);

// What the process was started with.
struct TerminalFacts {
  bool out_is_terminal = false, err_is_terminal = false;
  std::string no_color, term, columns;  // NO_COLOR, TERM and COLUMNS; empty when not set
  size_t window_columns = 0;            // of the terminal behind standard output; 0: unknown
};
TerminalFacts AskTerminal();

struct Terminal {
  bool color_out = false, color_err = false;
  size_t width = 0;  // of standard output; 0: do not shorten anything
};
// "auto" colours what goes to a terminal that is not dumb, unless NO_COLOR is set to anything.
Terminal DecideTerminal(const TerminalArgs& args, const TerminalFacts& facts);

// One line without its newline: verdicts, "error:", "warning:" and "note:", carets. Titles, which
// only `is_title` can tell, are bold.
std::string Painted(std::string_view line, bool is_title);

// A stream whose lines go to `target` painted, the last ones when it ends. With titles, a line at
// the margin before an indented one is a title; each line then waits for the next one.
std::unique_ptr<std::ostream> PaintLines(std::ostream& target, bool with_titles);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_TERMINAL_H_
