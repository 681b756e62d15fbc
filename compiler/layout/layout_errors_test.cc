// Each mistake has its code, is reported once, and says what was found and expected.

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/layout/testing/layout_test_input.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

using Codes = std::vector<std::string>;

// Layout texts in single quotes.
std::string Json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

constexpr const char* kLogical =
    "'logical':[{'name':'a','shape':[8,4]},{'name':'b','shape':[8,4]},"
    "{'name':'f','shape':[8,4],'dtype':'f32'},{'name':'c','shape':[6]},"
    "{'for':{'l':'0..4'},'name':'t.{l}.w','shape':[8,4]}],";
constexpr const char* kMesh = "'meshes':{'m':{'axes':['x'],'shape':[3]}},";

std::string Source(const std::string& body) {
  return Json("{'format':'reshard-layout','version':1,'side':'source'," + body + "}");
}

// One param with this value on a mesh of 3 ranks.
LayoutTestInput Value(const std::string& value) {
  return LayoutTestInput(Source(kLogical + std::string(kMesh) +
                                "'params':[{'name':'p','mesh':'m','value':" + value + "}]"),
                         "");
}
LayoutTestInput Params(const std::string& params) {
  return LayoutTestInput(Source(kLogical + std::string(kMesh) + "'params':[" + params + "]"), "");
}
LayoutTestInput Whole(const std::string& body) { return LayoutTestInput(Source(body), ""); }

bool Says(const LayoutTestInput& input, const std::string& part) {
  return input.Text().find(part) != std::string::npos;
}

TEST_CASE("values") {
  CHECK(Value("'a'").good);
  const LayoutTestInput unknown = Value("'aa'");
  CHECK(unknown.Codes() == Codes{"unknown-tensor"});
  CHECK(Says(unknown, "did you mean 'a'"));
  const LayoutTestInput uneven = Value("{'op':'shard','axes':['x'],'in':'a'}");
  CHECK(uneven.Codes() == Codes{"uneven-shard"});
  CHECK(Says(uneven, "8 elements along dim 0 of 'a' do not divide over axis 'x' of 3 ranks"));
  CHECK(Value("{'op':'shard','axes':['x'],'unit':3,'in':'a'}").Codes() == Codes{"uneven-shard"});
  CHECK(Value("{'op':'shard','axes':['x'],'unit':4,'replicate_if_fewer':true,'in':'a'}").Codes() ==
        Codes{"uneven-shard"});
  CHECK(Value("{'op':'cat','in':['a','c']}").Codes() == Codes{"shape-mismatch"});
  CHECK(Value("{'op':'cat','in':['a','f']}").Codes() == Codes{"dtype-mismatch"});
  CHECK(Value("{'op':'group_cat','groups':3,'in':['a','b']}").Codes() == Codes{"shape-mismatch"});
  CHECK(Value("{'op':'shard','dim':2,'axes':['x'],'in':'a'}").Codes() == Codes{"bad-slice"});
  CHECK(Value("{'op':'slice','start':3,'stop':9,'in':'a'}").Codes() == Codes{"bad-slice"});
  CHECK(Value("{'op':'index','at':8,'in':'a'}").Codes() == Codes{"bad-slice"});
  CHECK(Value("{'op':'pad','to':7,'in':'a'}").Codes() == Codes{"bad-slice"});
  CHECK(Value("{'op':'permute','dims':[0,0],'in':'a'}").Codes() == Codes{"bad-slice"});
  CHECK(Value("{'op':'reshape','shape':[5,7],'in':'a'}").Codes() == Codes{"bad-reshape"});
  CHECK(Value("{'op':'stack','over':{'l':'x..x'},'in':'t.{l}.w'}").Codes() == Codes{"empty-stack"});
  CHECK(Value("{'op':'slice','start':'1//x','stop':8,'in':'a'}").Codes() == Codes{"evaluation"});
  const LayoutTestInput late = Value("{'op':'stack','over':{'l':'0..x+3'},'in':'t.{l}.w'}");
  CHECK(late.Codes() == Codes{"unknown-tensor"});
  CHECK(Says(late, "'t.4.w'"));
  CHECK(Says(late, "(rank 2)"));
}

