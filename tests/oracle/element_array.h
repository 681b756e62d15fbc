// ElementArray: the elements of a buffer written out one by one, each with the number of the model
// element that it is.
//
// The operations do what the layout language says on whole arrays, as numpy would: no boxes, no
// strides kept, no sharing with the compiler or the runtime. An oracle for inputs of test size.
#ifndef RESHARD_TESTS_ORACLE_ELEMENT_ARRAY_H_
#define RESHARD_TESTS_ORACLE_ELEMENT_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard {

struct ElementArray {
  static constexpr int32_t kZero = -1;  // written as zero
  static constexpr int32_t kKeep = -2;  // left as it was

  std::vector<int64_t> shape;
  std::vector<int32_t> ids;  // row-major
};

// A whole tensor whose elements are numbered from `first_id` in row-major order.
ElementArray WholeArray(int32_t first_id, std::vector<int64_t> shape);

// Elements [begin, end) along each dim of a tensor of shape `shape` that is numbered from 0.
ElementArray PartOfArray(const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
                         const std::vector<int64_t>& end);

ElementArray SliceArray(const ElementArray& in, size_t dim, int64_t start, int64_t stop,
                        int64_t step = 1);
ElementArray IndexArray(const ElementArray& in, size_t dim, int64_t at);
ElementArray CatArrays(const std::vector<ElementArray>& in, size_t dim);
ElementArray StackArrays(const std::vector<ElementArray>& in, size_t dim);
// Part 0 of each, part 1 of each, ...
ElementArray GroupCatArrays(const std::vector<ElementArray>& in, size_t dim, int64_t groups);
ElementArray PadArray(const ElementArray& in, size_t dim, int64_t to, int32_t fill);
// dims[i] is the input dim that becomes dim i.
ElementArray PermuteArray(const ElementArray& in, const std::vector<size_t>& dims);
ElementArray ReshapeArray(const ElementArray& in, std::vector<int64_t> shape);

// Part `part` of `parts` by torch.chunk's rule: parts of ceil(n / parts), the last ones short or
// empty.
ElementArray ChunkArray(const ElementArray& in, size_t dim, int64_t parts, int64_t part);
// The first n % parts parts have one unit more; n counts units of `unit` elements.
ElementArray BalancedPart(const ElementArray& in, size_t dim, int64_t unit, int64_t parts,
                          int64_t part);

}  // namespace reshard

#endif  // RESHARD_TESTS_ORACLE_ELEMENT_ARRAY_H_
