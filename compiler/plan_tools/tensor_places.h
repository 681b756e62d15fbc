// TensorPlaces: where the elements of one logical tensor are, param by param.
//
// Reads only the places of a plan. Grows with the places of one tensor, not with ranks.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PLACES_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PLACES_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

struct TensorId {
  uint32_t super = 0;
  std::vector<int64_t> loop_values;
};
// The tensor called `name`. Tries every super-tensor whose pattern fits.
std::optional<TensorId> FindTensor(const Plan& plan, std::string_view name);
// The names of tensors for "did you mean": of each super-tensor the instance with the numbers of
// `like`, or the first and the last.
std::vector<std::string> SomeTensorNames(const Plan& plan, std::string_view like);

// A buffer of a rank.
struct ParamId {
  uint32_t family = 0;
  int64_t instance = 0;
};
// The param of `rank` that has `name`, as its own or as a further one.
std::optional<ParamId> FindParam(const Plan& plan, PlanSide side, Rank rank, std::string_view name);
// The same of the params of a rank.
std::vector<std::string> SomeParamNames(const Plan& plan, PlanSide side, Rank rank,
                                        std::string_view like);
// The ranks that have a param of this name.
RankList RanksWithParam(const Plan& plan, PlanSide side, std::string_view name);

// Indices along one dim of a tensor: begin, begin + step, ... (`count` of them).
struct IndexRun {
  int64_t begin = 0;
  int64_t count = 1;
  int64_t step = 1;
  auto operator<=>(const IndexRun&) const = default;
};

// A box of the tensor inside one param.
struct TensorPlace {
  PlanSide side = PlanSide::kSource;
  std::string param;
  std::vector<int64_t> param_shape;
  uint32_t rank_set = 0;
  std::vector<IndexRun> box;          // per dim of the tensor
  int64_t offset_bytes = 0;           // in the param, of the box's first element
  std::vector<int64_t> at;            // the same as an index of the param
  std::vector<int64_t> stride_bytes;  // in the param, per dim of the tensor; 0 where count is 1
  int64_t bytes = 0;
};

// By side, then rank set, param and offset, so that the order inside a fused param is visible.
std::vector<TensorPlace> PlacesOfTensor(const Plan& plan, const TensorId& tensor);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PLACES_H_
