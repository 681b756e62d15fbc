#include "compiler/schedule/ledger.h"

#include <doctest/doctest.h>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

constexpr int64_t kRate = 50'000'000'000;

// A tree with one slice of `bytes` from each of `sources`.
ScheduledTree Tree(const std::vector<Rank>& members, const std::vector<Rank>& sources,
                   int64_t bytes) {
  ScheduledTree tree;
  tree.members = members;
  for (const Rank source : sources) {
    tree.runs.push_back({tree.bytes, bytes, source});
    tree.slices.push_back({static_cast<uint32_t>(tree.portions.size()), 1, bytes});
    tree.portions.push_back({tree.bytes, bytes, source});
    tree.bytes += bytes;
  }
  return tree;
}

Job OneRankDomains(uint32_t count) {
  Job job;
  for (uint32_t i = 0; i < count; ++i) job.AddDomain(1, kRate);
  return job;
}

// The same limit for all ranks.
std::vector<int64_t> Everywhere(const Job& job, int64_t recv_bytes) {
  return std::vector<int64_t>(job.topology.sites.size(), recv_bytes);
}

TEST_CASE("a rank in many trees receives and forwards at most 32 messages in a round") {
  const Job job = OneRankDomains(80);
  const Ports ports(job.topology);
  // Rank 0 is second of every chain: it receives one round after the start, forwards after two.
  std::vector<ScheduledTree> trees;
  for (Rank t = 0; t < 40; ++t) trees.push_back(Tree({1, 0, 2}, {40 + t % 40}, 100));
  for (Rank t = 0; t < 40; ++t) trees[t].members = {1 + t % 20, 0, 21 + t % 19};
  Ledger ledger(ports, trees, Everywhere(job, 1'000'000));
  uint32_t taken = 0;
  for (uint32_t t = 0; t < trees.size(); ++t) {
    if (!ledger.Fits(t, trees[t].slices[0], 0)) continue;
    ledger.Take(t, trees[t].slices[0], 0);
    ++taken;
  }
  // The pair rules bind first: 19 children in round 2, 20 parents in round 1.
  CHECK(taken == 19);
  uint32_t second = 0;
  for (uint32_t t = 0; t < trees.size(); ++t) {
    if (!ledger.Fits(t, trees[t].slices[0], 1)) continue;
    ledger.Take(t, trees[t].slices[0], 1);
    ++second;
  }
  // Round 2 has 19 forwards of rank 0 already: 13 messages more.
  CHECK(second == 13);
}

TEST_CASE("a parent sends to all of its children in one round, or to none") {
  const Job job = OneRankDomains(80);
  const Ports ports(job.topology);
  // Rank 0 receives one message in round 1 and has two children in each tree: 31 messages of 32.
  std::vector<ScheduledTree> trees;
  for (Rank t = 0; t < 20; ++t) {
    trees.push_back(Tree({0, 1 + 2 * t, 2 + 2 * t}, {41 + t}, 100));
    trees.back().kind = t % 2 == 0 ? PlanTreeKind::kBinary : PlanTreeKind::kStar;
  }
  trees.push_back(Tree({61, 0}, {62}, 100));
  Ledger ledger(ports, trees, Everywhere(job, 1'000'000));
  const uint32_t last = 20;
  REQUIRE(ledger.Fits(last, trees[last].slices[0], 0));
  ledger.Take(last, trees[last].slices[0], 0);  // received in round 1
  uint32_t taken = 0;
  for (uint32_t t = 0; t < last; ++t) {
    if (!ledger.Fits(t, trees[t].slices[0], 0)) continue;
    ledger.Take(t, trees[t].slices[0], 0);
    ++taken;
  }
  CHECK(taken == 15);
}

TEST_CASE("a source sends at most 32 messages in a round") {
  const Job job = OneRankDomains(60);
  const Ports ports(job.topology);
  std::vector<ScheduledTree> trees;
  for (Rank t = 0; t < 40; ++t) trees.push_back(Tree({1 + t}, {0}, 100));
  Ledger ledger(ports, trees, Everywhere(job, 1'000'000));
  for (const uint32_t round : {0U, 1U}) {
    uint32_t taken = 0;
    for (uint32_t t = 0; t < trees.size(); ++t) {
      if (!ledger.Fits(t, trees[t].slices[0], round)) continue;
      ledger.Take(t, trees[t].slices[0], round);
      ++taken;
    }
    CHECK(taken == 32);
  }
}

TEST_CASE("a rank receives no more than its limit, one slice excepted") {
  const Job job = OneRankDomains(10);
  const Ports ports(job.topology);
  const std::vector<ScheduledTree> trees = {Tree({1, 0}, {4}, 600), Tree({2, 0}, {5}, 500),
                                            Tree({3, 0}, {6}, 400), Tree({0}, {7}, 2000)};
  Ledger ledger(ports, trees, Everywhere(job, 1000));
  REQUIRE(ledger.Fits(0, trees[0].slices[0], 0));
  ledger.Take(0, trees[0].slices[0], 0);
  CHECK_FALSE(ledger.Fits(1, trees[1].slices[0], 0));
  REQUIRE(ledger.Fits(2, trees[2].slices[0], 0));
  ledger.Take(2, trees[2].slices[0], 0);
  CHECK_FALSE(ledger.Fits(3, trees[3].slices[0], 1));  // what started in round 0 arrives now
  CHECK(ledger.Fits(3, trees[3].slices[0], 2));
  CHECK(ledger.Fits(1, trees[1].slices[0], 1));
}

TEST_CASE("ranks have limits of their own") {
  const Job job = OneRankDomains(6);
  const Ports ports(job.topology);
  const std::vector<ScheduledTree> trees = {Tree({0}, {4}, 600), Tree({0}, {5}, 600),
                                            Tree({1}, {4}, 600), Tree({1}, {5}, 600)};
  Ledger ledger(ports, trees, {1000, 1200, 1000, 1000, 1000, 1000});
  ledger.Take(0, trees[0].slices[0], 0);
  ledger.Take(2, trees[2].slices[0], 0);
  CHECK_FALSE(ledger.Fits(1, trees[1].slices[0], 0));
  CHECK(ledger.Fits(3, trees[3].slices[0], 0));
}

TEST_CASE("two messages of a round differ in sender or receiver") {
  const Job job = OneRankDomains(10);
  const Ports ports(job.topology);
  // 0 -> 1 is the second hop of the first chain, the first of the second, and a source's message.
  const std::vector<ScheduledTree> trees = {Tree({2, 0, 1}, {5}, 10), Tree({0, 1}, {6}, 10),
                                            Tree({1}, {0}, 10)};
  Ledger ledger(ports, trees, Everywhere(job, 1'000'000));
  ledger.Take(0, trees[0].slices[0], 0);  // 0 -> 1 in round 2
  CHECK(ledger.Fits(1, trees[1].slices[0], 0));
  CHECK(ledger.Fits(2, trees[2].slices[0], 1));
  CHECK_FALSE(ledger.Fits(1, trees[1].slices[0], 1));
  CHECK_FALSE(ledger.Fits(2, trees[2].slices[0], 2));
  ledger.Take(2, trees[2].slices[0], 3);
  CHECK_FALSE(ledger.Fits(0, trees[0].slices[0], 1));
  CHECK(ledger.Fits(0, trees[0].slices[0], 2));
}

}  // namespace
}  // namespace reshard
