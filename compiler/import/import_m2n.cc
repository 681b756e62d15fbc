#include "compiler/import/import_m2n.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/frontend/object_reader.h"
#include "compiler/import/fold_tensors.h"
#include "compiler/import/model_tensor.h"
#include "compiler/import/value_docs.h"
#include "compiler/layout/limits.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 9> kColumnParallel = {
    "q_proj.weight",    "k_proj.weight",   "v_proj.weight",   "gate_proj.weight",
    "up_proj.weight",   "q_a_proj.weight", "q_b_proj.weight", "kv_a_proj_with_mqa.weight",
    "kv_b_proj.weight",
};
constexpr std::array<std::string_view, 2> kRowParallel = {"o_proj.weight", "down_proj.weight"};
constexpr std::array<std::string_view, 2> kVocabParallel = {"embed_tokens.weight",
                                                            "lm_head.weight"};

// One side of the system file.
struct Grid {
  int64_t ranks = 0;
  int64_t tp = 1, cp = 1, ep = 1, dp = 1, pp = 1;
  bool has_dp = false;  // the training side can do without
  bool train = false;
  Span span;

  int64_t stage_ranks() const { return ranks / pp; }
};

bool ReadGrid(const JsonNode& node, bool train, Diagnostics* diags, Grid* grid) {
  grid->train = train;
  grid->span = node.span;
  const std::string what = train ? "'train'" : "'generation'";
  ObjectReader object(node, what, diags);
  const auto size = [&](std::string_view key) {
    return object.Integer(key, 1, kMaxMeshRanks).value_or(1);
  };
  static_cast<void>(object.Required("num_gpus"));
  grid->ranks = size("num_gpus");
  grid->tp = size("tp_size");
  grid->cp = size("cp_size");
  grid->ep = size("ep_size");
  grid->has_dp = object.Has("dp_size");
  grid->dp = size("dp_size");
  grid->pp = size("pp_size");
  const int64_t fsdp = size("fsdp_size");
  static_cast<void>(object.Optional("_comment"));
  if (!object.Finish()) return false;
  if (fsdp != 1) {
    diags->Error(DiagnosticCode::kUnsupported, object.node().Find("fsdp_size")->span,
                 what + " has fsdp_size " + std::to_string(fsdp) +
                     ", which NCCL M2N's benchmark ignores, expected 1");
    return false;
  }
  return true;
}

void ReportWorld(const Grid& grid, const std::string& text, Diagnostics* diags) {
  diags->Error(DiagnosticCode::kWorldMismatch, grid.span,
               (grid.train ? "'train' has " : "'generation' has ") + std::to_string(grid.ranks) +
                   " GPUs, " + text);
}

bool CheckGrid(const Grid& grid, Diagnostics* diags) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  const size_t before = diags->error_count();
  if (grid.ranks % grid.pp != 0) {
    ReportWorld(grid, "which do not divide over " + number(grid.pp) + " stages", diags);
  } else if (!grid.train) {
    // Each size is at most 2^20 and the product is compared before the next factor comes in.
    int64_t product = 1;
    for (const int64_t size : {grid.tp, grid.cp, grid.ep, grid.dp, grid.pp}) {
      if (product <= grid.ranks) product *= size;
    }
    if (product != grid.ranks) {
      ReportWorld(grid, "expected the product of tp, cp, ep, dp and pp", diags);
    }
  } else if (grid.stage_ranks() % (grid.tp * grid.cp) != 0) {
    ReportWorld(grid,
                number(grid.stage_ranks()) + " in a stage, which do not divide over tp " +
                    number(grid.tp) + " times cp " + number(grid.cp),
                diags);
  } else if (grid.stage_ranks() % grid.ep != 0) {
    ReportWorld(
        grid,
        number(grid.stage_ranks()) + " in a stage, which do not divide over ep " + number(grid.ep),
        diags);
  } else if (grid.has_dp) {
    const int64_t dense_dp = grid.stage_ranks() / (grid.tp * grid.cp);
    const int64_t expert_dp = grid.stage_ranks() / grid.ep;
    if (grid.dp != dense_dp && grid.dp != expert_dp) {
      ReportWorld(grid,
                  "so that dp is " + number(dense_dp) + " for dense params and " +
                      number(expert_dp) + " for experts, found " + number(grid.dp),
                  diags);
    }
  }
  return diags->error_count() == before;
}

