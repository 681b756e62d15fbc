#include "compiler/frontend/expr.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "compiler/frontend/testing/as_constant.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

using testing::AsConstant;

class MapEnv : public ExprEnv {
 public:
  std::map<std::string, int64_t, std::less<>> variables;
  std::map<std::string, std::vector<int64_t>, std::less<>> tables;

  std::optional<int64_t> Variable(std::string_view name) const override {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional<int64_t>(it->second);
  }
  const std::vector<int64_t>* Table(std::string_view name) const override {
    const auto it = tables.find(name);
    return it == tables.end() ? nullptr : &it->second;
  }
  // Stage p has the layers 10p .. 10p + 9 of 40.
  std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                  std::string* error) const override {
    if (argument < 0 || argument >= 40) {
      *error = "layer " + std::to_string(argument) + " is outside the pipeline";
      return std::nullopt;
    }
    if (function == "stage") return argument / 10;
    if (function == "layer_start") return argument / 10 * 10;
    return 0;
  }
};

MapEnv SomeEnv() {
  MapEnv env;
  env.variables = {{"a", 7},  {"b", -3},   {"E", 160},    {"EP", 6},
                   {"ep", 4}, {"zero", 0}, {"android", 5}};
  env.tables = {{"place", {4, 5, 6}}};
  return env;
}

Span SpanOf(std::string_view text) { return {0, 100, 100 + static_cast<uint32_t>(text.size())}; }

std::optional<int64_t> Value(std::string_view text) {
  Diagnostics diags;
  const Expr expr = ParseExpr(text, SpanOf(text), &diags);
  REQUIRE_MESSAGE(!diags.has_errors(), std::string(text));
  std::string error;
  Span where;
  return Eval(expr, SomeEnv(), &error, &where);
}

// The failing part of `text`, and the reason.
std::array<std::string, 2> Failure(std::string_view text) {
  Diagnostics diags;
  const Expr expr = ParseExpr(text, SpanOf(text), &diags);
  std::string reason;
  Span where;
  if (diags.has_errors()) {
    CHECK(diags.error_count() == 1);
    CHECK(!expr);
    where = diags.entries()[0].span;
    reason = diags.entries()[0].text;
  } else {
    CHECK(!Eval(expr, SomeEnv(), &reason, &where));
  }
  REQUIRE(where.begin >= 100);
  return {std::string(text.substr(where.begin - 100, where.end - where.begin)), reason};
}

TEST_CASE("operators bind as documented and lean left") {
  CHECK(Value("1+2*3") == 7);
  CHECK(Value("(1+2)*3") == 9);
  CHECK(Value("10-3-2") == 5);
  CHECK(Value("100//10*3") == 30);
  CHECK(Value("100%7%2") == 0);
  CHECK(Value("2*-3") == -6);
  CHECK(Value("-2*3") == -6);
  CHECK(Value("--5") == 5);
  CHECK(Value("1 or 0 and 0") == 1);
  CHECK(Value("(1 or 0) and 0") == 0);
  CHECK(Value("not 0 and 0") == 0);
  CHECK(Value("not 1 == 2") == 1);
  CHECK(Value("not not 7") == 1);
  CHECK(Value("1+1 == 2") == 1);
  CHECK(Value("a<7 or a<=7") == 1);
  CHECK(Value("a>7") == 0);
  CHECK(Value("a>=7 and a!=8") == 1);
  CHECK(Value("(1<2)+(2<1)") == 1);
  CHECK(Value("android-or_") == std::nullopt);
  CHECK(Value("android") == 5);
}

TEST_CASE("division and remainder round towards minus infinity") {
  CHECK(Value("-1//4") == -1);
  CHECK(Value("-1%4") == 3);
  CHECK(Value("7//-2") == -4);
  CHECK(Value("7%-2") == -1);
  CHECK(Value("b//2") == -2);
  CHECK(Value("ceil_div(7,2)") == 4);
  CHECK(Value("ceil_div(b,2)") == -1);
  CHECK(Value("ceil_div(6,2)") == 3);
}

TEST_CASE("functions, tables and the pipeline") {
  CHECK(Value("min(a,b,2)") == -3);
  CHECK(Value("max(a,b,2)") == 7);
  CHECK(Value("place[2]") == 6);
  CHECK(Value("place[a-7]+place[1]") == 9);
  CHECK(Value("stage(23)") == 2);
  CHECK(Value("23-layer_start(23)") == 3);
  CHECK(Value("ep*(E//EP)+min(ep,E%EP)") == 108);
  CHECK(Value("(ep+1)*(E//EP)+min(ep+1,E%EP)") == 134);
}

