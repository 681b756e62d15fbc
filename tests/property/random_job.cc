#include "tests/property/random_job.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/property/random_layout.h"
#include "tests/property/topology_text.h"

namespace reshard {
namespace {

class JobMaker {
 public:
  JobMaker(uint64_t seed, const RandomJobLimits& limits) : random_(seed), limits_(limits) {}

  Job Make() {
    MakeRanks();
    testing::RandomLayout source(false, source_ranks_, &random_);
    testing::RandomLayout destination(true, destination_ranks_, &random_);
    std::string logical;
    const uint32_t tensor_count = 1 + Below(4);
    for (uint32_t t = 0; t < tensor_count; ++t) {
      const testing::RandomTensor tensor = MakeTensor(t, &logical);
      source.StoreAll(tensor);
      destination.StoreAll(tensor);
      if (Below(2) == 0) source.StorePart(tensor);
      if (Below(2) == 0) destination.StorePart(tensor);
    }
    Job job;
    job.train = source.Text(logical, "");
    job.infer = destination.Text("", colocated_ ? "\"colocated\":true," : "");
    std::vector<uint32_t> all = source_ranks_;
    all.insert(all.end(), destination_ranks_.begin(), destination_ranks_.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    job.topo = RandomTopology(all, &random_);
    job.params = source.params();
    job.params.insert(job.params.end(), destination.params().begin(), destination.params().end());
    const std::vector<int64_t> slices = {64 << 20, 4096, 1024, 256};
    job.slice_bytes = slices[Below(slices.size())];
    job.strategy = static_cast<Strategy>(Below(kStrategyTexts.size()));
    const bool chains = job.strategy == Strategy::kAuto || job.strategy == Strategy::kChains;
    if (chains) job.heads = Below(2) == 0 ? 0 : Below(4);
    return job;
  }

 private:
  uint32_t Below(uint64_t n) { return static_cast<uint32_t>(random_() % n); }

  // Blocks, or any numbers; shared by the sides at times.
  void MakeRanks() {
    const uint32_t source_count = 1 + Below(limits_.ranks_per_side);
    const uint32_t destination_count = 1 + Below(limits_.ranks_per_side);
    colocated_ = Below(4) == 0;
    std::vector<uint32_t> numbers(4 * limits_.ranks_per_side);
    std::iota(numbers.begin(), numbers.end(), 0U);
    if (Below(2) == 0) std::shuffle(numbers.begin(), numbers.end(), random_);
    source_ranks_.assign(numbers.begin(), numbers.begin() + source_count);
    const uint32_t first = colocated_ ? Below(source_count) : source_count;
    destination_ranks_.assign(numbers.begin() + first, numbers.begin() + first + destination_count);
  }

  testing::RandomTensor MakeTensor(uint32_t number, std::string* logical) {
    const std::vector<std::pair<std::string, int64_t>> dtypes = {
        {"u8", 1}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"bool", 1}};
    testing::RandomTensor tensor;
    std::tie(tensor.dtype, tensor.element_bytes) = dtypes[Below(dtypes.size())];
    testing::TensorTemplate& all = tensor.tensor;
    all.name = "t" + std::to_string(number);
    all.l_count = Below(2) == 0 ? 1 : 2 + Below(4);
    all.e_count = Below(2) == 0 ? 1 : 2 + Below(5);
    std::string loops;
    if (all.l_count > 1) {
      all.name += ".{l}";
      loops += R"("l":"0..)" + std::to_string(all.l_count) + "\"";
    }
    // The hole stands in every template, so that stacks can run over it.
    all.name += ".e{e}";
    loops += (loops.empty() ? "" : ",") + (R"("e":"0..)" + std::to_string(all.e_count)) + "\"";
    std::string shape;
    const uint32_t rank = Below(5);
    for (uint32_t d = 0; d < rank; ++d) {
      const int64_t largest = rank > 3 ? std::min<int64_t>(limits_.extent, 4) : limits_.extent;
      all.shape.push_back(1 + Below(static_cast<uint64_t>(largest)));
      shape += (d == 0 ? "" : ",") + std::to_string(all.shape.back());
    }
    all.first = next_id_;
    next_id_ += static_cast<int32_t>(all.l_count * all.e_count * all.element_count());
    *logical += (logical->empty() ? "" : ",\n  ") + ("{\"for\":{" + loops + "},\"name\":\"") +
                all.name + R"(","shape":[)" + shape + R"(],"dtype":")" + tensor.dtype + "\"}";
    return tensor;
  }

  std::mt19937_64 random_;
  RandomJobLimits limits_;
  std::vector<uint32_t> source_ranks_, destination_ranks_;
  bool colocated_ = false;
  int32_t next_id_ = 0;
};

}  // namespace

Job RandomJob(uint64_t seed, const RandomJobLimits& limits) {
  return JobMaker(seed, limits).Make();
}

}  // namespace reshard
