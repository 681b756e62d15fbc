#include "compiler/layout/logical_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/layout/name_skeleton.h"
#include "compiler/layout/testing/layout_test_input.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("skeletons take numbers out of names") {
  const NameSkeleton skeleton = SkeletonOf("model.layers.3.w13");
  CHECK(skeleton.text == "model.layers.#.w#");
  CHECK(skeleton.slots == std::vector<int64_t>{3, 13});
  CHECK(SkeletonOf("a.007").text == "a.007");
  CHECK(SkeletonOf("a.0").slots == std::vector<int64_t>{0});
  // Equal skeletons mean equal texts: a literal '#' is none.
  CHECK(SkeletonOf("a#1").text != SkeletonOf("a1#").text);
  CHECK(SkeletonOf("a.12345678901234567890").slots.empty());
}

LogicalTable Table(std::string logical, std::string aliases) {
  std::string text = "{'format':'reshard-layout','version':1,'side':'source','logical':[" +
                     logical + "],'aliases':[" + aliases +
                     "],'meshes':{'m':{'axes':['x'],'shape':[1]}},"
                     "'params':[{'name':'p','mesh':'m','value':'z'}]}";
  std::replace(text.begin(), text.end(), '\'', '"');
  const LayoutTestInput input(text, "");
  REQUIRE_MESSAGE(input.good, input.Text());
  return input.table;
}

TEST_CASE("tensors of templates, alone, and by their second names") {
  const LogicalTable table = Table(
      "{'name':'z','shape':[1]},{'for':{'l':'3..9','e':'0..4'},'name':'t.{l}.{e}','shape':[2]},"
      "{'for':{'l':'0..2'},'name':'w{l}3','shape':[2]}",
      "{'name':'y','of':'z'},{'for':{'i':'0..4'},'name':'first.{i}','of':'t.3.{i}'},"
      "{'for':{'i':'5..7'},'name':'s.{i}','of':'t.{i}.2'},{'name':'far','of':'near'},"
      "{'name':'near','of':'first.1'}");
  CHECK(table.supers.size() == 4);
  CHECK(!table.Find("t.2.0"));
  REQUIRE(table.Find("t.8.3"));
  CHECK(table.Find("t.8.3")->loop_values == std::vector<int64_t>{8, 3});
  CHECK(!table.Find("t.08.3"));
  CHECK(table.Find("w13")->super != table.Find("w03")->super);
  CHECK(table.Find("y")->super == table.Find("z")->super);
  CHECK(table.Find("first.2")->loop_values == std::vector<int64_t>{3, 2});
  CHECK(table.Find("s.6")->loop_values == std::vector<int64_t>{6, 2});
  CHECK(!table.Find("s.7"));
  CHECK(table.Find("far")->loop_values == std::vector<int64_t>{3, 1});
}

}  // namespace
}  // namespace reshard
