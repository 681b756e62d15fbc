// Whole layout files: BuildLayout against the naive interpreter, element by element.

#include <fstream>
#include <sstream>
#include <string>

#include "doctest/doctest.h"
#include "tests/vectors/expanded_params.h"

namespace reshard {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file("tests/data/layouts/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// `text` with the value of a symbol replaced.
std::string WithSymbol(std::string text, const std::string& symbol, int value) {
  const std::string key = "\"" + symbol + "\":";
  const size_t begin = text.find(key, text.find("\"symbols\"")) + key.size();
  const size_t end = text.find_first_of(",}", begin);
  return text.replace(begin, end - begin, std::to_string(value));
}

size_t CompareEveryRank(const std::string& text) {
  const TestLayout layout(text);
  size_t params = 0;
  for (const uint32_t rank : layout.naive().ranks()) {
    CAPTURE(rank);
    std::string error;
    const std::optional<ExpandedParams> naive = layout.Naive(rank, &error);
    REQUIRE_MESSAGE(naive.has_value(), error);
    const std::optional<ExpandedParams> built = layout.Built(rank);
    REQUIRE(built.has_value());
    CHECK(*built == *naive);
    params += naive->size();
  }
  return params;
}

TEST_CASE("files that declare their tensors") {
  CHECK(CompareEveryRank(Read("all_keys")) == 76);
  CHECK(CompareEveryRank(Read("toy_train")) == 2);
  CHECK(CompareEveryRank(Read("toy_infer")) == 4);
  CHECK(CompareEveryRank(Read("toy_infer_explicit")) == 4);
}

TEST_CASE("Qwen3-235B's training layout with small extents") {
  std::string text = Read("qwen3_235b_train");
  for (const auto& [symbol, value] : {std::pair{"H", 4}, {"D", 2}, {"I", 6}, {"V", 1000}}) {
    text = WithSymbol(text, symbol, value);
  }
  CHECK(CompareEveryRank(text) == 34640);
}

TEST_CASE("DeepSeek-V3's training layout with small extents") {
  std::string text = Read("deepseek_v3_128_train");
  for (const auto& [symbol, value] : {std::pair{"H", 2},
                                      {"QL", 3},
                                      {"KL", 2},
                                      {"NOPE", 2},
                                      {"ROPE", 1},
                                      {"VD", 1},
                                      {"I", 8},
                                      {"IE", 4},
                                      {"V", 300},
                                      {"NQ", 8}}) {
    text = WithSymbol(text, symbol, value);
  }
  CHECK(CompareEveryRank(text) > 60000);
}

}  // namespace
}  // namespace reshard
