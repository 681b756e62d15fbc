// The compiler as one call: texts in, plan bytes out. Calls the passes in order; candidates.h makes
// routing and schedule again in other ways.
#ifndef RESHARD_COMPILER_PIPELINE_H_
#define RESHARD_COMPILER_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/candidates.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/frontend/topo_spec.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"
#include "runtime/base/rank_set.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_options.h"

namespace reshard {

struct CompileOptions {
  RouteOptions route;
  ScheduleOptions schedule;
  uint32_t max_peers = 0;                   // that a rank exchanges messages with, 0: any number
  int64_t round_cost_ns = kDefaultRoundNs;  // above 0
  bool strict_memory = false;
  RankList exclude_ranks;  // rising; the job is compiled without them
};

// One or both sides of a job, resolved.
struct ResolvedLayouts {
  LogicalTable table;
  Layout source, destination;
};

// Every intermediate result, for --dump-after and for commands that need the inputs resolved.
struct Compilation {
  SourceMap sources;
  LayoutSpec train_spec, infer_spec;
  TopoSpec topo_spec;
  Digest train_digest{}, infer_digest{}, topo_digest{};  // SHA-256 of the canonical texts
  ResolvedLayouts layouts;
  Topology topology;
  TransferSet transfers;
  Routing routing;
  Schedule schedule;
  std::vector<Candidate> candidates;  // what was scheduled to choose from; empty if nothing was
  Plan plan;
  std::vector<uint8_t> bytes;
};

// The stages in order, for --dump-after.
enum class Stage : uint8_t {
#define RESHARD_STAGE(name, text) name,
#include "compiler/stages.def"
#undef RESHARD_STAGE
};
std::optional<Stage> ParseStage(std::string_view text);
std::string_view StageText(Stage stage);

struct InputFile {
  std::string path;  // as shown in messages
  std::string text;
};

// Reads layout files; every file is read even when another one has errors.
[[nodiscard]] bool ReadLayouts(std::vector<InputFile> files, Diagnostics* diags, SourceMap* sources,
                               std::vector<LayoutSpec>* out);

// Reads and resolves a topology file.
[[nodiscard]] bool ReadTopology(InputFile file, Diagnostics* diags, SourceMap* sources,
                                Topology* out);

// Resolves the sides that are given (either may be null, not both) and checks their expectations.
[[nodiscard]] bool ResolveLayouts(const LayoutSpec* source, const LayoutSpec* destination,
                                  Diagnostics* diags, ResolvedLayouts* out);

// Runs the passes up to and including `last`. As many errors as possible are found in one run: both
// layouts and the topology are read and resolved even when one of them has errors.
// `on_stage` (may be empty) is called before each stage: progress.
[[nodiscard]] bool Compile(InputFile train, InputFile infer, InputFile topo,
                           const CompileOptions& options, Stage last, Diagnostics* diags,
                           const std::function<void(Stage)>& on_stage, Compilation* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PIPELINE_H_
