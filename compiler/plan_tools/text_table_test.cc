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

TEST_CASE("words are shortened in their middle until rows fit, numbers never are") {
  TextStyle style;
  style.width = 60;
  CHECK(Printed(Names(), style) ==
        "  tensor                      bytes  why\n"
        "  model.layer\u2026xperts.7.w  1,234,567  moved\n"
        "  w                               8  re-sharded \u2026d elsewhere\n");
  style.width = 4;  // too narrow for anything: words keep some columns
  CHECK(Printed(Names(), style) ==
        "  tensor            bytes  why\n"
        "  model.\u2026s.7.w  1,234,567  moved\n"
        "  w                     8  re-sha\u2026where\n");
  style.width = 78;  // just wide enough
  CHECK(Printed(Names(), style) == Printed(Names(), {}));
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
