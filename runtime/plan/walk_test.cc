#include "runtime/plan/walk.h"

#include <doctest/doctest.h>

#include <random>
#include <utility>
#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using testing::ColocatedPlan;
using testing::ExpertPlan;
using testing::NamedPlan;
using testing::SmallPlans;
using testing::ToyPlan;

struct Address {
  uint32_t family;
  int64_t instance, byte;
  bool operator==(const Address&) const = default;
};

// The address of each byte of a message as the nests say; empty when a byte has two.
std::vector<Address> Spread(const std::vector<RunNest>& nests, int64_t message_bytes) {
  std::vector<Address> addresses(static_cast<size_t>(message_bytes), {kNoId, 0, 0});
  for (const RunNest& nest : nests) {
    int64_t runs = 1;
    for (const RunNest::Dim& dim : nest.dims) runs *= dim.extent;
    for (int64_t run = 0; run < runs; ++run) {
      int64_t instance = nest.base_instance;
      int64_t byte = nest.base_bytes;
      int64_t rest = run;
      for (size_t d = nest.dims.size(); d-- > 0;) {
        instance += rest % nest.dims[d].extent * nest.dims[d].instance_stride;
        byte += rest % nest.dims[d].extent * nest.dims[d].stride_bytes;
        rest /= nest.dims[d].extent;
      }
      for (int64_t b = 0; b < nest.run_bytes; ++b) {
        auto& slot =
            addresses.at(static_cast<size_t>(nest.message_offset + run * nest.run_bytes + b));
        if (slot.family != kNoId) return {};
        slot = {nest.family, instance, byte + b};
      }
    }
  }
  return addresses;
}

// Every byte of a class in `place`, one element index at a time.
std::vector<Address> Enumerate(const Plan& plan, const PlanCell& cell, const PlanPlace& place) {
  const PlanSuper& super = plan.supers[cell.super];
  std::vector<Address> addresses;
  std::vector<int64_t> index;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    index.push_back(plan.intervals[plan.cell_dims[cell.first_dim + d]].begin);
  }
  while (true) {
    Address a{place.family, place.base_instance, place.base_bytes};
    for (size_t d = 0; d < index.size(); ++d) {
      const PlanDimRange& range = plan.place_dims[place.first_dim + d];
      a.instance += (index[d] - range.begin) * range.instance_stride;
      a.byte += (index[d] - range.begin) * range.stride_bytes;
    }
    for (int64_t b = 0; b < DTypeBytes(super.dtype); ++b) {
      addresses.push_back({a.family, a.instance, a.byte + b});
    }
    size_t d = index.size();
    while (d-- > 0) {
      const PlanInterval& interval = plan.intervals[plan.cell_dims[cell.first_dim + d]];
      if (++index[d] < interval.begin + interval.extent) break;
      index[d] = interval.begin;
    }
    if (d == SIZE_MAX) return addresses;
  }
}

TEST_CASE("columns of a row-major matrix are one nest with the row pitch") {
  const Plan plan = ToyPlan();
  const RankPlaces places(plan, 1, PlanSide::kSource);
  std::vector<RunNest> nests;
  REQUIRE(AppendClassRuns(plan, places, 5, 0, 32, 100, false, &nests));  // lower half, columns 4, 5
  REQUIRE(nests.size() == 1);
  CHECK(nests[0].base_bytes == 16);
  CHECK(nests[0].run_bytes == 8);
  CHECK(nests[0].message_offset == 100);
  REQUIRE(nests[0].dims.size() == 1);
  CHECK(nests[0].dims[0].extent == 4);
  CHECK(nests[0].dims[0].stride_bytes == 32);
}

TEST_CASE("contiguous dims merge into one run") {
  const Plan plan = ToyPlan();
  const RankPlaces places(plan, 4, PlanSide::kDestination);
  std::vector<RunNest> nests;
  REQUIRE(AppendClassRuns(plan, places, 5, 0, 32, 0, true, &nests));
  REQUIRE(nests.size() == 1);
  CHECK(nests[0].run_bytes == 32);
  CHECK(nests[0].base_bytes == 32);
  CHECK(nests[0].dims.empty());
}

