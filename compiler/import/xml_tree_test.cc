#include "compiler/import/xml_tree.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

// The code of the one error, or "".
std::string ErrorOf(const std::string& text, std::string_view* where = nullptr) {
  SourceMap sources;
  Diagnostics diags;
  XmlElement root;
  const uint32_t file = sources.Add("x.xml", text);
  const bool good = ReadXml(sources, file, &diags, &root);
  CHECK_EQ(good, !diags.has_errors());
  if (good) return "";
  REQUIRE_EQ(diags.error_count(), 1);
  const Diagnostic& error = diags.entries()[0];
  REQUIRE_LE(error.span.end, text.size());
  if (where != nullptr) *where = std::string_view(text).substr(error.span.begin);
  return std::string(CodeText(error.code));
}

TEST_CASE("elements, attributes and their places") {
  const std::string text =
      "\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- a=\"b\" -->\n<a x = 'y\"=' y=\"&lt;&#65;\">\n"
      "  <b/><b n=\"2\"><c/></b>\n</a>\n";
  SourceMap sources;
  Diagnostics diags;
  XmlElement root;
  REQUIRE(ReadXml(sources, sources.Add("x.xml", text), &diags, &root));
  CHECK_EQ(root.name, "a");
  REQUIRE_EQ(root.attributes.size(), 2);
  const auto at = [&](Span span) { return text.substr(span.begin, span.end - span.begin); };
  CHECK_EQ(at(root.span), "<a");
  CHECK_EQ(root.attributes[0].value, "y\"=");
  CHECK_EQ(at(root.attributes[0].span), "y\"=");
  CHECK_EQ(root.attributes[1].value, "<A");
  CHECK_EQ(at(root.attributes[1].span), "&lt;&#65;");
  REQUIRE_EQ(root.children.size(), 2);
  CHECK(root.children[0].attributes.empty());
  REQUIRE_NE(root.children[1].Find("n"), nullptr);
  CHECK_EQ(root.children[1].Find("n")->value, "2");
  CHECK_EQ(root.children[1].Find("m"), nullptr);
  CHECK_EQ(root.children[1].children[0].name, "c");
}

TEST_CASE("document types and entities are refused") {
  std::string_view where;
  CHECK_EQ(ErrorOf("<!DOCTYPE a>\n<a/>"), "unsupported");
  CHECK_EQ(ErrorOf("<!DOCTYPE a [<!ENTITY b \"x\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>"),
           "unsupported");
  CHECK_EQ(ErrorOf("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"), "unsupported");
  CHECK_EQ(ErrorOf("<a>&b;</a>", &where), "bad-xml");
  CHECK_EQ(where, "&b;</a>");
}

TEST_CASE("what is no XML, or has text, is an error with its place") {
  std::string_view where;
  CHECK_EQ(ErrorOf("<a><b></a>", &where), "bad-xml");
  CHECK_EQ(where, "a>");
  CHECK_EQ(ErrorOf("<a>b</a>", &where), "unsupported");
  CHECK_EQ(where, "b</a>");
  for (const char* text : {"", "a", "<a", "<a>", "<a/><a/>", "<a b=1/>", "<a b='' b=''/>",
                           "<a b='\xff'/>", "<?xml version='1.0' encoding='x'", "<a b='<'/>"}) {
    CAPTURE(text);
    CHECK_EQ(ErrorOf(text), "bad-xml");
  }
  CHECK_EQ(ErrorOf(std::string("<a>\0</a>", 8)), "bad-xml");
  for (const std::string& text :
       {std::string("\xff\xfe<\0a\0/\0>\0", 10), std::string("\xfe\xff\0<\0a\0/\0>", 10),
        std::string("<\0a\0/\0>\0", 8), std::string("\0<\0a\0/\0>", 8)}) {
    CHECK_EQ(ErrorOf(text), "bad-xml");
  }
  // The bytes are UTF-8, whatever the file says.
  CHECK_EQ(ErrorOf("<?xml version='1.0' encoding='UTF-16'?><a/>"), "");
}

TEST_CASE("limits") {
  const auto nested = [](size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += "<a>";
    for (size_t i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  CHECK_EQ(ErrorOf(nested(kMaxXmlDepth)), "");
  CHECK_EQ(ErrorOf(nested(kMaxXmlDepth + 1)), "too-large");
  std::string many = "<a>";
  for (size_t i = 1; i < kMaxXmlNodes; ++i) many += "<b/>";
  CHECK_EQ(ErrorOf(many + "</a>"), "");
  CHECK_EQ(ErrorOf(many + "<b/></a>"), "too-large");
  CHECK_EQ(ErrorOf(std::string(kMaxXmlBytes + 1, ' ')), "too-large");
}

}  // namespace
}  // namespace reshard
