#include "compiler/cli/import_safetensors_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/cli/read_input.h"
#include "compiler/import/import_hf.h"
#include "compiler/import/parallel_spec.h"
#include "compiler/import/safetensors_header.h"

namespace reshard {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";

// The folder of a file, with a slash behind it; empty for the current one.
std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Where the files of a model are.
struct ModelPlace {
  std::string folder;                // with a slash behind it
  std::optional<std::string> index;  // the path of the index, if there is one
  std::vector<std::string> files;    // without an index
};

// What the argument means: a folder with an index or with files, an index, or a file.
ModelPlace FindModel(const std::string& path, ImportRun* run) {
  ModelPlace place;
  const StatusOr<std::vector<std::string>> names = run->files.List(path);
  if (!names.ok()) {
    place.folder = FolderOf(path);
    if (path.ends_with(".safetensors")) {
      place.files = {path.substr(place.folder.size())};
    } else {
      place.index = path;
    }
    return place;
  }
  place.folder = path + "/";
  for (const std::string& name : *names) {
    if (name == kIndexName) place.index = place.folder + name;
    if (name.ends_with(".safetensors")) place.files.push_back(name);
  }
  return place;
}

bool ReadHeader(const std::string& path, ImportRun* run, std::vector<ModelTensor>* tensors) {
  StatusOr<FileStart> start = run->files.ReadStart(path, kSafetensorsPrefixBytes);
  if (start.ok()) {
    const uint64_t header_bytes = SafetensorsHeaderBytes(start->text);
    if (header_bytes <= kMaxSafetensorsHeaderBytes) {
      start = run->files.ReadStart(path, kSafetensorsPrefixBytes + header_bytes);
    }
  }
  if (!start.ok()) {
    run->err << ShownPath(path) << ": error: " << start.status().message() << " [cannot-read]\n";
    return false;
  }
  return ReadSafetensorsHeader(ShownPath(path), start->text, start->file_bytes, &run->sources,
                               &run->diags, tensors);
}

// Index and headers name the same tensors in the same files.
bool CheckIndex(const SafetensorsIndex& index, const HfFiles& model, ImportRun* run) {
  const TensorFiles& files = model.files;
  bool ok = true;
  std::unordered_set<std::string> listed;
  for (const SafetensorsIndex::Entry& entry : index.entries) {
    listed.insert(entry.tensor);
    const auto found = files.file_of.find(entry.tensor);
    if (found != files.file_of.end() && files.files[found->second] == entry.file) continue;
    ok = false;
    run->diags.Error(DiagnosticCode::kUnknownTensor, entry.span,
                     "'" + entry.file + "' does not hold the tensor '" + entry.tensor +
                         "', which the index says it does");
  }
  for (const ModelTensor& tensor : model.tensors) {
    if (listed.contains(tensor.name)) continue;
    ok = false;
    run->diags.Error(DiagnosticCode::kUnknownTensor, tensor.span,
                     "'" + tensor.name + "' is in the file but not in the index");
  }
  return ok;
}

bool ReadModelFiles(const std::string& path, const ModelPlace& place, ImportRun* run,
                    HfFiles* out) {
  if (!place.index && place.files.empty()) {
    run->err << ShownPath(path) << ": error: the folder has neither " << kIndexName
             << " nor a .safetensors file [cannot-read]\n";
    return false;
  }
  SafetensorsIndex index;
  out->files.files = place.files;
  if (place.index) {
    const std::optional<JsonNode> root = ReadJsonFile(*place.index, run);
    if (!root || !ReadSafetensorsIndex(*root, &run->diags, &index)) return false;
    out->where = {root->span.file, 0, 0};
    out->files.files = index.files;
  }
  bool ok = true;
  for (size_t i = 0; i < out->files.files.size(); ++i) {
    const size_t before = out->tensors.size();
    ok = ReadHeader(place.folder + out->files.files[i], run, &out->tensors) && ok;
    for (size_t t = before; t < out->tensors.size(); ++t) {
      const ModelTensor& tensor = out->tensors[t];
      if (!place.index && t == 0) out->where = {tensor.span.file, 0, 0};
      const auto [found, added] = out->files.file_of.try_emplace(tensor.name, i);
      if (added) continue;
      ok = false;
      run->diags.Error(DiagnosticCode::kDuplicateTensor, tensor.span,
                       "'" + tensor.name + "' is in '" + out->files.files[found->second] + "' too");
    }
  }
  return ok && (!place.index || CheckIndex(index, *out, run));
}

// The config: where parallel.json says, relative to itself, else in the model's folder.
std::optional<JsonNode> ReadConfig(const ImportSafetensorsArgs& args, const ParallelSpec& parallel,
                                   const ModelPlace& place, ImportRun* run) {
  if (!parallel.config) return ReadJsonFile(place.folder + "config.json", run);
  const std::string& path = *parallel.config;
  return ReadJsonFile(path.starts_with('/') ? path : FolderOf(args.parallel) + path, run);
}

}  // namespace

void DeclareImportSafetensors(CLI::App* app, ImportSafetensorsArgs* args) {
  app->add_option("model", args->model,
                  "folder of the model, its index.json or one .safetensors file; not needed with "
                  "\"shapes\": \"from-config\"");
  app->add_option("--parallel", args->parallel, "how trainer and engine distribute the model")
      ->required();
  app->add_option("-o,--output", args->folder, "existing folder for train.json and infer.json")
      ->required();
}

bool RunImportSafetensors(const ImportSafetensorsArgs& args, ImportRun* run) {
  const std::optional<JsonNode> root = ReadJsonFile(args.parallel, run);
  ParallelSpec parallel;
  if (!root || !ReadParallelSpec(*root, &run->diags, &parallel)) return false;
  if (args.model.empty() && !(parallel.shapes_from_config && parallel.config)) {
    run->diags.Error(DiagnosticCode::kMissingKey, parallel.model_span,
                     "without a model on the command line 'model' needs \"shapes\": "
                     "\"from-config\" and a 'config'");
    return false;
  }
  ModelPlace place;
  HfFiles files;
  if (!args.model.empty()) place = FindModel(args.model, run);
  const std::optional<JsonNode> config = ReadConfig(args, parallel, place, run);
  bool ok = config.has_value();
  if (!parallel.shapes_from_config) ok = ReadModelFiles(args.model, place, run, &files) && ok;
  HfLayouts layouts;
  if (!ok || !ImportHf(*config, parallel, parallel.shapes_from_config ? nullptr : &files,
                       &run->diags, &layouts)) {
    return false;
  }
  const std::string train = args.folder + "/train.json";
  const std::string infer = args.folder + "/infer.json";
  return WriteDocFile(train, layouts.train, run) && WriteDocFile(infer, layouts.infer, run) &&
         CheckWrittenLayouts({{train, layouts.train}, {infer, layouts.infer}}, run);
}

}  // namespace reshard
