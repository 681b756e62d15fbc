#include "tests/property/value_tree.h"

#include <utility>

namespace reshard::testing {
namespace {

std::string Inputs(const std::vector<ValueTree>& in) {
  std::string text;
  for (const ValueTree& tree : in) text += (text.empty() ? "" : ",") + tree.json;
  return "\"in\":[" + text + "]";
}

std::string Numbers(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string Op(const std::string& op, size_t dim, const std::string& rest) {
  return R"({"op":")" + op + R"(","dim":)" + std::to_string(dim) + "," + rest + "}";
}

std::vector<ElementArray> EvalAll(const std::vector<ValueTree>& in, const ValueEnv& env) {
  std::vector<ElementArray> arrays;
  for (const ValueTree& tree : in) arrays.push_back(tree.eval(env));
  return arrays;
}

int64_t SumAlong(const std::vector<ValueTree>& in, size_t dim) {
  int64_t sum = 0;
  for (const ValueTree& tree : in) {
    if (tree.shape[dim] < 0) return -1;
    sum += tree.shape[dim];
  }
  return sum;
}

// One axis of a shard, by the rules of the language.
ElementArray ShardOnce(const ElementArray& in, size_t dim, int64_t parts, int64_t part,
                       int64_t unit, ShardRule rule) {
  const int64_t rows = in.shape[dim];
  if (rule == ShardRule::kBalanced) return BalancedPart(in, dim, unit, parts, part);
  if (rule == ShardRule::kReplicateIfFewer && rows / unit < parts) {
    const int64_t share = parts / (rows / unit);
    return SliceArray(in, dim, part / share * unit, (part / share + 1) * unit);
  }
  int64_t units = 0;
  while (units * unit < rows) ++units;
  int64_t most = 0;
  while (most * parts < units) ++most;
  const int64_t start = part * most * unit, stop = (part + 1) * most * unit;
  return SliceArray(in, dim, start < rows ? start : rows, stop < rows ? stop : rows);
}

}  // namespace

int64_t TensorTemplate::element_count() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

ValueTree TensorValue(const TensorTemplate& tensor, const std::string& e) {
  std::string name = tensor.name;
  const size_t hole = name.find("{e}");
  if (!e.empty() && hole != std::string::npos) name.replace(hole, 3, e);
  return {"\"" + name + "\"", tensor.shape, [tensor, e](const ValueEnv& env) {
            const int64_t l = tensor.l_count > 1 ? env.at("l") : 0;
            const int64_t which = e.empty() ? env.at("e") : std::stoll(e);
            const int64_t first =
                tensor.first + (l * tensor.e_count + which) * tensor.element_count();
            return WholeArray(static_cast<int32_t>(first), tensor.shape);
          }};
}

ValueTree CatValue(const std::vector<ValueTree>& in, size_t dim) {
  ValueTree out{Op("cat", dim, Inputs(in)), in[0].shape,
                [in, dim](const ValueEnv& env) { return CatArrays(EvalAll(in, env), dim); }};
  out.shape[dim] = SumAlong(in, dim);
  return out;
}

ValueTree GroupCatValue(const std::vector<ValueTree>& in, size_t dim, int64_t groups) {
  ValueTree out{Op("group_cat", dim, "\"groups\":" + std::to_string(groups) + "," + Inputs(in)),
                in[0].shape, [in, dim, groups](const ValueEnv& env) {
                  return GroupCatArrays(EvalAll(in, env), dim, groups);
                }};
  out.shape[dim] = SumAlong(in, dim);
  return out;
}

ValueTree StackValue(const ValueTree& in, size_t dim, int64_t extent, const std::string& range,
                     const std::function<std::vector<int64_t>(const ValueEnv&)>& values) {
  ValueTree out{Op("stack", dim, R"("over":{"e":")" + range + R"("},"in":)" + in.json), in.shape,
                [in, dim, values](const ValueEnv& env) {
                  std::vector<ElementArray> arrays;
                  for (const int64_t e : values(env)) {
                    ValueEnv inner = env;
                    inner["e"] = e;
                    arrays.push_back(in.eval(inner));
                  }
                  return StackArrays(arrays, dim);
                }};
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(dim), extent);
  return out;
}

ValueTree SliceValue(const ValueTree& in, size_t dim, int64_t start, int64_t stop, int64_t step) {
  std::string text = "\"start\":" + std::to_string(start) + ",\"stop\":" + std::to_string(stop);
  if (step != 1) text += ",\"step\":" + std::to_string(step);
  ValueTree out{Op("slice", dim, text + ",\"in\":" + in.json), in.shape,
                [in, dim, start, stop, step](const ValueEnv& env) {
                  return SliceArray(in.eval(env), dim, start, stop, step);
                }};
  out.shape[dim] = (stop - start + step - 1) / step;
  return out;
}

ValueTree IndexValue(const ValueTree& in, size_t dim, int64_t at) {
  ValueTree out{Op("index", dim, "\"at\":" + std::to_string(at) + ",\"in\":" + in.json), in.shape,
                [in, dim, at](const ValueEnv& env) { return IndexArray(in.eval(env), dim, at); }};
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return out;
}

ValueTree PadValue(const ValueTree& in, size_t dim, int64_t to, bool keep) {
  const std::string fill = keep ? ",\"fill\":\"keep\"" : "";
  ValueTree out{Op("pad", dim, "\"to\":" + std::to_string(to) + fill + ",\"in\":" + in.json),
                in.shape, [in, dim, to, keep](const ValueEnv& env) {
                  return PadArray(in.eval(env), dim, to,
                                  keep ? ElementArray::kKeep : ElementArray::kZero);
                }};
  out.shape[dim] = to;
  return out;
}

ValueTree PermuteValue(const ValueTree& in, const std::vector<size_t>& dims) {
  ValueTree out{R"({"op":"permute","dims":)" +
                    Numbers(std::vector<int64_t>(dims.begin(), dims.end())) + ",\"in\":" + in.json +
                    "}",
                {},
                [in, dims](const ValueEnv& env) { return PermuteArray(in.eval(env), dims); }};
  for (const size_t dim : dims) out.shape.push_back(in.shape[dim]);
  return out;
}

ValueTree ReshapeValue(const ValueTree& in, const std::vector<int64_t>& shape) {
  return {R"({"op":"reshape","shape":)" + Numbers(shape) + ",\"in\":" + in.json + "}", shape,
          [in, shape](const ValueEnv& env) { return ReshapeArray(in.eval(env), shape); }};
}

ValueTree ShardValue(const ValueTree& in, size_t dim, const std::vector<ShardAxis>& axes,
                     int64_t unit, ShardRule rule) {
  std::string names;
  for (const ShardAxis& axis : axes) names += (names.empty() ? "\"" : ",\"") + axis.name + "\"";
  std::string text = "\"axes\":[" + names + "]";
  if (unit != 1) text += ",\"unit\":" + std::to_string(unit);
  if (rule == ShardRule::kChunk) text += R"(,"uneven":"chunk")";
  if (rule == ShardRule::kBalanced) text += R"(,"uneven":"balanced")";
  if (rule == ShardRule::kReplicateIfFewer) text += R"(,"replicate_if_fewer":true)";
  ValueTree out{Op("shard", dim, text + ",\"in\":" + in.json), in.shape,
                [in, dim, axes, unit, rule](const ValueEnv& env) {
                  ElementArray array = in.eval(env);
                  for (const ShardAxis& axis : axes) {
                    array = ShardOnce(array, dim, axis.size, env.at(axis.name), unit, rule);
                  }
                  return array;
                }};
  for (const ShardAxis& axis : axes) {
    int64_t& extent = out.shape[dim];
    if (extent < 0) break;
    const int64_t units = extent / unit;
    if (rule == ShardRule::kReplicateIfFewer && units < axis.size) {
      extent = unit;
    } else {
      extent = units % axis.size == 0 && extent % unit == 0 ? extent / axis.size : -1;
    }
  }
  return out;
}

}  // namespace reshard::testing
