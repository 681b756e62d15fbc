#include "compiler/transfer/refine.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// More different steps than this on one axis: the most frequent ones decide.
constexpr size_t kMaxSteps = 256;

struct CountedStep {
  int64_t step = 1;
  int64_t count = 0;
};

// The different steps above 1, rising.
std::vector<CountedStep> CountSteps(std::vector<int64_t> steps) {
  std::sort(steps.begin(), steps.end());
  std::vector<CountedStep> counted;
  for (const int64_t step : steps) {
    if (step <= 1) continue;
    if (counted.empty() || counted.back().step != step) counted.push_back({step, 0});
    ++counted.back().count;
  }
  if (counted.size() > kMaxSteps) {
    std::stable_sort(counted.begin(), counted.end(),
                     [](const CountedStep& a, const CountedStep& b) { return a.count > b.count; });
    counted.resize(kMaxSteps);
    std::sort(counted.begin(), counted.end(),
              [](const CountedStep& a, const CountedStep& b) { return a.step < b.step; });
  }
  return counted;
}

// Of all chains in which each step divides the next, the one with most occurrences. Rising.
std::vector<int64_t> BestChain(const std::vector<CountedStep>& steps) {
  std::vector<int64_t> weight(steps.size());
  std::vector<size_t> before(steps.size(), steps.size());
  size_t best = steps.size();
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (steps[i].step % steps[j].step == 0 && weight[j] > weight[i]) {
        weight[i] = weight[j];
        before[i] = j;
      }
    }
    weight[i] += steps[i].count;
    if (best == steps.size() || weight[i] > weight[best]) best = i;
  }
  std::vector<int64_t> chain;
  for (size_t i = best; i < steps.size(); i = before[i]) chain.push_back(steps[i].step);
  chain.push_back(1);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// A multiple of `step` that fits into the chain helps where the step itself does not.
void InsertMultiple(int64_t step, int64_t axis_end, std::vector<int64_t>* chain) {
  for (size_t i = chain->size(); i-- > 0;) {
    const int64_t link = (*chain)[i];
    const std::optional<int64_t> multiple = CheckedMul(step / std::gcd(step, link), link);
    if (!multiple || *multiple >= axis_end || *multiple == link) continue;
    if (i + 1 < chain->size() && (*chain)[i + 1] % *multiple != 0) continue;
    if (i + 1 == chain->size() || (*chain)[i + 1] != *multiple) {
      chain->insert(chain->begin() + static_cast<std::ptrdiff_t>(i) + 1, *multiple);
    }
    return;
  }
}

// One axis of a place on its way to boxes. Dims are settled from the lightest to the heaviest.
struct Partial {
  int64_t high = 0;  // first index, without what the settled dims say
  int64_t base_bytes = 0;
  int64_t base_instance = 0;
  std::vector<PlaceDigit> digits;   // not settled yet
  std::vector<BoxPlace::Dim> dims;  // settled, lightest first

  void Move(const PlaceDigit& digit, int64_t count) {
    high += digit.step * count;
    base_bytes += digit.stride_bytes * count;
    base_instance += digit.instance_stride * count;
  }
};

// `digit`, taken `count` at a time.
PlaceDigit Coarser(const PlaceDigit& digit, int64_t count, int64_t extent) {
  return {extent, digit.step * count, digit.stride_bytes * count, digit.instance_stride * count};
}

// Settles one dim of weight `weight`; `next` is the weight of the dim before it, 0 for the
// heaviest.
class DimSettler {
 public:
  DimSettler(int64_t weight, int64_t next, WorkBudget* budget, std::vector<Partial>* out)
      : weight_(weight), next_(next), budget_(budget), out_(out) {}

  // Digits whose step is neither this dim's nor a multiple of the next one's are spread: one
  // partial for each of their values (up to where the next dim takes over).
  bool Settle(const Partial& partial) {
    for (size_t i = 0; i < partial.digits.size(); ++i) {
      const PlaceDigit& digit = partial.digits[i];
      if (digit.step == weight_ || (next_ != 0 && digit.step % next_ == 0)) continue;
      int64_t values = digit.extent;
      if (next_ != 0) values = std::min(values, next_ / std::gcd(next_, digit.step));
      if (!budget_->Spend(static_cast<size_t>(values))) return false;
      for (int64_t value = 0; value < values; ++value) {
        Partial part = partial;
        part.Move(digit, value);
        part.digits.erase(part.digits.begin() + static_cast<std::ptrdiff_t>(i));
        const int64_t rest = (digit.extent - value + values - 1) / values;
        if (rest > 1) part.digits.push_back(Coarser(digit, values, rest));
        if (!Settle(part)) return false;
      }
      return true;
    }
    return Cut(partial);
  }

