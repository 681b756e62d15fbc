#include "compiler/import/parallel_spec.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "compiler/frontend/object_reader.h"
#include "compiler/layout/limits.h"

namespace reshard {
namespace {

constexpr int64_t kOldestVllm = 11;  // 0.11
constexpr int64_t kNewestVllm = 25;  // 0.25

std::string Number(int64_t value) { return std::to_string(value); }

// Members of one engine's object.
class EngineReader {
 public:
  EngineReader(const JsonNode& node, std::string what, Diagnostics* diags)
      : object_(node, std::move(what), diags), diags_(diags) {}

  ObjectReader& object() { return object_; }

  int64_t RequiredSize(std::string_view key) {
    static_cast<void>(object_.Required(key));
    return Size(key);
  }
  int64_t Size(std::string_view key, int64_t absent = 1) {
    return object_.Integer(key, 1, kMaxMeshRanks).value_or(absent);
  }
  // A key with one value that is known; absent is that value.
  void OnlyWord(std::string_view key, std::string_view known) {
    const JsonNode* node = object_.Optional(key, JsonNode::Kind::kString);
    if (node == nullptr || node->text == known) return;
    Refuse(DiagnosticCode::kUnsupported, node->span,
           object_.Describe(key) + " is '" + node->text + "', the importer knows '" +
               std::string(known) + "'");
  }
  void OnlyFalse(std::string_view key) {
    if (!object_.Bool(key).value_or(false)) return;
    Refuse(DiagnosticCode::kUnsupported, object_.node().Find(key)->span,
           object_.Describe(key) + " is true, which the importer does not know");
  }
  void OnlyNull(std::string_view key) {
    const JsonNode* node = object_.Optional(key);
    if (node == nullptr || node->kind == JsonNode::Kind::kNull) return;
    Refuse(DiagnosticCode::kUnsupported, node->span,
           object_.Describe(key) + " is " + DescribeJson(*node) +
               ", which the importer does not know, expected null");
  }
  // One of `words`, required; anything else is refused by name.
  std::string RequiredWord(std::string_view key, const std::vector<std::string>& words) {
    static_cast<void>(object_.Required(key));
    return object_.Word(key, words).value_or("");
  }
  void ExpectWorld(int64_t world, std::initializer_list<std::pair<const char*, int64_t>> sizes,
                   bool exact) {
    std::string names;
    int64_t product = 1;
    for (const auto& [name, size] : sizes) {
      names += (names.empty() ? "" : " * ") + std::string(name) + " " + Number(size);
      // Sizes are at most 2^20, and so is the world.
      if (product <= world) product *= size;
    }
    if (exact ? product == world : world % product == 0) return;
    const JsonNode* node = object_.node().Find("world");
    Refuse(DiagnosticCode::kWorldMismatch, node == nullptr ? object_.node().span : node->span,
           object_.what() + " has a world of " + Number(world) + " ranks, expected " +
               (exact ? "" : "a multiple of ") + names);
  }
  void Refuse(DiagnosticCode code, Span span, std::string text) {
    diags_->Error(code, span, std::move(text));
    object_.MarkBad();
  }
  [[nodiscard]] bool Finish() { return object_.Finish(); }

