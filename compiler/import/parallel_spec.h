// ParallelSpec: how a trainer and an inference engine distribute a model, as parallel.json states
// it (format "reshard-import/hf-parallel"; docs/import.md has the keys).
//
// ReadParallelSpec checks form and what one engine's sizes have to do with each other. A value that
// stands for a layout which the importer does not know is refused by name.
#ifndef RESHARD_COMPILER_IMPORT_PARALLEL_SPEC_H_
#define RESHARD_COMPILER_IMPORT_PARALLEL_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"

namespace reshard {

// Half-open ranges of layers: [stage][chunk].
using StageTable = std::vector<std::vector<std::pair<int64_t, int64_t>>>;

enum class ExpertStorage : uint8_t { kUnstated, kTeGrouped, kSequential, kSingleGrouped };

struct MegatronSpec {
  int64_t world = 0;
  std::vector<std::string> order;  // fastest first: "tp", "cp", "ep", "dp", "pp"
  int64_t tp = 1, cp = 1, pp = 1, ep = 1, etp = 1, vpp = 1;
  std::optional<int64_t> first_layers, last_layers;  // of the first and the last stage
  StageTable stages;                                 // where the file lists them; else empty
  Span pipeline_span;
  int64_t vocab_divisible_by = 1;
  int64_t glu_interleave = 0;  // block size; 0: gate, then up
  ExpertStorage experts = ExpertStorage::kUnstated;
  std::optional<bool> tie_embeddings;
  Span experts_span, tie_span;
};

// A module for each expert, or one param of all (transformers up to 4, from 5 on).
enum class FsdpExperts : uint8_t { kUnstated, kModules, kStacked };

struct FsdpSpec {
  int64_t world = 0;
  int64_t tp = 1, dp_replicate = 1;
  std::string strided;  // "order" or "replay"; empty when tp is 1
  FsdpExperts experts = FsdpExperts::kUnstated;
};

enum class TrainEngine : uint8_t { kMegatron, kFsdp2 };

struct VllmSpec {
  int64_t world = 0;
  int64_t tp = 1, pp = 1, dp = 1;
  std::optional<int64_t> minor_version;  // 25 of 0.25
  bool one_engine = false;  // the dp ranks are of one engine, which spreads experts over them
  bool expert_parallel = false;
  bool round_robin = false;
  Span placement_span;
  int64_t vocab_pad_to = 64;
  std::optional<bool> shared_replicated;  // shared experts: whole on each rank
  std::optional<std::string> dtype;       // "bf16"; of the weights
  Span span;
};

// Whole tensors: on every rank, or those of file i on rank i.
struct HfSpec {
  int64_t world = 0;
  bool file_per_rank = false;
  Span span;
};

enum class InferEngine : uint8_t { kVllm, kHf };

struct ParallelSpec {
  std::optional<std::string> config;  // path, relative to the file
  Span config_span;
  bool shapes_from_config = false;
  bool omit_mtp = false;
  bool dequantized = false;
  TrainEngine train_engine{};
  MegatronSpec megatron;
  FsdpSpec fsdp;
  Span train_span;
  InferEngine infer_engine{};
  VllmSpec vllm;
  HfSpec hf;
  Span model_span;
};

[[nodiscard]] bool ReadParallelSpec(const JsonNode& root, Diagnostics* diags, ParallelSpec* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_PARALLEL_SPEC_H_
