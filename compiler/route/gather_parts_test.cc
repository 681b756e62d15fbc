#include "compiler/route/gather_parts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

constexpr int64_t kRate = 1'000'000;  // bytes a second
constexpr int64_t kBusyPs =
    400'000'000'000'000;  // 400 s: a part is small below 1 s, 1,000,000 bytes

Job Ranks(size_t count, int64_t last_rate = kRate) {
  Job job;
  for (size_t i = 0; i + 1 < count; ++i) job.AddDomain(1, kRate);
  job.AddDomain(1, last_rate);
  return job;
}

struct Gathered {
  std::vector<int64_t> parts;
  std::vector<int64_t> sent;  // by port
};

Gathered Gather(const Job& job, const std::vector<int64_t>& parts,
                const std::vector<int64_t>& others) {
  const Ports ports(job.topology);
  PortBytes sent(ports);
  Flow flow;
  flow.parts = parts;
  flow.bytes = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  for (OutletId outlet = 0; outlet < parts.size(); ++outlet) {
    flow.outlets.push_back(outlet);
    sent.Add(outlet, parts[outlet] + others[outlet]);
  }
  GatherParts(ports, kBusyPs, &flow, &sent);
  Gathered gathered{flow.parts, {}};
  for (PortId port = 0; port < ports.port_count(); ++port)
    gathered.sent.push_back(sent.bytes(port));
  return gathered;
}

TEST_CASE("small parts come together at the least busy ports, large ones stay") {
  const Gathered gathered =
      Gather(Ranks(5), {400'000, 700'000, 5'000'000, 600'000, 800'000}, {30, 20, 0, 10, 40});
  // 2,500,000 small bytes: 1,000,000 to each of the two least busy; the rest is half a part.
  CHECK(gathered.parts == std::vector<int64_t>{500'000, 1'000'000, 5'000'000, 1'000'000, 0});
  CHECK(gathered.sent == std::vector<int64_t>{500'030, 1'000'020, 5'000'000, 1'000'010, 40});
}

TEST_CASE("a rest of less than half a part goes with the part before it") {
  const Gathered gathered = Gather(Ranks(4), {300'000, 300'000, 500'000, 300'000}, {0, 0, 0, 0});
  CHECK(gathered.parts == std::vector<int64_t>{1'400'000, 0, 0, 0});
}

TEST_CASE("no port comes to be busier than the busiest, and without room nothing changes") {
  const int64_t full = 400 * kRate;
  const std::vector<int64_t> parts = {300'000, 300'000, 300'000};
  const Gathered some = Gather(Ranks(3), parts, {full - 500'000, full - 400'000, full - 300'000});
  CHECK(some.parts == std::vector<int64_t>{500'000, 400'000, 0});
  const std::vector<int64_t> others = {full - 200'000, full - 250'000, full - 300'000};
  const Gathered none = Gather(Ranks(3), parts, others);
  CHECK(none.parts == parts);
  CHECK(none.sent == std::vector<int64_t>{full + 100'000, full + 50'000, full});
}

TEST_CASE("one small part, and ports of different rates, stay as they are") {
  CHECK(Gather(Ranks(2), {10, 5'000'000}, {0, 0}).parts == std::vector<int64_t>{10, 5'000'000});
  const std::vector<int64_t> parts = {10, 10, 10};
  CHECK(Gather(Ranks(3, kRate / 2), parts, {0, 0, 0}).parts == parts);
}

}  // namespace
}  // namespace reshard