 private:
  ObjectReader object_;
  Diagnostics* diags_;
};

void ReadOrder(EngineReader* reader, MegatronSpec* spec) {
  const JsonNode* node = reader->object().Required("order", JsonNode::Kind::kString);
  if (node == nullptr) return;
  std::vector<std::string> order;
  for (size_t begin = 0; begin <= node->text.size();) {
    const size_t end = std::min(node->text.find('-', begin), node->text.size());
    order.push_back(node->text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::set<std::string>(order.begin(), order.end()) !=
          std::set<std::string>{"tp", "cp", "ep", "dp", "pp"} ||
      order.size() != 5) {
    reader->Refuse(DiagnosticCode::kBadValue, node->span,
                   reader->object().Describe("order") + " is '" + node->text +
                       "', expected tp, cp, ep, dp and pp in some order, as in 'tp-cp-ep-dp-pp'");
    return;
  }
  spec->order = std::move(order);
}

// "stages": [[0, 23], ...] or, with virtual stages, [[[0, 4], [16, 20]], ...].
void ReadStages(const JsonNode& node, EngineReader* reader, Diagnostics* diags,
                MegatronSpec* spec) {
  const auto read_range = [&](const JsonNode& range, std::pair<int64_t, int64_t>* out) {
    if (!ExpectKind(range, JsonNode::Kind::kArray, "a range of layers", diags)) return false;
    if (range.items.size() != 2) {
      diags->Error(DiagnosticCode::kBadValue, range.span,
                   "expected a range [begin, end] of layers");
      return false;
    }
    const auto begin = ReadInteger(range.items[0], "a layer", 0, kMaxMeshRanks, diags);
    const auto end = ReadInteger(range.items[1], "a layer", 0, kMaxMeshRanks, diags);
    if (begin && end) *out = {*begin, *end};
    return begin && end;
  };
  for (const JsonNode& stage : node.items) {
    auto& chunks = spec->stages.emplace_back();
    const bool nested = stage.kind == JsonNode::Kind::kArray && !stage.items.empty() &&
                        stage.items[0].kind == JsonNode::Kind::kArray;
    const size_t count = nested ? stage.items.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      if (!read_range(nested ? stage.items[i] : stage, &chunks.emplace_back())) {
        reader->object().MarkBad();
        return;
      }
    }
    if (std::cmp_not_equal(chunks.size(), spec->vpp)) {
      reader->Refuse(DiagnosticCode::kPipelineLayers, stage.span,
                     "the stage has " + std::to_string(chunks.size()) +
                         " ranges of layers, expected vpp " + Number(spec->vpp));
      return;
    }
  }
  if (std::cmp_not_equal(spec->stages.size(), spec->pp)) {
    reader->Refuse(DiagnosticCode::kPipelineLayers, node.span,
                   "there are " + std::to_string(spec->stages.size()) + " stages, expected pp " +
                       Number(spec->pp));
  }
}

void ReadPipeline(EngineReader* reader, Diagnostics* diags, MegatronSpec* spec) {
  const JsonNode* node = reader->object().Optional("pipeline", JsonNode::Kind::kObject);
  if (node == nullptr) return;
  spec->pipeline_span = node->span;
  ObjectReader pipeline(*node, "'pipeline'", diags);
  // null: not set, as in Megatron's own arguments.
  const auto layers = [&](std::string_view key) -> std::optional<int64_t> {
    const JsonNode* value = pipeline.Optional(key);
    if (value == nullptr || value->kind == JsonNode::Kind::kNull) return std::nullopt;
    return pipeline.Integer(key, 1, kMaxMeshRanks);
  };
  spec->first_layers = layers("first");
  spec->last_layers = layers("last");
  const JsonNode* stages = pipeline.Optional("stages", JsonNode::Kind::kArray);
  if (stages != nullptr && (spec->first_layers || spec->last_layers)) {
    reader->Refuse(DiagnosticCode::kBadValue, stages->span,
                   "'stages' says all, it does not go with 'first' or 'last'");
  } else if (stages != nullptr) {
    ReadStages(*stages, reader, diags, spec);
  }
  if (!pipeline.Finish()) reader->object().MarkBad();
}

void ReadExpertStorage(EngineReader* reader, MegatronSpec* spec) {
  const JsonNode* node = reader->object().Optional("experts", JsonNode::Kind::kString);
  spec->experts_span = node == nullptr ? reader->object().node().span : node->span;
  const std::optional<std::string> word =
      reader->object().Word("experts", {"te_grouped", "sequential", "single_grouped"});
  if (!word) return;
  spec->experts = *word == "te_grouped"   ? ExpertStorage::kTeGrouped
                  : *word == "sequential" ? ExpertStorage::kSequential
                                          : ExpertStorage::kSingleGrouped;
}

// The stage of a rank must be the same on both meshes.
void CheckFolding(EngineReader* reader, const MegatronSpec& spec) {
  int64_t dense = 1;
  int64_t expert = 1;
  for (const std::string& axis : spec.order) {
    if (axis == "pp") break;
    if (axis == "tp") {
      dense *= spec.tp;
      expert *= spec.etp;
    } else if (axis == "cp") {
      dense *= spec.cp;
    } else if (axis == "ep") {
      expert *= spec.ep;
    } else {
      dense *= spec.world / (spec.tp * spec.cp * spec.pp);
      expert *= spec.world / (spec.etp * spec.ep * spec.pp);
    }
  }
  if (dense == expert) return;
  reader->Refuse(DiagnosticCode::kUnsupported, reader->object().node().Find("order")->span,
                 "with this order the stages of dense params and of experts have other ranks");
}

bool ReadMegatron(const JsonNode& node, Diagnostics* diags, MegatronSpec* spec) {
  EngineReader reader(node, "'train'", diags);
  static_cast<void>(reader.object().Optional("engine"));
  spec->world = reader.RequiredSize("world");
  ReadOrder(&reader, spec);
  spec->tp = reader.RequiredSize("tp");
  spec->pp = reader.RequiredSize("pp");
  spec->cp = reader.Size("cp");
  spec->ep = reader.Size("ep");
  // Megatron's default is tp: with experts on several ranks it has to be stated.
  if (reader.object().Has("ep")) static_cast<void>(reader.object().Required("etp"));
  spec->etp = reader.Size("etp");
  spec->vpp = reader.Size("vpp");
  ReadPipeline(&reader, diags, spec);
  ReadExpertStorage(&reader, spec);
  const JsonNode* vocab = reader.object().Required("vocab", JsonNode::Kind::kObject);
  if (vocab != nullptr) {
    EngineReader inner(*vocab, "'vocab'", diags);
    spec->vocab_divisible_by = inner.RequiredSize("make_divisible_by");
    if (!inner.Finish()) reader.object().MarkBad();
  }
  reader.OnlyWord("qkv", "group_interleaved");
  reader.OnlyWord("glu", "gate_up_per_tp_shard");
  const JsonNode* interleave = reader.object().Optional("glu_interleave");
  if (interleave != nullptr && interleave->kind != JsonNode::Kind::kNull) {
    spec->glu_interleave = reader.Size("glu_interleave");
  }
  const JsonNode* tie = reader.object().Optional("tie_embeddings");
  if (tie != nullptr) spec->tie_span = tie->span;
  spec->tie_embeddings = reader.object().Bool("tie_embeddings");
  if (reader.object().ok()) {
    reader.ExpectWorld(spec->world, {{"tp", spec->tp}, {"cp", spec->cp}, {"pp", spec->pp}}, false);
    reader.ExpectWorld(spec->world, {{"etp", spec->etp}, {"ep", spec->ep}, {"pp", spec->pp}},
                       false);
  }
  if (reader.object().ok()) CheckFolding(&reader, *spec);
  return reader.Finish();
}

bool ReadFsdp(const JsonNode& node, Diagnostics* diags, FsdpSpec* spec) {
  EngineReader reader(node, "'train'", diags);
  static_cast<void>(reader.object().Optional("engine"));
  spec->world = reader.RequiredSize("world");
  spec->tp = reader.Size("tp");
  spec->dp_replicate = reader.Size("dp_replicate");
  if (spec->tp > 1) {
    static_cast<void>(reader.object().Required("tp_plan"));
    spec->strided = reader.RequiredWord("strided", {"order", "replay"});
  } else {
    static_cast<void>(reader.object().Word("strided", {"order", "replay"}));
  }
  reader.OnlyWord("tp_plan", "column_row");
  const std::optional<std::string> experts =
      reader.object().Word("experts", {"modules", "stacked"});
  if (experts) {
    spec->experts = *experts == "stacked" ? FsdpExperts::kStacked : FsdpExperts::kModules;
  }
  if (reader.object().ok()) {
    reader.ExpectWorld(spec->world, {{"tp", spec->tp}, {"dp_replicate", spec->dp_replicate}},
                       false);
  }
  return reader.Finish();
}

void ReadVllmVersion(EngineReader* reader, VllmSpec* spec) {
  const JsonNode* node = reader->object().Optional("version", JsonNode::Kind::kString);
  if (node == nullptr) return;
  int64_t minor = -1;
  const std::string_view text = node->text;
  if (text.starts_with("0.")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), minor);
  }
  spec->minor_version = minor;
  if (minor >= kOldestVllm && minor <= kNewestVllm) return;
  reader->Refuse(DiagnosticCode::kUnsupported, node->span,
                 "vLLM " + node->text + " is not known, expected 0." + Number(kOldestVllm) +
                     " to 0." + Number(kNewestVllm));
}

