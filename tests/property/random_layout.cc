#include "tests/property/random_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard::testing {
namespace {

std::string JoinTexts(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",\n  ") + part;
  return text;
}

// The ranks of a mesh as nested arrays.
std::string Nested(const std::vector<uint32_t>& ranks, const std::vector<ShardAxis>& axes,
                   size_t axis, size_t* next) {
  if (axis == axes.size()) return std::to_string(ranks[(*next)++]);
  std::string text;
  for (int64_t i = 0; i < axes[axis].size; ++i) {
    text += (i == 0 ? "" : ",") + Nested(ranks, axes, axis + 1, next);
  }
  return "[" + text + "]";
}

}  // namespace

// All ranks of the side, in any order, on one to three axes.
size_t RandomLayout::MakeMesh() {
  Mesh mesh;
  mesh.name = "m" + std::to_string(meshes_.size());
  mesh.ranks = ranks_;
  if (Below(3) == 0) std::shuffle(mesh.ranks.begin(), mesh.ranks.end(), *random_);
  int64_t left = static_cast<int64_t>(ranks_.size());
  const size_t axis_count = 1 + Below(3);
  for (size_t axis = 0; axis < axis_count; ++axis) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= left; ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    const int64_t size = axis + 1 == axis_count ? left : divisors[Below(divisors.size())];
    mesh.axes.push_back({mesh.name + "_" + std::string(1, static_cast<char>('x' + axis)), size});
    left /= size;
  }
  meshes_.push_back(std::move(mesh));
  return meshes_.size() - 1;
}

ValueEnv RandomLayout::Coordinates(const Mesh& mesh, size_t position) const {
  ValueEnv env;
  int64_t rest = static_cast<int64_t>(position);
  for (size_t axis = mesh.axes.size(); axis-- > 0;) {
    env[mesh.axes[axis].name] = rest % mesh.axes[axis].size;
    rest /= mesh.axes[axis].size;
  }
  return env;
}

// The tensors (l, e) for all e as one value with a dim for e, spread over an axis or not.
ValueTree RandomLayout::Stacked(const TensorTemplate& tensor, const Mesh& mesh) {
  const ValueTree one = TensorValue(tensor, "");
  const size_t dim = Below(one.shape.size() + 1);
  const ShardAxis axis = mesh.axes[Below(mesh.axes.size())];
  const int64_t count = tensor.e_count;
  const std::string n = std::to_string(count), k = std::to_string(axis.size);
  const uint32_t kind = Below(3);
  if (kind == 1 && count % axis.size == 0) {
    const int64_t share = count / axis.size;
    const std::string text =
        axis.name + "*(" + n + "//" + k + ")..(" + axis.name + "+1)*(" + n + "//" + k + ")";
    return StackValue(one, dim, share, text, [axis, share](const ValueEnv& env) {
      std::vector<int64_t> values(static_cast<size_t>(share));
      std::iota(values.begin(), values.end(), env.at(axis.name) * share);
      return values;
    });
  }
  if (kind == 2 && count >= axis.size) {
    const std::string text = axis.name + ".." + n + ".." + k;
    return StackValue(one, dim, count % axis.size == 0 ? count / axis.size : -1, text,
                      [axis, count](const ValueEnv& env) {
                        std::vector<int64_t> values;
                        for (int64_t e = env.at(axis.name); e < count; e += axis.size) {
                          values.push_back(e);
                        }
                        return values;
                      });
  }
  return StackValue(one, dim, count, "0.." + n, [count](const ValueEnv&) {
    std::vector<int64_t> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
  });
}

std::vector<ValueTree> RandomLayout::Covering(const TensorTemplate& tensor, const Mesh& mesh) {
  std::vector<ValueTree> each;
  for (int64_t e = 0; e < tensor.e_count; ++e) {
    each.push_back(TensorValue(tensor, std::to_string(e)));
  }
  const uint32_t kind = Below(7);
  const size_t rank = tensor.shape.size();
  if (kind == 0) return {Stacked(tensor, mesh)};
  if (rank == 0) return each;
  const size_t dim = Below(rank);
  const int64_t extent = tensor.shape[dim];
  if (kind == 1) {
    std::shuffle(each.begin(), each.end(), *random_);
    return {CatValue(each, dim)};
  }
  if (kind == 2) {
    for (int64_t groups : {4, 3, 2}) {
      if (extent % groups == 0) return {GroupCatValue(each, dim, groups)};
    }
  }
  if (kind == 3 && extent > 1) {  // two params, cut at one place
    const int64_t cut = 1 + Below(static_cast<uint64_t>(extent - 1));
    std::vector<ValueTree> halves;
    for (const ValueTree& tree : each) {
      halves.push_back(SliceValue(tree, dim, 0, cut, 1));
      halves.push_back(SliceValue(tree, dim, cut, extent, 1));
    }
    return halves;
  }
  if (kind == 4) {  // rows reordered: every second or third together
    const int64_t step = 2 + Below(2);
    if (extent >= step) {
      std::vector<ValueTree> reordered;
      for (const ValueTree& tree : each) {
        std::vector<ValueTree> residues;
        for (int64_t r = 0; r < step; ++r) {
          residues.push_back(SliceValue(tree, dim, r, extent, step));
        }
        std::shuffle(residues.begin(), residues.end(), *random_);
        reordered.push_back(CatValue(residues, dim));
      }
      return reordered;
    }
  }
  if (kind == 5 && extent <= 4) {
    std::vector<ValueTree> planes;
    for (const ValueTree& tree : each) {
      for (int64_t at = 0; at < extent; ++at) planes.push_back(IndexValue(tree, dim, at));
    }
    return planes;
  }
  return each;
}

