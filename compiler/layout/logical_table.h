// LogicalTable: the model's canonical tensors, as both sides name them.
//
// A template with loops is ONE super-tensor whose loop variables are its leading axes: the table
// grows with templates, not with tensors. Axis values are absolute (a loop "3..61" has begin 3).
// Built from the source's `logical` and `aliases` and from the destination's where it repeats or
// adds; what both sides state must be equal.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_TABLE_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "runtime/base/dtype.h"
#include "runtime/base/name_pattern.h"

namespace reshard {

using SuperId = uint32_t;

// Axes 0 .. loop_begin.size()-1 choose a tensor, the following ones an element of it.
struct SuperTensor {
  NamePattern name;  // holes over the loop axes
  DType dtype = DType::kBf16;
  std::vector<int64_t> loop_begin;  // first value of each loop axis
  std::vector<int64_t> loop_extent;
  std::vector<int64_t> shape;  // of each tensor
  Span declared;               // in the file that declared it first
  bool declared_by_source = false;
  struct ScaleOf {
    SuperId tensor = 0;             // what this super-tensor scales
    std::vector<int64_t> loop_map;  // our loop axis i is its loop axis loop_map[i]
    std::vector<int64_t> block;
    Span span;
  };
  std::optional<ScaleOf> scale_of;

  size_t loop_count() const { return loop_begin.size(); }
  size_t axis_count() const { return loop_begin.size() + shape.size(); }
  int64_t tensor_count() const;  // product of loop extents
  int64_t tensor_bytes() const;  // of one tensor
};

// One tensor of a super-tensor.
struct LogicalRef {
  SuperId super = 0;
  std::vector<int64_t> loop_values;
};

// Names are looked up by skeleton: see name_skeleton.h.
struct LogicalTable {
  std::vector<SuperTensor> supers;

  // Some tensors of one super-tensor whose names share a skeleton: slot i has the values
  // [begin, end). Loop axis a of the tensor is base[a], plus (value - begin) of the slot that has
  // `axis` a, if any. Aliases add entries of their own.
  struct Entry {
    struct Slot {
      int64_t begin = 0;
      int64_t end = 1;
      int axis = -1;  // -1: the slot has one value
    };
    SuperId super = 0;
    std::vector<Slot> slots;
    std::vector<int64_t> base;
  };
  std::unordered_map<std::string, std::vector<Entry>> by_skeleton;
  // Tensors (and aliases) that were declared one by one.
  std::unordered_map<std::string, LogicalRef> by_name;

  // The tensor called `name`, or nullopt.
  std::optional<LogicalRef> Find(std::string_view name) const;
  // Names for "did you mean", sorted: one instance of every entry, at most a few thousand.
  std::vector<std::string> SampleNames() const;
};

// `source` or `destination` may be null (a single file is checked alone). Of a third layout, if
// given, only the aliases count.
[[nodiscard]] bool BuildLogicalTable(const LayoutSpec* source, const LayoutSpec* destination,
                                     Diagnostics* diags, LogicalTable* out,
                                     const LayoutSpec* only_aliases = nullptr);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_TABLE_H_
