// Evaluation of values: each operation of the language on views.

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "compiler/layout/limits.h"
#include "compiler/layout/value_tree.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {}  // namespace

class ValueTree::Evaluator {
 public:
  Evaluator(const ValueTree& tree, const LogicalTable& table, EvalContext* context)
      : tree_(tree), table_(table), context_(*context) {}

  Outcome Eval(const Node& node, View* out) {
    const Outcome outcome = Dispatch(node, out);
    if (outcome != Outcome::kDone) return outcome;
    const ValueSpec& spec = *node.spec;
    if (context_.budget->exhausted()) {
      return context_.Fail(DiagnosticCode::kTooManyPieces, spec.span,
                           "the value has too many pieces");
    }
    if (out->shape.size() > kMaxDims) {
      return context_.Fail(DiagnosticCode::kTooLarge, spec.span,
                           "the value has " + std::to_string(out->shape.size()) +
                               " dimensions, at most " + std::to_string(kMaxDims) + " work");
    }
    std::optional<int64_t> bytes = DTypeBytes(out->dtype);
    for (const int64_t extent : out->shape) {
      // A 0 among the extents must not hide that the others are too large for strides.
      bytes = bytes ? CheckedMul(*bytes, std::max<int64_t>(extent, 1)) : bytes;
    }
    if (bytes && *bytes <= kMaxTensorBytes) return Outcome::kDone;
    return context_.Fail(DiagnosticCode::kTooLarge, spec.span,
                         "the shape " + ListText(out->shape) + " is too large");
  }

 private:
  Outcome Dispatch(const Node& node, View* out) {
    switch (node.spec->op) {
      case ValueOp::kTensor:
        return Tensor(node, out);
      case ValueOp::kCat:
      case ValueOp::kGroupCat:
        return Concat(node, out);
      case ValueOp::kStack:
        return Stack(node, out);
      case ValueOp::kShard:
        return Shard(node, out);
      case ValueOp::kPad:
        return Pad(node, out);
      case ValueOp::kSlice:
        return Slice(node, out);
      case ValueOp::kIndex:
        return Index(node, out);
      case ValueOp::kPermute:
        return Permute(node, out);
      case ValueOp::kReshape:
        return Reshape(node, out);
    }
    return Outcome::kFailed;
  }

  Outcome Fail(DiagnosticCode code, Span span, const std::string& text) {
    return context_.Fail(code, span, text);
  }

  // An optional expression with a default.
  Outcome Int(const std::optional<Expr>& expr, int64_t absent, int64_t* value) {
    *value = absent;
    return expr ? context_.Eval(*expr, value) : Outcome::kDone;
  }

  // A dimension of `rank`, counted from the end when negative.
  Outcome Dim(const ValueSpec& spec, size_t rank, uint32_t* dim) {
    int64_t value = 0;
    if (const Outcome o = Int(spec.dim, 0, &value); o != Outcome::kDone) return o;
    return Normalize(value, rank, spec.dim ? spec.dim->span : spec.span, dim);
  }
  Outcome Normalize(int64_t value, size_t rank, Span span, uint32_t* dim) {
    const auto count = static_cast<int64_t>(rank);
    if (value < -count || value >= count) {
      return Fail(DiagnosticCode::kBadSlice, span,
                  "dim " + std::to_string(value) + " of a value with " + std::to_string(rank) +
                      " dimensions");
    }
    *dim = static_cast<uint32_t>(value < 0 ? value + count : value);
    return Outcome::kDone;
  }

  // The only input of an operation, and the dim of it along which the operation works.
  Outcome InputAlong(const Node& node, View* in, uint32_t* dim) {
    const Outcome o = Eval(node.inputs[0], in);
    return o == Outcome::kDone ? Dim(*node.spec, in->shape.size(), dim) : o;
  }

