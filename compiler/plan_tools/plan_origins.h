// PlanOrigins: which tensor element each byte of a param holds, by a plan's places. Part of
// VerifyInputs.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PLAN_ORIGINS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PLAN_ORIGINS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/plan_tools/naive_layout.h"
#include "runtime/plan/plan.h"

namespace reshard {

// One element that a plan places elsewhere than the inputs do.
struct OriginDifference {
  int64_t byte = 0;            // in the param's buffer
  std::vector<int64_t> index;  // of the element that the inputs put there
};

class PlanOrigins {
 public:
  explicit PlanOrigins(const Plan& plan);

  // Connects the plan's super-tensors with `tensors`. False when `error` names one that differs.
  bool Connect(const NaiveTensors& tensors, std::string* error);

  // Families of a side that `rank` stores.
  std::vector<uint32_t> FamiliesOf(uint32_t rank, PlanSide side) const;
  // Bytes of tensors in all instances of a family.
  int64_t TensorBytes(uint32_t family) const;
  // Bytes of fills of one rule in one instance.
  int64_t FillBytes(uint32_t family, PlanFillRule rule) const;
  // Byte ranges [first, last) of fills of one rule in one instance, rising and merged; nullopt when
  // there are more than `limit`.
  std::optional<std::vector<std::pair<int64_t, int64_t>>> FillRanges(uint32_t family,
                                                                     PlanFillRule rule,
                                                                     size_t limit) const;

  // Compares one piece of a param, an instance of `family`. Returns the first difference found.
  // `work` counts down; the comparison stops, without a difference, when it is used up.
  std::optional<OriginDifference> Compare(uint32_t family, int64_t instance,
                                          const NaiveParam& param, const NaivePiece& piece,
                                          int64_t* work) const;

  // What the plan says of a byte: "'model.norm.weight' [17]", "a fill", "nothing".
  std::string Describe(uint32_t family, int64_t instance, int64_t byte) const;

 private:
  // A logical tensor as the plan numbers it: its super-tensor, and the refined dims of its loops.
  struct Entry {
    uint32_t super = UINT32_MAX;
    std::vector<int64_t> loop_dims;
  };
  // A place seen from one tensor and instance: where its elements begin.
  struct Window {
    const PlanPlace* place = nullptr;
    int64_t base_bytes = 0;
  };
  struct SuperDims {
    size_t loop_dims = 0;             // refined dims of the loop axes stand first
    std::vector<int64_t> extents;     // of the refined dims of the shape's axes
    std::vector<int64_t> axis_units;  // per axis of the shape, in the linear space of `extents`
    bool plain = true;                // one dim per axis of the shape
  };

  // Weights of the dims of each axis, loops first.
  using AxisWeights = std::vector<std::vector<int64_t>>;

  bool AddSuper(uint32_t super, const NaiveTensors& tensors, std::string* error);
  static bool DimsOf(const PlanSuper& super, const AxisWeights& weights, SuperDims* dims,
                     std::string* error);
  bool AddTensors(uint32_t super, const AxisWeights& weights, const NaiveTensors& tensors,
                  std::string* error);
  std::vector<Window> WindowsOf(uint32_t family, int64_t instance, const Entry& entry) const;
  bool Refine(const SuperDims& dims, const NaiveParam& param, const NaivePiece& piece,
              std::vector<NaivePiece>* out) const;
  std::optional<OriginDifference> CompareRefined(const SuperDims& dims,
                                                 const std::vector<Window>& windows, uint32_t super,
                                                 NaivePiece piece, int64_t* work) const;
  const PlanDimRange& DimOf(const PlanPlace& place, size_t dim) const {
    return plan_.place_dims[place.first_dim + dim];
  }

  const Plan& plan_;
  std::vector<SuperDims> dims_;  // per super-tensor
  std::vector<std::vector<uint32_t>> family_places_;
  std::vector<std::vector<uint32_t>> family_fills_;
  std::vector<Entry> entries_;  // per tensor of NaiveTensors
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PLAN_ORIGINS_H_
