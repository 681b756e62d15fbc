#include "compiler/import/slurm_lines.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

struct ReadLines {
  // Each line as "name=value;name=value".
  std::vector<std::string> lines;
  std::vector<std::string> codes;
  std::vector<std::string> where;  // the text at each value, then at each error
};

ReadLines Read(const std::string& text) {
  Diagnostics diags;
  std::vector<SlurmLine> lines;
  const bool good = ReadSlurmLines(text, 0, &diags, &lines);
  CHECK_EQ(good, !diags.has_errors());
  ReadLines made;
  const auto at = [&](Span span) { return text.substr(span.begin, span.end - span.begin); };
  for (const SlurmLine& line : lines) {
    std::string shown;
    for (const SlurmSetting& setting : line) {
      shown += (shown.empty() ? "" : ";") + setting.name + "=" + setting.value.text;
      made.where.push_back(at(setting.value.span));
    }
    made.lines.push_back(shown);
  }
  for (const Diagnostic& error : diags.entries()) {
    made.codes.emplace_back(CodeText(error.code));
    made.where.push_back(at(error.span));
  }
  return made;
}

using Texts = std::vector<std::string>;

TEST_CASE("settings, with and without spaces around =, in quotes, and comments") {
  const ReadLines read = Read(
      "# nothing\n\n  SwitchName=s0\tNodes = n[0-3] # LinkSpeed=1\r\nBLOCKNAME= b0 nodes =\"n 4\"\n"
      "#");
  CHECK_EQ(read.lines, Texts{"switchname=s0;nodes=n[0-3]", "blockname=b0;nodes=n 4"});
  CHECK_EQ(read.where, Texts{"s0", "n[0-3]", "b0", "n 4"});
  CHECK(read.codes.empty());
}

TEST_CASE("lines are joined, also inside a value, and escapes taken away") {
  const ReadLines read = Read("A=1 \\\n  B=2\\  \nC=x,\\\ny\nD=a\\#b\\\\c\nE=1 # \\\nF=2\nG=3\\");
  CHECK_EQ(read.lines, Texts{"a=1;b=2C=x,y", "d=a#b\\c", "e=1", "f=2", "g=3"});
  // What goes over lines of the file is shown as it stands there.
  CHECK_EQ(read.where[1], "2\\  \nC=x,\\\ny");
}

TEST_CASE("a comment is taken away before a line is joined to the next one") {
  const ReadLines read = Read("A=s1 \\ # first\nB=2 \\\t# x \\\nC=3\nD=4\\\\ # \\\nE=a\\#\nF=5");
  CHECK_EQ(read.lines, Texts{"a=s1;b=2;c=3", "d=4\\", "e=a#", "f=5"});
  CHECK(read.codes.empty());
}

TEST_CASE("what is no setting is an error with its place, and reading goes on") {
  const ReadLines read = Read(
      "A\nB=\nC=\"x\nD=\"\"\n=1\nE=1 F\nNodes+=n1\ninclude other.conf\nInclude=1\ninclude\n"
      "topology: x\n");
  CHECK_EQ(read.lines, Texts{"include=1"});
  CHECK_EQ(read.codes,
           Texts{"bad-format", "bad-format", "bad-format", "bad-format", "bad-format", "bad-format",
                 "unsupported", "unsupported", "bad-format", "bad-format"});
  CHECK_EQ(read.where, Texts{"1", "A", "B=", "C=\"x", "D=\"\"", "=1", "F", "+=", "include",
                             "include", "topology:"});
}

}  // namespace
}  // namespace reshard