  Outcome Tensor(const Node& node, View* out) {
    ResolvedTensor tensor;
    const Outcome outcome = ResolveTensor(node.name, table_, &context_, &tensor);
    if (outcome != Outcome::kDone) return outcome;
    const SuperTensor& super = table_.supers[tensor.super];
    out->dtype = super.dtype;
    out->shape = super.shape;
    out->pieces.clear();
    if (std::find(super.shape.begin(), super.shape.end(), 0) != super.shape.end()) {
      return Outcome::kDone;
    }
    ViewPiece piece;
    piece.super = tensor.super;
    piece.at.assign(super.shape.size(), 0);
    piece.begin.reserve(super.axis_count());
    for (size_t axis = 0; axis < tensor.axes.size(); ++axis) {
      piece.begin.push_back(tensor.axes[axis].base);
      for (const auto& [v, coef] : tensor.axes[axis].coefs) {
        piece.digits.push_back({context_.runs[v].count, kOuterDim + static_cast<uint32_t>(v), 1,
                                static_cast<int32_t>(axis), coef});
      }
    }
    piece.begin.resize(super.axis_count(), 0);
    for (uint32_t d = 0; d < super.shape.size(); ++d) {
      const auto axis = static_cast<int32_t>(super.loop_count() + d);
      if (super.shape[d] > 1) piece.digits.push_back({super.shape[d], d, 1, axis, 1});
    }
    context_.budget->Charge();
    out->pieces.push_back(std::move(piece));
    return Outcome::kDone;
  }

  // Whether a further input of cat, group_cat or stack fits the first; `dim` may differ.
  Outcome Agree(const ValueSpec& spec, const View& first, const View& other, size_t dim) {
    bool same = first.shape.size() == other.shape.size();
    for (size_t d = 0; same && d < first.shape.size(); ++d) {
      same = d == dim || first.shape[d] == other.shape[d];
    }
    if (!same) {
      return Fail(DiagnosticCode::kShapeMismatch, spec.span,
                  "an input has shape " + ListText(other.shape) + ", expected it to agree with " +
                      ListText(first.shape) +
                      (dim < first.shape.size() ? " except along dim " + std::to_string(dim) : ""));
    }
    if (first.dtype == other.dtype) return Outcome::kDone;
    return Fail(DiagnosticCode::kDtypeMismatch, spec.span,
                "an input has dtype " + std::string(DTypeText(other.dtype)) + ", expected " +
                    std::string(DTypeText(first.dtype)) + " as in the first");
  }

