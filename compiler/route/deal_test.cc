#include "compiler/route/deal.h"

#include <doctest/doctest.h>

#include <random>
#include <tuple>

namespace reshard {
namespace {

int64_t AnyCut(uint32_t, int64_t at) { return at; }

std::vector<std::tuple<uint32_t, uint32_t, int64_t, int64_t>> Dealt(
    const std::vector<int64_t>& items, const std::vector<int64_t>& parts, int64_t min_split) {
  std::vector<std::tuple<uint32_t, uint32_t, int64_t, int64_t>> result;
  for (const Deal& deal : DealOut(items, parts, min_split, AnyCut)) {
    result.emplace_back(deal.item, deal.part, deal.begin, deal.extent);
  }
  return result;
}

using Expected = std::vector<std::tuple<uint32_t, uint32_t, int64_t, int64_t>>;

TEST_CASE("items that fill parts exactly stay whole") {
  CHECK(Dealt({10, 20, 30}, {30, 30}, 4) == Expected{{0, 0, 0, 10}, {1, 0, 0, 20}, {2, 1, 0, 30}});
}

TEST_CASE("only what overflows is split") {
  CHECK(Dealt({10, 50, 40}, {40, 60}, 4) ==
        Expected{{0, 0, 0, 10}, {1, 0, 0, 30}, {1, 1, 30, 20}, {2, 1, 0, 40}});
}

TEST_CASE("splits that are too small move to the nearer end of the item") {
  CHECK(Dealt({40, 60}, {43, 57}, 4) == Expected{{0, 0, 0, 40}, {1, 1, 0, 60}});
  CHECK(Dealt({40, 60}, {38, 62}, 4) == Expected{{0, 0, 0, 40}, {1, 1, 0, 60}});
  CHECK(Dealt({7}, {3, 4}, 4) == Expected{{0, 1, 0, 7}});
  CHECK(Dealt({7}, {4, 3}, 4) == Expected{{0, 0, 0, 7}});
}

TEST_CASE("parts of nothing get nothing") {
  CHECK(Dealt({10, 10}, {0, 20, 0}, 4) == Expected{{0, 1, 0, 10}, {1, 1, 0, 10}});
}

TEST_CASE("random deals cover every item once, in order, close to the wished sizes") {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<int64_t> items, parts;
    int64_t total = 0;
    for (uint32_t i = 0; i < 1 + random() % 10; ++i) {
      items.push_back(1 + static_cast<int64_t>(random() % 1000));
      total += items.back();
    }
    const uint32_t part_count = 1 + static_cast<uint32_t>(random() % 5);
    int64_t left = total;
    for (uint32_t i = 0; i + 1 < part_count; ++i) {
      parts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(left + 1)));
      left -= parts.back();
    }
    parts.push_back(left);
    const auto cut = [](uint32_t, int64_t at) { return at / 16 * 16; };
    std::vector<int64_t> got(part_count, 0);
    uint32_t item = 0, part = 0;
    int64_t at = 0;
    CAPTURE(seed);
    for (const Deal& deal : DealOut(items, parts, 32, cut)) {
      REQUIRE(deal.item == item);
      REQUIRE(deal.begin == at);
      REQUIRE(deal.extent > 0);
      REQUIRE(deal.part >= part);
      REQUIRE((deal.begin == 0 || deal.begin % 16 == 0));
      part = deal.part;
      got[part] += deal.extent;
      at += deal.extent;
      if (at == items[item]) {
        ++item;
        at = 0;
      }
    }
    REQUIRE(item == items.size());
    for (uint32_t p = 0; p < part_count; ++p) CHECK(std::abs(got[p] - parts[p]) <= 2 * 64);
  }
}

TEST_CASE("dealt out each by itself, every part has its proportion of every item") {
  const auto cut = [](uint32_t, int64_t at) { return at / 16 * 16; };
  const std::vector<int64_t> items = {4096, 2048, 8192, 1024}, parts = {3840, 7680, 3840};
  std::vector<std::vector<int64_t>> got(items.size(), std::vector<int64_t>(parts.size(), 0));
  std::vector<int64_t> covered(items.size(), 0);
  for (const Deal& deal : DealOutEach(items, parts, 32, cut)) {
    CHECK(deal.begin == covered[deal.item]);
    covered[deal.item] += deal.extent;
    got[deal.item][deal.part] += deal.extent;
  }
  CHECK(covered == items);
  for (size_t item = 0; item < items.size(); ++item) {
    for (size_t part = 0; part < parts.size(); ++part) {
      CHECK(std::abs(got[item][part] - items[item] * parts[part] / 15360) <= 64);
    }
  }
}

}  // namespace
}  // namespace reshard
