// Any bytes as the files of an importer: the readers of their forms, the importers, and what they
// write. Checks what must hold for every input, beside the absence of crashes: errors are reported
// exactly where an import fails, and a layout that was written is one that the compiler can read.
//
// An input is the name of a format and that format's files, with a line "---" between them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/frontend/topo_spec.h"
#include "compiler/import/import_dcp.h"
#include "compiler/import/import_dtensor.h"
#include "compiler/import/import_hf.h"
#include "compiler/import/import_m2n.h"
#include "compiler/import/import_mcore_sharded.h"
#include "compiler/import/import_nccl_xml.h"
#include "compiler/import/import_recorded_copies.h"
#include "compiler/import/import_slurm.h"
#include "compiler/import/import_smi_topo.h"
#include "compiler/import/parallel_spec.h"
#include "compiler/import/safetensors_header.h"
#include "compiler/layout/topology.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

constexpr std::string_view kSeparator = "\n---\n";

class ImportInput {
 public:
  explicit ImportInput(std::string_view text) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(kSeparator, begin), text.size());
      parts_.emplace_back(text.substr(begin, end - begin));
      begin = end + kSeparator.size();
    }
    parts_.resize(std::max<size_t>(parts_.size(), 3));
  }

  void Run() {
    const bool ok = parts_[0] == "m2n"               ? RunM2n()
                    : parts_[0] == "dtensor"         ? RunDtensor()
                    : parts_[0] == "dcp"             ? RunDcp()
                    : parts_[0] == "recorded-copies" ? RunRecordedCopies()
                    : parts_[0] == "mcore-sharded"   ? RunMcoreSharded()
                    : parts_[0] == "nccl"            ? RunNcclXml()
                    : parts_[0] == "smi"             ? RunSmiTopo()
                    : parts_[0] == "slurm"           ? RunSlurm()
                                                     : RunSafetensors();
    RESHARD_CHECK(ok != diags_.has_errors(), "a failure without an error, or the reverse");
    std::ostringstream out;
    diags_.Print(sources_, 20, out);
  }

 private:
  bool Read(size_t part, JsonNode* root) {
    return ReadJson(sources_, sources_.Add("part", parts_[part]), &diags_, root);
  }

  // What was written is JSON that follows the form of its format.
  static JsonNode ReadAgain(const JsonDoc& doc, SourceMap* sources, Diagnostics* diags) {
    JsonNode root;
    RESHARD_CHECK(ReadJson(*sources, sources->Add("written", PrintDoc(doc)), diags, &root),
                  "a document is no JSON");
    return root;
  }
  static void CheckLayout(const JsonDoc& doc) {
    SourceMap sources;
    Diagnostics diags;
    LayoutSpec spec;
    const JsonNode root = ReadAgain(doc, &sources, &diags);
    RESHARD_CHECK(ReadLayoutSpec(root, &diags, &spec), "a document is no layout");
  }

  static void CheckTopology(const JsonDoc& doc) {
    SourceMap sources;
    Diagnostics diags;
    TopoSpec spec;
    Topology topology;
    const JsonNode root = ReadAgain(doc, &sources, &diags);
    RESHARD_CHECK(ReadTopoSpec(root, &diags, &spec) && BuildTopology(spec, &diags, &topology),
                  "a document is no topology");
  }

  bool RunM2n() {
    JsonNode model;
    JsonNode system;
    ImportedJob job;
    if (!Read(1, &model) || !Read(2, &system)) return false;
    if (!ImportM2n(model, system, {}, &diags_, &job)) return false;
    CheckLayout(job.train);
    CheckLayout(job.infer);
    CheckTopology(job.topo);
    return true;
  }

  // The rank file, then the file of all hosts or those of hosts "a" and "b"; with one more part
  // bandwidths are given.
  bool RunNcclXml() {
    NcclXmlInput input;
    input.rank_file = sources_.Add("ranks", parts_[1]);
    input.files.push_back({sources_.Add("a", parts_[2]), "a"});
    if (parts_.size() > 3) input.files.push_back({sources_.Add("b", parts_[3]), "b"});
    if (parts_.size() > 4) input.nic_gb_per_s = input.nvlink_gb_per_s = "48.5";
    JsonDoc topo = JsonDoc::Object();
    if (!ImportNcclXml(sources_, input, &diags_, &topo)) return false;
    CheckTopology(topo);
    return true;
  }

  bool RunSmiTopo() {
    SmiTopoInput input;
    input.matrix = sources_.Add("matrix", parts_[1]);
    input.rank_file = sources_.Add("ranks", parts_[2]);
    input.nic_gb_per_s = "48";
    input.nvlink_gb_per_s = "370";
    JsonDoc topo = JsonDoc::Object();
    if (!ImportSmiTopo(sources_, input, &diags_, &topo)) return false;
    CheckTopology(topo);
    return true;
  }

  bool RunSlurm() {
    SlurmInput input;
    input.topology = sources_.Add("topology", parts_[1]);
    input.rank_file = sources_.Add("ranks", parts_[2]);
    input.gpus_per_node = 2;
    input.nic_gb_per_s = "48";
    input.nvlink_gb_per_s = "370";
    input.uplink_gb_per_s = "96";
    JsonDoc topo = JsonDoc::Object();
    if (!ImportSlurm(sources_, input, &diags_, &topo)) return false;
    CheckTopology(topo);
    return true;
  }

  bool RunDtensor() {
    JsonNode root;
    JsonDoc layout = JsonDoc::Object();
    if (!Read(1, &root) || !ImportDtensor(root, {}, &diags_, &layout)) return false;
    CheckLayout(layout);
    return true;
  }

  bool RunDcp() {
    JsonNode root;
    JsonDoc layout = JsonDoc::Object();
    if (!Read(1, &root) || !ImportDcp(root, {}, &diags_, &layout)) return false;
    CheckLayout(layout);
    return true;
  }

  bool RunRecordedCopies() {
    JsonDoc layout = JsonDoc::Object();
    const RecordedCopiesOptions options = {.max_pieces = 1000};
    const auto read = [&](size_t, JsonNode* root) { return Read(1, root); };
    if (!ImportRecordedCopies(1, read, nullptr, options, &diags_, &layout)) return false;
    CheckLayout(layout);
    return true;
  }

  bool RunMcoreSharded() {
    JsonNode root;
    JsonDoc layout = JsonDoc::Object();
    const McoreOptions options = {{}, 1000};
    if (!Read(1, &root) || !ImportMcoreSharded(root, nullptr, options, &diags_, &layout)) {
      return false;
    }
    CheckLayout(layout);
    return true;
  }

  bool RunSafetensors() {
    JsonNode parallel_root;
    JsonNode config;
    ParallelSpec parallel;
    bool ok = Read(1, &parallel_root) && ReadParallelSpec(parallel_root, &diags_, &parallel);
    ok = Read(2, &config) && ok;
    HfFiles files;
    for (size_t i = 3; i < parts_.size(); ++i) {
      const size_t before = files.tensors.size();
      ok = ReadSafetensorsHeader("file", parts_[i], parts_[i].size(), &sources_, &diags_,
                                 &files.tensors) &&
           ok;
      for (size_t t = before; t < files.tensors.size(); ++t) {
        files.files.file_of.try_emplace(files.tensors[t].name, i - 3);
      }
      files.files.files.push_back(std::to_string(i));
    }
    HfLayouts layouts;
    if (!ok || !ImportHf(config, parallel, parallel.shapes_from_config ? nullptr : &files, &diags_,
                         &layouts)) {
      return false;
    }
    CheckLayout(layouts.train);
    CheckLayout(layouts.infer);
    return true;
  }

  std::vector<std::string> parts_;
  SourceMap sources_;
  Diagnostics diags_;
};

}  // namespace
}  // namespace reshard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reshard::ImportInput({reinterpret_cast<const char*>(data), size}).Run();
  return 0;
}
