#include "compiler/plan_tools/naive_value.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

bool Fail(std::string* error, std::string text) {
  *error = std::move(text);
  return false;
}

std::optional<int64_t> OptionalValue(const std::optional<Expr>& expr, int64_t otherwise,
                                     const NaiveInstance& instance, std::string* error) {
  return expr ? instance.scope.Value(*expr, error) : std::optional<int64_t>(otherwise);
}

// The 0-based dim that `expr` means in a view of `rank` dims.
std::optional<size_t> Dim(const std::optional<Expr>& expr, size_t rank,
                          const NaiveInstance& instance, std::string* error) {
  const std::optional<int64_t> dim = OptionalValue(expr, 0, instance, error);
  if (!dim) return std::nullopt;
  const int64_t counted = *dim < 0 ? *dim + static_cast<int64_t>(rank) : *dim;
  if (counted >= 0 && std::cmp_less(counted, rank)) return static_cast<size_t>(counted);
  *error = "there is no dim " + std::to_string(*dim) + " among " + std::to_string(rank);
  return std::nullopt;
}

bool EvaluateTensor(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                    std::string* error) {
  const std::optional<std::string> name = instance->scope.Name(value.tensor, error);
  if (!name) return false;
  const std::optional<uint32_t> tensor = instance->tensors.Find(*name);
  if (!tensor) return Fail(error, "no tensor is called '" + *name + "'");
  const NaiveTensor& found = instance->tensors.tensors()[*tensor];
  return instance->ops.Whole(*tensor, found.shape, found.dtype, out);
}

bool EvaluateInputs(const ValueSpec& value, NaiveInstance* instance, std::vector<NaiveView>* out,
                    std::string* error) {
  for (const ValueSpec& input : value.inputs) {
    if (!EvaluateNaive(input, instance, &out->emplace_back(), error)) return false;
  }
  return !out->empty() || Fail(error, "an operation has no input");
}

bool EvaluateCat(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                 std::string* error) {
  std::vector<NaiveView> views;
  if (!EvaluateInputs(value, instance, &views, error)) return false;
  const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size(), *instance, error);
  return dim && instance->ops.Cat(*dim, std::move(views), out);
}

bool EvaluateGroupCat(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                      std::string* error) {
  std::vector<NaiveView> views;
  if (!EvaluateInputs(value, instance, &views, error)) return false;
  const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size(), *instance, error);
  const std::optional<int64_t> groups =
      dim ? instance->scope.Value(*value.groups, error) : std::nullopt;
  if (!groups) return false;
  if (*groups < 1) return Fail(error, "'group_cat' makes " + std::to_string(*groups) + " groups");
  std::vector<NaiveView> parts;
  for (int64_t group = 0; group < *groups; ++group) {
    for (const NaiveView& view : views) {
      if (*dim >= view.shape.size() || view.shape[*dim] % *groups != 0) {
        return Fail(error,
                    "an input of 'group_cat' has no " + std::to_string(*groups) + " equal parts");
      }
      const int64_t part = view.shape[*dim] / *groups;
      if (!instance->ops.Slice(*dim, group * part, (group + 1) * part, 1,
                               &parts.emplace_back(view))) {
        return false;
      }
    }
  }
  return instance->ops.Cat(*dim, std::move(parts), out);
}

bool EvaluateStack(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                   std::string* error) {
  std::vector<int64_t> values;
  if (!instance->scope.Range(value.over->range, error, &values)) return false;
  std::vector<NaiveView> views;
  views.reserve(values.size());
  for (const int64_t number : values) {
    instance->scope.Push(value.over->name, number);
    const bool good = EvaluateNaive(value.inputs.at(0), instance, &views.emplace_back(), error);
    instance->scope.Pop();
    if (!good) return false;
  }
  if (views.empty()) return Fail(error, "a stack has no elements");
  const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size() + 1, *instance, error);
  return dim && instance->ops.Stack(*dim, std::move(views), out);
}

bool EvaluatePermute(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                     std::string* error) {
  std::vector<size_t> dims;
  for (const Expr& expr : value.dims) {
    const std::optional<size_t> dim = Dim(expr, out->shape.size(), *instance, error);
    if (!dim) return false;
    dims.push_back(*dim);
  }
  return instance->ops.Permute(dims, out);
}

bool EvaluatePad(const ValueSpec& value, size_t dim, NaiveInstance* instance, NaiveView* out,
                 std::string* error) {
  const std::optional<int64_t> number =
      instance->scope.Value(value.to ? *value.to : *value.multiple, error);
  if (!number) return false;
  std::optional<int64_t> to = number;
  if (value.multiple) {
    if (*number < 1) return Fail(error, "'pad' to a multiple of " + std::to_string(*number));
    to = CheckedMul(*CheckedCeilDiv(out->shape[dim], *number), *number);
    if (!to) return Fail(error, "a padded extent does not fit 64 bits");
  }
  const uint32_t fill = value.fill == FillRule::kZero ? kNaiveZeroFill : kNaiveKeepFill;
  return instance->ops.Pad(dim, *to, fill, out);
}

