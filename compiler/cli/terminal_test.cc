#include "compiler/cli/terminal.h"

#include <sstream>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TerminalFacts OnTerminal() {
  TerminalFacts facts;
  facts.out_is_terminal = facts.err_is_terminal = true;
  facts.term = "xterm";
  facts.window_columns = 100;
  return facts;
}

TEST_CASE("colours and widths are for terminals") {
  const Terminal on = DecideTerminal({}, OnTerminal());
  CHECK(on.color_out);
  CHECK(on.color_err);
  CHECK(on.width == 100);
  TerminalFacts piped = OnTerminal();
  piped.out_is_terminal = false;
  piped.columns = "40";
  CHECK(!DecideTerminal({}, piped).color_out);
  CHECK(DecideTerminal({}, piped).color_err);
  CHECK(DecideTerminal({}, piped).width == 0);
  CHECK(DecideTerminal({"always", false}, piped).color_out);
  CHECK(DecideTerminal({"always", false}, piped).width == 0);
}

TEST_CASE("NO_COLOR and dumb terminals decide unless the option does") {
  TerminalFacts facts = OnTerminal();
  facts.no_color = "1";
  CHECK(!DecideTerminal({}, facts).color_out);
  CHECK(DecideTerminal({"always", false}, facts).color_out);
  facts.no_color = "";
  facts.term = "dumb";
  CHECK(!DecideTerminal({}, facts).color_err);
  CHECK(!DecideTerminal({"never", false}, OnTerminal()).color_out);
}

TEST_CASE("COLUMNS goes before the window where it is a number of columns") {
  TerminalFacts facts = OnTerminal();
  facts.columns = "72";
  CHECK(DecideTerminal({}, facts).width == 72);
  for (const char* text : {"", "0", "-3", "72x", "99999999999999999999"}) {
    CAPTURE(std::string(text));
    facts.columns = text;
    CHECK(DecideTerminal({}, facts).width == 100);
  }
}

TEST_CASE("verdicts, severities and carets are painted, the rest is not") {
  CHECK(Painted("different", false) == "\x1b[1;31mdifferent\x1b[0m");
  CHECK(Painted("passed  time>+5%: x", false) == "\x1b[32mpassed\x1b[0m  time>+5%: x");
  CHECK(Painted("sound: every byte", false) == "\x1b[32msound\x1b[0m: every byte");
  CHECK(Painted("a.json:1:2: error: no note: here [x]", false) ==
        "a.json:1:2: \x1b[1;31merror:\x1b[0m no note: here [x]");
  CHECK(Painted("a.json: note: is an error: no", false) ==
        "a.json: \x1b[36mnote:\x1b[0m is an error: no");
  CHECK(Painted("    ^~~~", false) == "\x1b[32m    ^~~~\x1b[0m");
  CHECK(Painted("domains", true) == "\x1b[1mdomains\x1b[0m");
  for (const char* line : {"", "differently", "  equal", "terror: x", "first  a.fb", "^x"}) {
    CHECK(Painted(line, false) == line);
  }
}

TEST_CASE("a line before an indented one is a title, and every line arrives") {
  std::ostringstream target;
  {
    const auto stream = PaintLines(target, true);
    *stream << "equal\n\ndomains\n  a  b\n" << std::flush << "  c  d\nlast";
  }
  CHECK(target.str() == "\x1b[32mequal\x1b[0m\n\n\x1b[1mdomains\x1b[0m\n  a  b\n  c  d\nlast");
  std::ostringstream errors;
  const auto stream = PaintLines(errors, false);
  *stream << "a: error: x\n";
  CHECK(errors.str() == "a: \x1b[1;31merror:\x1b[0m x\n");
}

}  // namespace
}  // namespace reshard