 private:
  // The one digit of this dim's step is a range of it, cut where the next dim counts on.
  bool Cut(Partial partial) {
    PlaceDigit run{1, weight_, 0, 0};
    std::vector<PlaceDigit> rest;
    for (const PlaceDigit& digit : partial.digits) {
      if (digit.step == weight_) {
        RESHARD_CHECK(run.extent == 1, "a place holds an element twice");
        run = digit;
      } else {
        rest.push_back(digit);
      }
    }
    partial.digits = std::move(rest);
    if (next_ == 0) {
      return Emit(std::move(partial), run, partial.high / weight_, run.extent, 1);
    }
    const int64_t period = next_ / weight_;
    int64_t done = 0;
    while (done < run.extent) {
      Partial part = partial;
      part.Move(run, done);
      const int64_t low = *CheckedFloorMod(part.high, next_);
      part.high -= low;
      const int64_t first = low / weight_;
      const int64_t left = run.extent - done;
      const int64_t blocks = first == 0 ? std::max<int64_t>(left / period, 1) : 1;
      const int64_t extent = std::min(left, period - first);
      if (!Emit(std::move(part), run, first, extent, blocks)) return false;
      done += extent * blocks;
    }
    return true;
  }

  bool Emit(Partial part, const PlaceDigit& run, int64_t begin, int64_t extent, int64_t blocks) {
    if (!budget_->Spend(1)) return false;
    // The stride of a dim with one index is never used; 0 keeps equal places equal.
    const bool moves = extent > 1;
    part.dims.push_back(
        {begin, extent, moves ? run.stride_bytes : 0, moves ? run.instance_stride : 0});
    if (blocks > 1) part.digits.push_back(Coarser(run, extent, blocks));
    out_->push_back(std::move(part));
    return true;
  }

  int64_t weight_;
  int64_t next_;
  WorkBudget* budget_;
  std::vector<Partial>* out_;
};

bool RefineAxis(const PlaceAxis& axis, const std::vector<int64_t>& weights, WorkBudget* budget,
                std::vector<Partial>* out) {
  Partial whole;
  whole.high = axis.begin;
  whole.digits = NormalDigits(axis);
  std::vector<Partial> current = {std::move(whole)};
  for (size_t k = weights.size(); k-- > 0;) {
    std::vector<Partial> settled;
    DimSettler settler(weights[k], k > 0 ? weights[k - 1] : 0, budget, &settled);
    for (const Partial& partial : current) {
      if (!settler.Settle(partial)) return false;
    }
    current = std::move(settled);
  }
  for (Partial& partial : current) std::reverse(partial.dims.begin(), partial.dims.end());
  *out = std::move(current);
  return true;
}

}  // namespace

std::vector<PlaceDigit> NormalDigits(const PlaceAxis& axis) {
  std::vector<PlaceDigit> digits;
  for (const PlaceDigit& digit : axis.digits) {
    if (digit.extent > 1) digits.push_back(digit);
  }
  std::sort(digits.begin(), digits.end(),
            [](const PlaceDigit& a, const PlaceDigit& b) { return a.step > b.step; });
  for (size_t i = digits.size(); i-- > 1;) {
    PlaceDigit& outer = digits[i - 1];
    const PlaceDigit& inner = digits[i];
    if (outer.step != inner.step * inner.extent ||
        outer.stride_bytes != inner.stride_bytes * inner.extent ||
        outer.instance_stride != inner.instance_stride * inner.extent) {
      continue;
    }
    outer = {outer.extent * inner.extent, inner.step, inner.stride_bytes, inner.instance_stride};
    digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return digits;
}

std::vector<int64_t> ChooseWeights(std::vector<int64_t> steps, int64_t axis_end) {
  const std::vector<CountedStep> counted = CountSteps(std::move(steps));
  std::vector<int64_t> chain = BestChain(counted);
  for (const CountedStep& step : counted) {
    if (std::find(chain.begin(), chain.end(), step.step) == chain.end()) {
      InsertMultiple(step.step, axis_end, &chain);
    }
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool RefinePlace(const Place& place, const AxisWeights& weights, Side side, WorkBudget* budget,
                 std::vector<BoxPlace>* out) {
  std::vector<BoxPlace> boxes(1);
  boxes[0].side = side;
  boxes[0].super = place.super;
  boxes[0].family = place.family;
  boxes[0].base_bytes = place.base_bytes;
  boxes[0].base_instance = place.base_instance;
  for (size_t axis = 0; axis < place.axes.size(); ++axis) {
    std::vector<Partial> parts;
    if (!RefineAxis(place.axes[axis], weights[axis], budget, &parts)) return false;
    if (!budget->Spend(boxes.size() * (parts.size() - 1))) return false;
    std::vector<BoxPlace> product;
    product.reserve(boxes.size() * parts.size());
    for (const BoxPlace& box : boxes) {
      for (const Partial& part : parts) {
        BoxPlace next = box;
        next.base_bytes += part.base_bytes;
        next.base_instance += part.base_instance;
        next.dims.insert(next.dims.end(), part.dims.begin(), part.dims.end());
        product.push_back(std::move(next));
      }
    }
    boxes = std::move(product);
  }
  out->insert(out->end(), std::make_move_iterator(boxes.begin()),
              std::make_move_iterator(boxes.end()));
  return true;
}

}  // namespace reshard
