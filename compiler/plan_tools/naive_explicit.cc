#include "compiler/plan_tools/naive_explicit.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace reshard {
namespace {

constexpr uint32_t kMaxRanks = uint32_t{1} << 20;
constexpr size_t kMaxBoxes = 1'000'000;

bool Fail(std::string* error, std::string text) {
  *error = std::move(text);
  return false;
}

// "64-127,130"
bool ParseRankList(std::string_view text, std::string* error, std::vector<uint32_t>* out) {
  const std::string whole(text);
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    uint32_t first = 0;
    std::from_chars_result parsed = std::from_chars(at, end, first);
    uint32_t last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    }
    const bool good = parsed.ec == std::errc() && last >= first && last - first < kMaxRanks;
    if (!good || (parsed.ptr != end && *parsed.ptr != ',')) {
      return Fail(error, "'" + whole + "' is not a list of ranks");
    }
    for (uint32_t i = 0; i <= last - first; ++i) out->push_back(first + i);
    if (parsed.ptr == end) return true;
    at = parsed.ptr + 1;
  }
}

bool AddPiece(const ExplicitSpec::Piece& spec, const NaiveTensors& tensors, const NaiveScope& scope,
              NaiveView* view, std::string* error) {
  const std::optional<std::string> name = scope.Name(spec.tensor, error);
  if (!name) return false;
  const std::optional<uint32_t> tensor = tensors.Find(*name);
  if (!tensor) return Fail(error, "no tensor is called '" + *name + "'");
  const size_t axes = tensors.tensors()[*tensor].shape.size();
  if (spec.src.size() != axes || spec.dst.size() != view->shape.size()) {
    return Fail(error, "a piece has other dims than its tensor or its param");
  }
  NaivePiece piece;
  piece.tensor = *tensor;
  std::vector<int64_t> lengths;
  std::vector<int64_t> steps;
  for (const ExplicitSpec::Run& run : spec.src) {
    const std::optional<int64_t> start = scope.Value(run.start, error);
    const std::optional<int64_t> length = start ? scope.Value(run.extent, error) : start;
    const std::optional<int64_t> step = !length    ? length
                                        : run.step ? scope.Value(run.step, error)
                                                   : std::optional<int64_t>(1);
    if (!step) return false;
    piece.from.push_back(*start);
    lengths.push_back(*length);
    steps.push_back(*step);
  }
  bool empty = false;
  for (size_t d = 0; d < spec.dst.size(); ++d) {
    const std::optional<int64_t> start = scope.Value(spec.dst[d].start, error);
    const std::optional<int64_t> length =
        start ? scope.Value(spec.dst[d].extent, error) : std::nullopt;
    if (!length) return false;
    piece.at.push_back(*start);
    empty = empty || *length == 0;
    std::optional<int64_t> axis = static_cast<int64_t>(d);
    if (spec.dims && d < spec.dims->size()) {
      const std::optional<Expr>& dim = (*spec.dims)[d];
      axis = dim ? scope.Value(*dim, error) : std::optional<int64_t>(-1);
      if (!axis) return false;
    }
    if (*axis < 0 || *length <= 1) continue;
    if (std::cmp_greater_equal(*axis, axes)) return Fail(error, "a piece walks no such dim");
    const auto index = static_cast<uint32_t>(*axis);
    if (lengths[index] != *length) return Fail(error, "lengths of a piece differ");
    piece.digits.push_back({*length, static_cast<uint32_t>(d), 1, index, steps[index]});
  }
  if (!empty) view->pieces.push_back(std::move(piece));
  return true;
}

