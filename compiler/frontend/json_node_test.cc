#include "compiler/frontend/json_node.h"

#include <sstream>
#include <string>
#include <string_view>

#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Read {
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  bool ok = false;

  explicit Read(std::string text) {
    ok = ReadJson(sources, sources.Add("f", std::move(text)), &diags, &root);
  }
  std::string Printed() const {
    std::ostringstream out;
    diags.Print(sources, 0, out);
    return out.str();
  }
  // The first line of the messages.
  std::string First() const {
    const std::string text = Printed();
    return text.substr(0, text.find('\n'));
  }
  std::string_view At(const Span& span) const {
    return sources.text(span.file).substr(span.begin, span.end - span.begin);
  }
};

TEST_CASE("every value and key knows its bytes") {
  const Read read(
      " {\"a\" : [1, -2.50e+3 ,{}, [ ] ],\n\t\"b\\n\": {\"c\":null,\"d\" :true, \"e\": false},"
      "\"\": \"x\\\"\\u00e9\" } ");
  REQUIRE(read.ok);
  const JsonNode& root = read.root;
  CHECK(read.At(root.span) == read.sources.text(0).substr(1, read.sources.text(0).size() - 2));
  REQUIRE(root.members.size() == 3);
  CHECK(read.At(root.members[0].key_span) == "\"a\"");
  const JsonNode& a = root.members[0].value;
  CHECK(read.At(a.span) == "[1, -2.50e+3 ,{}, [ ] ]");
  REQUIRE(a.items.size() == 4);
  CHECK(a.items[0].text == "1");
  CHECK(read.At(a.items[0].span) == "1");
  CHECK(a.items[1].text == "-2.50e+3");
  CHECK(read.At(a.items[1].span) == "-2.50e+3");
  CHECK(read.At(a.items[2].span) == "{}");
  CHECK(read.At(a.items[3].span) == "[ ]");
  CHECK(root.members[1].key == "b\n");
  CHECK(read.At(root.members[1].key_span) == "\"b\\n\"");
  const JsonNode& b = root.members[1].value;
  REQUIRE(b.members.size() == 3);
  CHECK(read.At(b.span) == "{\"c\":null,\"d\" :true, \"e\": false}");
  CHECK(read.At(b.members[0].value.span) == "null");
  CHECK(read.At(b.members[1].value.span) == "true");
  CHECK(b.members[1].value.boolean);
  CHECK(read.At(b.members[2].value.span) == "false");
  CHECK_FALSE(b.members[2].value.boolean);
  CHECK(root.members[2].value.text == "x\"\xC3\xA9");
  CHECK(read.At(root.members[2].value.span) == "\"x\\\"\\u00e9\"");
  CHECK(root.Find("") == &root.members[2].value);
  CHECK(root.Find("missing") == nullptr);
}

TEST_CASE("a document may be any value") {
  CHECK(Read("7").root.text == "7");
  CHECK(Read("\"x\"").root.text == "x");
  CHECK(Read(" null\n").root.kind == JsonNode::Kind::kNull);
  CHECK(Read("[]").ok);
  CHECK(Read("-0").root.text == "-0");
  CHECK(Read("123456789012345678901234567890").root.text == "123456789012345678901234567890");
}

TEST_CASE("mistakes of form, each at its byte") {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "f: error: the file is empty [bad-json]"},
      {" \n\t", "f: error: the file is empty [bad-json]"},
      {"{\"a\":1,}", "f:1:8: error: expected a key in quotes, found } [bad-json]"},
      {"{\"a\":1 \"b\":2}", "f:1:8: error: expected ',' or '}', found \"b\" [bad-json]"},
      {"{\"a\" 1}", "f:1:6: error: expected ':', found 1 [bad-json]"},
      {"{\"a\":}", "f:1:6: error: expected a value, found } [bad-json]"},
      {"{a:1}", "f:1:2: error: expected a key in quotes or '}', found a [bad-json]"},
      {"{1:1}", "f:1:2: error: expected a key in quotes or '}', found 1 [bad-json]"},
      {"[1,]", "f:1:4: error: expected a value, found ] [bad-json]"},
      {"[1,,2]", "f:1:4: error: expected a value, found , [bad-json]"},
      {"[,]", "f:1:2: error: expected a value or ']', found , [bad-json]"},
      {"[1 2]", "f:1:4: error: expected ',' or ']', found 2 [bad-json]"},
      {"[1}", "f:1:3: error: expected ',' or ']', found } [bad-json]"},
      {"[1\n", "f:2:1: error: the text ends here, expected ',' or ']' [bad-json]"},
      {"{\"a\":", "f:1:6: error: the text ends here, expected a value [bad-json]"},
      {"{\"a\"", "f:1:5: error: the text ends here, expected ':' [bad-json]"},
      {"{} {}", "f:1:4: error: expected the end of the text, found { [bad-json]"},
      {"1 x", "f:1:3: error: expected the end of the text, found x [bad-json]"},
      {"[NaN]", "f:1:2: error: expected a value or ']', found NaN [bad-json]"},
      {"[1, Infinity]", "f:1:5: error: expected a value, found Infinity [bad-json]"},
      {"[tru]", "f:1:2: error: expected a value or ']', found tru [bad-json]"},
      {"[True]", "f:1:2: error: expected a value or ']', found True [bad-json]"},
      {"[01]", "f:1:3: error: expected ',' or ']', found 1 [bad-json]"},
      {"['a']", "f:1:2: error: expected a value or ']', found ' [bad-json]"},
      {"[1] // x", "f:1:5: error: expected the end of the text, found / [bad-json]"},
      {"[1.]", "f:1:4: error: invalid number; expected digit after '.' [bad-json]"},
      {"[1e400]", "f:1:2: error: the number is too large [bad-json]"},
      {"[\"abc", "f:1:2: error: the string has no closing quote [bad-json]"},
      {"[\"a\\x\"]",
       "f:1:5: error: invalid string: forbidden character after backslash [bad-json]"},
      {"[\"a\tb\"]",
       "f:1:4: error: invalid string: control character U+0009 (HT) must be escaped to \\u0009 or "
       "\\t [bad-json]"},
      {"[\"a\\u0000\"]", "f:1:2: error: the string holds a NUL character [bad-json]"},
      {std::string("[1]\0[", 5), "f:1:4: error: the text holds a NUL byte [bad-json]"},
      {"[\"a\xFF\"]", "f:1:4: error: the text is not UTF-8 from this byte on [bad-json]"},
      {"\xEF\xBB\xBF{}",
       "f:1:1: error: the text starts with a byte order mark, expected UTF-8 without one "
       "[bad-json]"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Read read(c.text);
    CHECK_FALSE(read.ok);
    CHECK(read.First() == c.message);
    CHECK(read.diags.error_count() == 1);
  }
}