  Outcome Concat(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    std::vector<View> inputs(node.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const Outcome o = Eval(node.inputs[i], &inputs[i]); o != Outcome::kDone) return o;
    }
    uint32_t dim = 0;
    if (const Outcome o = Dim(spec, inputs[0].shape.size(), &dim); o != Outcome::kDone) return o;
    std::optional<int64_t> extent = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Outcome o = Agree(*node.inputs[i].spec, inputs[0], inputs[i], dim);
      if (o != Outcome::kDone) return o;
      extent = extent ? CheckedAdd(*extent, inputs[i].shape[dim]) : extent;
    }
    if (!extent) return Fail(DiagnosticCode::kTooLarge, spec.span, "the value is too large");
    if (spec.op == ValueOp::kCat) {
      *out = ConcatViews(inputs, dim, context_.budget);
      return Outcome::kDone;
    }
    int64_t groups = 1;
    if (const Outcome o = Int(spec.groups, 1, &groups); o != Outcome::kDone) return o;
    if (groups < 1) {
      return Fail(DiagnosticCode::kBadValue, spec.groups->span,
                  std::to_string(groups) + " groups, expected at least 1");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].shape[dim] % groups == 0) continue;
      return Fail(DiagnosticCode::kShapeMismatch, node.inputs[i].spec->span,
                  "an input has " + std::to_string(inputs[i].shape[dim]) + " elements along dim " +
                      std::to_string(dim) + ", expected a multiple of " + std::to_string(groups) +
                      " groups");
    }
    *out = InterleaveViews(inputs, dim, groups, context_.budget);
    return Outcome::kDone;
  }

  Outcome Stack(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    std::vector<int64_t> values;
    EvalFailure failure;
    if (!context_.scope->EvalValues(spec.over->range, &values, &failure)) {
      return Fail(failure.code, failure.span, failure.text);
    }
    context_.budget->Charge(static_cast<int64_t>(values.size() / 16));
    if (values.empty()) {
      return Fail(DiagnosticCode::kEmptyStack, spec.over->range.span,
                  "the stack over '" + spec.over->name +
                      "' has no elements; exclude the rank with 'where'");
    }
    std::deque<Run> waiting;
    for (const Run& run : CompressRuns(values)) {
      if (!node.write_out) waiting.push_back(run);
      for (int64_t k = 0; node.write_out && k < run.count; ++k)
        waiting.push_back({run.at(k), 1, 1});
    }
    const size_t v = node.stack_variable;
    std::vector<View> parts;
    std::vector<int64_t> first_shape;
    uint32_t dim = 0;
    while (!waiting.empty()) {
      const Run run = waiting.front();
      waiting.pop_front();
      context_.Bind(v, run);
      View part;
      const Outcome o = Eval(node.inputs[0], &part);
      if (o == Outcome::kSplit && context_.split_variable == v) {
        const int64_t count = context_.split_count;
        waiting.push_front({run.at(count), run.step, run.count - count});
        waiting.push_front({run.begin, run.step, count});
        continue;
      }
      if (o != Outcome::kDone) return o;
      const size_t rank = part.shape.size();
      if (parts.empty()) {
        if (const Outcome d = Dim(spec, rank + 1, &dim); d != Outcome::kDone) return d;
        first_shape = part.shape;
      } else {
        View first;
        first.shape = first_shape;
        first.dtype = parts[0].dtype;
        const Outcome a = Agree(*node.inputs[0].spec, first, part, SIZE_MAX);
        if (a != Outcome::kDone) return a;
      }
      parts.push_back(StackView(part, dim, run.count, static_cast<uint32_t>(v), context_.budget));
    }
    *out = parts.size() == 1 ? std::move(parts[0]) : ConcatViews(parts, dim, context_.budget);
    return Outcome::kDone;
  }

  Outcome Shard(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    uint32_t dim = 0;
    if (const Outcome o = InputAlong(node, out, &dim); o != Outcome::kDone) return o;
    int64_t unit = 1;
    if (const Outcome o = Int(spec.unit, 1, &unit); o != Outcome::kDone) return o;
    if (unit < 1) {
      return Fail(DiagnosticCode::kBadValue, spec.unit->span,
                  "a unit of " + std::to_string(unit) + " elements, expected at least 1");
    }
    const int64_t extent = out->shape[dim];
    if (extent % unit != 0 && spec.uneven != UnevenRule::kChunk) {
      return Fail(DiagnosticCode::kUnevenShard, spec.span,
                  std::to_string(extent) + " elements along dim " + std::to_string(dim) + " of '" +
                      FirstName(node) + "' are no multiple of the unit of " + std::to_string(unit));
    }
    int64_t begin = 0;  // the part that the axes before leave, in elements
    int64_t end = extent;
    for (size_t i = 0; i < node.axes.size(); ++i) {
      const Outcome o = ShardOnce(node, i, dim, unit, &begin, &end);
      if (o != Outcome::kDone) return o;
    }
    if (begin != 0 || end != extent) {
      *out = SliceView(*out, dim, begin, end, 1, context_.budget);
    }
    return Outcome::kDone;
  }

  // Cuts [begin, end) by one mesh axis.
  Outcome ShardOnce(const Node& node, size_t axis, uint32_t dim, int64_t unit, int64_t* begin,
                    int64_t* end) {
    const ValueSpec& spec = *node.spec;
    const int64_t ranks = tree_.mesh_->shape[node.axes[axis]];
    const int64_t rank = context_.scope->value(node.axes[axis]);
    const int64_t extent = *end - *begin;
    const int64_t units = extent / unit + (extent % unit != 0 ? 1 : 0);
    int64_t first = 0, last = 0;  // units
    if (spec.replicate_if_fewer && units < ranks && units > 0) {
      if (ranks % units != 0) return Uneven(node, axis, dim, unit, units);
      first = rank / (ranks / units);
      last = first + 1;
    } else if (spec.uneven == UnevenRule::kBalanced) {
      const int64_t each = units / ranks;
      const int64_t more = units % ranks;
      first = rank * each + std::min(rank, more);
      last = first + each + (rank < more ? 1 : 0);
    } else {
      if (units % ranks != 0 && spec.uneven == UnevenRule::kError) {
        return Uneven(node, axis, dim, unit, units);
      }
      const int64_t each = units / ranks + (units % ranks != 0 ? 1 : 0);
      first = std::min(rank * each, units);
      last = std::min(first + each, units);
    }
    // The last unit may be short.
    *end = *begin + std::min(last * unit, extent);
    *begin += std::min(first * unit, extent);
    return Outcome::kDone;
  }

  Outcome Uneven(const Node& node, size_t axis, uint32_t dim, int64_t unit, int64_t units) {
    std::string what = std::to_string(units);
    if (unit == 1) {
      what += " elements";
    } else {
      what += " units of " + std::to_string(unit) + " elements";
    }
    const int64_t ranks = tree_.mesh_->shape[node.axes[axis]];
    return Fail(DiagnosticCode::kUnevenShard, node.spec->axis_spans[axis],
                what + " along dim " + std::to_string(dim) + " of '" + FirstName(node) +
                    "' do not divide over axis '" + node.spec->axes[axis] + "' of " +
                    std::to_string(ranks) + " ranks" + UnevenHint(*node.spec, units, ranks));
  }

  static std::string UnevenHint(const ValueSpec& spec, int64_t units, int64_t ranks) {
    if (units >= ranks) return "; pad it, or state how with 'uneven'";
    if (!spec.replicate_if_fewer) return "; state 'replicate_if_fewer', or how with 'uneven'";
    return ", not even with 'replicate_if_fewer': " + std::to_string(ranks) +
           " ranks are no multiple of " + std::to_string(units);
  }

  static std::string FirstName(const Node& node) {
    if (node.spec->op == ValueOp::kTensor) return node.spec->tensor.source;
    return node.inputs.empty() ? "" : FirstName(node.inputs[0]);
  }

  Outcome Pad(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    View in;
    uint32_t dim = 0;
    if (const Outcome o = InputAlong(node, &in, &dim); o != Outcome::kDone) return o;
    const int64_t extent = in.shape[dim];
    int64_t padded = extent;
    if (spec.multiple) {
      int64_t multiple = 1;
      if (const Outcome o = context_.Eval(*spec.multiple, &multiple); o != Outcome::kDone) return o;
      if (multiple < 1) {
        return Fail(
            DiagnosticCode::kBadValue, spec.multiple->span,
            "padding to a multiple of " + std::to_string(multiple) + ", expected at least 1");
      }
      const std::optional<int64_t> blocks = CheckedCeilDiv(extent, multiple);
      const std::optional<int64_t> grown = blocks ? CheckedMul(*blocks, multiple) : blocks;
      if (!grown) return Fail(DiagnosticCode::kTooLarge, spec.span, "the padding is too large");
      padded = *grown;
    } else if (spec.to) {
      if (const Outcome o = context_.Eval(*spec.to, &padded); o != Outcome::kDone) return o;
      if (padded < extent) {
        return Fail(DiagnosticCode::kBadSlice, spec.to->span,
                    "padding to " + std::to_string(padded) + " elements, but dim " +
                        std::to_string(dim) + " already has " + std::to_string(extent));
      }
    }
    const SuperId fill = spec.fill == FillRule::kZero ? ViewPiece::kZeroFill : ViewPiece::kKeepFill;
    *out = PadView(in, dim, padded, fill, context_.budget);
    return Outcome::kDone;
  }

  Outcome Slice(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    View in;
    uint32_t dim = 0;
    if (const Outcome o = InputAlong(node, &in, &dim); o != Outcome::kDone) return o;
    const int64_t extent = in.shape[dim];
    int64_t start = 0, stop = extent, step = 1;
    if (const Outcome o = Int(spec.start, 0, &start); o != Outcome::kDone) return o;
    if (const Outcome o = Int(spec.stop, extent, &stop); o != Outcome::kDone) return o;
    if (const Outcome o = Int(spec.step, 1, &step); o != Outcome::kDone) return o;
    if (start < 0 || stop < start || stop > extent || step < 1) {
      return Fail(DiagnosticCode::kBadSlice, spec.span,
                  "slice " + std::to_string(start) + ".." + std::to_string(stop) + " with step " +
                      std::to_string(step) + " of " + std::to_string(extent) +
                      " elements along dim " + std::to_string(dim) +
                      ", expected 0 <= start <= stop <= " + std::to_string(extent) +
                      " and a step of at least 1");
    }
    *out = SliceView(in, dim, start, stop, step, context_.budget);
    return Outcome::kDone;
  }

  Outcome Index(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    View in;
    uint32_t dim = 0;
    if (const Outcome o = InputAlong(node, &in, &dim); o != Outcome::kDone) return o;
    int64_t at = 0;
    if (const Outcome o = Int(spec.at, 0, &at); o != Outcome::kDone) return o;
    if (at < 0 || at >= in.shape[dim]) {
      return Fail(DiagnosticCode::kBadSlice, spec.span,
                  "index " + std::to_string(at) + " along dim " + std::to_string(dim) + " of " +
                      std::to_string(in.shape[dim]) + " elements, expected a smaller one from 0");
    }
    *out = DropDim(SliceView(in, dim, at, at + 1, 1, context_.budget), dim);
    return Outcome::kDone;
  }

  Outcome Permute(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    View in;
    if (const Outcome o = Eval(node.inputs[0], &in); o != Outcome::kDone) return o;
    std::vector<uint32_t> dims;
    std::vector<bool> seen(in.shape.size(), false);
    bool permutation = spec.dims.size() == in.shape.size();
    for (const Expr& expr : spec.dims) {
      int64_t value = 0;
      if (const Outcome o = context_.Eval(expr, &value); o != Outcome::kDone) return o;
      uint32_t dim = 0;
      const Outcome o = Normalize(value, in.shape.size(), expr.span, &dim);
      if (o != Outcome::kDone) return o;
      permutation &= !seen[dim];
      seen[dim] = true;
      dims.push_back(dim);
    }
    if (!permutation) {
      return Fail(DiagnosticCode::kBadSlice, spec.span,
                  "'dims' names " + std::to_string(dims.size()) +
                      " dimensions, expected each of the " + std::to_string(in.shape.size()) +
                      " of the input once");
    }
    *out = PermuteView(in, dims);
    return Outcome::kDone;
  }

  Outcome Reshape(const Node& node, View* out) {
    const ValueSpec& spec = *node.spec;
    View in;
    if (const Outcome o = Eval(node.inputs[0], &in); o != Outcome::kDone) return o;
    std::vector<int64_t> shape;
    for (const Expr& expr : spec.shape) {
      int64_t extent = 0;
      if (const Outcome o = context_.Eval(expr, &extent); o != Outcome::kDone) return o;
      shape.push_back(extent);
    }
    const bool negative =
        std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
    const std::optional<int64_t> before = CheckedProduct<int64_t>(in.shape);
    const std::optional<int64_t> after = CheckedProduct<int64_t>(shape);
    if (negative || !before || before != after || shape.size() > kMaxDims) {
      return Fail(DiagnosticCode::kBadReshape, spec.span,
                  "reshape of " + ListText(in.shape) + " to " + ListText(shape) +
                      " changes the number of elements");
    }
    *out = ReshapeView(in, shape, context_.budget);
    return Outcome::kDone;
  }

  const ValueTree& tree_;
  const LogicalTable& table_;
  EvalContext& context_;
};

Outcome ValueTree::Eval(const LogicalTable& table, EvalContext* context, View* out) const {
  return Evaluator(*this, table, context).Eval(root_, out);
}

}  // namespace reshard