TEST_CASE("templates") {
  CHECK(Params("{'name':'p','mesh':'m','where':['x==3'],'value':'a'}").Codes() ==
        Codes{"template-empty"});
  CHECK(Params("{'name':'p','mesh':'m','where':['1==0'],'value':'a'}").Codes() ==
        Codes{"template-empty"});
  CHECK(Params("{'for':{'l':'0..5'},'name':'p{l}','mesh':'m','value':'t.{l}.w'}").Codes() ==
        Codes{"unknown-tensor"});
  CHECK(Params("{'for':{'l':'0..4'},'name':'p{l}','mesh':'m','where':['8//(l-2)>0'],"
               "'value':'t.{l}.w'}")
            .Codes() == Codes{"evaluation"});
  const LayoutTestInput let = Params(
      "{'for':{'l':'0..4'},'name':'p{j}','mesh':'m','let':{'k':'l-2','j':'8//k'},"
      "'value':'t.{l}.w'}");
  CHECK(let.Codes() == Codes{"evaluation"});
  CHECK(Says(let, "division by zero in 'j'"));
}

TEST_CASE("names") {
  const LayoutTestInput twice = Params(
      "{'name':'p','mesh':'m','value':'a'},{'name':'p','mesh':'m','where':['x==2'],"
      "'value':'b'}");
  CHECK(twice.Codes() == Codes{"duplicate-param"});
  CHECK(Says(twice, "rank 2 has two params called 'p'"));
  CHECK(Params("{'name':'p','mesh':'m','where':['x<2'],'value':'a'},{'name':'p','mesh':'m',"
               "'where':['x==2'],'value':'b'}")
            .good);
  CHECK(Params("{'for':{'l':'0..4'},'name':'p','mesh':'m','value':'t.{l}.w'}").Codes() ==
        Codes{"duplicate-param"});
  CHECK(Params("{'for':{'l':'0..4'},'name':'p{l//2}','mesh':'m','value':'t.{l}.w'}").Codes() ==
        Codes{"duplicate-param"});
  // "p1" and "1" against "p" and "11": holes that touch digits.
  CHECK(Params("{'for':{'l':'0..4'},'name':'p1{l}','mesh':'m','value':'t.{l}.w'},"
               "{'for':{'l':'10..12'},'name':'p{l}','mesh':'m','value':'a'}")
            .Codes() == Codes{"duplicate-param"});
  CHECK(Params("{'for':{'l':'0..4'},'name':'p1{l}','mesh':'m','value':'t.{l}.w'},"
               "{'for':{'l':'0..10'},'name':'p{l}','mesh':'m','value':'a'}")
            .good);
  CHECK(Params("{'name':'p','mesh':'m','value':'a','shares':['q']},"
               "{'name':'q','mesh':'m','value':'b'}")
            .Codes() == Codes{"duplicate-param"});
  CHECK(Params("{'for':{'l':'0..2'},'name':'p{l-1}','mesh':'m','value':'t.{l}.w'},"
               "{'name':'p-1','mesh':'m','value':'b'}")
            .Codes() == Codes{"duplicate-param"});
}

