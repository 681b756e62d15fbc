#include "tests/property/mesh_job.h"

#include <algorithm>
#include <numeric>

#include "tests/oracle/element_array.h"
#include "tests/property/topology_text.h"

namespace reshard {
namespace {

template <typename T>
std::string List(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    text += text.empty() ? "" : ",";
    if constexpr (std::is_same_v<T, std::string>) {
      text += "\"" + value + "\"";
    } else {
      text += std::to_string(value);
    }
  }
  return "[" + text + "]";
}

// The ranks as arrays nested like the mesh.
std::string NestedRanks(const MeshSide& side, size_t dim, size_t* next) {
  if (dim == side.mesh_shape.size()) return std::to_string(side.ranks[(*next)++]);
  std::string text;
  for (int64_t i = 0; i < side.mesh_shape[dim]; ++i) {
    text += (i == 0 ? "" : ",") + NestedRanks(side, dim + 1, next);
  }
  return "[" + text + "]";
}

std::string LayoutText(const MeshCase& mesh_case, const MeshSide& side, bool destination,
                       bool colocated) {
  std::vector<std::string> axes;
  for (size_t dim = 0; dim < side.mesh_shape.size(); ++dim) {
    axes.push_back("a" + std::to_string(dim));
  }
  const std::string dtype = mesh_case.element_bytes == 4   ? "f32"
                            : mesh_case.element_bytes == 2 ? "bf16"
                                                           : "u8";
  size_t next = 0;
  std::string text = R"({"format":"reshard-layout","version":1,"side":")";
  text += destination ? "destination" : "source";
  text += R"(","logical":[{"name":"w","shape":)" + List(mesh_case.tensor_shape) + R"(,"dtype":")" +
          dtype + "\"}],";
  if (colocated) text += "\"colocated\":true,";
  text += R"("meshes":{"m":{"axes":)" + List(axes) + ",\"ranks\":" + NestedRanks(side, 0, &next) +
          R"(}},"params":[{"name":"w","tensor":"w","mesh":"m","placements":)" +
          List(side.placements) + "}]}";
  return text;
}

// The part of the tensor on the rank at `position`: along each dim [begin, end), cut by the mesh
// dims from left to right as torch.chunk cuts.
ElementArray LocalPart(const std::vector<int64_t>& shape, const MeshSide& side, size_t position) {
  std::vector<int64_t> coordinates(side.mesh_shape.size());
  int64_t rest = static_cast<int64_t>(position);
  for (size_t dim = coordinates.size(); dim-- > 0;) {
    coordinates[dim] = rest % side.mesh_shape[dim];
    rest /= side.mesh_shape[dim];
  }
  std::vector<int64_t> begin(shape.size()), end = shape;
  for (size_t m = 0; m < coordinates.size(); ++m) {
    if (side.placements[m] == "R") continue;
    const size_t dim = std::stoul(side.placements[m].substr(2));
    const int64_t length = end[dim] - begin[dim];
    const int64_t most = (length + side.mesh_shape[m] - 1) / side.mesh_shape[m];
    const int64_t start = begin[dim];
    begin[dim] = start + std::min(coordinates[m] * most, length);
    end[dim] = start + std::min((coordinates[m] + 1) * most, length);
  }
  return PartOfArray(shape, begin, end);
}

}  // namespace

std::vector<uint32_t> RanksFrom(uint32_t first, uint32_t count) {
  std::vector<uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

Job MakeMeshJob(const MeshCase& mesh_case, uint32_t gpus_per_node) {
  std::vector<uint32_t> all = mesh_case.source.ranks;
  all.insert(all.end(), mesh_case.destination.ranks.begin(), mesh_case.destination.ranks.end());
  std::sort(all.begin(), all.end());
  const auto last = std::unique(all.begin(), all.end());
  const bool colocated = last != all.end();
  all.erase(last, all.end());
  Job job;
  job.train = LayoutText(mesh_case, mesh_case.source, false, false);
  job.infer = LayoutText(mesh_case, mesh_case.destination, true, colocated);
  job.topo = EvenTopology(all, gpus_per_node);
  for (const bool destination : {false, true}) {
    const MeshSide& side = destination ? mesh_case.destination : mesh_case.source;
    for (size_t position = 0; position < side.ranks.size(); ++position) {
      job.params.push_back({side.ranks[position], destination, "w", mesh_case.element_bytes,
                            [shape = mesh_case.tensor_shape, side, position] {
                              return LocalPart(shape, side, position);
                            }});
    }
  }
  return job;
}

}  // namespace reshard
