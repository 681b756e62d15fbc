#include "tests/property/m2n_cases.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "compiler/frontend/json_node.h"

namespace reshard {
namespace {

std::vector<int64_t> Integers(const JsonNode& node) {
  std::vector<int64_t> values;
  for (const JsonNode& item : node.items) values.push_back(std::stoll(item.text));
  return values;
}

MeshSide ReadSide(const JsonNode& node, const std::string& side) {
  MeshSide out;
  out.mesh_shape = Integers(*node.Find(side + "_mesh_dims"));
  uint32_t count = 1;
  for (const int64_t extent : out.mesh_shape) count *= static_cast<uint32_t>(extent);
  for (const JsonNode& item : node.Find(side + "_placements")->items) {
    out.placements.push_back(item.text);
  }
  out.ranks = RanksFrom(static_cast<uint32_t>(std::stoul(node.Find(side + "_start")->text)), count);
  return out;
}

}  // namespace

std::vector<MeshCase> ReadM2nCases(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  if (!ReadJson(sources, sources.Add(path, text.str()), &diags, &root)) return {};
  std::vector<MeshCase> cases;
  for (const JsonNode& node : root.items) {
    MeshCase next;
    next.name = node.Find("name")->text;
    next.tensor_shape = Integers(*node.Find("tensor_shape"));
    next.element_bytes = std::stoll(node.Find("elem_size")->text);
    next.source = ReadSide(node, "src");
    next.destination = ReadSide(node, "dst");
    cases.push_back(std::move(next));
  }
  return cases;
}

}  // namespace reshard