// Part `part` of `parts` along `dim`, in whole units.
bool ShardOnce(const ValueSpec& value, size_t dim, int64_t unit, int64_t parts, int64_t part,
               NaiveInstance* instance, NaiveView* out, std::string* error) {
  const int64_t extent = out->shape[dim];
  const bool chunks = value.uneven == UnevenRule::kChunk;
  if (extent % unit != 0 && !chunks) {
    return Fail(error, "an extent of " + std::to_string(extent) + " has no whole units of " +
                           std::to_string(unit));
  }
  const int64_t units = *CheckedCeilDiv(extent, unit);
  int64_t first = 0;
  int64_t count = 0;
  if (value.replicate_if_fewer && units > 0 && units < parts) {
    if (parts % units != 0) {
      return Fail(error, std::to_string(parts) + " ranks do not share " + std::to_string(units) +
                             " units evenly");
    }
    first = part / (parts / units);
    count = 1;
  } else if (chunks) {
    count = *CheckedCeilDiv(units, parts);
    first = part * count;
  } else {
    if (units % parts != 0 && value.uneven == UnevenRule::kError) {
      return Fail(error, std::to_string(units) + " units do not divide over " +
                             std::to_string(parts) + " ranks");
    }
    const int64_t longer = units % parts;
    count = units / parts + (part < longer ? 1 : 0);
    first = part * (units / parts) + std::min(part, longer);
  }
  // Chunks behind the end are empty; the last unit of chunks may be short.
  const int64_t start = std::min(std::min(first, units) * unit, extent);
  const int64_t stop = std::min(std::min(first + count, units) * unit, extent);
  return instance->ops.Slice(dim, start, stop, 1, out);
}

bool EvaluateShard(const ValueSpec& value, size_t dim, NaiveInstance* instance, NaiveView* out,
                   std::string* error) {
  const std::optional<int64_t> unit = OptionalValue(value.unit, 1, *instance, error);
  if (!unit) return false;
  if (*unit < 1) return Fail(error, "a shard has a unit of " + std::to_string(*unit));
  for (const std::string& axis : value.axes) {
    const auto it = std::find(instance->mesh.axes.begin(), instance->mesh.axes.end(), axis);
    if (it == instance->mesh.axes.end()) return Fail(error, "there is no axis '" + axis + "'");
    const auto index = static_cast<size_t>(it - instance->mesh.axes.begin());
    if (!ShardOnce(value, dim, *unit, instance->mesh.shape[index], instance->coords[index],
                   instance, out, error)) {
      return false;
    }
  }
  return true;
}

bool EvaluateOp(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                std::string* error) {
  switch (value.op) {
    case ValueOp::kTensor:
      return EvaluateTensor(value, instance, out, error);
    case ValueOp::kCat:
      return EvaluateCat(value, instance, out, error);
    case ValueOp::kGroupCat:
      return EvaluateGroupCat(value, instance, out, error);
    case ValueOp::kStack:
      return EvaluateStack(value, instance, out, error);
    default:
      break;
  }
  if (!EvaluateNaive(value.inputs.at(0), instance, out, error)) return false;
  if (value.op == ValueOp::kPermute) return EvaluatePermute(value, instance, out, error);
  if (value.op == ValueOp::kReshape) {
    std::vector<int64_t> shape;
    return instance->scope.Values(value.shape, error, &shape) &&
           instance->ops.Reshape(std::move(shape), out);
  }
  const std::optional<size_t> dim = Dim(value.dim, out->shape.size(), *instance, error);
  if (!dim) return false;
  switch (value.op) {
    case ValueOp::kShard:
      return EvaluateShard(value, *dim, instance, out, error);
    case ValueOp::kPad:
      return EvaluatePad(value, *dim, instance, out, error);
    case ValueOp::kSlice: {
      const std::optional<int64_t> start = instance->scope.Value(*value.start, error);
      const std::optional<int64_t> stop =
          start ? instance->scope.Value(*value.stop, error) : std::nullopt;
      const std::optional<int64_t> step =
          stop ? OptionalValue(value.step, 1, *instance, error) : std::nullopt;
      return step && instance->ops.Slice(*dim, *start, *stop, *step, out);
    }
    default: {
      const std::optional<int64_t> at = instance->scope.Value(*value.at, error);
      return at && instance->ops.Drop(*dim, *at, out);
    }
  }
}

}  // namespace

bool EvaluateNaive(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                   std::string* error) {
  const bool good = EvaluateOp(value, instance, out, error);
  if (!good && instance->ops.failed()) *error = instance->ops.error();
  return good;
}

}  // namespace reshard
