#include "compiler/cli/import_m2n_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/cli/bandwidth_option.h"
#include "compiler/frontend/number_list.h"

namespace reshard {

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
