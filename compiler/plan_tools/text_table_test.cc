#include "compiler/plan_tools/text_table.h"

#include <algorithm>
#include <sstream>

#include "doctest/doctest.h"

namespace reshard {
namespace {

std::string Printed(const TextTable& table, const TextStyle& style) {
  std::ostringstream out;
  table.Print(style, out);
  return out.str();
}

TextTable Names() {
  TextTable table({"tensor", ">bytes", "why"});
  table.Add({"model.layers.3.mlp.experts.7.w", "1,234,567", "moved"});
  table.Add({"w", "8", "re-sharded and moved elsewhere"});
  return table;
}

TEST_CASE("without a width nothing is cut") {
  CHECK(Printed(Names(), {}) ==
        "  tensor                              bytes  why\n"
        "  model.layers.3.mlp.experts.7.w  1,234,567  moved\n"
        "  w                                       8  re-sharded and moved elsewhere\n");
}

TEST_CASE("words take several lines until rows fit, numbers never do") {
  TextStyle style;
  style.width = 60;
  CHECK(Printed(Names(), style) ==
        "  tensor                 bytes  why\n"
        "  model.layers.3.    1,234,567  moved\n"
        "    mlp.experts.7.w\n"
        "  w                          8  re-sharded and moved\n"
        "                                  elsewhere\n");
  style.width = 4;  // too narrow for anything: words keep some columns
  CHECK(Printed(Names(), style) ==
        "  tensor            bytes  why\n"
        "  model.        1,234,567  moved\n"
        "    layers.3.\n"
        "    mlp.\n"
        "    experts.7.\n"
        "    w\n"
        "  w                     8  re-sharded\n"
        "                             and moved\n"
        "                             elsewhere\n");
  style.width = 78;  // just wide enough
  CHECK(Printed(Names(), style) == Printed(Names(), {}));
}

TEST_CASE("no two rows become alike, and no number is cut, at any width") {
  TextTable table({"element", "change"});
  table.Add({"model.layers.3.w [1024, 0:64]", "8-way on dim 0, 2 copies, 16 ranks"});
  table.Add({"model.layers.4.w [2048, 0:64]", "4-way on dim 0, 1 copy, 6 ranks"});
  for (size_t width = 1; width < 90; ++width) {
    CAPTURE(width);
    const std::string text = Printed(table, {OutputFormat::kText, 0, width});
    for (const char* number : {"1024", "2048", "16", "64"}) {
      CHECK(text.find(number) != std::string::npos);
    }
    CHECK(text.find("\u2026") == std::string::npos);
  }
}

TEST_CASE("lines and pairs go on under their text") {
  std::ostringstream out;
  PrintLine({OutputFormat::kText, 0, 20}, "17 messages, 2.5 kB in 12 rounds", out);
  PrintPairs({OutputFormat::kText, 0, 30}, {{"bound", "4.6 us (ingress of nvl-infer0)"}}, 12, out);
  CHECK(out.str() ==
        "17 messages, 2.5 kB\n"
        "in 12 rounds\n"
        "bound       4.6 us (ingress of\n"
        "            nvl-infer0)\n");
}

TEST_CASE("columns are counted in characters, and names cannot break rows") {
  TextTable table({"name", ">n"});
  table.Add({"\u00e9\u00e8\u00ea", "1"});
  table.Add({"a\nb\x1b[31m", "2"});
  CHECK(Printed(table, {}) ==
        "  name          n\n"
        "  \u00e9\u00e8\u00ea           1\n"
        "  a\\nb\\x1b[31m  2\n");
}

TEST_CASE("Markdown has no markup of names, and counts what it leaves out") {
  TextTable table({"name", ">n"});
  table.Add({"<b>|", "1"});
  table.Add({"x", "2"});
  CHECK(Printed(table, {OutputFormat::kMarkdown, 1, 20}) ==
        "| name | n |\n| --- | ---: |\n"
        "| <code>&#60;b&#62;&#124;</code> | <code>1</code> |\n\n1 more\n");
}

TEST_CASE("pairs align as text and are a table in Markdown") {
  std::ostringstream text, markdown;
  PrintPairs({}, {{"plan", "a"}, {"staging", "b"}}, 10, text);
  CHECK(text.str() == "plan      a\nstaging   b\n");
  PrintPairs({OutputFormat::kMarkdown, 1, 0}, {{"plan", "a"}, {"staging", "b"}}, 10, markdown);
  const std::string lines = markdown.str();
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 4);
}

}  // namespace
}  // namespace reshard