TEST_CASE("and and or stop early, and give 0 or 1") {
  CHECK(Value("0 and 1//zero") == 0);
  CHECK(Value("5 or 1//zero") == 1);
  CHECK(Value("5 and 7") == 1);
  CHECK(Value("0 or 7") == 1);
  CHECK(Failure("1 and 1//zero")[0] == "1//zero");
  CHECK(Failure("0 or nobody")[0] == "nobody");
}

TEST_CASE("evaluation fails with the part that failed") {
  CHECK(Failure("a + 7//zero") == std::array<std::string, 2>{"7//zero", "division by zero"});
  CHECK(Failure("a % zero + 1") == std::array<std::string, 2>{"a % zero", "division by zero"});
  CHECK(Failure("ceil_div(1,0)")[1] == "division by zero");
  CHECK(Failure("1+who*2") == std::array<std::string, 2>{"who", "'who' is not known here"});
  CHECK(Failure("place[3]") ==
        std::array<std::string, 2>{"place[3]", "index 3 is outside table 'place' of 3 values"});
  CHECK(Failure("place[-1]")[0] == "place[-1]");
  CHECK(Failure("a[0]")[1] == "'a' is not a table");
  CHECK(Failure("1+stage(40)") ==
        std::array<std::string, 2>{"stage(40)", "layer 40 is outside the pipeline"});
}

TEST_CASE("64 bits are enough or the expression fails") {
  const std::string most = "9223372036854775807";
  CHECK(Value(most) == INT64_MAX);
  CHECK(Value("-" + most + "-1") == INT64_MIN);
  for (const std::string& text : {most + "+1", "-" + most + "-2", most + "*2", "-(-" + most + "-1)",
                                  "(-" + most + "-1)//(-1)", "ceil_div(-" + most + "-1,-1)"}) {
    CHECK_MESSAGE(Failure(text)[1] == "the result does not fit 64 bits", text);
  }
  CHECK(Value("(-" + most + "-1)%(-1)") == 0);
  CHECK(Failure("1+9223372036854775808")[0] == "9223372036854775808");
}

TEST_CASE("syntax errors point at the byte") {
  const std::vector<std::array<std::string, 2>> cases = {{"1+", "+"},
                                                         {"", ""},
                                                         {"a b", "b"},
                                                         {"1 < 2 < 3", "<"},
                                                         {"a/2", "/"},
                                                         {"(a", "a"},
                                                         {"a)", ")"},
                                                         {"min(1)", "min(1)"},
                                                         {"ceil_div(1,2,3)", "ceil_div(1,2,3)"},
                                                         {"stag(3)", "stag"},
                                                         {"stage+1", "stage"},
                                                         {"place[1", "1"},
                                                         {"12ab", "12ab"},
                                                         {"and", "and"},
                                                         {"1 and or 2", "or"},
                                                         {"a = 2", "="},
                                                         {"1.5", "."},
                                                         {"a*\xC3\xA9", "\xC3\xA9"},
                                                         {"+1", "+"},
                                                         {"not", "t"},
                                                         {"min(1,)", ")"},
                                                         {"a # 1", "#"}};
  for (const auto& text_and_part : cases) {
    CHECK_MESSAGE(Failure(text_and_part[0])[0] == text_and_part[1], text_and_part[0]);
  }
  CHECK(Failure("stag(3)")[1] == "'stag' is not a function, did you mean 'stage'?");
  CHECK(Failure("1 < 2 < 3")[1] == "comparisons do not chain: join them with 'and'");
}

TEST_CASE("a string with escapes is pointed at as a whole") {
  Diagnostics diags;
  // The file has "a \u002b" (8 bytes) where the string has "a +" (3 bytes).
  CHECK(!ParseExpr("a +", {0, 10, 18}, &diags));
  CHECK(diags.entries()[0].span.begin == 10);
  CHECK(diags.entries()[0].span.end == 18);
}

