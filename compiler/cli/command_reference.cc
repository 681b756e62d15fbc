#include "compiler/cli/command_reference.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace reshard {
namespace {

std::vector<const CLI::App*> PartsOf(const CLI::App& app, bool named) {
  return app.get_subcommands(
      [named](const CLI::App* part) { return part->get_name().empty() != named; });
}

// The options of a command and of its option groups, which inherit a --help that is not theirs.
std::vector<const CLI::Option*> OptionsOf(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : PartsOf(command, false)) {
    for (const CLI::Option* option : OptionsOf(*group)) {
      if (option != group->get_help_ptr()) options.push_back(option);
    }
  }
  return options;
}

// "-o", "--output".
std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// A command and those below it, such as the formats of `import`.
std::vector<const CLI::App*> WithParts(const CLI::App& command) {
  std::vector<const CLI::App*> commands = {&command};
  for (const CLI::App* part : PartsOf(command, true)) commands.push_back(part);
  return commands;
}

// The options of a command and of those below it, each name once.
std::vector<const CLI::Option*> AllOptionsOf(const CLI::App& command) {
  std::set<std::vector<std::string>> seen;
  std::vector<const CLI::Option*> options;
  for (const CLI::App* part : WithParts(command)) {
    for (const CLI::Option* option : OptionsOf(*part)) {
      if (seen.insert(NamesOf(*option)).second) options.push_back(option);
    }
  }
  return options;
}

// All names of the options, separated by spaces.
std::string Words(const std::vector<const CLI::Option*>& options) {
  std::string words;
  for (const CLI::Option* option : options) {
    for (const std::string& name : NamesOf(*option)) words += (words.empty() ? "" : " ") + name;
  }
  return words;
}

std::string CommandWords(const CLI::App& root, std::string_view separator) {
  std::string words;
  for (const CLI::App* command : PartsOf(root, true)) {
    if (!words.empty()) words += separator;
    words += command->get_name();
  }
  return words;
}

