#include "compiler/frontend/number_list.h"

#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;

struct Mistake {
  bool found = false;
  DiagnosticCode code{};
  std::string text;
  uint32_t begin = 0;
  uint32_t end = 0;
};
Mistake MistakeOf(const Diagnostics& diags) {
  if (diags.entries().size() != 1) return {};
  const Diagnostic& entry = diags.entries()[0];
  return {true, entry.code, entry.text, entry.span.begin, entry.span.end};
}

Names Hosts(const std::string& text, Mistake* mistake = nullptr) {
  Diagnostics diags;
  ListBudget budget;
  Names names;
  const Span span = {0, 100, 100 + static_cast<uint32_t>(text.size())};
  const bool ok = ExpandHostList(text, span, &budget, &diags, &names);
  CHECK(ok == !diags.has_errors());
  if (mistake != nullptr) *mistake = MistakeOf(diags);
  return ok ? names : Names();
}

TEST_CASE("host lists expand as in Slurm") {
  CHECK(Hosts("a") == Names{"a"});
  CHECK(Hosts("n[00-03,07]") == Names{"n00", "n01", "n02", "n03", "n07"});
  CHECK(Hosts("n[8-11]") == Names{"n8", "n9", "n10", "n11"});
  CHECK(Hosts("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(Hosts("n[098-101]x") == Names{"n098x", "n099x", "n100x", "n101x"});
  CHECK(Hosts("a,b[1-2],c") == Names{"a", "b1", "b2", "c"});
  CHECK(Hosts("r[0-1]n[0-1]") == Names{"r0n0", "r0n1", "r1n0", "r1n1"});
  CHECK(Hosts("rack-1.pod[2].site") == Names{"rack-1.pod2.site"});
  CHECK(Hosts("[1-2]") == Names{"1", "2"});
  CHECK(Hosts("n[3,1]") == Names{"n3", "n1"});
}

TEST_CASE("mistakes of host lists, each at its byte") {
  const struct {
    std::string text;
    std::string message;
    uint32_t begin, end;
  } cases[] = {
      {"", "expected a host name here", 0, 1},
      {"a,,b", "expected a host name here", 2, 3},
      {"a,", "expected a host name here", 2, 3},
      {"n[0-3", "the bracket is not closed", 1, 5},
      {"n[0-3[", "expected ',', '-' or ']'", 5, 6},
      {"n[0-3]]", "the bracket was not opened", 6, 7},
      {"n[3-0]", "the range ends before it begins", 2, 5},
      {"n[]", "expected a number here", 2, 3},
      {"n[a-b]", "expected a number here", 2, 3},
      {"n[0-]", "expected a number here", 4, 5},
      {"n[0-3,]", "expected a number here", 6, 7},
      {"n[1-02]", "the ends of the range have leading zeros of different width", 2, 6},
      {"n[1234567890123456]", "the number has more than 15 digits", 2, 18},
      {"a b", "a host name holds white space or braces", 0, 3},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    Mistake mistake;
    Hosts(c.text, &mistake);
    CHECK(mistake.found);
    CHECK(mistake.code == DiagnosticCode::kBadHostList);
    CHECK(mistake.text == c.message);
    CHECK(mistake.begin == 100 + c.begin);
    CHECK(mistake.end == 100 + c.end);
  }
}

TEST_CASE("a list is bounded before it is expanded") {
  Mistake mistake;
  CHECK(Hosts("n[0-1048575]").size() == 1048576);
  for (const std::string text : {"n[0-1048576]", "n[0-999999999999999]", "a[0-999]b[0-999]c[0-999]",
                                 "a[0-99999999]b[0-99999999]c[0-99999999]", "n[0-1048575],m"}) {
    CAPTURE(text);
    Hosts(text, &mistake);
    CHECK(mistake.code == DiagnosticCode::kTooLarge);
  }
  Hosts(std::string(256, 'x'), &mistake);
  CHECK(mistake.text == "a host name has more than 255 bytes");
  Hosts("a[0][0][0][0][0][0][0][0][0]", &mistake);
  CHECK(mistake.text == "a host name has more than 8 brackets");

  // The budget is that of the file: two lists that each fit do not.
  Diagnostics diags;
  ListBudget budget;
  budget.entries = 5;
  Names names;
  CHECK(ExpandHostList("n[0-2]", {}, &budget, &diags, &names));
  CHECK(budget.entries == 2);
  CHECK_FALSE(ExpandHostList("n[0-2]", {}, &budget, &diags, &names));
  budget.entries = 1000;
  budget.name_bytes = 10;
  CHECK_FALSE(ExpandHostList("node[0-2]", {}, &budget, &diags, &names));
}

TEST_CASE("number lists") {
  const auto expand = [](const std::string& text, Mistake* mistake) {
    Diagnostics diags;
    ListBudget budget;
    Numbers numbers;
    const Span span = {0, 100, 100 + static_cast<uint32_t>(text.size())};
    const bool ok = ExpandNumberList(text, span, 1000, &budget, &diags, &numbers);
    CHECK(ok == !diags.has_errors());
    *mistake = MistakeOf(diags);
    return ok ? numbers : Numbers();
  };
  Mistake mistake;
  CHECK(expand("0-3,7", &mistake) == Numbers{0, 1, 2, 3, 7});
  CHECK(expand("7,0-1", &mistake) == Numbers{7, 0, 1});
  CHECK(expand("1000", &mistake) == Numbers{1000});
  expand("1-1001", &mistake);
  CHECK(mistake.text == "the number is above 1000");
  CHECK(mistake.code == DiagnosticCode::kBadRange);
  for (const std::string text : {"", "-1", "1-", "1,", ",1", "1 2", "1..2", "3-1", "0x10"}) {
    CAPTURE(text);
    expand(text, &mistake);
    CHECK(mistake.found);
    CHECK(mistake.code == DiagnosticCode::kBadRange);
  }
  expand("1;2", &mistake);
  CHECK(mistake.text == "expected ',' or '-' between numbers");
  CHECK(mistake.begin == 101);
}

}  // namespace
}  // namespace reshard