TEST_CASE("length and depth are bounded") {
  const auto code = [](const std::string& text) {
    Diagnostics diags;
    CHECK(!ParseExpr(text, SpanOf(text), &diags));
    REQUIRE(diags.error_count() == 1);
    return diags.entries()[0].code;
  };
  CHECK(code(std::string(kMaxExprBytes, '1') + "1") == DiagnosticCode::kTooLarge);
  CHECK(code(std::string(2000, '(') + "1" + std::string(2000, ')')) ==
        DiagnosticCode::kBadExpression);
  CHECK(code(std::string(3000, '-') + "1") == DiagnosticCode::kBadExpression);
  std::string nots, sum = "1", ands = "1", tables = "1";
  for (int i = 0; i < 500; ++i) nots += "not ";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  for (int i = 0; i < 500; ++i) ands += " and 1";
  for (int i = 0; i < 300; ++i) tables = "place[" + tables + "]";
  CHECK(code(nots + "1") == DiagnosticCode::kBadExpression);
  CHECK(code(sum) == DiagnosticCode::kBadExpression);
  CHECK(code(ands) == DiagnosticCode::kBadExpression);
  CHECK(code(tables) == DiagnosticCode::kBadExpression);
  std::string fits = "1";
  for (int i = 1; i < kMaxExprDepth; ++i) fits += "+1";
  CHECK(Value(fits) == kMaxExprDepth);
}

TEST_CASE("names and functions that an expression mentions") {
  Diagnostics diags;
  const std::string text = "place[e//k] + min(stage(l), ceil_div(a, 2))*a";
  const Expr expr = ParseExpr(text, SpanOf(text), &diags);
  CHECK(NamesIn(expr) == std::set<std::string>{"place", "e", "k", "l", "a"});
  CHECK(FunctionsIn(expr) == std::set<std::string>{"min", "stage", "ceil_div"});
  CHECK(!AsConstant(expr));
  CHECK(!AsName(expr));
  CHECK(AsConstant(ConstantExpr(5, {})) == 5);
  CHECK(AsName(ParseExpr(" ep ", SpanOf(" ep "), &diags)) == "ep");
  CHECK(AsConstant(ParseExpr("12", SpanOf("12"), &diags)) == 12);
  CHECK(IsIdentifier("_a1"));
  CHECK(!IsIdentifier("1a"));
  CHECK(!IsIdentifier("not"));
  CHECK(!IsIdentifier(""));
  CHECK(IsFunctionName("layer_start"));
  CHECK(!IsFunctionName("layer"));
}

TEST_CASE("ranges") {
  Diagnostics diags;
  RangeExpr range;
  CHECK(AppendRangePart("0..L", SpanOf("0..L"), false, &diags, &range));
  CHECK(AppendRangePart("ep..E..EP", SpanOf("ep..E..EP"), false, &diags, &range));
  CHECK(AppendRangePart("7", SpanOf("7"), true, &diags, &range));
  REQUIRE(range.parts.size() == 3);
  CHECK(AsName(range.parts[0].end) == "L");
  CHECK(!range.parts[0].step);
  CHECK(AsName(range.parts[1].step) == "EP");
  CHECK(range.parts[1].step.span.begin == 107);
  CHECK(AsConstant(range.parts[2].begin) == 7);
  CHECK(!range.parts[2].end);
  CHECK(!diags.has_errors());
  for (const std::string text : {"7", "1..2..3..4", "", "a,b"}) {
    Diagnostics bad;
    CHECK(!AppendRangePart(text, SpanOf(text), false, &bad, &range));
    REQUIRE(bad.error_count() == 1);
    CHECK(bad.entries()[0].code == DiagnosticCode::kBadRange);
  }
  Diagnostics both;
  CHECK(!AppendRangePart("..", SpanOf(".."), false, &both, &range));
  CHECK(both.error_count() == 2);
  CHECK(range.parts.size() == 3);
}

TEST_CASE("names with holes and braces") {
  Diagnostics diags;
  const std::string text = "x.{l}.{{w}}{e%4}";
  const NameExpr name = ParseName(text, SpanOf(text), &diags);
  CHECK(!diags.has_errors());
  CHECK(name.text == std::vector<std::string>{"x.", ".{w}", ""});
  REQUIRE(name.holes.size() == 2);
  CHECK(AsName(name.holes[0]) == "l");
  CHECK(name.holes[1].span.begin == 112);
  CHECK(name.source == text);
  for (const auto& [bad, offset] : std::vector<std::pair<std::string, uint32_t>>{
           {"a{l", 1}, {"a}b", 1}, {"{a{b}}", 0}, {"{{}", 2}, {"", 0}}) {
    Diagnostics errors;
    CHECK(ParseName(bad, SpanOf(bad), &errors).text.empty());
    REQUIRE(errors.error_count() == 1);
    CHECK(errors.entries()[0].code == DiagnosticCode::kBadName);
    CHECK(errors.entries()[0].span.begin == 100 + offset);
  }
  Diagnostics errors;
  CHECK(ParseName("a{1+}", SpanOf("a{1+}"), &errors).text.empty());
  CHECK(errors.entries()[0].code == DiagnosticCode::kBadExpression);
  CHECK(errors.entries()[0].span.begin == 103);
}

}  // namespace
}  // namespace reshard