template <typename Suffixes>
bool EndsWithOne(std::string_view name, const Suffixes& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// The dim that tensor parallelism cuts, or none.
std::optional<int64_t> TensorParallelDim(std::string_view name) {
  if (name.ends_with("mlp.gate.weight") ||
      name.find("e_score_correction_bias") != std::string_view::npos) {
    return std::nullopt;
  }
  if (EndsWithOne(name, kColumnParallel)) return 0;
  if (EndsWithOne(name, kRowParallel)) return 1;
  for (const std::string_view part : kVocabParallel) {
    if (name.find(part) != std::string_view::npos) return 0;
  }
  return std::nullopt;
}

// The params of one template of tensors on one side.
class ParamWriter {
 public:
  ParamWriter(const TensorTemplate& tensors, const Grid& grid, int64_t layers, Diagnostics* diags)
      : tensors_(tensors), grid_(grid), layers_(layers), diags_(diags) {
    is_expert_ = tensors.name.find(".experts.") != std::string::npos;
    stacked_ = tensors.LoopAfter("experts");
  }

  bool Write(JsonDoc* params) {
    JsonDoc value = Value();
    if (failed_) return false;
    JsonDoc param = JsonDoc::Object();
    param.Set("comment", rule_);
    JsonDoc loops = JsonDoc::Object();
    for (const TemplateLoop& loop : tensors_.loops) {
      if (&loop != stacked_) loops.Set(loop.variable, RangeDoc(loop.values));
    }
    if (!loops.members().empty()) param.Set("for", std::move(loops));
    param.Set("name", ParamName()).Set("mesh", MeshName());
    if (grid_.pp > 1) param.Set("where", JsonDoc::Array().Add(StageCondition()));
    params->Add(std::move(param.Set("value", std::move(value))));
    return true;
  }

 private:
  std::string MeshName() const {
    if (!grid_.train) return "serve";
    return is_expert_ ? "expert" : "dense";
  }

  // Experts of a layer are one param: their number goes out of the name.
  std::string ParamName() const {
    if (stacked_ == nullptr) return tensors_.name;
    const std::string hole = "{" + stacked_->variable + "}.";
    std::string name = tensors_.name;
    return name.erase(name.find(hole), hole.size());
  }

  std::string StageCondition() const {
    const TemplateLoop* layer = tensors_.LoopAfter("layers");
    if (layer != nullptr) {
      return "pp==" + layer->variable + "*" + std::to_string(grid_.pp) + "//" +
             std::to_string(layers_);
    }
    const bool first = tensors_.name.find("embed_tokens") != std::string::npos;
    return "pp==" + std::to_string(first ? 0 : grid_.pp - 1);
  }

  bool Divides(int64_t extent, int64_t parts, const std::string& what) {
    if (extent % parts == 0) return true;
    failed_ = true;
    diags_->Error(DiagnosticCode::kUnevenShard, tensors_.span,
                  what + " of '" + tensors_.first_name + "' do not divide over " +
                      std::to_string(parts) + " ranks");
    return false;
  }

  JsonDoc Shard(int64_t dim) {
    if (static_cast<size_t>(dim) >= tensors_.shape.size()) {
      rule_ = "replicated";
      return tensors_.name;
    }
    const int64_t extent = tensors_.shape[static_cast<size_t>(dim)];
    Divides(extent, grid_.tp, "the " + std::to_string(extent) + (dim == 0 ? " rows" : " columns"));
    rule_ = dim == 0 ? "rows over tp" : "columns over tp";
    return ShardDoc({dim, {"tp"}, "", false}, tensors_.name);
  }

  // The part of each tensor that a rank of the tensor-parallel group has.
  JsonDoc TensorParallel(size_t least_dims) {
    const std::optional<int64_t> dim = TensorParallelDim(tensors_.name);
    if (dim && grid_.tp > 1 && tensors_.shape.size() >= least_dims) return Shard(*dim);
    rule_ = "replicated";
    return tensors_.name;
  }

  JsonDoc Value() {
    if (!is_expert_) return TensorParallel(2);
    if (stacked_ == nullptr) return ExpertTensor();
    const auto count = static_cast<int64_t>(stacked_->values.size());
    std::string range = "0.." + std::to_string(count);
    JsonDoc part = tensors_.name;
    if (grid_.ep > 1) {
      Divides(count, grid_.ep, "the " + std::to_string(count) + " experts");
      const std::string per_rank = std::to_string(count / grid_.ep);
      range = "ep*" + per_rank + "..(ep+1)*" + per_rank;
      rule_ = "experts over ep";
    } else if (!grid_.train) {
      part = TensorParallel(1);
      rule_ = "all experts; " + rule_;
    } else {
      rule_ = "all experts";
    }
    return StackDoc(stacked_->variable, range, std::move(part));
  }

  // A tensor of experts that are stacked already, along dim 0.
  JsonDoc ExpertTensor() {
    rule_ = "replicated";
    if (tensors_.shape.size() < 2) return tensors_.name;
    if (grid_.ep > 1) {
      Divides(tensors_.shape[0], grid_.ep, "the " + std::to_string(tensors_.shape[0]) + " experts");
      rule_ = "experts over ep";
      return ShardDoc({0, {"ep"}, "", false}, tensors_.name);
    }
    const std::optional<int64_t> dim = TensorParallelDim(tensors_.name);
    return dim && !grid_.train && grid_.tp > 1 ? Shard(*dim + 1) : JsonDoc(tensors_.name);
  }

  const TensorTemplate& tensors_;
  const Grid& grid_;
  int64_t layers_;
  Diagnostics* diags_;
  bool is_expert_ = false;
  const TemplateLoop* stacked_ = nullptr;  // the loop that becomes a dim of the param
  std::string rule_;
  bool failed_ = false;
};

JsonDoc MeshDocs(const Grid& grid) {
  if (!grid.train) {
    return JsonDoc::Object().Set(
        "serve",
        MeshDoc(
            {{"pp", grid.pp}, {"dp", grid.dp}, {"ep", grid.ep}, {"cp", grid.cp}, {"tp", grid.tp}}));
  }
  return JsonDoc::Object()
      .Set("dense", MeshDoc({{"pp", grid.pp},
                             {"dp", grid.stage_ranks() / (grid.tp * grid.cp)},
                             {"cp", grid.cp},
                             {"tp", grid.tp}}))
      .Set("expert",
           MeshDoc({{"pp", grid.pp}, {"edp", grid.stage_ranks() / grid.ep}, {"ep", grid.ep}}));
}

JsonDoc LayoutDoc(const Grid& grid, int64_t rank_base) {
  const auto size = [](const char* name, int64_t value) {
    return std::string(" ") + name + " " + std::to_string(value);
  };
  return JsonDoc::Object()
      .Set("format", "reshard-layout")
      .Set("version", 1)
      .Set("side", grid.train ? "source" : "destination")
      .Set("comment", std::string(grid.train ? "'train'" : "'generation'") +
                          " of NCCL M2N's system file:" + size("tp", grid.tp) +
                          size("cp", grid.cp) + size("ep", grid.ep) + size("dp", grid.dp) +
                          size("pp", grid.pp) + ", grid order tp-cp-ep-dp-pp" +
                          (grid.train ? ", experts on a mesh of their own" : ""))
      .Set("rank_base", rank_base)
      .Set("world", grid.ranks)
      .Set("meshes", MeshDocs(grid));
}

bool WriteSide(const std::vector<TensorTemplate>& templates, const Grid& grid, int64_t layers,
               Diagnostics* diags, JsonDoc* layout) {
  bool ok = true;
  JsonDoc params = JsonDoc::Array();
  for (const TensorTemplate& tensors : templates) {
    ok = ParamWriter(tensors, grid, layers, diags).Write(&params) && ok;
  }
  layout->Set("params", std::move(params));
  return ok;
}

bool ReadModel(const JsonNode& model, Diagnostics* diags, std::vector<TensorTemplate>* out) {
  if (!ExpectKind(model, JsonNode::Kind::kObject, "the model", diags)) return false;
  bool ok = true;
  std::vector<ModelTensor> tensors;
  for (const JsonMember& member : model.members) {
    // The benchmark takes a missing dtype for BF16.
    ok = ReadModelTensor(member, DType::kBf16, {"shard"}, diags, &tensors.emplace_back()) && ok;
  }
  if (!ok) return false;
  if (tensors.empty()) {
    diags->Error(DiagnosticCode::kBadFormat, model.span, "the model has no tensors");
    return false;
  }
  *out = FoldTensors(tensors);
  for (const TensorTemplate& made : *out) {
    const TemplateLoop* expert = made.LoopAfter("experts");
    if (expert == nullptr || expert->values.back() + 1 == std::ssize(expert->values)) continue;
    ok = false;
    diags->Error(DiagnosticCode::kUnsupported, made.span,
                 "the experts with the shape and dtype of '" + made.first_name +
                     "' are not numbered from 0 without gaps");
  }
  return ok;
}

JsonDoc TopologyDoc(int64_t ranks, const M2nTopology& machine) {
  const int64_t nodes = (ranks + machine.gpus_per_node - 1) / machine.gpus_per_node;
  const auto names = [](int64_t begin, int64_t end) {
    return "n[" + std::to_string(begin) + "-" + std::to_string(end - 1) + "]";
  };
  JsonDoc nic = JsonDoc::Object();
  nic.Set("for", machine.gpus_per_node)
      .Set("name", "nic{i}")
      .Set("bw", JsonDoc::Literal(machine.nic_gb_per_s))
      .Set("gpu", "{i}");
  JsonDoc domains = JsonDoc::Array();
  const JsonDoc nvlink = JsonDoc::Literal(machine.nvlink_gb_per_s);
  if (machine.nodes_per_domain == 1) {
    domains.Add(JsonDoc::Object().Set("name", "nvl-{node}").Set("per", "node").Set("bw", nvlink));
  }
  for (int64_t begin = 0; machine.nodes_per_domain > 1 && begin < nodes;
       begin += machine.nodes_per_domain) {
    domains.Add(JsonDoc::Object()
                    .Set("name", "nvl" + std::to_string(begin / machine.nodes_per_domain))
                    .Set("nodes", names(begin, std::min(nodes, begin + machine.nodes_per_domain)))
                    .Set("bw", nvlink));
  }
  return JsonDoc::Object()
      .Set("format", "reshard-topo")
      .Set("version", 1)
      .Set("comment",
           "NCCL M2N's files do not describe the machine: hosts, NVLink domains and bandwidths are "
           "those of the options of the import")
      .Set("node_types",
           JsonDoc::Object().Set(
               "host",
               JsonDoc::Object().Set("gpus", machine.gpus_per_node).Set("nics", std::move(nic))))
      .Set("nodes", JsonDoc::Array().Add(
                        JsonDoc::Object().Set("names", names(0, nodes)).Set("type", "host")))
      .Set("scaleup", std::move(domains))
      .Set("fabrics",
           JsonDoc::Array().Add(
               JsonDoc::Object().Set("name", "network").Set("kind", "flat").Set("lat", 5)))
      .Set("ranks", JsonDoc::Array().Add(JsonDoc::Object()
                                             .Set("ranks", "0-" + std::to_string(ranks - 1))
                                             .Set("nodes", names(0, nodes))));
}

}  // namespace

