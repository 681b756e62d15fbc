#include "compiler/cli/style_options.h"

#include <CLI/CLI.hpp>
#include <string>

namespace reshard {

std::vector<CLI::Option*> DeclareStyle(CLI::App* app, TextStyle* style) {
  CLI::Option* format =
      app->add_option_function<std::string>(
             "--format",
             [style](const std::string& name) { style->format = OutputFormatNamed(name); },
             "text, markdown or json")
          ->check(CLI::IsMember({"text", "markdown", "json"}));
  CLI::Option* json = app->add_flag_callback(
      "--json", [style] { style->format = OutputFormat::kJson; }, "the same as --format json");
  app->add_option("--rows", style->rows, "rows of each table, 0: all");
  return {format, json};
}

}  // namespace reshard
