// Layouts of real models with small sizes: the same structure in a few megabytes.
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/property/job.h"
#include "tests/property/naive_arrays.h"
#include "tests/property/run_job.h"
#include "tests/property/topology_text.h"

namespace reshard {
namespace {

// The layout file with other values for the symbols that it defines.
std::string ReadLayout(const std::string& name, const std::map<std::string, int64_t>& symbols) {
  std::ifstream file("tests/data/layouts/" + name + ".json");
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  REQUIRE(!text.empty());
  const size_t begin = text.find("\"symbols\"");
  for (const auto& [symbol, value] : symbols) {
    const std::string key = "\"" + symbol + "\":";
    const size_t at = text.find(key, begin);
    if (at == std::string::npos || at > text.find('}', begin)) continue;
    const size_t first = at + key.size();
    text.replace(first, text.find_first_of(",}", first) - first, std::to_string(value));
  }
  return text;
}

void RunModel(const std::string& train, const std::string& infer, uint32_t ranks,
              const std::map<std::string, int64_t>& symbols) {
  Job job;
  job.train = ReadLayout(train, symbols);
  job.infer = ReadLayout(infer, symbols);
  std::vector<uint32_t> all;
  for (uint32_t rank = 0; rank < ranks; ++rank) all.push_back(rank);
  job.topo = EvenTopology(all, 8);
  job.slice_bytes = 1 << 16;
  std::string error;
  REQUIRE(NaiveJobParams(job.train, job.infer, &job.params, &error));
  CHECK(job.params.size() > 1000);
  const JobResult result = RunJob(job, 1);
  CHECK(result.problem == "");
  CHECK(result.network_bytes > 0);
}

TEST_CASE("Qwen3-235B, 64 to 64 ranks") {
  RunModel("qwen3_235b_train", "qwen3_235b_infer", 128,
           {{"H", 16}, {"D", 2}, {"I", 8}, {"V", 300}, {"E", 32}});
}

const std::map<std::string, int64_t> kSmallDeepSeek = {
    {"H", 8},    {"V", 256}, {"QL", 4}, {"KL", 4},  {"NOPE", 2},
    {"ROPE", 1}, {"VD", 2},  {"I", 64}, {"IE", 32}, {"E", 32}};

TEST_CASE("DeepSeek-V3, 128 to 128 ranks, TP8") {
  RunModel("deepseek_v3_128_train", "deepseek_v3_128_infer", 256, kSmallDeepSeek);
}

TEST_CASE("DeepSeek-V3, 256 to 256 ranks, TP32") {
  RunModel("deepseek_v3_train", "deepseek_v3_infer", 512, kSmallDeepSeek);
}

}  // namespace
}  // namespace reshard
