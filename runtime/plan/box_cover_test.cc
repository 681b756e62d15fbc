#include "runtime/plan/box_cover.h"

#include <random>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/box_tree.h"

namespace reshard {
namespace {

using Box = std::vector<int64_t>;

bool Inside(const Box& box, const std::vector<int64_t>& element) {
  for (size_t d = 0; d < element.size(); ++d) {
    if (element[d] < box[2 * d] || element[d] >= box[2 * d + 1]) return false;
  }
  return true;
}

int64_t CountParts(const std::vector<Box>& parts, const std::vector<int64_t>& element) {
  int64_t count = 0;
  for (const Box& part : parts) count += Inside(part, element) ? 1 : 0;
  return count;
}

// Every element of a three-dimensional box, one by one.
bool CoveredOnce(const Box& whole, const std::vector<Box>& parts) {
  for (int64_t i = whole[0]; i < whole[1]; ++i) {
    for (int64_t j = whole[2]; j < whole[3]; ++j) {
      for (int64_t k = whole[4]; k < whole[5]; ++k) {
        if (CountParts(parts, {i, j, k}) != 1) return false;
      }
    }
  }
  return true;
}

// Returns whether the cover is right, and checks what is said when it is not.
bool Check(const Box& whole, const std::vector<Box>& parts) {
  std::vector<const int64_t*> pointers;
  for (const Box& part : parts) pointers.push_back(part.data());
  const BoxCoverResult result =
      CheckBoxCover(whole.size() / 2, whole.data(), pointers, [](uint64_t) { return true; });
  CHECK(!result.exhausted);
  if (result.fault) {
    CHECK(Inside(whole, result.fault->element));
    CHECK(CountParts(parts, result.fault->element) == result.fault->part_count);
    CHECK(result.fault->part_count != 1);
  }
  return !result.fault.has_value();
}

void Cut(std::mt19937& random, const Box& box, int depth, std::vector<Box>* parts) {
  const size_t d = random() % 3;
  const int64_t width = box[2 * d + 1] - box[2 * d];
  if (depth == 0 || width < 2) {
    parts->push_back(box);
    return;
  }
  const int64_t at = box[2 * d] + 1 + static_cast<int64_t>(random()) % (width - 1);
  Box low = box;
  Box high = box;
  low[2 * d + 1] = at;
  high[2 * d] = at;
  Cut(random, low, depth - 1, parts);
  Cut(random, high, depth - 1, parts);
}

TEST_CASE("covers found by hand") {
  CHECK(Check({0, 4, 0, 4}, {{0, 4, 0, 4}}));
  CHECK(!Check({0, 4, 0, 4}, {}));
  CHECK(!Check({0, 4, 0, 4}, {{0, 4, 0, 4}, {0, 4, 0, 4}}));
  CHECK(Check({}, {{}}));
  CHECK(!Check({}, {{}, {}}));
  // The volume is right, the cover is not.
  CHECK(!Check({0, 4, 0, 4}, {{0, 2, 0, 4}, {1, 3, 0, 4}}));
  // A gap and an overlap of one shape.
  CHECK(!Check({0, 3, 0, 3}, {{0, 1, 0, 3}, {1, 3, 0, 1}, {1, 3, 0, 1}, {1, 3, 2, 3}}));
}

TEST_CASE("random cuts and their mutations agree with counting") {
  const unsigned seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int wrong = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const Box whole = {2, 7, 0, 6, -3, 2};
    std::vector<Box> parts;
    Cut(random, whole, static_cast<int>(random() % 5), &parts);
    CHECK(Check(whole, parts));
    std::vector<Box> mutant = parts;
    Box& part = mutant[random() % mutant.size()];
    if (random() % 4 == 0) {
      mutant.push_back(part);
    } else {
      part[random() % 6] += random() % 2 == 0 ? 1 : -1;
    }
    bool sound = true;
    for (const Box& box : mutant) {
      for (size_t d = 0; d < 3; ++d) {
        sound = sound && box[2 * d] < box[2 * d + 1] && box[2 * d] >= whole[2 * d] &&
                box[2 * d + 1] <= whole[2 * d + 1];
      }
    }
    if (!sound) continue;
    ++wrong;
    CHECK(Check(whole, mutant) == CoveredOnce(whole, mutant));
  }
  CHECK(wrong > 500);
}

TEST_CASE("a tree finds the boxes that a scan finds") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const size_t count = random() % 60;
    const auto random_box = [&random] {
      Box box;
      for (int d = 0; d < 3; ++d) {
        const auto begin = static_cast<int64_t>(random() % 20);
        box.push_back(begin);
        box.push_back(begin + 1 + static_cast<int64_t>(random() % 8));
      }
      return box;
    };
    std::vector<Box> boxes;
    std::vector<int64_t> flat;
    for (size_t i = 0; i < count; ++i) {
      boxes.push_back(random_box());
      flat.insert(flat.end(), boxes.back().begin(), boxes.back().end());
    }
    const BoxTree tree(3, flat);
    CHECK(tree.count() == count);
    for (int query = 0; query < 20; ++query) {
      const Box wanted = random_box();
      std::vector<uint32_t> expected;
      for (uint32_t i = 0; i < count; ++i) {
        bool overlap = true;
        for (size_t d = 0; d < 3; ++d) {
          overlap =
              overlap && boxes[i][2 * d] < wanted[2 * d + 1] && wanted[2 * d] < boxes[i][2 * d + 1];
        }
        if (overlap) expected.push_back(i);
      }
      std::vector<uint32_t> found;
      tree.FindOverlapping(wanted.data(), &found);
      CHECK(found == expected);
    }
  }
}

}  // namespace
}  // namespace reshard