ValueTree RandomLayout::Rearranged(ValueTree tree) {
  const bool known = std::find(tree.shape.begin(), tree.shape.end(), -1) == tree.shape.end();
  if (Below(3) == 0 && !tree.shape.empty() && known) {
    // Split one dim, or join two neighbours.
    const size_t dim = Below(tree.shape.size());
    std::vector<int64_t> shape = tree.shape;
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(dim);
    if (dim + 1 < shape.size() && Below(2) == 0) {
      *at *= *(at + 1);
      shape.erase(at + 1);
    } else if (*at % 2 == 0) {
      *at /= 2;
      shape.insert(Below(2) == 0 ? at : at + 1, 2);
    } else {
      shape.insert(at, 1);
    }
    tree = ReshapeValue(tree, shape);
  }
  if (Below(3) == 0 && tree.shape.size() > 1) {
    std::vector<size_t> dims(tree.shape.size());
    std::iota(dims.begin(), dims.end(), size_t{0});
    std::shuffle(dims.begin(), dims.end(), *random_);
    tree = PermuteValue(tree, dims);
  }
  if (Below(4) == 0 && !tree.shape.empty()) {
    const size_t dim = Below(tree.shape.size());
    if (tree.shape[dim] >= 0) {
      tree = PadValue(tree, dim, tree.shape[dim] + Below(4), Below(2) == 0);
    }
  }
  return tree;
}

ValueTree RandomLayout::ShardedOnce(const ValueTree& tree, size_t dim,
                                    std::vector<ShardAxis> axes) {
  const int64_t extent = tree.shape[dim];
  int64_t ways = 1;
  for (const ShardAxis& axis : axes) ways *= axis.size;
  const int64_t unit = extent % 2 == 0 && extent > 0 && Below(4) == 0 ? 2 : 1;
  const int64_t units = extent / unit;
  if (units > 0 && units % ways == 0) return ShardValue(tree, dim, axes, unit, ShardRule::kError);
  if (axes.size() == 1 && units > 0 && units < ways && ways % units == 0 && Below(2) == 0) {
    return ShardValue(tree, dim, axes, unit, ShardRule::kReplicateIfFewer);
  }
  if (Below(2) == 0) return ShardValue(tree, dim, axes, unit, ShardRule::kBalanced);
  // The last unit of a chunked dim may be short, for one axis.
  const int64_t chunk_unit = axes.size() == 1 && Below(3) == 0 ? 3 : unit;
  return ShardValue(tree, dim, axes, chunk_unit, ShardRule::kChunk);
}

ValueTree RandomLayout::Sharded(ValueTree tree, const Mesh& mesh) {
  std::vector<ShardAxis> free = mesh.axes;
  std::shuffle(free.begin(), free.end(), *random_);
  // An axis that a stack runs over chooses elements already.
  std::erase_if(free, [&](const ShardAxis& axis) {
    return tree.json.find("\"" + axis.name + "*") != std::string::npos ||
           tree.json.find("\"" + axis.name + "..") != std::string::npos;
  });
  while (!free.empty() && !tree.shape.empty() && Below(4) != 0) {
    const size_t dim = Below(tree.shape.size());
    if (tree.shape[dim] < 0) break;
    const size_t count = free.size() > 1 && Below(4) == 0 ? 2 : 1;
    const std::vector<ShardAxis> axes(free.end() - static_cast<std::ptrdiff_t>(count), free.end());
    free.resize(free.size() - count);
    tree = ShardedOnce(tree, dim, axes);
  }
  if (Below(5) == 0 && tree.shape.size() > 1) {
    std::vector<size_t> dims(tree.shape.size());
    std::iota(dims.begin(), dims.end(), size_t{0});
    std::rotate(dims.begin(), dims.begin() + 1, dims.end());
    tree = PermuteValue(tree, dims);
  }
  return tree;
}