TEST_CASE("placements") {
  const auto placed = [](const std::string& shape, const std::string& placements,
                         const std::string& more = "") {
    return Whole("'logical':[{'name':'a','shape':" + shape +
                 "}],'meshes':{'m':{'axes':['d','t'],'shape':[3,2]}},'params':[{'name':'p',"
                 "'mesh':'m','tensor':'a','placements':" +
                 placements + more + "}]");
  };
  CHECK(placed("[12]", "['R','S(0)']").good);
  CHECK(placed("[12]", "['S(0)']").Codes() == Codes{"bad-placement"});
  CHECK(placed("[12]", "['R','S(1)']").Codes() == Codes{"bad-placement"});
  CHECK(placed("[12]", "['R','P']").Codes() == Codes{"partial-placement"});
  // Equal readings need no word; here they differ, as 7 elements split unevenly.
  CHECK(placed("[12]", "['_S(0,2)','S(0)']").good);
  CHECK(placed("[7]", "['_S(0,2)','S(0)']").Codes() == Codes{"strided-ambiguous"});
  CHECK(placed("[7]", "['_S(0,2)','S(0)']", ",'strided':'order'").good);
  CHECK(placed("[7]", "['_S(0,2)','S(0)']", ",'strided':'replay'").good);
  CHECK(placed("[7]", "['_S(0,5)','S(0)']", ",'strided':'order'").Codes() ==
        Codes{"bad-placement"});
}

TEST_CASE("meshes and pipelines") {
  const std::string rest = ",'params':[{'name':'p','mesh':'m','value':'a'}]";
  const std::string logical = kLogical;
  CHECK(Whole(logical + "'meshes':{'m':{'axes':['x','y'],'ranks':[[0,1],[2]]}}" + rest).Codes() ==
        Codes{"mesh-shape"});
  CHECK(Whole(logical + "'meshes':{'m':{'axes':['x','y'],'ranks':[0,1]}}" + rest).Codes() ==
        Codes{"mesh-shape"});
  CHECK(Whole(logical + "'meshes':{'m':{'axes':['x'],'ranks':[0,1,0]}}" + rest).Codes() ==
        Codes{"duplicate-rank"});
  CHECK(
      Whole(logical + "'world':8,'meshes':{'m':{'axes':['x','y'],'shape':[2,3]}}" + rest).Codes() ==
      Codes{"world-mismatch"});
  CHECK(Whole(logical + "'world':6,'meshes':{'m':{'axes':['x','y'],'shape':[2,3]}}" + rest).good);
  CHECK(Whole(logical + "'meshes':{'m':{'axes':['x'],'shape':[1048577]}}" + rest).Codes() ==
        Codes{"too-large"});
  const auto pipeline = [&](const std::string& stages, const std::string& shape) {
    return Whole(logical + "'pipeline':{'axis':'x','stages':" + stages +
                 "},'meshes':{'m':{'axes':['x'],'shape':[" + shape +
                 "]}},'params':[{'for':{'l':'0..4'},'name':'p{l}','mesh':'m',"
                 "'where':['x==stage(l)'],'value':'t.{l}.w'}]");
  };
  CHECK(pipeline("[[0,2],[2,4]]", "2").good);
  CHECK(pipeline("[[0,2],[3,4]]", "2").Codes() == Codes{"pipeline-layers"});
  CHECK(pipeline("[[0,3],[2,4]]", "2").Codes() == Codes{"pipeline-layers"});
  CHECK(pipeline("[[0,2],[2,4]]", "3").Codes() == Codes{"pipeline-axis"});
  CHECK(pipeline("[[0,2],[2,3]]", "2").Codes() == Codes{"evaluation"});
}

