// MeshJob: one tensor, a mesh with DTensor placements on each side. The shape of NCCL M2N's cases.
#ifndef RESHARD_TESTS_PROPERTY_MESH_JOB_H_
#define RESHARD_TESTS_PROPERTY_MESH_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/property/job.h"

namespace reshard {

struct MeshSide {
  std::vector<int64_t> mesh_shape;
  std::vector<std::string> placements;  // "R" or "S(dim)", one per mesh dim
  std::vector<uint32_t> ranks;          // row-major
};

struct MeshCase {
  std::string name;
  std::vector<int64_t> tensor_shape;
  int64_t element_bytes = 1;  // 1, 2 or 4
  MeshSide source, destination;
};

// Sides that share ranks become a colocated layout.
Job MakeMeshJob(const MeshCase& mesh_case, uint32_t gpus_per_node);

// first, first + 1, ...
std::vector<uint32_t> RanksFrom(uint32_t first, uint32_t count);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_MESH_JOB_H_
