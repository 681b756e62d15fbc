// What must move between the layouts of real models, at full size: counts and bytes that are known.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/transfer/transfer_set.h"
#include "doctest/doctest.h"
#include "runtime/base/dtype.h"
#include "runtime/base/rank_set.h"

namespace reshard {
namespace {

struct Model {
  SourceMap sources;
  Diagnostics diags;
  LayoutSpec specs[2];
  LogicalTable table;
  Layout source, destination;
  TransferSet transfers;
};

void ReadSide(const std::string& name, Model* model, LayoutSpec* spec) {
  const std::string path = "tests/data/layouts/" + name + ".json";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  JsonNode root;
  REQUIRE(ReadJson(model->sources, model->sources.Add(path, text.str()), &model->diags, &root));
  REQUIRE(ReadLayoutSpec(root, &model->diags, spec));
}

void Build(const std::string& train, const std::string& infer, Model* model) {
  ReadSide(train, model, &model->specs[0]);
  ReadSide(infer, model, &model->specs[1]);
  REQUIRE(BuildLogicalTable(&model->specs[0], &model->specs[1], &model->diags, &model->table));
  REQUIRE(BuildLayout(model->specs[0], model->table, &model->diags, &model->source));
  REQUIRE(BuildLayout(model->specs[1], model->table, &model->diags, &model->destination));
  const auto start = std::chrono::steady_clock::now();
  const bool ok = BuildTransfers(model->table, model->source, model->destination, &model->diags,
                                 &model->transfers);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::ostringstream printed;
  model->diags.Print(model->sources, 20, printed);
  INFO(printed.str());
  REQUIRE(ok);
  CHECK(printed.str() == "");
  std::printf("%s -> %s: %zu places, %zu cells, %zu classes, %.0f ms\n", train.c_str(),
              infer.c_str(), model->transfers.places.size(), model->transfers.cells.size(),
              model->transfers.classes.size(), took.count());
}

// Each byte of the model in one class: the model's size by its declared shapes.
void CheckModelBytes(const Model& model) {
  int64_t declared = 0, moved = 0;
  for (const SuperTensor& super : model.table.supers) {
    int64_t bytes = DTypeBytes(super.dtype);
    for (const int64_t extent : super.loop_extent) bytes *= extent;
    for (const int64_t extent : super.shape) bytes *= extent;
    declared += bytes;
  }
  for (const TransferClass& cls : model.transfers.classes) moved += cls.bytes;
  CHECK(moved == declared);
}

// What the needers of all classes receive, in all.
int64_t DeliveredBytes(const Model& model) {
  int64_t bytes = 0;
  for (const TransferClass& cls : model.transfers.classes) {
    const RankList& needers = model.transfers.rank_sets[cls.needers];
    bytes += cls.bytes * static_cast<int64_t>(needers.size());
  }
  return bytes;
}

TEST_CASE("Qwen3-235B, 64 to 64 ranks") {
  Model model;
  Build("qwen3_235b_train", "qwen3_235b_infer", &model);
  CHECK(model.transfers.classes.size() == 566);
  CheckModelBytes(model);
  // 58,959,617,024 bytes on each rank, where padding of the vocabulary is none.
  CHECK(DeliveredBytes(model) == 3'773'415'489'536);
}

TEST_CASE("DeepSeek-V3, 256 to 256 ranks, TP32") {
  Model model;
  Build("deepseek_v3_train", "deepseek_v3_infer", &model);
  CHECK(model.transfers.cells.size() == 26'303);
  CHECK(model.transfers.classes.size() == 8'208);
  CheckModelBytes(model);
}

TEST_CASE("DeepSeek-V3, 128 to 128 ranks, TP8") {
  Model model;
  Build("deepseek_v3_128_train", "deepseek_v3_128_infer", &model);
  CheckModelBytes(model);
}

TEST_CASE("DeepSeek-V3, 4096 to 4096 ranks, TP8 and TP32") {
  Model tp8, tp32;
  Build("deepseek_v3_4096_train", "deepseek_v3_4096_infer", &tp8);
  CheckModelBytes(tp8);
  Build("deepseek_v3_4096_train", "deepseek_v3_4096_tp32_infer", &tp32);
  CHECK(tp32.transfers.classes.size() == 31'248);
  CheckModelBytes(tp32);
}

}  // namespace
}  // namespace reshard
