#include "compiler/plan_tools/markdown.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("names of tensors stay readable") {
  CHECK(MarkdownCode("model.layers.3.w13_weight") == "<code>model.layers.3.w13_weight</code>");
  CHECK(MarkdownCode("").empty());
}

TEST_CASE("no character of a name is markup") {
  CHECK(MarkdownCode("<script>") == "<code>&#60;script&#62;</code>");
  CHECK(MarkdownCode("a|b`c*d") == "<code>a&#124;b&#96;c&#42;d</code>");
  CHECK(MarkdownCode("_x_") == "<code>&#95;x&#95;</code>");
  CHECK(MarkdownCode("@user #1 &amp;") == "<code>&#64;user &#35;1 &#38;amp&#59;</code>");
  for (char c = ' '; c < 127; ++c) {
    const std::string text = MarkdownCode(std::string(" ") + c + " ");
    const std::string inner = text.substr(6, text.size() - 13);
    CAPTURE(c);
    CHECK(inner.find_first_of("<>|`*_[]()!~@\\\"'{}$=+:") == std::string::npos);
  }
}

TEST_CASE("a name stays on its line") {
  CHECK(MarkdownCode("a\nb\r").find_first_of("\n\r") == std::string::npos);
}

}  // namespace
}  // namespace reshard
