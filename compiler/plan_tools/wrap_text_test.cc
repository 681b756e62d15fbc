#include "compiler/plan_tools/wrap_text.h"

#include <set>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("A digest stays in one line, however long that is") {
  const std::string digest = "0b49a3a1612762e7df56079ea1e261c61d064156447407e3e2ff95b960958729";
  CHECK(WrapText("first   plans/deepseek/old.fb " + digest, 80, 8) ==
        Lines{"first   plans/deepseek/old.fb", "        " + digest});
  CHECK(WrapText("first   old.fb " + digest, 40, 8) ==
        Lines{"first   old.fb", "        " + digest});
  CHECK(WrapText(digest, 20, 0) == Lines{digest});
  // Other long words are broken.
  CHECK(WrapText(digest + "0", 40, 0).size() == 2);
}

TEST_CASE("lines end between words, and what fits stays one line") {
  CHECK(WrapText("re-sharded and moved", 20, 0) == Lines{"re-sharded and moved"});
  CHECK(WrapText("re-sharded and moved", 19, 0) == Lines{"re-sharded and", "moved"});
  CHECK(WrapText("", 3, 0) == Lines{""});
  CHECK(WrapText("re-sharded and moved away", 12, 2) ==
        Lines{"re-sharded", "  and moved", "  away"});
}

TEST_CASE("a number stays with its unit where other breaks are near") {
  CHECK(WrapText("4-way on dim 0, 2 copies, 16 ranks", 28, 0) ==
        Lines{"4-way on dim 0, 2 copies,", "16 ranks"});
  CHECK(WrapText("4-way on dim 0, 2 copies, 16 ranks", 18, 0) ==
        Lines{"4-way on dim 0,", "2 copies, 16 ranks"});
}

TEST_CASE("names end after punctuation, and anywhere where there is none") {
  CHECK(WrapText("model.layers.3.mlp.experts.7.w", 20, 0) ==
        Lines{"model.layers.3.mlp.", "experts.7.w"});
  CHECK(WrapText("abcdefghij", 4, 0) == Lines{"abcd", "efgh", "ij"});
}

TEST_CASE("no number is cut, however narrow lines are, and nothing is lost") {
  const std::string texts[] = {"8-way on dim 12, 1.333 copies, 1,234,567 ranks",
                               "model.layers.{12..4095}.w [0:1024, 64:128] at 123456",
                               "+262.1 kB (-5.6 %) 16,24,32-40", "\u00e9\u00e8 12\u00ea34"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    // Every maximal run of digits, with the points and commas between digits.
    std::multiset<std::string> numbers;
    const auto collect = [](const std::string& from, std::multiset<std::string>* found) {
      std::string number;
      for (size_t i = 0; i <= from.size(); ++i) {
        const auto digit = [&](size_t at) {
          return at < from.size() && from[at] >= '0' && from[at] <= '9';
        };
        const bool inside = i < from.size() && (from[i] == '.' || from[i] == ',') &&
                            !number.empty() && digit(i + 1);
        if (digit(i) || inside) {
          number += from[i];
        } else if (!number.empty()) {
          found->insert(number);
          number.clear();
        }
      }
    };
    collect(text, &numbers);
    for (size_t columns = 1; columns < 60; ++columns) {
      CAPTURE(columns);
      std::multiset<std::string> found;
      std::string joined;
      for (const std::string& line : WrapText(text, columns, 0)) {
        collect(line, &found);
        CHECK(ColumnsOf(line) <= std::max(columns, LeastColumns(text)));
        joined += line;
      }
      CHECK(found == numbers);
      std::string wanted = text;
      std::erase(wanted, ' ');
      std::erase(joined, ' ');
      CHECK(joined == wanted);
    }
  }
}

}  // namespace
}  // namespace reshard