TEST_CASE("lone surrogates are no text") {
  CHECK_FALSE(Read("[\"\\ud800\"]").ok);
  CHECK_FALSE(Read("[\"\\udc00\"]").ok);
  CHECK(Read("[\"\\ud83d\\ude00\"]").root.items[0].text == "\xF0\x9F\x98\x80");
}

TEST_CASE("a repeated key is refused, with a note at the first one") {
  const Read read("{\"a\":1,\n\"b\":{\"c\":1,\"c\":2},\n\"a\":2,\"\\u0061\":3}");
  CHECK_FALSE(read.ok);
  CHECK(read.Printed() ==
        "f:2:12: error: the key 'c' is given twice [duplicate-key]\n"
        "\"b\":{\"c\":1,\"c\":2},\n"
        "           ^~~\n"
        "f:2:6: note: it is given first here\n"
        "f:3:1: error: the key 'a' is given twice [duplicate-key]\n"
        "\"a\":2,\"\\u0061\":3}\n"
        "^~~\n"
        "f:1:2: note: it is given first here\n"
        "f:3:7: error: the key 'a' is given twice [duplicate-key]\n"
        "\"a\":2,\"\\u0061\":3}\n"
        "      ^~~~~~~~\n"
        "f:1:2: note: it is given first here\n");
}

TEST_CASE("depth, size and count of values are limited") {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  CHECK(Read(nested(kMaxJsonDepth)).ok);
  CHECK(Read(nested(kMaxJsonDepth + 1)).First() ==
        "f:1:65: error: values are nested deeper than 64 levels [too-large]");
  // Far beyond the limit: no recursion either.
  CHECK_FALSE(Read(nested(1'000'000)).ok);
  std::string large(kMaxJsonBytes, ' ');
  large[0] = '7';
  CHECK(Read(large).ok);
  CHECK(Read(large + " ").First() ==
        "f: error: the file has 67108865 bytes, at most 67108864 are read [too-large]");
  std::string many = "[0";
  for (int i = 0; i < 8'000'000; ++i) many += ",0";
  CHECK(Read(many + "]").First().find("more than 8000000 values [too-large]") != std::string::npos);
}

TEST_CASE("equal documents have one canonical text") {
  const Read a(
      "{\"b\":[1.50,\"x\\u00e9\\n\"],\"a\":{\"comment\":{\"z\":1},\"k\":true},\"comment\":\"c\"}");
  const Read b("{ \"a\": {\"k\": true},\n \"b\": [ 15e-1, \"x\xC3\xA9\\u000a\" ] }");
  CHECK(CanonicalJson(a.root) == "{\"a\":{\"k\":true},\"b\":[15e-1,\"x\xC3\xA9\\u000a\"]}");
  CHECK(CanonicalJson(b.root) == CanonicalJson(a.root));
  CHECK(CanonicalJson(Read("[null,\"a\\\\\\\"\",\"comment\",{},[]]").root) ==
        "[null,\"a\\\\\\\"\",\"comment\",{},[]]");
  CHECK(CanonicalJson(Read("[1,2]").root) != CanonicalJson(Read("[2,1]").root));
}

TEST_CASE("arrays whose order has no meaning are sorted in the canonical text") {
  const std::string_view unordered[] = {"a", "a.b", "e.*.s", "f.[]"};
  const Read read(
      R"({"b":["y","x"],"a":[{"b":[3,1]},{"c":[2,1],"b":[9,{"b":[2,1]}]}],"d":{"a":[2,1]},
                       "e":{"x":{"s":[[2,1],[1]]},"y":{"t":[2,1]}},"f":[[2,1],[[2,1],0]]})");
  CHECK(CanonicalJson(read.root, unordered) ==
        R"({"a":[{"b":[1,3]},{"b":[9,{"b":[2,1]}],"c":[2,1]}],"b":["y","x"],"d":{"a":[2,1]},)"
        R"("e":{"x":{"s":[[1],[2,1]]},"y":{"t":[2,1]}},"f":[[1,2],[0,[2,1]]]})");
}

}  // namespace
}  // namespace reshard