bool ImportM2n(const JsonNode& model, const JsonNode& system, const M2nTopology& machine,
               Diagnostics* diags, ImportedJob* out) {
  std::vector<TensorTemplate> templates;
  bool ok = ReadModel(model, diags, &templates);
  ObjectReader object(system, "the system file", diags);
  const JsonNode* train_node = object.Required("train", JsonNode::Kind::kObject);
  const JsonNode* generation_node = object.Required("generation", JsonNode::Kind::kObject);
  static_cast<void>(object.Optional("_comment"));
  ok = object.Finish() && ok;
  Grid train;
  Grid generation;
  if (train_node == nullptr || generation_node == nullptr) return false;
  ok = ReadGrid(*train_node, true, diags, &train) && CheckGrid(train, diags) && ok;
  ok = ReadGrid(*generation_node, false, diags, &generation) && CheckGrid(generation, diags) && ok;
  if (!ok) return false;

  int64_t layers = 1;
  JsonDoc logical = JsonDoc::Array();
  for (const TensorTemplate& tensors : templates) {
    const TemplateLoop* layer = tensors.LoopAfter("layers");
    if (layer != nullptr) layers = std::max(layers, layer->values.back() + 1);
    logical.Add(LogicalDoc(tensors));
  }
  out->train = LayoutDoc(train, 0);
  out->infer = LayoutDoc(generation, train.ranks);
  out->train.Set("logical", std::move(logical));
  ok = WriteSide(templates, train, layers, diags, &out->train);
  ok = WriteSide(templates, generation, layers, diags, &out->infer) && ok;
  out->topo = TopologyDoc(train.ranks + generation.ranks, machine);
  return ok;
}

}  // namespace reshard
