// The options of commands that print tables: --format, --json and --rows.
#ifndef RESHARD_COMPILER_CLI_STYLE_OPTIONS_H_
#define RESHARD_COMPILER_CLI_STYLE_OPTIONS_H_

#include <string>
#include <vector>

#include "compiler/plan_tools/text_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace reshard {

// A check of options that count or number something: only digits. CLI11 takes -1 for the largest
// number of its type, and numbers beyond it for others. Returns what is wrong, else nothing.
std::string CheckCount(const std::string& text);

// Returns the options that choose a format.
std::vector<CLI::Option*> DeclareStyle(CLI::App* app, TextStyle* style);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_STYLE_OPTIONS_H_