bool ReadVllm(const JsonNode& node, Diagnostics* diags, VllmSpec* spec) {
  EngineReader reader(node, "'infer'", diags);
  static_cast<void>(reader.object().Optional("engine"));
  spec->span = node.span;
  ReadVllmVersion(&reader, spec);
  spec->world = reader.RequiredSize("world");
  spec->tp = reader.RequiredSize("tp");
  spec->pp = reader.Size("pp");
  spec->dp = reader.Size("dp");
  if (spec->dp > 1 || reader.object().Has("dp_mode")) {
    spec->one_engine =
        reader.RequiredWord("dp_mode", {"independent_replicas", "vllm_dp"}) == "vllm_dp";
  }
  spec->expert_parallel = reader.object().Bool("enable_expert_parallel").value_or(false);
  spec->round_robin =
      reader.object().Word("expert_placement", {"linear", "round_robin"}) == "round_robin";
  const JsonNode* placement = reader.object().Optional("expert_placement");
  spec->placement_span = placement == nullptr ? node.span : placement->span;
  reader.OnlyFalse("eplb");
  reader.OnlyWord("moe_backend", "triton");
  reader.OnlyWord("weight_state", "checkpoint_layout");
  reader.OnlyNull("quant");
  const std::optional<std::string> shared =
      reader.object().Word("shared_experts", {"sharded", "replicated"});
  if (shared) spec->shared_replicated = *shared == "replicated";
  spec->dtype = reader.object().Word("dtype", {"bf16", "f16", "f32"});
  if (const JsonNode* vocab = reader.object().Optional("vocab", JsonNode::Kind::kObject)) {
    EngineReader inner(*vocab, "'vocab'", diags);
    spec->vocab_pad_to = inner.RequiredSize("pad_to");
    if (!inner.Finish()) reader.object().MarkBad();
  }
  if (reader.object().ok()) {
    reader.ExpectWorld(spec->world, {{"tp", spec->tp}, {"pp", spec->pp}, {"dp", spec->dp}}, true);
  }
  return reader.Finish();
}