// The values that an option may have, separated by spaces: its type is "TEXT:{text,json}".
std::string ValuesOf(const CLI::Option& option) {
  std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string values = type.substr(begin + 1, end - begin - 1);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

// Whether an option takes several values, separated by commas.
bool TakesList(const CLI::Option& option) { return option.get_delimiter() == ','; }

// The cases of bash's completion for options that have one, or some, of some values.
void PrintBashValues(const CLI::App& root, std::ostream& out) {
  for (const CLI::App* command : PartsOf(root, true)) {
    for (const CLI::Option* option : AllOptionsOf(*command)) {
      const std::string values = ValuesOf(*option);
      if (values.empty()) continue;
      for (const std::string& name : NamesOf(*option)) {
        out << "    '" << command->get_name() << " " << name << "') values=\"" << values << "\""
            << (TakesList(*option) ? " list=1" : "") << " ;;\n";
      }
    }
  }
}

void PrintBash(const CLI::App& root, std::ostream& out) {
  out << "# Completion of reshardc for bash: source it, or keep it in\n"
         "# ~/.local/share/bash-completion/completions/reshardc.\n"
         "_reshardc() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" command=\"\" words=\"\" names=\"\" "
         "values=\"\" list=\"\" begun=\"\" word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$word\" in\n      "
      << CommandWords(root, "|")
      << ") command=\"$word\"; break ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$command\" in\n";
  for (const CLI::App* command : PartsOf(root, true)) {
    out << "    " << command->get_name() << ") words=\"" << Words(AllOptionsOf(*command)) << "\"";
    if (!PartsOf(*command, true).empty()) out << " names=\"" << CommandWords(*command, " ") << "\"";
    out << " ;;\n";
  }
  out << "    *) words=\"" << Words(OptionsOf(root)) << "\" names=\"" << CommandWords(root, " ")
      << "\" ;;\n"
         "  esac\n"
         "  case \"$command ${COMP_WORDS[COMP_CWORD-1]}\" in\n";
  PrintBashValues(root, out);
  out << "  esac\n"
         "  if [[ -n \"$values\" ]]; then\n"
         "    [[ -n \"$list\" && \"$current\" == *,* ]] && begun=\"${current%,*},\"\n"
         "    mapfile -t COMPREPLY < <(compgen -P \"$begun\" -W \"$values\" -- "
         "\"${current#\"$begun\"}\")\n"
         "    return\n"
         "  fi\n"
         "  [[ \"$current\" == -* ]] || words=\"$names\"\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  if [[ \"$current\" != -* ]]; then\n"
         "    mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _reshardc reshardc\n";
}

// Text inside the brackets of a specification of zsh's _arguments, in single quotes.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// What zsh completes the value of an option with.
std::string ZshAction(const CLI::Option& option) {
  const std::string values = ValuesOf(option);
  if (values.empty()) return "_files";
  return TakesList(option) ? "_values -s , value " + values : "(" + values + ")";
}

void PrintZsh(const CLI::App& root, std::ostream& out) {
  out << "#compdef reshardc\n"
         "# Completion of reshardc for zsh: keep it as _reshardc in a folder of $fpath.\n"
         "local -a commands\n"
         "commands=(\n";
  for (const CLI::App* command : PartsOf(root, true)) {
    out << "  '" << command->get_name() << ":" << ZshText(command->get_description()) << "'\n";
  }
  out << ")\n"
         "if (( CURRENT == 2 )); then\n"
         "  _describe command commands\n"
         "  _files\n"
         "  return\n"
         "fi\n"
         "case \"$words[2]\" in\n";
  for (const CLI::App* command : PartsOf(root, true)) {
    out << "  " << command->get_name() << ")\n    _arguments";
    for (const CLI::Option* option : AllOptionsOf(*command)) {
      const bool flag = option->get_items_expected_max() == 0;
      for (const std::string& name : NamesOf(*option)) {
        out << " \\\n      '" << name << "[" << ZshText(option->get_description()) << "]"
            << (flag ? "" : ":value:" + ZshAction(*option)) << "'";
      }
    }
    if (!PartsOf(*command, true).empty()) {
      out << " \\\n      '1:name:(" << CommandWords(*command, " ") << ")'";
    }
    out << " \\\n      '*:file:_files' ;;\n";
  }
  out << "  *) _files ;;\n"
         "esac\n";
}

// Text of a man page: no character of it is a request or an escape.
std::string ManText(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

void PrintManOption(const CLI::Option& option, std::ostream& out) {
  out << ".TP\n";
  const std::vector<std::string> names = NamesOf(option);
  if (names.empty()) {
    out << "\\fI" << ManText(option.get_name(true)) << "\\fR\n";
  } else {
    for (size_t i = 0; i < names.size(); ++i) {
      out << (i == 0 ? "" : ", ") << "\\fB" << ManText(names[i]) << "\\fR";
    }
    if (option.get_items_expected_max() > 0) {
      out << " \\fI" << ManText(option.get_type_name()) << "\\fR";
    }
    out << "\n";
  }
  out << ManText(option.get_description()) << "\n";
}

}  // namespace

void DeclareCompletion(CLI::App* app, CompletionArgs* args) {
  app->add_option("shell", args->shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
}

ExitCode RunCompletion(const CLI::App& root, const CompletionArgs& args, std::ostream& out) {
  if (args.shell == "zsh") {
    PrintZsh(root, out);
  } else {
    PrintBash(root, out);
  }
  return ExitCode::kYes;
}

ExitCode RunMan(const CLI::App& root, std::ostream& out) {
  out << ".TH RESHARDC 1\n"
         ".SH NAME\n"
         "reshardc \\- compile, show and prove transfer plans\n"
         ".SH SYNOPSIS\n"
         ".B reshardc\n"
         "\\fICOMMAND\\fR [\\fIOPTION\\fR]... \\fIFILE\\fR...\n"
         ".SH DESCRIPTION\n"
      << ManText(root.get_description()) << "\n.SH OPTIONS\n";
  for (const CLI::Option* option : OptionsOf(root)) PrintManOption(*option, out);
  out << ".SH COMMANDS\n";
  for (const CLI::App* command : PartsOf(root, true)) {
    for (const CLI::App* part : WithParts(*command)) {
      out << ".SS " << ManText(command->get_name())
          << (part == command ? "" : " " + ManText(part->get_name())) << "\n"
          << ManText(part->get_description()) << "\n";
      for (const CLI::Option* option : OptionsOf(*part)) PrintManOption(*option, out);
    }
  }
  out << ".SH EXAMPLES AND EXIT STATUS\n.nf\n" << ManText(root.get_footer()) << "\n.fi\n";
  return ExitCode::kYes;
}

}  // namespace reshard
