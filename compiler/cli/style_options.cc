#include "compiler/cli/style_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace reshard {

std::string CheckCount(const std::string& text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && last == end) return "";
  return "'" + text + "' is no number from 0 on" +
         (error == std::errc::result_out_of_range ? " to 18446744073709551615" : "");
}

std::vector<CLI::Option*> DeclareStyle(CLI::App* app, TextStyle* style) {
  CLI::Option* format =
      app->add_option_function<std::string>(
             "--format",
             [style](const std::string& name) { style->format = OutputFormatNamed(name); },
             "text, markdown or json")
          ->check(CLI::IsMember({"text", "markdown", "json"}));
  CLI::Option* json = app->add_flag_callback(
      "--json", [style] { style->format = OutputFormat::kJson; }, "the same as --format json");
  app->add_option("--rows", style->rows, "rows of each table, 0: all")->check(CheckCount);
  return {format, json};
}

}  // namespace reshard
