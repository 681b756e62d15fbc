#include "compiler/cli/import_m2n_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/frontend/number_list.h"
#include "compiler/frontend/object_reader.h"

namespace reshard {
namespace {

// GB/s as a topology file takes it: what is no such number is refused here, before it is written.
std::string CheckBandwidth(const std::string& text) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode node;
  const bool is_number = ReadJson(sources, sources.Add("", text), &diags, &node) &&
                         node.kind == JsonNode::Kind::kNumber;
  constexpr DecimalRule kRule = {9, 1, int64_t{1'000'000} * 1'000'000'000, "GB/s"};
  if (is_number && ReadDecimal(node, "the bandwidth", kRule, &diags)) return "";
  return "expected GB/s, more than 0 and at most 1000000 with at most 9 decimals";
}

}  // namespace

void DeclareImportM2n(CLI::App* app, ImportM2nArgs* args) {
  app->add_option("--model", args->model, "the model's tensors: {name: {shape, dtype}}")
      ->required();
  app->add_option("--system", args->system, "the parallel sizes of both sides: {train, generation}")
      ->required();
  app->add_option("-o,--output", args->folder,
                  "existing folder for train.json, infer.json and topo.json")
      ->required();
  app->add_option("--gpus-per-node", args->machine.gpus_per_node, "GPUs of a host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option("--nodes-per-domain", args->machine.nodes_per_domain, "hosts of an NVLink domain")
      ->check(CLI::Range(int64_t{1}, static_cast<int64_t>(kMaxHosts)))
      ->capture_default_str();
  app->add_option("--nic-bw", args->machine.nic_gb_per_s, "GB/s of the NIC of a GPU")
      ->check(CheckBandwidth)
      ->capture_default_str();
  app->add_option("--nvlink-bw", args->machine.nvlink_gb_per_s, "GB/s of a GPU over NVLink")
      ->check(CheckBandwidth)
      ->capture_default_str();
}

bool RunImportM2n(const ImportM2nArgs& args, ImportRun* run) {
  const std::optional<JsonNode> model = ReadJsonFile(args.model, run);
  const std::optional<JsonNode> system = ReadJsonFile(args.system, run);
  ImportedJob job;
  if (!model || !system || !ImportM2n(*model, *system, args.machine, &run->diags, &job)) {
    return false;
  }
  const std::string train = args.folder + "/train.json";
  const std::string infer = args.folder + "/infer.json";
  const std::string topo = args.folder + "/topo.json";
  if (!WriteDocFile(train, job.train, run) || !WriteDocFile(infer, job.infer, run) ||
      !WriteDocFile(topo, job.topo, run) ||
      !CheckWrittenLayouts({{train, job.train}, {infer, job.infer}}, run)) {
    return false;
  }
  run->written.push_back({topo, "topology", 0, 0, 0, 0});
  return true;
}

}  // namespace reshard
