#include "compiler/import/fold_params.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

ExplicitParam Rows(const std::string& name, const std::string& tensor, int64_t row) {
  return {name,
          {2, 4},
          DType::kBf16,
          true,
          {{tensor, {{{row, 2, 1}, {0, 4, 1}}, {{0, 2, 1}, {0, 4, 1}}, {0, 1}}}}};
}

std::vector<std::string> Lines(const std::vector<ExplicitParam>& params) {
  std::vector<std::string> lines;
  for (const JsonDoc& entry : FoldParams(params, "7")) lines.push_back(entry.Line());
  return lines;
}

TEST_CASE("params that shift evenly with the numbers of their names are one entry") {
  std::vector<ExplicitParam> params;
  for (int l = 0; l < 3; ++l) {
    const std::string number = std::to_string(l);
    params.push_back(
        Rows("h." + number + ".w", "m." + std::to_string(2 * l + 1) + ".w", 4 + 8 * l));
  }
  CHECK(
      Lines(params) ==
      std::vector<std::string>{
          R"({"for": {"i": "0..3"}, "ranks": "7", "param": "h.{i}.w", "dtype": "bf16", "shape": [2, 4], )"
          R"("pieces": [{"t": "m.{2*i+1}.w", "src": [["8*i+4", 2], [0, 4]], )"
          R"("dst": [[0, 2], [0, 4]]}]})"});
}

TEST_CASE("one that does not is an entry of its own, where it came") {
  const std::vector<ExplicitParam> params = {Rows("h.0", "a", 0), Rows("h.1", "a", 2),
                                             Rows("h.2", "a", 6), Rows("h.3", "a", 6)};
  const std::vector<std::string> lines = Lines(params);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find(R"("for": {"i": [0, 1, 3]})") != std::string::npos);
  CHECK(lines[0].find("2*i") != std::string::npos);
  CHECK(lines[1].find(R"("for": {"i": "2..3"})") != std::string::npos);
}

TEST_CASE("shifts of two numbers, and of none") {
  std::vector<ExplicitParam> params;
  for (int l = 0; l < 2; ++l) {
    for (int e = 0; e < 2; ++e) {
      const std::string name = std::to_string(l) + "." + std::to_string(e);
      params.push_back(Rows("p." + name, "t." + std::to_string(l), 8 - 4 * e));
    }
  }
  const std::vector<std::string> lines = Lines(params);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(R"("t": "t.{i}", "src": [["-4*j+8", 2], [0, 4]])") != std::string::npos);
}

TEST_CASE("shifts that leave 64 bits are not folded") {
  const int64_t row = int64_t{1} << 40;
  // From the first two a shift of 2^40, of which 2^24 steps would be 2^64.
  const std::vector<std::string> wrapped =
      Lines({Rows("p.0", "t", 0), Rows("p.1", "t", row), Rows("p.16777216", "t", 0)});
  REQUIRE(wrapped.size() == 2);
  CHECK(wrapped[1].find(R"("param": "p.{i}")") != std::string::npos);
  CHECK(wrapped[1].find(R"("for": {"i": "16777216..16777217"})") != std::string::npos);
  // A shift that only the text "1099511627776*i-18446744073709551616" could say.
  CHECK(Lines({Rows("p.16777216", "t", 0), Rows("p.16777217", "t", row)}).size() == 2);
}

TEST_CASE("many params that do not shift evenly take bounded time and are entries of their own") {
  // No three of them are on a line, so that each entry could have two.
  std::vector<ExplicitParam> params;
  for (int64_t i = 0; i < 20'000; ++i) params.push_back(Rows("p." + std::to_string(i), "t", i * i));
  const std::vector<std::string> lines = Lines(params);
  CHECK(lines.size() > 10'000);
  CHECK(lines.size() < 20'000);
  CHECK(lines[0].find(R"("for": {"i": "0..2"})") != std::string::npos);
  CHECK(lines.back().find(R"("for": {"i": "19999..20000"})") != std::string::npos);
}

}  // namespace
}  // namespace reshard
