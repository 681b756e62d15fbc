#include "tests/oracle/element_array.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

int64_t Product(const std::vector<int64_t>& shape, size_t first, size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         [](int64_t a, int64_t b) { return a * b; });
}

// Rows [at, at + count) of `dim`, appended for one index of the dims before it.
void AppendRows(const ElementArray& in, size_t dim, int64_t outer, int64_t at, int64_t count,
                std::vector<int32_t>* ids) {
  const int64_t inner = Product(in.shape, dim + 1, in.shape.size());
  const auto first = in.ids.begin() + (outer * in.shape[dim] + at) * inner;
  ids->insert(ids->end(), first, first + count * inner);
}

}  // namespace

ElementArray WholeArray(int32_t first_id, std::vector<int64_t> shape) {
  ElementArray out;
  out.ids.resize(static_cast<size_t>(Product(shape, 0, shape.size())));
  std::iota(out.ids.begin(), out.ids.end(), first_id);
  out.shape = std::move(shape);
  return out;
}

ElementArray PartOfArray(const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
                         const std::vector<int64_t>& end) {
  ElementArray out;
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    out.shape.push_back(end[d] - begin[d]);
    count *= out.shape.back();
  }
  out.ids.reserve(static_cast<size_t>(count));
  std::vector<int64_t> index = begin;
  const int64_t run = shape.empty() ? 1 : out.shape.back();
  while (static_cast<int64_t>(out.ids.size()) < count) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
    for (int64_t i = 0; i < run; ++i) out.ids.push_back(static_cast<int32_t>(at + i));
    for (size_t d = shape.size(); d-- > 1;) {
      if (++index[d - 1] < end[d - 1]) break;
      index[d - 1] = begin[d - 1];
    }
  }
  return out;
}

ElementArray SliceArray(const ElementArray& in, size_t dim, int64_t start, int64_t stop,
                        int64_t step) {
  ElementArray out;
  out.shape = in.shape;
  out.shape[dim] = 0;
  for (int64_t at = start; at < stop; at += step) ++out.shape[dim];
  const int64_t outer_count = Product(in.shape, 0, dim);
  for (int64_t outer = 0; outer < outer_count; ++outer) {
    if (step == 1 && start < stop) {
      AppendRows(in, dim, outer, start, stop - start, &out.ids);
      continue;
    }
    for (int64_t at = start; at < stop; at += step) AppendRows(in, dim, outer, at, 1, &out.ids);
  }
  return out;
}

ElementArray IndexArray(const ElementArray& in, size_t dim, int64_t at) {
  ElementArray out = SliceArray(in, dim, at, at + 1);
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return out;
}

ElementArray CatArrays(const std::vector<ElementArray>& in, size_t dim) {
  ElementArray out;
  out.shape = in[0].shape;
  out.shape[dim] = 0;
  for (const ElementArray& array : in) out.shape[dim] += array.shape[dim];
  const int64_t outer_count = Product(in[0].shape, 0, dim);
  for (int64_t outer = 0; outer < outer_count; ++outer) {
    for (const ElementArray& array : in) {
      AppendRows(array, dim, outer, 0, array.shape[dim], &out.ids);
    }
  }
  return out;
}

ElementArray StackArrays(const std::vector<ElementArray>& in, size_t dim) {
  std::vector<ElementArray> expanded = in;
  for (ElementArray& array : expanded) {
    array.shape.insert(array.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  }
  return CatArrays(expanded, dim);
}

ElementArray GroupCatArrays(const std::vector<ElementArray>& in, size_t dim, int64_t groups) {
  std::vector<ElementArray> parts;
  for (int64_t group = 0; group < groups; ++group) {
    for (const ElementArray& array : in) {
      const int64_t rows = array.shape[dim] / groups;
      parts.push_back(SliceArray(array, dim, group * rows, (group + 1) * rows));
    }
  }
  return CatArrays(parts, dim);
}

ElementArray PadArray(const ElementArray& in, size_t dim, int64_t to, int32_t fill) {
  ElementArray tail;
  tail.shape = in.shape;
  tail.shape[dim] = to - in.shape[dim];
  tail.ids.assign(static_cast<size_t>(Product(tail.shape, 0, tail.shape.size())), fill);
  return CatArrays({in, tail}, dim);
}

ElementArray PermuteArray(const ElementArray& in, const std::vector<size_t>& dims) {
  ElementArray out;
  for (const size_t dim : dims) out.shape.push_back(in.shape[dim]);
  std::vector<int64_t> index(dims.size());
  for (size_t n = 0; n < in.ids.size(); ++n) {
    std::vector<int64_t> from(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) from[dims[d]] = index[d];
    int64_t at = 0;
    for (size_t d = 0; d < from.size(); ++d) at = at * in.shape[d] + from[d];
    out.ids.push_back(in.ids[static_cast<size_t>(at)]);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < out.shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

ElementArray ReshapeArray(const ElementArray& in, std::vector<int64_t> shape) {
  return {std::move(shape), in.ids};
}

ElementArray ChunkArray(const ElementArray& in, size_t dim, int64_t parts, int64_t part) {
  const int64_t rows = in.shape[dim];
  const int64_t most = rows / parts + (rows % parts == 0 ? 0 : 1);
  return SliceArray(in, dim, std::min(part * most, rows), std::min((part + 1) * most, rows));
}

ElementArray BalancedPart(const ElementArray& in, size_t dim, int64_t unit, int64_t parts,
                          int64_t part) {
  const int64_t units = in.shape[dim] / unit;
  int64_t start = 0;
  for (int64_t before = 0; before < part; ++before) {
    start += units / parts + (before < units % parts ? 1 : 0);
  }
  const int64_t count = units / parts + (part < units % parts ? 1 : 0);
  return SliceArray(in, dim, start * unit, (start + count) * unit);
}

}  // namespace reshard
