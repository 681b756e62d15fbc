// LayoutOracle: what every byte of every param has to be, from the layouts in a plan alone.
//
// Knows families, places and fills; knows nothing of cells, classes, streams, rounds or of how
// runtime/plan and runtime/exec walk them. One element after the other: slow, and simple enough to
// be believed. Different ranks may be filled and checked by different threads.
#ifndef RESHARD_RUNTIME_RUN_LAYOUT_ORACLE_H_
#define RESHARD_RUNTIME_RUN_LAYOUT_ORACLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/plan.h"

namespace reshard {

enum class FindingKind : uint8_t {
  kElement,   // a tensor's element is not there
  kFill,      // padding is not zero
  kKept,      // padding that is to be kept was written
  kExternal,  // a param that the plan must not touch was written
  kSource,    // a source param was written
  kCoverage,  // the layouts say nothing about some bytes of the param, or something twice
};

// The wrong byte of a rank that comes first in the order of its params. explain_difference.h says
// what it means.
struct Finding {
  FindingKind kind = FindingKind::kElement;
  size_t param = 0;          // of the rank's params
  int64_t offset_bytes = 0;  // in the param; of the element for kElement
  // kElement: what was expected, and the bytes that were found from there on, of consecutive
  // elements along the run: evidence of where they come from.
  uint32_t super = 0;
  std::vector<int64_t> loop_values;
  int64_t element = 0;       // row-major index in the tensor's shape
  int64_t element_step = 0;  // from one element of the run to the next
  std::vector<uint8_t> found;
};

struct RankCheck {
  int64_t compared_bytes = 0;
  int64_t wrong_bytes = 0;
  std::optional<Finding> first;
};

class LayoutOracle {
 public:
  explicit LayoutOracle(const Plan& plan) : plan_(plan) {}

  // Writes identifying content into the source params of one rank and garbage everywhere else.
  // `params` are all params of the rank, by (family, instance), here and below.
  void Fill(std::span<const LoopbackParam> params, uint64_t generation) const;
  // Compares every byte of the destination and external params of one rank with what an execution
  // of this generation has to leave.
  RankCheck CheckDestination(std::span<const LoopbackParam> params, uint64_t generation) const;

  // Hashes of the source params, in order, and the check that they still have them.
  static std::vector<uint64_t> HashSources(std::span<const LoopbackParam> params);
  static RankCheck CheckSource(std::span<const LoopbackParam> params,
                               std::span<const uint64_t> hashes);

 private:
  const Plan& plan_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_LAYOUT_ORACLE_H_
