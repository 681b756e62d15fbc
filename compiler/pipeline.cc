#include "compiler/pipeline.h"

#include <array>
#include <utility>

#include "compiler/emit/check_memory.h"
#include "compiler/emit/write_plan.h"
#include "compiler/frontend/json_node.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 6> kStageTexts = {
#define RESHARD_STAGE(name, text) text,
#include "compiler/stages.def"
#undef RESHARD_STAGE
};

// The texts of the three inputs as JSON, with their digests.
struct Documents {
  JsonNode train, infer, topo;
  bool train_ok = false, infer_ok = false, topo_ok = false;
};

Documents ReadDocuments(InputFile train, InputFile infer, InputFile topo, Diagnostics* diags,
                        SourceMap* sources) {
  const uint32_t train_file = sources->Add(std::move(train.path), std::move(train.text));
  const uint32_t infer_file = sources->Add(std::move(infer.path), std::move(infer.text));
  const uint32_t topo_file = sources->Add(std::move(topo.path), std::move(topo.text));
  Documents documents;
  documents.train_ok = ReadJson(*sources, train_file, diags, &documents.train);
  documents.infer_ok = ReadJson(*sources, infer_file, diags, &documents.infer);
  documents.topo_ok = ReadJson(*sources, topo_file, diags, &documents.topo);
  return documents;
}

// What the plan records of the options, rising by name.
std::vector<std::pair<std::string, std::string>> OptionTexts(const CompileOptions& options) {
  return {
      {"heads", options.route.heads == 0 ? "auto" : std::to_string(options.route.heads)},
      {"max-staging", std::to_string(options.schedule.max_staging_bytes)},
      {"slice", std::to_string(options.schedule.slice_bytes)},
  };
}

Digest DigestOf(const JsonNode& node) { return Sha256Of(CanonicalJson(node)); }

// The three files as specs; each is read even when another one has errors.
bool ReadSpecs(const Documents& documents, Diagnostics* diags, Compilation* out) {
  bool ok = documents.train_ok && documents.infer_ok && documents.topo_ok;
  if (documents.train_ok) ok &= ReadLayoutSpec(documents.train, diags, &out->train_spec);
  if (documents.infer_ok) ok &= ReadLayoutSpec(documents.infer, diags, &out->infer_spec);
  if (documents.topo_ok) ok &= ReadTopoSpec(documents.topo, diags, &out->topo_spec);
  return ok;
}

bool CheckSide(const LayoutSpec& spec, Side expected, Diagnostics* diags) {
  if (spec.side == expected) return true;
  const bool source = expected == Side::kSource;
  diags->Error(DiagnosticCode::kWrongSide, spec.side_span,
               source ? "the first layout has side 'destination', expected 'source'"
                      : "the second layout has side 'source', expected 'destination'");
  return false;
}

// Everything that concerns one side or the topology alone, so that one run finds all of it.
bool Resolve(Diagnostics* diags, Compilation* out) {
  bool ok = CheckSide(out->train_spec, Side::kSource, diags);
  ok &= CheckSide(out->infer_spec, Side::kDestination, diags);
  ok &= BuildTopology(out->topo_spec, diags, &out->topology);
  if (!BuildLogicalTable(&out->train_spec, &out->infer_spec, diags, &out->table)) return false;
  const bool source = BuildLayout(out->train_spec, out->table, diags, &out->source);
  const bool destination = BuildLayout(out->infer_spec, out->table, diags, &out->destination);
  if (source) {
    ok &= CheckExpectations(out->train_spec, out->table, out->source, diags);
    ok &= CheckScales(out->table, out->source, diags);
  }
  if (destination) {
    ok &= CheckExpectations(out->infer_spec, out->table, out->destination, diags);
    ok &= CheckScales(out->table, out->destination, diags);
  }
  return ok && source && destination;
}

}  // namespace

std::optional<Stage> ParseStage(std::string_view text) {
  for (size_t i = 0; i < kStageTexts.size(); ++i) {
    if (kStageTexts[i] == text) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

std::string_view StageText(Stage stage) { return kStageTexts[static_cast<size_t>(stage)]; }

bool Compile(InputFile train, InputFile infer, InputFile topo, const CompileOptions& options,
             Stage last, Diagnostics* diags, const std::function<void(Stage)>& on_stage,
             Compilation* out) {
  const auto enter = [&](Stage stage) {
    if (on_stage) on_stage(stage);
  };
  enter(Stage::kSpec);
  const Documents documents =
      ReadDocuments(std::move(train), std::move(infer), std::move(topo), diags, &out->sources);
  if (!ReadSpecs(documents, diags, out)) return false;
  out->train_digest = DigestOf(documents.train);
  out->infer_digest = DigestOf(documents.infer);
  out->topo_digest = DigestOf(documents.topo);
  if (last == Stage::kSpec) return true;

  enter(Stage::kLayout);
  if (!Resolve(diags, out)) return false;
  if (last == Stage::kLayout) return true;

  enter(Stage::kTransfers);
  if (!BuildTransfers(out->table, out->source, out->destination, diags, &out->transfers)) {
    return false;
  }
  if (last == Stage::kTransfers) return true;

  enter(Stage::kRouting);
  if (!BuildRouting(out->table, out->transfers, out->topology, options.route, diags,
                    &out->routing)) {
    return false;
  }
  if (last == Stage::kRouting) return true;

  enter(Stage::kSchedule);
  if (!BuildSchedule(out->transfers, out->topology, out->routing, options.schedule, diags,
                     &out->schedule)) {
    return false;
  }
  if (last == Stage::kSchedule) return true;

  enter(Stage::kPlan);
  PlanInputs inputs;
  inputs.table = &out->table;
  inputs.source = &out->source;
  inputs.destination = &out->destination;
  inputs.topology = &out->topology;
  inputs.transfers = &out->transfers;
  inputs.routing = &out->routing;
  inputs.schedule = &out->schedule;
  inputs.train_digest = out->train_digest;
  inputs.infer_digest = out->infer_digest;
  inputs.topo_digest = out->topo_digest;
  inputs.options = OptionTexts(options);
  out->plan = MakePlan(inputs);
  if (!CheckMemory(out->plan, out->topo_spec.span, options.strict_memory, diags)) return false;

  StatusOr<std::vector<uint8_t>> bytes = SerializePlan(out->plan);
  if (!bytes.ok()) {
    diags->Error(DiagnosticCode::kPlanTooLarge, Span{}, bytes.status().message());
    return false;
  }
  out->bytes = std::move(*bytes);
  return true;
}

}  // namespace reshard