bool ReadHf(const JsonNode& node, Diagnostics* diags, HfSpec* spec) {
  EngineReader reader(node, "'infer'", diags);
  static_cast<void>(reader.object().Optional("engine"));
  spec->span = node.span;
  spec->world = reader.RequiredSize("world");
  spec->file_per_rank =
      reader.RequiredWord("tensors", {"replicated", "file_per_rank"}) == "file_per_rank";
  return reader.Finish();
}

bool ReadModelPart(const JsonNode& node, Diagnostics* diags, ParallelSpec* spec) {
  EngineReader reader(node, "'model'", diags);
  spec->model_span = node.span;
  spec->config = reader.object().String("config");
  if (spec->config) spec->config_span = reader.object().node().Find("config")->span;
  spec->shapes_from_config =
      reader.RequiredWord("shapes", {"from-safetensors-headers", "from-config"}) == "from-config";
  reader.OnlyWord("mtp", "omitted");
  spec->omit_mtp = reader.object().Has("mtp");
  spec->dequantized = reader.object().Bool("dequantized").value_or(false);
  return reader.Finish();
}

// The word of "engine", one of `engines`.
std::string EngineOf(const JsonNode& node, const std::string& what,
                     const std::vector<std::string>& engines, Diagnostics* diags) {
  EngineReader reader(node, what, diags);
  return reader.RequiredWord("engine", engines);
}

}  // namespace

bool ReadParallelSpec(const JsonNode& root, Diagnostics* diags, ParallelSpec* out) {
  ObjectReader object(root, "the file", diags);
  const JsonNode* format = object.Required("format", JsonNode::Kind::kString);
  const JsonNode* version = object.Required("version", JsonNode::Kind::kNumber);
  const bool other = format != nullptr && format->text != "reshard-import/hf-parallel";
  if (other || (version != nullptr && version->text != "1")) {
    diags->Error(DiagnosticCode::kBadFormat, other ? format->span : version->span,
                 "expected the format 'reshard-import/hf-parallel', version 1");
    return false;
  }
  const JsonNode* model = object.Required("model", JsonNode::Kind::kObject);
  const JsonNode* train = object.Required("train", JsonNode::Kind::kObject);
  const JsonNode* infer = object.Required("infer", JsonNode::Kind::kObject);
  bool ok = object.Finish();
  if (model != nullptr) ok = ReadModelPart(*model, diags, out) && ok;
  if (train != nullptr) {
    out->train_span = train->span;
    const std::string engine = EngineOf(*train, "'train'", {"megatron-core", "fsdp2"}, diags);
    if (engine == "megatron-core") ok = ReadMegatron(*train, diags, &out->megatron) && ok;
    if (engine == "fsdp2") ok = ReadFsdp(*train, diags, &out->fsdp) && ok;
    out->train_engine = engine == "fsdp2" ? TrainEngine::kFsdp2 : TrainEngine::kMegatron;
    ok = ok && !engine.empty();
  }
  if (infer != nullptr) {
    const std::string engine = EngineOf(*infer, "'infer'", {"vllm", "hf"}, diags);
    if (engine == "vllm") ok = ReadVllm(*infer, diags, &out->vllm) && ok;
    if (engine == "hf") ok = ReadHf(*infer, diags, &out->hf) && ok;
    out->infer_engine = engine == "hf" ? InferEngine::kHf : InferEngine::kVllm;
    ok = ok && !engine.empty();
  }
  return ok;
}

}  // namespace reshard