TEST_CASE("logical tensors") {
  const auto logical = [](const std::string& entries, const std::string& aliases) {
    return Whole("'logical':[" + entries + "],'aliases':[" + aliases +
                 "],'meshes':{'m':{'axes':['x'],'shape':[1]}},'params':[{'name':'p','mesh':'m',"
                 "'value':'a'}]");
  };
  CHECK(logical("{'name':'a','shape':[2]}", "").good);
  CHECK(logical("{'name':'a','shape':[2]},{'name':'a','shape':[2]}", "").Codes() ==
        Codes{"duplicate-tensor"});
  CHECK(logical("{'name':'a','shape':[2]},{'for':{'l':'0..4'},'name':'t{l}','shape':[1]},"
                "{'name':'t3','shape':[1]}",
                "")
            .Codes() == Codes{"duplicate-tensor"});
  CHECK(
      logical("{'name':'b','shape':[2]}", "{'name':'a','of':'c'},{'name':'c','of':'a'}").Codes() ==
      Codes{"alias-cycle"});
  CHECK(logical("{'name':'bb','shape':[2]}", "{'name':'a','of':'b'}").Codes() ==
        Codes{"unknown-tensor"});
  CHECK(logical("{'name':'a','shape':[2]},{'name':'b','shape':[2]}", "{'name':'a','of':'b'}")
            .Codes() == Codes{"duplicate-tensor"});
  CHECK(logical("{'name':'a','shape':['-1']}", "").Codes() == Codes{"bad-value"});
  CHECK(logical("{'name':'a','shape':[4294967296,4294967296]}", "").Codes() == Codes{"too-large"});
  CHECK(logical("{'name':'a','shape':[2,2,2,2,2,2,2,2,2,2,2,2,2]}", "").Codes() ==
        Codes{"too-large"});
  CHECK(logical("{'name':'a','shape':[2]},{'for':{'l':'0..1000001'},'name':'t{l}','shape':[1]}", "")
            .Codes() == Codes{"too-large"});
}

TEST_CASE("sides that contradict each other") {
  const std::string train = Source(
      "'logical':[{'for':{'l':'0..4'},'name':'t.{l}','shape':[8,4]}],"
      "'meshes':{'m':{'axes':['x'],'shape':[1]}},"
      "'params':[{'for':{'l':'0..4'},'name':'t.{l}','mesh':'m','value':'t.{l}'}]");
  const auto infer = [](const std::string& logical) {
    return Json(
        "{'format':'reshard-layout','version':1,'side':'destination','rank_base':1,"
        "'logical':[" +
        logical +
        "],'meshes':{'m':{'axes':['x'],'shape':[1]}},"
        "'params':[{'for':{'l':'0..4'},'name':'t.{l}','mesh':'m','value':'t.{l}'}]}");
  };
  CHECK(LayoutTestInput(train, infer("{'for':{'l':'0..4'},'name':'t.{l}','shape':[8,4]}")).good);
  CHECK(LayoutTestInput(train, infer("{'name':'t.2','shape':[8,4]}")).good);
  const LayoutTestInput shape(train, infer("{'name':'t.2','shape':[4,8]}"));
  CHECK(shape.Codes() == Codes{"shape-mismatch"});
  CHECK(Says(shape, "has shape [4, 8], expected [8, 4] as on the other side"));
  CHECK(Says(shape, "train.json:1:"));
  CHECK(LayoutTestInput(train, infer("{'for':{'l':'2..9'},'name':'t.{l}','shape':[8,4],"
                                     "'dtype':'f32'}"))
            .Codes() == Codes{"dtype-mismatch"});
  // A part that the source does not know is new.
  const LayoutTestInput more(train, infer("{'for':{'l':'2..9'},'name':'t.{l}','shape':[8,4]}"));
  REQUIRE(more.good);
  CHECK(more.table.Find("t.8").has_value());
  CHECK(!more.table.Find("t.9").has_value());
  CHECK(more.table.Find("t.3")->super == more.table.Find("t.0")->super);
}