struct NaiveBox {
  std::vector<int64_t> begin, end;
};
std::vector<NaiveBox> BoxesOf(const std::vector<NaivePiece>& pieces, size_t rank) {
  std::vector<NaiveBox> boxes;
  for (const NaivePiece& piece : pieces) {
    NaiveBox box = {piece.at, piece.at};
    for (size_t d = 0; d < rank; ++d) ++box.end[d];
    for (const NaiveDigit& digit : piece.digits) box.end[digit.dim] += digit.extent - 1;
    boxes.push_back(std::move(box));
  }
  return boxes;
}
// Appends the parts of `box` outside of `hole`.
void SubtractBox(NaiveBox box, const NaiveBox& hole, std::vector<NaiveBox>* out) {
  for (size_t d = 0; d < box.begin.size(); ++d) {
    if (hole.begin[d] >= box.end[d] || hole.end[d] <= box.begin[d]) {
      out->push_back(std::move(box));
      return;
    }
  }
  for (size_t d = 0; d < box.begin.size(); ++d) {
    if (box.begin[d] < hole.begin[d]) {
      out->push_back(box);
      out->back().end[d] = hole.begin[d];
      box.begin[d] = hole.begin[d];
    }
    if (hole.end[d] < box.end[d]) {
      out->push_back(box);
      out->back().begin[d] = hole.end[d];
      box.end[d] = hole.end[d];
    }
  }
}

// What no piece covers, cut out dim by dim: pieces of explicit params are boxes.
bool AddRemainder(uint32_t fill, NaiveOps* ops, NaiveView* view) {
  NaiveView whole;
  if (!ops->Whole(fill, view->shape, view->dtype, &whole)) return false;
  std::vector<NaiveBox> rest = BoxesOf(whole.pieces, view->shape.size());
  for (const NaiveBox& box : BoxesOf(view->pieces, view->shape.size())) {
    std::vector<NaiveBox> next;
    for (const NaiveBox& part : rest) SubtractBox(part, box, &next);
    rest = std::move(next);
    if (rest.size() > kMaxBoxes) return ops->Fail("the fill has too many parts");
  }
  for (const NaiveBox& box : rest) {
    NaivePiece& piece = view->pieces.emplace_back();
    piece.tensor = fill;
    piece.at = box.begin;
    for (uint32_t d = 0; d < box.begin.size(); ++d) {
      const int64_t extent = box.end[d] - box.begin[d];
      if (extent > 1) piece.digits.push_back({extent, d, 1, d, 1});
    }
  }
  return true;
}

}  // namespace

bool NaiveExplicitRanks(const ExplicitSpec& spec, const NaiveScope& scope, std::string* error,
                        std::vector<uint32_t>* out) {
  for (const Expr& expr : spec.ranks) {
    const std::optional<int64_t> rank = scope.Value(expr, error);
    if (!rank) return false;
    if (*rank < 0 || *rank > UINT32_MAX) return Fail(error, "a rank is out of range");
    out->push_back(static_cast<uint32_t>(*rank));
  }
  return !spec.rank_list || ParseRankList(*spec.rank_list, error, out);
}

bool AddNaiveExplicit(const ExplicitSpec& spec, uint32_t rank, const NaiveTensors& tensors,
                      const NaiveScope& scope, NaiveOps* ops, std::vector<NaiveParam>* out,
                      std::string* error) {
  std::vector<uint32_t> ranks;
  if (!NaiveExplicitRanks(spec, scope, error, &ranks)) return false;
  if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) return true;
  NaiveParam param;
  std::optional<std::string> name = scope.Name(spec.param, error);
  if (!name || !scope.Values(spec.shape, error, &param.view.shape)) return false;
  param.name = *std::move(name);
  param.view.dtype = spec.dtype;
  for (const ExplicitSpec::Piece& piece : spec.pieces) {
    if (!AddPiece(piece, tensors, scope, &param.view, error))
      return Fail(error, "param '" + param.name + "': " + *error);
  }
  if (spec.fill) {
    const uint32_t fill = *spec.fill == FillRule::kZero ? kNaiveZeroFill : kNaiveKeepFill;
    if (!AddRemainder(fill, ops, &param.view)) {
      *error = ops->error();
      return Fail(error, "param '" + param.name + "': " + *error);
    }
  }
  out->push_back(std::move(param));
  return true;
}

}  // namespace reshard
