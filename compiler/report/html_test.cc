#include "compiler/report/html.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

TEST_CASE("text becomes no markup, in an element or in an attribute") {
  CHECK(HtmlText("a<script>alert('1' & \"2\")</script>") ==
        "a&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  CHECK(HtmlText("&lt;") == "&amp;lt;");
  CHECK(HtmlText("w\n\x1b[31m") == "w\\n\\x1b[31m");
  CHECK(HtmlText("a\xe2\x80\xae"
                 "b") == "a\\u202eb");
  CHECK(HtmlText("caf\xc3\xa9 \xff") == "caf\xc3\xa9 \\xff");
}

TEST_CASE("JSON cannot end the script that it stands in") {
  CHECK(JsonForHtml(R"({"a":"</script><!--"})") == R"({"a":"\u003c/script>\u003c!--"})");
}

}  // namespace
}  // namespace reshard
