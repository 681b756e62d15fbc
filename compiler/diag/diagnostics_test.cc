#include "compiler/diag/diagnostics.h"

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// The span of the first occurrence of `part`.
Span Find(const SourceMap& sources, uint32_t file, std::string_view part) {
  const size_t begin = sources.text(file).find(part);
  REQUIRE(begin != std::string_view::npos);
  return {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + part.size())};
}

std::string Printed(const SourceMap& sources, const Diagnostics& diags, size_t max_errors = 20) {
  std::ostringstream out;
  diags.Print(sources, max_errors, out);
  return out.str();
}

TEST_CASE("an error with its line, its caret and a note in the other file") {
  SourceMap sources;
  const uint32_t train = sources.Add("train.json", "{\n  \"shape\": [4096, 4096]\n}\n");
  const uint32_t infer = sources.Add("infer.json", "{\n      \"shape\": [4096, 1024],\n}\n");
  Diagnostics diags;
  diags
      .Error(DiagnosticCode::kShapeMismatch, Find(sources, infer, "[4096, 1024]"),
             "'wq' has shape [4096, 1024], expected [4096, 4096] as on the other side")
      .notes.push_back({Find(sources, train, "[4096, 4096]"), "'wq' is declared here"});
  CHECK(Printed(sources, diags) ==
        "infer.json:2:16: error: 'wq' has shape [4096, 1024], expected [4096, 4096] as on the "
        "other side [shape-mismatch]\n"
        "      \"shape\": [4096, 1024],\n"
        "               ^~~~~~~~~~~~\n"
        "train.json:2:12: note: 'wq' is declared here\n");
}

TEST_CASE("sorted by file and position; one position keeps its order") {
  SourceMap sources;
  const uint32_t a = sources.Add("a.json", "1 2\n3\n");
  const uint32_t b = sources.Add("b.json", "4\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kNothingToMove, {}, "nowhere");
  diags.Error(DiagnosticCode::kBadValue, Find(sources, b, "4"), "four");
  diags.Warning(DiagnosticCode::kBadValue, Find(sources, a, "3"), "three");
  diags.Error(DiagnosticCode::kBadValue, Find(sources, a, "2"), "two, first");
  diags.Error(DiagnosticCode::kUnknownKey, Find(sources, a, "2"), "two, second");
  diags.Error(DiagnosticCode::kCannotRead, {a, 0, 0}, "whole file");
  CHECK(Printed(sources, diags) ==
        "a.json: error: whole file [cannot-read]\n"
        "a.json:1:3: error: two, first [bad-value]\n1 2\n  ^\n"
        "a.json:1:3: error: two, second [unknown-key]\n1 2\n  ^\n"
        "a.json:2:1: warning: three [bad-value]\n3\n^\n"
        "b.json:1:1: error: four [bad-value]\n4\n^\n"
        "error: nowhere [nothing-to-move]\n");
  CHECK(diags.error_count() == 5);
  CHECK(diags.warning_count() == 1);
}

TEST_CASE("what is beyond the limit is counted, errors and warnings apart") {
  SourceMap sources;
  const uint32_t file = sources.Add("a", "abcdefg\n");
  Diagnostics diags;
  for (uint32_t i = 5; i > 0; --i) {
    diags.Error(DiagnosticCode::kBadValue, {file, i, i + 1}, "e" + std::to_string(i));
  }
  diags.Warning(DiagnosticCode::kUnusedTensor, {file, 0, 1}, "w");
  CHECK(Printed(sources, diags, 1) ==
        "a:1:1: warning: w [unused-tensor]\nabcdefg\n^\n"
        "a:1:2: error: e1 [bad-value]\nabcdefg\n ^\n"
        "4 more errors not shown\n");
  const std::string four = Printed(sources, diags, 4);
  CHECK(four.find("e4 [") != std::string::npos);
  CHECK(four.find("e5 [") == std::string::npos);
  CHECK(four.find("1 more error not shown\n") != std::string::npos);
  CHECK(Printed(sources, diags, 0).find("more") == std::string::npos);
  for (int i = 0; i < 3; ++i) diags.Warning(DiagnosticCode::kUnusedTensor, {}, "v");
  CHECK(Printed(sources, diags, 2).find("3 more errors not shown\n2 more warnings not shown\n") !=
        std::string::npos);
}

TEST_CASE("millions of mistakes are counted, not kept") {
  Diagnostics diags;
  for (size_t i = 0; i < Diagnostics::kMaxKept + 5; ++i) {
    diags.Error(DiagnosticCode::kBadValue, {}, "e").notes.push_back({{}, "n"});
  }
  diags.Warning(DiagnosticCode::kUnusedTensor, {}, "w");
  CHECK(diags.entries().size() == Diagnostics::kMaxKept + 1);
  CHECK(diags.error_count() == Diagnostics::kMaxKept + 5);
  CHECK(diags.warning_count() == 1);
  const std::string text = Printed(SourceMap(), diags, 1);
  CHECK(text ==
        "error: e [bad-value]\nnote: n\nwarning: w [unused-tensor]\n10004 more errors not shown\n");
  CHECK(Printed(SourceMap(), diags, 0).find("\n5 more errors not shown\n") != std::string::npos);
}

TEST_CASE("tabs are spaces in both lines, carriage returns are no text") {
  SourceMap sources;
  const uint32_t file = sources.Add("a", "\t\"k\":\t\"v\"\r\nnext\r\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadValue, Find(sources, file, "\"v\""), "x");
  CHECK(Printed(sources, diags) ==
        "a:1:7: error: x [bad-value]\n"
        "    \"k\":    \"v\"\n"
        "            ^~~\n");
}

