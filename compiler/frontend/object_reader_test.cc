#include "compiler/frontend/object_reader.h"

#include <optional>
#include <sstream>
#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Fixture {
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;

  explicit Fixture(std::string text) {
    REQUIRE(ReadJson(sources, sources.Add("f", std::move(text)), &diags, &root));
  }
  std::string Printed() const {
    std::ostringstream out;
    diags.Print(sources, 0, out);
    return out.str();
  }
};

TEST_CASE("members by type") {
  Fixture f("{\"s\":\"x\",\"b\":true,\"i\":-3,\"w\":\"two\",\"a\":[1],\"comment\":0}");
  ObjectReader object(f.root, "the thing", &f.diags);
  CHECK(object.String("s") == "x");
  CHECK(object.Bool("b") == true);
  CHECK(object.Integer("i", -3, 3) == -3);
  CHECK(object.Word("w", {"one", "two"}) == "two");
  CHECK(object.Required("a", JsonNode::Kind::kArray) != nullptr);
  CHECK(object.Optional("absent") == nullptr);
  CHECK(object.String("absent") == std::nullopt);
  CHECK(object.Has("s"));
  CHECK_FALSE(object.Has("absent"));
  CHECK(object.Finish());
  CHECK(f.Printed() == "");
}

TEST_CASE("every mistake of an object is reported") {
  Fixture f("{\"s\":1,\n\"i\":4,\n\"f\":4096.9,\n\"w\":\"tow\",\n\"a\":{},\n\"naem\":\"x\"}");
  ObjectReader object(f.root, "the thing", &f.diags);
  CHECK(object.String("s") == std::nullopt);
  CHECK(object.Integer("i", -3, 3) == std::nullopt);
  CHECK(object.Integer("f", 0, INT64_MAX) == std::nullopt);
  CHECK(object.Word("w", {"one", "two", "three"}) == std::nullopt);
  CHECK(object.Required("a", JsonNode::Kind::kArray) == nullptr);
  CHECK(object.Required("name") == nullptr);
  CHECK_FALSE(object.Finish());
  CHECK(
      f.Printed() ==
      "f:1:1: error: the thing has no 'name' [missing-key]\n{\"s\":1,\n^\n"
      "f:1:6: error: 's' of the thing is 1, expected a string [wrong-type]\n{\"s\":1,\n     ^\n"
      "f:2:5: error: 'i' of the thing is 4, expected -3 to 3 [bad-value]\n\"i\":4,\n    ^\n"
      "f:3:5: error: 'f' of the thing is 4096.9, expected an integer without fraction or exponent "
      "[bad-value]\n\"f\":4096.9,\n    ^~~~~~\n"
      "f:4:5: error: 'w' of the thing is 'tow', expected one, two or three, did you mean 'two'? "
      "[bad-value]\n\"w\":\"tow\",\n    ^~~~~\n"
      "f:5:5: error: 'a' of the thing is an object, expected an array [wrong-type]\n\"a\":{},\n"
      "    ^~\n"
      "f:6:1: error: the thing has no key 'naem', did you mean 'name'? [unknown-key]\n"
      "\"naem\":\"x\"}\n^~~~~~\n");
}

TEST_CASE("a value that is no object is one error") {
  Fixture f("[1]");
  ObjectReader object(f.root, "the thing", &f.diags);
  CHECK(object.Required("name") == nullptr);
  CHECK(object.Integer("i", 0, 1) == std::nullopt);
  CHECK_FALSE(object.Finish());
  CHECK(f.diags.error_count() == 1);
  CHECK(f.diags.entries()[0].text == "the thing is an array, expected an object");
}

TEST_CASE("decimals") {
  const auto read = [](std::string text, std::string* message) {
    Fixture f(std::move(text));
    const std::optional<int64_t> value = ReadDecimal(
        f.root, "'bw'", {9, 1, 5'000'000'000'000, "GB/s", DiagnosticCode::kBadBandwidth}, &f.diags);
    CHECK(value.has_value() == f.diags.entries().empty());
    *message = value ? "" : f.diags.entries()[0].text;
    return value;
  };
  std::string message;
  CHECK(read("23.5", &message) == 23'500'000'000);
  CHECK(read("1e-9", &message) == 1);
  read("0", &message);
  CHECK(message == "'bw' is 0, expected 0.000000001 to 5000 GB/s");
  read("-1.5", &message);
  CHECK(message == "'bw' is -1.5, expected 0.000000001 to 5000 GB/s");
  read("1e300", &message);
  CHECK(message == "'bw' is 1e300, expected 0.000000001 to 5000 GB/s");
  read("0.0000000005", &message);
  CHECK(message == "'bw' is 0.0000000005, expected at most 9 decimals");
  read("\"50\"", &message);
  CHECK(message == "'bw' is the string '50', expected a number");
}

TEST_CASE("integers beyond 64 bits") {
  Fixture f("[9223372036854775808,9223372036854775807]");
  CHECK(ReadInteger(f.root.items[0], "'n'", 0, INT64_MAX, &f.diags) == std::nullopt);
  CHECK(f.diags.entries()[0].text == "'n' is 9223372036854775808, expected an integer of 64 bits");
  CHECK(ReadInteger(f.root.items[1], "'n'", 0, INT64_MAX, &f.diags) == INT64_MAX);
}

TEST_CASE("the text inside the quotes") {
  Fixture f("[\"ab\"]");
  const Span span = InsideQuotes(f.root.items[0]);
  CHECK(f.sources.text(0).substr(span.begin, span.end - span.begin) == "ab");
}

}  // namespace
}  // namespace reshard
