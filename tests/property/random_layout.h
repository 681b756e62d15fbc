// One side of a random job.
#ifndef RESHARD_TESTS_PROPERTY_RANDOM_LAYOUT_H_
#define RESHARD_TESTS_PROPERTY_RANDOM_LAYOUT_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/property/job.h"
#include "tests/property/value_tree.h"

namespace reshard::testing {

struct RandomTensor {
  TensorTemplate tensor;
  std::string dtype;
  int64_t element_bytes = 1;
};

class RandomLayout {
 public:
  RandomLayout(bool destination, std::vector<uint32_t> ranks, std::mt19937_64* random)
      : destination_(destination), ranks_(std::move(ranks)), random_(random) {}

  // Stores every tensor of the template, by one param template or several.
  void StoreAll(const RandomTensor& tensor);
  // Stores a part of some tensor of the template once more.
  void StorePart(const RandomTensor& tensor);

  // The layout file; `extra` stands in front ("\"colocated\":true,").
  std::string Text(const std::string& logical, const std::string& extra) const;
  const std::vector<JobParam>& params() const { return params_; }

 private:
  struct Mesh {
    std::string name;
    std::vector<ShardAxis> axes;  // outermost first
    std::vector<uint32_t> ranks;  // row-major
  };

  uint32_t Below(uint64_t n) { return static_cast<uint32_t>((*random_)() % n); }
  size_t MakeMesh();
  ValueEnv Coordinates(const Mesh& mesh, size_t position) const;
  // Values that together hold each element of the tensors (l, 0..e_count) of a layer at least once.
  std::vector<ValueTree> Covering(const TensorTemplate& tensor, const Mesh& mesh);
  ValueTree Stacked(const TensorTemplate& tensor, const Mesh& mesh);
  ValueTree Rearranged(ValueTree tree);
  ValueTree Sharded(ValueTree tree, const Mesh& mesh);
  ValueTree ShardedOnce(const ValueTree& tree, size_t dim, std::vector<ShardAxis> axes);
  void StorePlaced(const RandomTensor& tensor, const Mesh& mesh);
  void StoreExplicit(const RandomTensor& tensor);
  void AddParam(const RandomTensor& tensor, const Mesh& mesh, const ValueTree& value);
  void Expect(uint32_t rank, const std::string& name, const RandomTensor& tensor,
              const ValueTree& value, const ValueEnv& env);

  bool destination_;
  std::vector<uint32_t> ranks_;
  std::mt19937_64* random_;
  std::vector<Mesh> meshes_;
  std::vector<std::string> param_texts_, explicit_texts_;
  std::vector<JobParam> params_;
  uint32_t name_count_ = 0;
};

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_PROPERTY_RANDOM_LAYOUT_H_