TEST_CASE("characters of several bytes take one column") {
  SourceMap sources;
  const uint32_t file = sources.Add("a",
                                    "\"gr\xC3\xBC\xC3\x9F"
                                    "e\": \"d\xC3\xA9j\xC3\xA0\"\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadValue, Find(sources, file, "d\xC3\xA9j\xC3\xA0"), "x");
  CHECK(Printed(sources, diags) ==
        "a:1:13: error: x [bad-value]\n"
        "\"gr\xC3\xBC\xC3\x9F"
        "e\": \"d\xC3\xA9j\xC3\xA0\"\n"
        "          ^~~~\n");
}

TEST_CASE("a long line is cut around the caret, between characters") {
  SourceMap sources;
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xBC";
  const uint32_t file = sources.Add("a", "x" + umlauts + "HERE" + umlauts + "\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadValue, Find(sources, file, "HERE"), "x");
  std::string before, after;
  for (int i = 0; i < 24; ++i) before += "\xC3\xBC";
  for (int i = 0; i < 30; ++i) after += "\xC3\xBC";
  CHECK(Printed(sources, diags) == "a:1:202: error: x [bad-value]\n..." + before + "HERE" + after +
                                       "...\n" + std::string(27, ' ') + "^~~~\n");
  // A marked text that reaches beyond the window is marked up to its end.
  Diagnostics wide;
  wide.Error(DiagnosticCode::kBadValue, {file, 0, 400}, "x");
  const std::string text = Printed(sources, wide);
  CHECK(text.find("^" + std::string(31, '~') + "\n") != std::string::npos);
}

TEST_CASE("a caret past the end of a line and in an empty last line") {
  SourceMap sources;
  const uint32_t file = sources.Add("a", "{\"k\": \n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadJson, {file, 6, 6}, "at the line break");
  diags.Error(DiagnosticCode::kBadJson, {file, 7, 7}, "at the end");
  CHECK(Printed(sources, diags) ==
        "a:1:7: error: at the line break [bad-json]\n{\"k\": \n      ^\n"
        "a:2:1: error: at the end [bad-json]\n");
}

TEST_CASE("a span over several lines is marked to the end of its first line") {
  SourceMap sources;
  const uint32_t file = sources.Add("a", "[1,\n2]\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadValue, {file, 0, 6}, "x");
  CHECK(Printed(sources, diags) == "a:1:1: error: x [bad-value]\n[1,\n^~~\n");
}

TEST_CASE("nothing of the input reaches the terminal as a command") {
  SourceMap sources;
  const uint32_t file = sources.Add("a\x1b[2J", "\"\x1b[31m\xE2\x80\xAE\xFF\"\n");
  Diagnostics diags;
  diags.Error(DiagnosticCode::kBadValue, Find(sources, file, "\xFF"), "name\n\x07")
      .notes.push_back({{}, "see\x1b"});
  CHECK(Printed(sources, diags) ==
        "a\\x1b[2J:1:10: error: name\\n\\x07 [bad-value]\n"
        "\"\\x1b[31m\\u202e\\xff\"\n"
        "               ^~~~\n"
        "note: see\\x1b\n");
  CHECK(EscapeForTerminal("tab\tnul" + std::string(1, '\0') + "\x7F\xC2\x85") ==
        "tab\\tnul\\x00\\x7f\\u0085");
  CHECK(EscapeForTerminal("\xF3\xA0\x80\x81") == "\\U000e0001");
  CHECK(EscapeForTerminal("caf\xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\x98\x80") ==
        "caf\xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\x98\x80");
}

TEST_CASE("did you mean: close names only, whatever the order") {
  const std::vector<std::string> known = {"shape", "shard", "name", "mesh", "placements", "value"};
  CHECK(DidYouMean("shap", known) == ", did you mean 'shape'?");
  CHECK(DidYouMean("placments", known) == ", did you mean 'placements'?");
  CHECK(DidYouMean("vlaue", known) == ", did you mean 'value'?");
  CHECK(DidYouMean("NAME", known) == ", did you mean 'name'?");
  CHECK(DidYouMean("dtype", known) == "");
  CHECK(DidYouMean("", known) == "");
  CHECK(DidYouMean("x", {"y", "z"}) == "");
  CHECK(DidYouMean("t", {"tp"}) == ", did you mean 'tp'?");
  CHECK(DidYouMean("ab", {"ax", "ay"}) == ", did you mean 'ax'?");
  CHECK(DidYouMean("ab", {"ay", "ax"}) == ", did you mean 'ax'?");
  CHECK(DidYouMean("model.layers.0.wq", {"model.layers.1.wq", "model.layers.0.wk"}) ==
        ", did you mean 'model.layers.0.wk'?");
}

TEST_CASE("codes are distinct words") {
  const std::vector<std::string_view> texts = {
#define RESHARD_DIAGNOSTIC(name, text, meaning) CodeText(DiagnosticCode::name),
#include "compiler/diag/diagnostic_codes.def"
#undef RESHARD_DIAGNOSTIC
  };
  CHECK(std::set<std::string_view>(texts.begin(), texts.end()).size() == texts.size());
  for (const std::string_view text : texts) {
    CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
  }
  CHECK(CodeText(DiagnosticCode::kShapeMismatch) == "shape-mismatch");
}

}  // namespace
}  // namespace reshard
