// ParamBuffers: memory for the params of ranks, for tests and for reshard-run.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_PARAM_BUFFERS_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_PARAM_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

// The buffer of one param of one rank.
struct LoopbackParam {
  uint32_t rank = 0;
  PlanSide side = PlanSide::kSource;
  uint32_t family = 0;
  int64_t instance = 0;
  bool external = false;  // exists, but the plan must not touch it
  std::string name;
  std::span<uint8_t> bytes;
};

class ParamBuffers {
 public:
  // What all bytes are until somebody writes them.
  static constexpr uint8_t kUnsetByte = 0xA5;
  // Each buffer begins at a multiple of it: wide enough for any element and for vector
  // instructions.
  static constexpr int64_t kAlignBytes = 64;

  // Adds all params of `rank`, by (family, instance). Error when there is no memory.
  Status Add(const Plan& plan, uint32_t rank);
  // In the order in which they were added.
  std::span<const LoopbackParam> params() const { return params_; }

 private:
  struct FreeDelete {
    void operator()(uint8_t* block) const;
  };
  std::vector<std::unique_ptr<uint8_t, FreeDelete>> blocks_;
  std::vector<LoopbackParam> params_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_PARAM_BUFFERS_H_
