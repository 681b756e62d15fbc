#include "compiler/plan_tools/naive_view.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// The same value with every element listed: what stands at each row-major position.
struct Dense {
  std::vector<int64_t> shape;
  std::vector<int64_t> elements;  // tensor * 1000000 + row-major index there, or -1, -2 for fills
};

int64_t Product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> Unravel(int64_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> coords(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coords[d] = index % shape[d];
    index /= shape[d];
  }
  return coords;
}

int64_t Ravel(const std::vector<int64_t>& coords, const std::vector<int64_t>& shape) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + coords[d];
  return index;
}

// An array of `shape` whose element at coords is `from` of what `source` gives.
template <typename Source>
Dense Fill(std::vector<int64_t> shape, Source source) {
  Dense dense = {std::move(shape), {}};
  for (int64_t i = 0; i < Product(dense.shape); ++i) {
    dense.elements.push_back(source(Unravel(i, dense.shape)));
  }
  return dense;
}

// Lists a view's elements; checks that its pieces cover each of them once.
Dense Expand(const NaiveView& view, const std::vector<std::vector<int64_t>>& tensor_shapes) {
  constexpr int64_t kNothing = -9;
  Dense dense = {view.shape,
                 std::vector<int64_t>(static_cast<size_t>(Product(view.shape)), kNothing)};
  for (const NaivePiece& piece : view.pieces) {
    std::vector<int64_t> extents;
    for (const NaiveDigit& digit : piece.digits) extents.push_back(digit.extent);
    for (int64_t i = 0; i < piece.element_count(); ++i) {
      const std::vector<int64_t> counts = Unravel(i, extents);
      std::vector<int64_t> at = piece.at;
      std::vector<int64_t> from = piece.from;
      for (size_t k = 0; k < counts.size(); ++k) {
        const NaiveDigit& digit = piece.digits[k];
        at[digit.dim] += counts[k] * digit.step;
        if (!from.empty()) from[digit.axis] += counts[k] * digit.tensor_step;
      }
      for (size_t d = 0; d < at.size(); ++d) REQUIRE((at[d] >= 0 && at[d] < view.shape[d]));
      int64_t& element = dense.elements[static_cast<size_t>(Ravel(at, view.shape))];
      REQUIRE(element == kNothing);
      if (piece.tensor == kNaiveZeroFill) {
        element = -1;
      } else if (piece.tensor == kNaiveKeepFill) {
        element = -2;
      } else {
        element = piece.tensor * 1000000 + Ravel(from, tensor_shapes[piece.tensor]);
      }
    }
  }
  for (const int64_t element : dense.elements) REQUIRE(element != kNothing);
  return dense;
}

// A random value over random tensors, made by NaiveOps and element by element at once.
class Twin {
 public:
  explicit Twin(uint32_t seed) : random_(seed) {}

  int64_t Pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::pair<NaiveView, Dense> Leaf(std::vector<int64_t> shape) {
    const auto tensor = static_cast<uint32_t>(shapes_.size());
    shapes_.push_back(shape);
    NaiveView view;
    REQUIRE(ops_.Whole(tensor, shape, DType::kF32, &view));
    Dense dense = Fill(
        shape, [&](const std::vector<int64_t>& at) { return tensor * 1000000 + Ravel(at, shape); });
    return {std::move(view), std::move(dense)};
  }

