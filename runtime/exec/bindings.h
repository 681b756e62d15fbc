// Bindings: where the params of one rank lie in memory.
//
// A caller names its buffers; BindParams resolves them to the families of the plan, so that a run
// of bytes is found by (family, instance). The buffers stay the caller's and outlive the bindings.
// Immutable once made.
#ifndef RESHARD_RUNTIME_EXEC_BINDINGS_H_
#define RESHARD_RUNTIME_EXEC_BINDINGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

inline constexpr int32_t kHostDevice = -1;  // in place of the number of a CUDA device

// One param buffer of this rank. A name of `shares` serves as well as the param's own.
struct ParamBuffer {
  PlanSide side = PlanSide::kSource;
  std::string name;
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  int32_t device = kHostDevice;
  // What the caller takes the buffer for; compared with the plan where it is given.
  std::optional<DType> dtype = std::nullopt;
  bool has_shape = false;  // a scalar has an empty shape
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // in elements, one per dimension; empty: row-major
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

  // Without any check: buffers per family of the plan and instance.
  static Bindings OfInstances(std::vector<std::vector<uint8_t*>> instances) {
    Bindings bindings;
    bindings.in_place_.resize(instances.size());
    bindings.instances_ = std::move(instances);
    return bindings;
  }

  // The buffers of the instances of a family; empty when this rank has none.
  std::span<uint8_t* const> instances(uint32_t family) const { return instances_[family]; }
  // Whether a destination instance lies in the memory of a source param that has the same elements
  // at the same bytes: it always holds what it should, and nothing is copied into it.
  bool in_place(uint32_t family, int64_t instance) const {
    const std::vector<bool>& flags = in_place_[family];
    return !flags.empty() && flags[static_cast<size_t>(instance)];
  }

 private:
  friend StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank,
                                       std::span<const ParamBuffer> buffers, int32_t device);
  std::vector<std::vector<uint8_t*>> instances_;  // per family of the plan
  std::vector<std::vector<bool>> in_place_;       // per family; empty: none
};

// Every param of the rank needs a buffer on `device`, except external and empty ones. One error
// lists all that is wrong: params without a buffer, buffers that no param wants or that are given
// twice, wrong sizes, shapes, dtypes and devices, strides that are not row-major, addresses that
// are no multiple of the element size, and a destination buffer that overlaps any other. The memory
// of a source param may be that of a destination param if both have the same elements at the same
// bytes.
StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank, std::span<const ParamBuffer> buffers,
                              int32_t device = kHostDevice);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_BINDINGS_H_