void RandomLayout::Expect(uint32_t rank, const std::string& name, const RandomTensor& tensor,
                          const ValueTree& value, const ValueEnv& env) {
  params_.push_back({rank, destination_, name, tensor.element_bytes,
                     [eval = value.eval, env] { return eval(env); }});
}

void RandomLayout::AddParam(const RandomTensor& tensor, const Mesh& mesh, const ValueTree& value) {
  const std::string stem = "p" + std::to_string(name_count_++);
  const int64_t layers = tensor.tensor.l_count;
  // With layers: all on every rank, or dealt out along an axis and numbered anew there.
  const ShardAxis& axis = mesh.axes[Below(mesh.axes.size())];
  const bool used = value.json.find(axis.name) != std::string::npos;
  const bool dealt = layers > 1 && layers >= axis.size && !used && Below(2) == 0;
  const std::string k = std::to_string(axis.size);
  std::string text = R"({"name":")" + stem + (layers > 1 ? (dealt ? ".{j}" : ".{l}") : "") +
                     R"(","mesh":")" + mesh.name + "\"";
  if (layers > 1) text += R"(,"for":{"l":"0..)" + std::to_string(layers) + "\"}";
  if (dealt) {
    text += R"(,"where":["l%)" + k + "==" + axis.name + R"("],"let":{"j":"l//)" + k + "\"}";
  }
  param_texts_.push_back(text + ",\"value\":" + value.json + "}");

  for (size_t position = 0; position < mesh.ranks.size(); ++position) {
    const ValueEnv coordinates = Coordinates(mesh, position);
    for (int64_t l = 0; l < layers; ++l) {
      if (dealt && l % axis.size != coordinates.at(axis.name)) continue;
      ValueEnv env = coordinates;
      env["l"] = l;
      const std::string name =
          layers > 1 ? stem + "." + std::to_string(dealt ? l / axis.size : l) : stem;
      Expect(mesh.ranks[position], name, tensor, value, env);
    }
  }
}

// DTensor placements, one per mesh axis.
void RandomLayout::StorePlaced(const RandomTensor& tensor, const Mesh& mesh) {
  std::string placements;
  std::vector<std::pair<size_t, ShardAxis>> shards;
  for (const ShardAxis& axis : mesh.axes) {
    const bool shard = !tensor.tensor.shape.empty() && Below(3) != 0;
    const size_t dim = shard ? Below(tensor.tensor.shape.size()) : 0;
    if (shard) shards.emplace_back(dim, axis);
    placements += placements.empty() ? "\"" : ",\"";
    placements += shard ? "S(" + std::to_string(dim) + ")\"" : "R\"";
  }
  const std::string stem = "d" + std::to_string(name_count_++);
  const int64_t layers = tensor.tensor.l_count;
  for (int64_t e = 0; e < tensor.tensor.e_count; ++e) {
    const ValueTree whole = TensorValue(tensor.tensor, std::to_string(e));
    const std::string name = stem + "_" + std::to_string(e) + (layers > 1 ? ".{l}" : "");
    std::string text = R"({"name":")" + name + R"(","mesh":")" + mesh.name + "\"";
    if (layers > 1) text += R"(,"for":{"l":"0..)" + std::to_string(layers) + "\"}";
    param_texts_.push_back(text + ",\"tensor\":" + whole.json + ",\"placements\":[" + placements +
                           "]}");
    const ValueTree placed{"", {}, [whole, shards](const ValueEnv& env) {
                             ElementArray array = whole.eval(env);
                             for (const auto& [dim, axis] : shards) {
                               array = ChunkArray(array, dim, axis.size, env.at(axis.name));
                             }
                             return array;
                           }};
    for (size_t position = 0; position < mesh.ranks.size(); ++position) {
      for (int64_t l = 0; l < layers; ++l) {
        ValueEnv env = Coordinates(mesh, position);
        env["l"] = l;
        Expect(mesh.ranks[position],
               stem + "_" + std::to_string(e) + (layers > 1 ? "." + std::to_string(l) : ""), tensor,
               placed, env);
      }
    }
  }
}