TEST_CASE("a cell without a place on the rank is refused, and so is a range beyond the class") {
  const Plan plan = ToyPlan();
  const RankPlaces places(plan, 1, PlanSide::kSource);
  std::vector<RunNest> nests;
  CHECK_FALSE(AppendClassRuns(plan, places, 0, 0, 32, 0, false, &nests));
  CHECK_FALSE(AppendClassRuns(plan, places, 1, 16, 32, 0, false, &nests));
  const RankPlaces nothing(plan, 1, PlanSide::kDestination);
  CHECK(nothing.places().empty());
  CHECK(nothing.families().empty());
}

TEST_CASE("a destination writes every place that contains the cell") {
  Plan plan = ToyPlan();
  plan.places.push_back(plan.places[2]);
  const RankPlaces places(plan, 2, PlanSide::kDestination);
  CHECK(places.Containing(0).size() == 2);
  std::vector<RunNest> nests;
  REQUIRE(AppendClassRuns(plan, places, 0, 0, 32, 0, true, &nests));
  CHECK(nests.size() == 2);
  nests.clear();
  REQUIRE(AppendClassRuns(plan, places, 0, 0, 32, 0, false, &nests));
  CHECK(nests.size() == 1);
}

TEST_CASE("any range of any class goes where counting elements says, in few nests") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const Plan& plan = named.plan;
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      for (uint32_t cls = 0; cls < plan.classes.size(); ++cls) {
        const PlanClass& c = plan.classes[cls];
        const uint32_t set = side == PlanSide::kSource ? c.holders : c.needers;
        const uint32_t rank = plan.rank_sets[set].back();
        const RankPlaces places(plan, rank, side);
        const auto containing = places.Containing(c.first_cell);
        REQUIRE(containing.size() == 1);
        const std::vector<Address> all =
            Enumerate(plan, plan.cells[c.first_cell], plan.places[containing[0]]);
        REQUIRE(static_cast<int64_t>(all.size()) == c.bytes);
        const size_t dim_count = plan.supers[plan.cells[c.first_cell].super].dims.size() + 1;
        // Every range of a small class, steps of 97 in a larger one.
        const int64_t step = c.bytes <= 192 ? 1 : 97;
        for (int64_t begin = 0; begin < c.bytes; begin += step) {
          for (int64_t end = begin + 1; end <= c.bytes; end += step) {
            std::vector<RunNest> nests;
            REQUIRE(AppendClassRuns(plan, places, cls, begin, end - begin, 0, true, &nests));
            REQUIRE(nests.size() <= 2 * dim_count + 1);
            const std::vector<Address> want(all.begin() + begin, all.begin() + end);
            REQUIRE(Spread(nests, end - begin) == want);
          }
        }
      }
    }
  }
}

TEST_CASE("the bytes of a class are its cells one after the other") {
  Plan plan = ColocatedPlan();
  // Rows 0 and 1 as one class of two cells, held by a rank that has both rows in separate params.
  plan.families[1].rank_set = plan.families[0].rank_set;
  plan.classes[0].cell_count = 2;
  plan.classes[0].bytes = 256;
  const RankPlaces places(plan, 0, PlanSide::kSource);
  std::vector<RunNest> nests;
  REQUIRE(AppendClassRuns(plan, places, 0, 64, 128, 0, false, &nests));
  REQUIRE(nests.size() == 2);
  CHECK(nests[0].family == 0);
  CHECK(nests[0].base_bytes == 64);
  CHECK(nests[0].run_bytes == 64);
  CHECK(nests[1].family == 1);
  CHECK(nests[1].base_bytes == 0);
  CHECK(nests[1].message_offset == 64);
}

}  // namespace
}  // namespace reshard
