#include "compiler/pipeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "compiler/emit/check_memory.h"
#include "compiler/emit/write_plan.h"
#include "compiler/frontend/json_node.h"
#include "compiler/transfer/leave_out_ranks.h"
#include "runtime/base/list_text.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 6> kStageTexts = {
#define RESHARD_STAGE(name, text) text,
#include "compiler/stages.def"
#undef RESHARD_STAGE
};

// Beside kUnorderedInLayouts and kUnorderedInTopologies: arrays inside their entries.
constexpr std::string_view kUnorderedInsideLayouts[] = {"expect.points", "params.shares",
                                                        "params.where"};
constexpr std::string_view kUnorderedInsideTopologies[] = {
    "node_types.*.nics", "node_types.*.nics.gpus", "node_types.*.numa.[]",
    "node_types.*.pcie.switches", "node_types.*.pcie.switches.[]"};

std::vector<std::string_view> Both(std::span<const std::string_view> a,
                                   std::span<const std::string_view> b) {
  std::vector<std::string_view> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// A file as JSON; nullopt after its errors were reported.
std::optional<JsonNode> ReadDocument(InputFile file, Diagnostics* diags, SourceMap* sources) {
  const uint32_t number = sources->Add(std::move(file.path), std::move(file.text));
  JsonNode root;
  if (!ReadJson(*sources, number, diags, &root)) return std::nullopt;
  return root;
}

std::optional<LayoutSpec> ReadLayoutDocument(InputFile file, Diagnostics* diags, SourceMap* sources,
                                             Digest* digest) {
  const std::optional<JsonNode> root = ReadDocument(std::move(file), diags, sources);
  LayoutSpec spec;
  if (!root || !ReadLayoutSpec(*root, diags, &spec)) return std::nullopt;
  *digest = Sha256Of(CanonicalJson(*root, Both(kUnorderedInLayouts, kUnorderedInsideLayouts)));
  return spec;
}

std::optional<TopoSpec> ReadTopoDocument(InputFile file, Diagnostics* diags, SourceMap* sources,
                                         Digest* digest) {
  const std::optional<JsonNode> root = ReadDocument(std::move(file), diags, sources);
  TopoSpec spec;
  if (!root || !ReadTopoSpec(*root, diags, &spec)) return std::nullopt;
  *digest =
      Sha256Of(CanonicalJson(*root, Both(kUnorderedInTopologies, kUnorderedInsideTopologies)));
  return spec;
}

std::string RankText(const RankList& ranks) { return RangesText({ranks.begin(), ranks.end()}); }

// What the plan records of the options, rising by name.
std::vector<std::pair<std::string, std::string>> OptionTexts(const CompileOptions& options,
                                                             const RankList& left_out) {
  std::vector<std::pair<std::string, std::string>> texts = {
      {"exclude-ranks", left_out.empty() ? "none" : RankText(left_out)},
      {"heads", options.route.heads == 0 ? "auto" : std::to_string(options.route.heads)},
      {std::string(kMaxStagingOption), std::to_string(options.schedule.max_staging_bytes)},
      {"slice",
       options.schedule.slice_bytes == 0 ? "auto" : std::to_string(options.schedule.slice_bytes)},
      {"strategy", std::string(StrategyText(options.route.strategy))},
  };
  if (options.max_peers > 0) {
    texts.emplace_back(kMaxPeersOption, std::to_string(options.max_peers));
  }
  if (options.round_cost_ns != kDefaultRoundNs) {
    texts.emplace_back(kRoundCostOption, std::to_string(options.round_cost_ns));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

bool CheckSide(const LayoutSpec& spec, Side expected, Diagnostics* diags) {
  if (spec.side == expected) return true;
  const bool source = expected == Side::kSource;
  diags->Error(DiagnosticCode::kWrongSide, spec.side_span,
               source ? "the first layout has side 'destination', expected 'source'"
                      : "the second layout has side 'source', expected 'destination'");
  return false;
}

bool ResolveSide(const LayoutSpec& spec, const LogicalTable& table, Diagnostics* diags,
                 Layout* out) {
  if (!BuildLayout(spec, table, diags, out)) return false;
  const bool as_expected = CheckExpectations(spec, table, *out, diags);
  return CheckScales(table, *out, diags) && as_expected;
}

RankList ExcludedRanks(const Topology& topology) {
  RankList ranks;
  for (const RankSite& site : topology.sites) {
    if (site.excluded) ranks.push_back(site.rank);
  }
  return ranks;
}

// The job without ranks that the caller or the topology excludes.
bool LeaveOut(const RankList& left_out, Diagnostics* diags, Compilation* out) {
  RankList placed;
  for (const RankSite& site : out->topology.sites) placed.push_back(site.rank);
  const JobSides sides{&out->layouts.source, &out->layouts.destination, &out->transfers};
  if (!LeaveOutRanks(out->layouts.table, left_out, placed, diags, sides)) return false;
  RemoveRanks(left_out, &out->topology);
  return true;
}

// What routing cannot know where it found no NIC: that the domain has some, of ranks that are left
// out.
void ExplainLostNics(const Topology& whole, const RankList& left_out, Diagnostics* diags) {
  for (const Domain& domain : whole.domains) {
    RankList lost;
    bool has_nic = false;
    for (const Rank rank : domain.ranks) {
      if (whole.Site(rank)->nics.empty()) continue;
      if (Contains(left_out, rank)) {
        lost.push_back(rank);
      } else {
        has_nic = true;
      }
    }
    if (has_nic || lost.empty() || Difference(domain.ranks, left_out).empty()) continue;
    diags->Error(DiagnosticCode::kNoNic, Span{whole.file, 0, 0},
                 "all NICs of the domain '" + domain.name + "' are those of " +
                     (lost.size() == 1 ? "rank " : "ranks ") + RankText(lost) +
                     ", excluded by --exclude-ranks or in the topology");
  }
}

bool HasError(DiagnosticCode code, const Diagnostics& diags) {
  return std::any_of(diags.entries().begin(), diags.entries().end(),
                     [code](const Diagnostic& entry) { return entry.code == code; });
}

// What could be read; a layout of the wrong side is not resolved as if it were of the right one.
struct Specs {
  std::optional<LayoutSpec> train, infer;
  std::optional<TopoSpec> topo;
  bool complete() const { return train && infer && topo; }
};

Specs ReadSpecs(InputFile train, InputFile infer, InputFile topo, Diagnostics* diags,
                Compilation* out) {
  Specs specs;
  specs.train = ReadLayoutDocument(std::move(train), diags, &out->sources, &out->train_digest);
  specs.infer = ReadLayoutDocument(std::move(infer), diags, &out->sources, &out->infer_digest);
  specs.topo = ReadTopoDocument(std::move(topo), diags, &out->sources, &out->topo_digest);
  if (specs.train && !CheckSide(*specs.train, Side::kSource, diags)) specs.train.reset();
  if (specs.infer && !CheckSide(*specs.infer, Side::kDestination, diags)) specs.infer.reset();
  return specs;
}

// What can be resolved is resolved even when another file has errors, to find more of them. A
// destination that leaves `logical` to a source that could not be read would only repeat them.
bool ResolveSpecs(const Specs& specs, Diagnostics* diags, Compilation* out) {
  bool ok = specs.complete();
  if (specs.topo) ok &= BuildTopology(*specs.topo, diags, &out->topology);
  const bool destination_stands = specs.infer && (specs.train || specs.infer->has_logical);
  if (specs.train || destination_stands) {
    ok &= ResolveLayouts(specs.train ? &*specs.train : nullptr,
                         destination_stands ? &*specs.infer : nullptr, diags, &out->layouts);
  }
  return ok;
}

void TakeSpecs(Specs specs, Compilation* out) {
  out->train_spec = *std::move(specs.train);
  out->infer_spec = *std::move(specs.infer);
  out->topo_spec = *std::move(specs.topo);
}

// Routing and schedule in other ways; the fastest that keeps the limit stays.
bool SettleSchedule(const CompileOptions& options, bool settled, Diagnostics* diags,
                    Compilation* out) {
  CandidateInputs inputs;
  inputs.table = &out->layouts.table;
  inputs.transfers = &out->transfers;
  inputs.topology = &out->topology;
  inputs.options = options.schedule;
  inputs.max_peers = options.max_peers;
  inputs.settled = settled;
  out->candidates = KeepBestCandidate(inputs, &out->routing, &out->schedule);
  return CheckPeers(out->candidates, options.max_peers, diags);
}

bool WritePlan(const CompileOptions& options, const RankList& left_out, Diagnostics* diags,
               Compilation* out) {
  PlanInputs inputs;
  inputs.table = &out->layouts.table;
  inputs.source = &out->layouts.source;
  inputs.destination = &out->layouts.destination;
  inputs.topology = &out->topology;
  inputs.transfers = &out->transfers;
  inputs.routing = &out->routing;
  inputs.schedule = &out->schedule;
  inputs.train_digest = out->train_digest;
  inputs.infer_digest = out->infer_digest;
  inputs.topo_digest = out->topo_digest;
  inputs.options = OptionTexts(options, left_out);
  out->plan = MakePlan(inputs);
  const Span topology{out->topology.file, 0, 0};
  if (!CheckMemory(out->plan, topology, options.strict_memory, diags)) return false;

  StatusOr<std::vector<uint8_t>> bytes = SerializePlan(out->plan);
  if (!bytes.ok()) {
    diags->Error(DiagnosticCode::kPlanTooLarge, Span{}, bytes.status().message());
    return false;
  }
  out->bytes = std::move(*bytes);
  return true;
}

}  // namespace

std::optional<Stage> ParseStage(std::string_view text) {
  for (size_t i = 0; i < kStageTexts.size(); ++i) {
    if (kStageTexts[i] == text) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

std::string_view StageText(Stage stage) { return kStageTexts[static_cast<size_t>(stage)]; }

bool ResolveLayouts(const LayoutSpec* source, const LayoutSpec* destination, Diagnostics* diags,
                    ResolvedLayouts* out) {
  if (source == nullptr && !destination->has_logical) {
    diags->Error(
        DiagnosticCode::kMissingKey, destination->span,
        "this destination has no 'logical', expected it here or a source layout beside it");
    return false;
  }
  if (!BuildLogicalTable(source, destination, diags, &out->table)) return false;
  bool ok = true;
  if (source != nullptr) ok &= ResolveSide(*source, out->table, diags, &out->source);
  if (destination != nullptr) ok &= ResolveSide(*destination, out->table, diags, &out->destination);
  return ok;
}

bool ReadLayouts(std::vector<InputFile> files, Diagnostics* diags, SourceMap* sources,
                 std::vector<LayoutSpec>* out) {
  bool ok = true;
  for (InputFile& file : files) {
    Digest digest;
    std::optional<LayoutSpec> spec = ReadLayoutDocument(std::move(file), diags, sources, &digest);
    ok = ok && spec.has_value();
    if (spec) out->push_back(*std::move(spec));
  }
  return ok;
}

bool ReadTopology(InputFile file, Diagnostics* diags, SourceMap* sources, Topology* out) {
  Digest digest;
  const std::optional<TopoSpec> spec = ReadTopoDocument(std::move(file), diags, sources, &digest);
  return spec && BuildTopology(*spec, diags, out);
}

bool Compile(InputFile train, InputFile infer, InputFile topo, const CompileOptions& options,
             Stage last, Diagnostics* diags, const std::function<void(Stage)>& on_stage,
             Compilation* out) {
  const auto enter = [&](Stage stage) {
    if (on_stage) on_stage(stage);
  };
  enter(Stage::kSpec);
  Specs specs = ReadSpecs(std::move(train), std::move(infer), std::move(topo), diags, out);
  if (last == Stage::kSpec) {
    const bool complete = specs.complete();
    if (complete) TakeSpecs(std::move(specs), out);
    return complete;
  }

  enter(Stage::kLayout);
  if (!ResolveSpecs(specs, diags, out)) return false;
  TakeSpecs(std::move(specs), out);
  if (last == Stage::kLayout) return true;

  enter(Stage::kTransfers);
  if (!BuildTransfers(out->layouts.table, out->layouts.source, out->layouts.destination, diags,
                      &out->transfers)) {
    return false;
  }
  const RankList left_out = Union(options.exclude_ranks, ExcludedRanks(out->topology));
  const Topology whole = left_out.empty() ? Topology() : out->topology;
  if (!left_out.empty() && !LeaveOut(left_out, diags, out)) return false;
  if (last == Stage::kTransfers) return true;

  enter(Stage::kRouting);
  out->topology.round_ns = options.round_cost_ns;
  if (!BuildRouting(out->layouts.table, out->transfers, out->topology, options.route, diags,
                    &out->routing)) {
    if (HasError(DiagnosticCode::kNoNic, *diags)) ExplainLostNics(whole, left_out, diags);
    return false;
  }
  // What routing chooses by an estimate is settled by schedules.
  const bool settled = options.route.heads != 0 || options.route.strategy != Strategy::kAuto;
  if (last == Stage::kRouting && settled && options.max_peers == 0) return true;

  enter(Stage::kSchedule);
  if (!BuildSchedule(out->transfers, out->topology, out->routing, options.schedule, diags,
                     &out->schedule)) {
    return false;
  }
  if (!settled || options.max_peers > 0) {
    if (!SettleSchedule(options, settled, diags, out)) return false;
  }
  if (last == Stage::kRouting || last == Stage::kSchedule) return true;

  enter(Stage::kPlan);
  return WritePlan(options, left_out, diags, out);
}

}  // namespace reshard