// On one rank, rank by rank form: even rows first, then odd ones.
void RandomLayout::StoreExplicit(const RandomTensor& tensor) {
  const TensorTemplate& all = tensor.tensor;
  const uint32_t rank = ranks_[Below(ranks_.size())];
  const std::string stem = "x" + std::to_string(name_count_++);
  for (int64_t l = 0; l < all.l_count; ++l) {
    for (int64_t e = 0; e < all.e_count; ++e) {
      std::string tensor_name = all.name;
      for (const auto& [hole, value] : {std::pair<std::string, int64_t>{"{l}", l}, {"{e}", e}}) {
        const size_t at = tensor_name.find(hole);
        if (at != std::string::npos) tensor_name.replace(at, 3, std::to_string(value));
      }
      std::string shape, rest_src, rest_dst;
      for (size_t d = 0; d < all.shape.size(); ++d) {
        const std::string extent = std::to_string(all.shape[d]);
        shape += (d == 0 ? "" : ",") + extent;
        if (d == 0) continue;
        rest_src += ",[0," + extent + "]";
        rest_dst += ",[0," + extent + "]";
      }
      std::string pieces;
      const auto add = [&](const std::string& src, const std::string& dst) {
        pieces += (pieces.empty() ? "" : ",") + (R"({"t":")" + tensor_name + R"(","src":[)") + src +
                  rest_src + "],\"dst\":[" + dst + rest_dst + "]}";
      };
      const int64_t rows = all.shape.empty() ? 1 : all.shape[0];
      const int64_t even = (rows + 1) / 2, odd = rows / 2;
      if (all.shape.empty()) {
        add("", "");
      } else {
        add("[0," + std::to_string(even) + ",2]", "[0," + std::to_string(even) + "]");
        if (odd > 0) {
          add("[1," + std::to_string(odd) + ",2]",
              "[" + std::to_string(even) + "," + std::to_string(odd) + "]");
        }
      }
      const std::string name = stem + "_" + std::to_string(l) + "_" + std::to_string(e);
      explicit_texts_.push_back("{\"rank\":" + std::to_string(rank) + R"(,"param":")" + name +
                                R"(","dtype":")" + tensor.dtype + R"(","shape":[)" + shape +
                                "],\"pieces\":[" + pieces + "]}");
      ValueTree value = TensorValue(all, std::to_string(e));
      if (!all.shape.empty()) {
        value = CatValue({SliceValue(value, 0, 0, rows, 2), SliceValue(value, 0, 1, rows, 2)}, 0);
      }
      Expect(rank, name, tensor, value, {{"l", l}});
    }
  }
}

void RandomLayout::StoreAll(const RandomTensor& tensor) {
  if (meshes_.empty() || (meshes_.size() < 3 && Below(3) == 0)) MakeMesh();
  const Mesh mesh = meshes_[Below(meshes_.size())];
  const uint32_t kind = Below(8);
  if (kind == 0) return StoreExplicit(tensor);
  if (kind == 1) return StorePlaced(tensor, mesh);
  for (const ValueTree& tree : Covering(tensor.tensor, mesh)) {
    AddParam(tensor, mesh, Sharded(Rearranged(tree), mesh));
  }
}

void RandomLayout::StorePart(const RandomTensor& tensor) {
  const Mesh mesh = meshes_.empty() ? meshes_[MakeMesh()] : meshes_[Below(meshes_.size())];
  ValueTree tree = TensorValue(tensor.tensor,
                               std::to_string(Below(static_cast<uint64_t>(tensor.tensor.e_count))));
  for (size_t dim = 0; dim < tree.shape.size(); ++dim) {
    const uint64_t extent = static_cast<uint64_t>(tree.shape[dim]);
    const int64_t start = Below(extent);
    const int64_t stop = start + 1 + Below(extent - static_cast<uint64_t>(start));
    tree = SliceValue(tree, dim, start, stop, 1 + Below(3));
  }
  AddParam(tensor, mesh, Sharded(tree, mesh));
}

std::string RandomLayout::Text(const std::string& logical, const std::string& extra) const {
  std::vector<std::string> meshes;
  for (const Mesh& mesh : meshes_) {
    std::string axes, shape;
    for (const ShardAxis& axis : mesh.axes) {
      axes += (axes.empty() ? "\"" : ",\"") + axis.name + "\"";
    }
    size_t next = 0;
    meshes.push_back("\"" + mesh.name + R"(":{"axes":[)" + axes +
                     "],\"ranks\":" + Nested(mesh.ranks, mesh.axes, 0, &next) + "}");
  }
  std::string text = R"({"format":"reshard-layout","version":1,"side":")";
  text += destination_ ? "destination\"," : "source\",";
  text += extra;
  if (!logical.empty()) text += "\n \"logical\":[\n  " + logical + "],";
  text += "\n \"meshes\":{\n  " + JoinTexts(meshes) + "},\n \"params\":[\n  " +
          JoinTexts(param_texts_) + "]";
  if (!explicit_texts_.empty()) {
    text += ",\n \"explicit\":[\n  " + JoinTexts(explicit_texts_) + "]";
  }
  return text + "}";
}

}  // namespace reshard::testing
