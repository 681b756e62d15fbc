#include "runtime/exec/bindings.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// Buffers for all params of a rank, each at a multiple of 64 bytes of one block.
struct Buffers {
  explicit Buffers(const Plan& plan, uint32_t rank) : block(1 << 16) {
    size_t offset = 64 - reinterpret_cast<uintptr_t>(block.data()) % 64;
    for (const ExpectedParam& spec : ParamsOfRank(plan, rank)) {
      list.push_back({spec.side, spec.name, block.data() + offset, spec.bytes});
      offset += (static_cast<size_t>(spec.bytes) + 127) / 64 * 64;
    }
    REQUIRE(offset < block.size());
  }
  ParamBuffer& operator[](const std::string& name) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const ParamBuffer& b) { return b.name == name; });
    REQUIRE(found != list.end());
    return *found;
  }
  std::vector<uint8_t> block;
  std::vector<ParamBuffer> list;
};

std::string BindError(const Plan& plan, uint32_t rank, const Buffers& buffers) {
  const StatusOr<Bindings> bound = BindParams(plan, rank, buffers.list);
  REQUIRE_FALSE(bound.ok());
  CHECK(bound.status().code() == StatusCode::kInvalidArgument);
  return bound.status().message();
}

TEST_CASE("the params of a rank are its families' instances, named by absolute loop values") {
  const std::vector<ExpectedParam> params = ParamsOfRank(testing::ExpertPlan(), 1);
  REQUIRE(params.size() == 4);
  CHECK(params[0].name == "layers.1.experts.2.w");
  CHECK(params[1].name == "layers.1.experts.3.w");
  CHECK(params[2].name == "layers.2.experts.2.w");
  CHECK(params[3].name == "layers.2.experts.3.w");
  CHECK(params[2].instance == 2);
  CHECK(params[2].bytes == 96);
  CHECK(ParamsOfRank(testing::ExpertPlan(), 17).empty());
}

TEST_CASE("bound buffers are found by family and instance") {
  const Plan plan = testing::ExpertPlan();
  Buffers buffers(plan, 1);
  std::reverse(buffers.list.begin(), buffers.list.end());
  const StatusOr<Bindings> bound = BindParams(plan, 1, buffers.list);
  REQUIRE(bound.ok());
  const uint32_t family = ParamsOfRank(plan, 1)[0].family;
  REQUIRE(bound->instances(family).size() == 4);
  CHECK(bound->instances(family)[2] == buffers["layers.2.experts.2.w"].data);
  CHECK(bound->instances(family + 1).empty());
}

TEST_CASE("a second name binds the same param; an external param need not be bound") {
  const Plan plan = testing::ExpertPlan();
  Buffers buffers(plan, 2);
  buffers["layers.1.experts.w"].name = "tied.1.w";
  buffers.list.erase(std::find_if(buffers.list.begin(), buffers.list.end(),
                                  [](const ParamBuffer& b) { return b.name == "scales"; }));
  CHECK(BindParams(plan, 2, buffers.list).ok());

  ParamBuffer again = buffers["tied.1.w"];
  again.name = "layers.1.experts.w";
  buffers.list.push_back(again);
  CHECK(BindParams(plan, 2, buffers.list).ok());
  buffers.list.back().data += 64;
  CHECK(BindError(plan, 2, buffers).find("'tied.1.w' and 'layers.1.experts.w' name one param") !=
        std::string::npos);
}

TEST_CASE("all problems are reported at once") {
  const Plan plan = testing::ExpertPlan();
  Buffers buffers(plan, 1);
  buffers["layers.1.experts.2.w"].bytes = 95;
  buffers["layers.1.experts.3.w"].data += 1;
  buffers["layers.2.experts.2.w"].name = "layers.3.experts.2.w";
  const std::string error = BindError(plan, 1, buffers);
  CHECK(error.find("'layers.1.experts.2.w' has 95 bytes, expected 96") != std::string::npos);
  CHECK(error.find("'layers.1.experts.3.w' is not aligned to its elements of 2 bytes") !=
        std::string::npos);
  CHECK(error.find("rank 1 has no source param 'layers.3.experts.2.w'") != std::string::npos);
  CHECK(error.find("source param 'layers.2.experts.2.w' has no buffer") != std::string::npos);
}

TEST_CASE("a name given twice, a null address and a name of the other side are refused") {
  const Plan plan = testing::ToyPlan();
  Buffers buffers(plan, 0);
  buffers.list.push_back(buffers.list[0]);
  CHECK(BindError(plan, 0, buffers).find("'w.rows' is given twice") != std::string::npos);
  buffers.list.pop_back();
  buffers.list[0].data = nullptr;
  CHECK(BindError(plan, 0, buffers).find("'w.rows' has a null address") != std::string::npos);
  buffers.list[0].side = PlanSide::kDestination;
  CHECK(BindError(plan, 0, buffers).find("no destination param 'w.rows'") != std::string::npos);
}

TEST_CASE("a destination buffer overlaps nothing; source buffers may") {
  const Plan plan = testing::ColocatedPlan();
  Buffers buffers(plan, 1);
  CHECK(BindParams(plan, 1, buffers.list).ok());
  buffers["w.full"].data = buffers["w.shard"].data + 124;
  CHECK(BindError(plan, 1, buffers).find("overlap") != std::string::npos);
  buffers["w.full"].data = buffers["w.shard"].data + 128;
  CHECK(BindParams(plan, 1, buffers.list).ok());

  Buffers sources(testing::ExpertPlan(), 0);
  for (ParamBuffer& buffer : sources.list) buffer.data = sources.list[0].data;
  CHECK(BindParams(testing::ExpertPlan(), 0, sources.list).ok());
}

}  // namespace
}  // namespace reshard
