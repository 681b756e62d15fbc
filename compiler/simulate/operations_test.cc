#include "compiler/simulate/operations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// What happens in each round, without the order of operations of one round.
using Row = std::tuple<uint32_t, char, uint32_t, uint32_t, int64_t>;
std::vector<Row> Rows(const SimOperations& operations, uint32_t first_round, uint32_t end_round) {
  std::vector<Row> rows;
  for (const SimMessage& m : operations.messages) {
    rows.emplace_back(m.round, 'm', m.src, m.dst, m.bytes);
  }
  for (const SimCopy& c : operations.copies) {
    rows.emplace_back(c.round, 'c', c.lander, c.reader, c.bytes);
  }
  for (const SimPack& p : operations.packs) rows.emplace_back(p.round, 'p', p.rank, 0, p.bytes);
  std::erase_if(rows, [&](const Row& row) {
    return std::get<0>(row) < first_round || std::get<0>(row) >= end_round;
  });
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_CASE("the operations of any rounds are those rounds of all operations") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const uint32_t rounds = named.plan.header.totals.rounds;
    const SimOperations all = CollectOperations(named.plan, 0, UINT32_MAX);
    CHECK(!Rows(all, 0, rounds).empty());
    for (uint32_t first = 0; first <= rounds; ++first) {
      for (uint32_t end = first; end <= rounds + 1; ++end) {
        CAPTURE(first);
        CAPTURE(end);
        const SimOperations part = CollectOperations(named.plan, first, end);
        CHECK(Rows(part, 0, UINT32_MAX) == Rows(all, first, end));
      }
    }
  }
}

}  // namespace
}  // namespace reshard