  void Step(NaiveView* view, Dense* dense) {
    const auto rank = static_cast<int64_t>(view->shape.size());
    const auto dim = static_cast<size_t>(Pick(0, rank - 1));
    const Dense before = *dense;
    const auto old = [&](const std::vector<int64_t>& at) {
      return before.elements[static_cast<size_t>(Ravel(at, before.shape))];
    };
    std::vector<int64_t> shape = before.shape;
    switch (Pick(0, 7)) {
      case 0: {  // slice
        const int64_t start = Pick(0, shape[dim]);
        const int64_t stop = Pick(start, shape[dim]);
        const int64_t step = Pick(1, 3);
        REQUIRE(ops_.Slice(dim, start, stop, step, view));
        shape[dim] = (stop - start + step - 1) / step;
        *dense = Fill(shape, [&](std::vector<int64_t> at) {
          at[dim] = start + at[dim] * step;
          return old(at);
        });
        break;
      }
      case 1: {  // drop
        if (rank < 2 || shape[dim] == 0) return;
        const int64_t index = Pick(0, shape[dim] - 1);
        REQUIRE(ops_.Drop(dim, index, view));
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
        *dense = Fill(shape, [&](std::vector<int64_t> at) {
          at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), index);
          return old(at);
        });
        break;
      }
      case 2: {  // cat with a new tensor
        shape[dim] = Pick(0, 3);
        auto [other, other_dense] = Leaf(shape);
        const int64_t middle = before.shape[dim];
        std::vector<NaiveView> views;
        views.push_back(std::move(*view));
        views.push_back(std::move(other));
        REQUIRE(ops_.Cat(dim, std::move(views), view));
        shape[dim] += middle;
        *dense = Fill(shape, [&, &joined = other_dense](std::vector<int64_t> at) {
          if (at[dim] < middle) return old(at);
          at[dim] -= middle;
          return joined.elements[static_cast<size_t>(Ravel(at, joined.shape))];
        });
        break;
      }
      case 3: {  // stack on another tensor of the same shape
        if (rank > 4) return;
        auto [other, other_dense] = Leaf(shape);
        std::vector<NaiveView> views;
        views.push_back(std::move(other));
        views.push_back(std::move(*view));
        REQUIRE(ops_.Stack(dim, std::move(views), view));
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), 2);
        *dense = Fill(shape, [&, &first = other_dense](std::vector<int64_t> at) {
          const int64_t which = at[dim];
          at.erase(at.begin() + static_cast<std::ptrdiff_t>(dim));
          return which == 1 ? old(at) : first.elements[static_cast<size_t>(Ravel(at, first.shape))];
        });
        break;
      }
      case 4: {  // pad
        const int64_t to = shape[dim] + Pick(0, 2);
        const bool zero = Pick(0, 1) == 0;
        REQUIRE(ops_.Pad(dim, to, zero ? kNaiveZeroFill : kNaiveKeepFill, view));
        shape[dim] = to;
        *dense = Fill(shape, [&](const std::vector<int64_t>& at) {
          return at[dim] < before.shape[dim] ? old(at) : zero ? -1 : -2;
        });
        break;
      }
      case 5: {  // permute
        std::vector<size_t> dims(shape.size());
        std::iota(dims.begin(), dims.end(), 0u);
        std::shuffle(dims.begin(), dims.end(), random_);
        REQUIRE(ops_.Permute(dims, view));
        for (size_t i = 0; i < dims.size(); ++i) shape[i] = before.shape[dims[i]];
        *dense = Fill(shape, [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> back(at.size());
          for (size_t i = 0; i < dims.size(); ++i) back[dims[i]] = at[i];
          return old(back);
        });
        break;
      }
      default: {  // reshape to random factors
        int64_t rest = Product(shape);
        if (rest == 0) return;
        shape.clear();
        while (shape.size() < 3 && rest > 1) {
          int64_t factor = Pick(1, rest);
          while (rest % factor != 0) --factor;
          shape.push_back(factor);
          rest /= factor;
        }
        shape.insert(shape.begin() + Pick(0, static_cast<int64_t>(shape.size())), rest);
        REQUIRE(ops_.Reshape(shape, view));
        dense->shape = shape;
        break;
      }
    }
  }

  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }

 private:
  std::mt19937 random_;
  NaiveOps ops_{1'000'000};
  std::vector<std::vector<int64_t>> shapes_;
};

TEST_CASE("random chains of operations agree with listing every element") {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Twin twin(seed);
    auto [view, dense] = twin.Leaf({twin.Pick(1, 6), twin.Pick(1, 6), twin.Pick(1, 4)});
    const int64_t steps = twin.Pick(1, 7);
    for (int64_t i = 0; i < steps; ++i) {
      twin.Step(&view, &dense);
      if (Product(view.shape) > 3000) break;
    }
    REQUIRE(view.shape == dense.shape);
    REQUIRE(Expand(view, twin.shapes()).elements == dense.elements);
  }
}

TEST_CASE("big reshapes stay a few pieces") {
  NaiveOps ops(1000);
  NaiveView view;
  REQUIRE(ops.Whole(0, {1 << 20, 4096}, DType::kBf16, &view));
  REQUIRE(ops.Reshape({1 << 10, 1 << 10, 4096}, &view));
  CHECK(view.pieces.size() == 1);
  REQUIRE(ops.Reshape({int64_t{1} << 32}, &view));
  CHECK(view.pieces.size() == 1);
  REQUIRE(ops.Slice(0, 5, (int64_t{1} << 32) - 7, 1, &view));
  CHECK(view.pieces.size() <= 5);
  CHECK(view.pieces[0].element_count() + view.pieces[1].element_count() <= view.element_count());
}

TEST_CASE("what cannot be done says why") {
  const auto error = [](auto operation) {
    NaiveOps ops(100);
    NaiveView view;
    REQUIRE(ops.Whole(0, {4, 6}, DType::kF32, &view));
    CHECK(!operation(ops, &view));
    return ops.error();
  };
  CHECK(error([](NaiveOps& ops, NaiveView* view) { return ops.Slice(0, 2, 5, 1, view); }) ==
        "slice 2..5..1 does not fit an extent of 4");
  CHECK(error([](NaiveOps& ops, NaiveView* view) { return ops.Drop(1, 6, view); }) ==
        "index 6 is outside an extent of 6");
  CHECK(error([](NaiveOps& ops, NaiveView* view) { return ops.Pad(0, 3, kNaiveZeroFill, view); }) ==
        "cannot pad an extent of 4 to 3");
  CHECK(error([](NaiveOps& ops, NaiveView* view) {
          return ops.Permute({0, 0}, view);
        }) == "'permute' does not list each of 2 dims once");
  CHECK(error([](NaiveOps& ops, NaiveView* view) {
          return ops.Reshape({5, 5}, view);
        }) == "cannot reshape [4, 6] to [5, 5]");
  CHECK(error([](NaiveOps& ops, NaiveView* view) {
          return ops.Whole(0, {int64_t{1} << 40, int64_t{1} << 40}, DType::kF32, view);
        }).ends_with("has too many elements"));
  CHECK(error([](NaiveOps& ops, NaiveView* view) {
          for (int i = 0; i < 200; ++i) {
            if (!ops.Whole(0, {1}, DType::kF32, view)) return false;
          }
          return true;
        }) == "a param has too many pieces to interpret them one by one");
}

}  // namespace
}  // namespace reshard
