// ValueTree: a value of the layout language that can be written as JSON and evaluated by the
// oracle.
//
// Both are made side by side from one description, so that a test can build trees at random and
// knows what each stands for on each rank.
#ifndef RESHARD_TESTS_PROPERTY_VALUE_TREE_H_
#define RESHARD_TESTS_PROPERTY_VALUE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/oracle/element_array.h"

namespace reshard::testing {

// Mesh coordinates by axis, loop variables by name.
using ValueEnv = std::map<std::string, int64_t>;

struct ValueTree {
  std::string json;
  std::vector<int64_t> shape;  // -1: differs between ranks
  std::function<ElementArray(const ValueEnv&)> eval;
};

// Tensor (l, e) of a template begins at element first + (l * e_count + e) * elements of one.
struct TensorTemplate {
  std::string name;  // with holes {l} and {e}
  int32_t first = 0;
  int64_t l_count = 1, e_count = 1;
  std::vector<int64_t> shape;

  int64_t element_count() const;
};
// `e`: which one, or "" for the variable e of an enclosing stack.
ValueTree TensorValue(const TensorTemplate& tensor, const std::string& e);

ValueTree CatValue(const std::vector<ValueTree>& in, size_t dim);
ValueTree GroupCatValue(const std::vector<ValueTree>& in, size_t dim, int64_t groups);
// `range`: its text, and its values on a rank.
ValueTree StackValue(const ValueTree& in, size_t dim, int64_t extent, const std::string& range,
                     const std::function<std::vector<int64_t>(const ValueEnv&)>& values);
ValueTree SliceValue(const ValueTree& in, size_t dim, int64_t start, int64_t stop, int64_t step);
ValueTree IndexValue(const ValueTree& in, size_t dim, int64_t at);
ValueTree PadValue(const ValueTree& in, size_t dim, int64_t to, bool keep);
ValueTree PermuteValue(const ValueTree& in, const std::vector<size_t>& dims);
ValueTree ReshapeValue(const ValueTree& in, const std::vector<int64_t>& shape);

struct ShardAxis {
  std::string name;
  int64_t size = 1;
};
enum class ShardRule { kError, kChunk, kBalanced, kReplicateIfFewer };
// The caller has checked that the rule applies.
ValueTree ShardValue(const ValueTree& in, size_t dim, const std::vector<ShardAxis>& axes,
                     int64_t unit, ShardRule rule);

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_PROPERTY_VALUE_TREE_H_
