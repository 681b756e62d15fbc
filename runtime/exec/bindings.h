// Bindings: where the params of one rank lie in memory.
//
// A caller names its buffers; BindParams resolves them to the families of the plan, so that a run
// of bytes is found by (family, instance). The buffers stay the caller's and outlive the bindings.
// Immutable once made.
#ifndef RESHARD_RUNTIME_EXEC_BINDINGS_H_
#define RESHARD_RUNTIME_EXEC_BINDINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

// One param buffer of this rank. A name of `shares` serves as well as the param's own.
struct ParamBuffer {
  PlanSide side = PlanSide::kSource;
  std::string name;
  uint8_t* data = nullptr;
  int64_t bytes = 0;
};

// The param buffers that the plan expects of one rank.
struct ExpectedParam {
  uint32_t family = 0;
  int64_t instance = 0;
  PlanSide side = PlanSide::kSource;
  std::string name;
  std::vector<std::string> shares;
  int64_t bytes = 0;
  bool external = false;
};
// By (family, instance).
std::vector<ExpectedParam> ParamsOfRank(const Plan& plan, uint32_t rank);

class Bindings {
 public:
  Bindings() = default;
  // Prepared copies point into it, so it moves and is never copied.
  Bindings(Bindings&&) = default;
  Bindings& operator=(Bindings&&) = default;
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;

  // The buffers of the instances of a family; empty when this rank has none.
  std::span<uint8_t* const> instances(uint32_t family) const { return instances_[family]; }

 private:
  friend StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank,
                                       std::span<const ParamBuffer> buffers);
  std::vector<std::vector<uint8_t*>> instances_;  // per family of the plan
};

// Every param of the rank needs a buffer, except external and empty ones. One error lists all that
// is wrong: params without a buffer, buffers that no param wants or that are given twice, wrong
// sizes, addresses that are no multiple of the element size, and a destination buffer that overlaps
// any other.
StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank,
                              std::span<const ParamBuffer> buffers);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_BINDINGS_H_
