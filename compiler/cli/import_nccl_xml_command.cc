#include "compiler/cli/import_nccl_xml_command.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "compiler/import/import_nccl_xml.h"

namespace reshard {
namespace {

// "topo/node08.xml" is the file of node08.
std::string HostOfPath(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);  // npos + 1 is 0
  constexpr std::string_view kEnding = ".xml";
  if (path.ends_with(kEnding)) path.remove_suffix(kEnding.size());
  return std::string(path);
}

}  // namespace

void DeclareImportNcclXml(CLI::App* app, ImportNcclXmlArgs* args) {
  app->add_option("files", args->files,
                  "what NCCL_TOPO_DUMP_FILE named: one file for all hosts, or HOST.xml of each")
      ->required();
  DeclareMachine(
      app,
      {.nic_help = "GB/s of the fastest NICs, as really arrives; others in "
                   "proportion; absent: the line rate",
       .nic_required = false,
       .nvlink_help = "GB/s of a GPU over NVLink, as really arrives; absent: the line rate"},
      &args->machine);
}

bool RunImportNcclXml(const ImportNcclXmlArgs& args, ImportRun* run) {
  NcclXmlInput input;
  bool read = true;
  for (const std::string& path : args.files) {
    const std::optional<uint32_t> file = ReadTextFile(path, run);
    read &= file.has_value();
    if (file) input.files.push_back({*file, HostOfPath(path)});
  }
  const std::optional<uint32_t> ranks = ReadTextFile(args.machine.rank_file, run);
  if (!read || !ranks) return false;
  input.rank_file = *ranks;
  input.nic_gb_per_s = args.machine.nic_gb_per_s;
  input.nvlink_gb_per_s = args.machine.nvlink_gb_per_s;
  JsonDoc topo = JsonDoc::Object();
  return ImportNcclXml(run->sources, input, &run->diags, &topo) &&
         WriteTopologyFile(args.machine.output, topo, run);
}

}  // namespace reshard