TEST_CASE("explicit params") {
  const auto piece = [](const std::string& pieces, const std::string& more = "") {
    return Whole(
        kLogical +
        std::string("'meshes':{'m':{'axes':['x'],'shape':[1]}},"
                    "'explicit':[{'rank':0,'param':'p','dtype':'bf16','shape':[4,4],'pieces':[") +
        pieces + "]" + more + "}]");
  };
  CHECK(piece("{'t':'a','src':[[0,4],[0,4]],'dst':[[0,4],[0,4]]}").good);
  const LayoutTestInput overlap = piece(
      "{'t':'a','src':[[0,4],[0,4]],'dst':[[0,4],[0,4]]},"
      "{'t':'b','src':[[0,1],[0,1]],'dst':[[2,1],[3,1]]}");
  CHECK(overlap.Codes() == Codes{"param-overlap"});
  CHECK(Says(overlap, "element [2, 3] of 'p' has two origins: 'a' and 'b'"));
  const LayoutTestInput gap = piece("{'t':'a','src':[[0,3],[0,4]],'dst':[[0,3],[0,4]]}");
  CHECK(gap.Codes() == Codes{"param-gap"});
  CHECK(Says(gap, "element [3, 0]"));
  CHECK(piece("{'t':'a','src':[[0,3],[0,4]],'dst':[[0,3],[0,4]]}", ",'fill':'keep'").good);
  CHECK(piece("{'t':'a','src':[[0,4],[0,4]],'dst':[[1,4],[0,4]]}").Codes() == Codes{"bad-piece"});
  CHECK(piece("{'t':'a','src':[[0,4,3],[0,4]],'dst':[[0,4],[0,4]]}").Codes() == Codes{"bad-piece"});
  CHECK(piece("{'t':'a','src':[[0,4],[0,3]],'dst':[[0,4],[0,4]]}").Codes() == Codes{"bad-piece"});
  CHECK(piece("{'t':'c','src':[[0,4]],'dst':[[0,4],[0,1]]}").Codes() == Codes{"bad-piece"});
  CHECK(piece("{'t':'a','src':[[0,4],[0,4]],'dst':[[0,4],[0,4]],'dims':[0,0]}").Codes() ==
        Codes{"bad-piece"});
  CHECK(piece("{'t':'f','src':[[0,4],[0,4]],'dst':[[0,4],[0,4]]}").Codes() ==
        Codes{"dtype-mismatch"});
  CHECK(piece("{'t':'aa','src':[[0,4],[0,4]],'dst':[[0,4],[0,4]]}").Codes() ==
        Codes{"unknown-tensor"});
}

TEST_CASE("limits end in an error, soon") {
  const auto limited = [](const std::string& body) {
    return LayoutTestInput(Source(body), "", 100'000).Codes();
  };
  CHECK(
      limited("'logical':[{'name':'a','shape':[1000000,2]}],'meshes':{'m':{'axes':['x'],"
              "'shape':[1]}},'params':[{'name':'p','mesh':'m','value':{'op':'stack',"
              "'over':{'i':'0..1000000'},'in':{'op':'slice','start':'i%100','stop':'i%100+1','in':"
              "{'op':'stack','over':{'j':'0..100'},'in':{'op':'slice','start':'(j*j)%7+i%2',"
              "'stop':'(j*j)%7+i%2+4','in':'a'}}}}}]") == Codes{"too-many-pieces"});
  CHECK(limited("'logical':[{'name':'a','shape':[1]}],'meshes':{'m':{'axes':['x'],'shape':[1]}},"
                "'params':[{'for':{'i':'0..1000000','j':'0..1000000'},'where':['(i*j)%3==1'],"
                "'name':'p{i}.{j}','mesh':'m','value':'a'}]") == Codes{"too-many-pieces"});
  // Conditions that hold alone are tried alone: 300 + 300 values, not 300 * 300.
  CHECK(LayoutTestInput(Source("'logical':[{'name':'a','shape':[1]}],'meshes':{'m':{'axes':['x',"
                               "'y'],'shape':[3,3]}},'params':[{'for':{'i':'0..300','j':'0..300'},"
                               "'where':['i//100==x and j//100==y'],'name':'p{i}.{j}','mesh':'m',"
                               "'value':'a'}]"),
                        "", 3'000)
            .good == false);
  CHECK(LayoutTestInput(Source("'logical':[{'for':{'i':'0..300','j':'0..300'},'name':'a{i}.{j}',"
                               "'shape':[1]}],'meshes':{'m':{'axes':['x',"
                               "'y'],'shape':[3,3]}},'params':[{'for':{'i':'0..300','j':'0..300'},"
                               "'where':['i//100==x and j//100==y'],'name':'p{i}.{j}','mesh':'m',"
                               "'value':'a{i}.{j}'}]"),
                        "", 3'000)
            .good);
}

}  // namespace
}  // namespace reshard
