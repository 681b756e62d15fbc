#include "compiler/import/json_doc.h"

#include "compiler/frontend/json_node.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("a document is written with a line for each entry of its lists") {
  JsonDoc doc = JsonDoc::Object();
  doc.Set("format", "reshard-layout")
      .Set("version", 1)
      .Set("sizes", JsonDoc::Array<int64_t>({1, 2}));
  JsonDoc list = JsonDoc::Array();
  list.Add(JsonDoc::Object().Set("name", "a\"\n").Set("bw", JsonDoc::Literal("48.5")));
  list.Add(JsonDoc::Object().Set("in", JsonDoc::Object().Set("op", "cat")));
  doc.Set("params", list);
  doc.Set("meshes", JsonDoc::Object().Set("m", JsonDoc::Object().Set("shape", JsonDoc::Array())));
  CHECK(PrintDoc(doc) ==
        "{\n"
        "  \"format\": \"reshard-layout\",\n"
        "  \"version\": 1,\n"
        "  \"sizes\": [1, 2],\n"
        "  \"params\": [\n"
        "    {\"name\": \"a\\\"\\n\", \"bw\": 48.5},\n"
        "    {\"in\": {\"op\": \"cat\"}}\n"
        "  ],\n"
        "  \"meshes\": {\n"
        "    \"m\": {\"shape\": []}\n"
        "  }\n"
        "}\n");
  SourceMap sources;
  Diagnostics diags;
  JsonNode node;
  CHECK(ReadJson(sources, sources.Add("doc", PrintDoc(doc)), &diags, &node));
}

TEST_CASE("braces of names are doubled") { CHECK(LiteralName("w{0}.x") == "w{{0}}.x"); }

}  // namespace
}  // namespace reshard
