// `expect` sees what no structural check can: maps that are consistent and wrong.

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/layout/rank_params.h"
#include "compiler/layout/testing/layout_test_input.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

using Codes = std::vector<std::string>;
const Codes kFailed = {"expect-failed"};

std::string Json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

// A small model: 4 q heads and 2 KV heads of 2 rows, 8 experts; TP2 x EP4.
struct Variant {
  std::string axes = "'ep','tp'";
  std::string qkv = "{'op':'group_cat','groups':2,'in':['q','k','v']}";
  std::string mlp = "{'op':'cat','in':['gate','up']}";
  std::string kv = "{'op':'shard','axes':['tp'],'unit':2,'in':'k'}";
  std::string expert = "e//2==ep";
  std::string square = "'o'";
  std::string norm = "q_norm";
};

LayoutTestInput Build(const Variant& v) {
  return LayoutTestInput(
      Json("{'format':'reshard-layout','version':1,'side':'source','logical':["
           "{'name':'q','shape':[8,4]},{'name':'k','shape':[4,4]},{'name':'v','shape':[4,4]},"
           "{'name':'gate','shape':[6,4]},{'name':'up','shape':[6,4]},{'name':'o','shape':[4,4]},"
           "{'name':'q_norm','shape':[2]},{'name':'k_norm','shape':[2]},"
           "{'for':{'e':'0..8'},'name':'x.{e}','shape':[3]}],"
           "'meshes':{'m':{'axes':[" +
           v.axes + "],'shape':[" + (v.axes == "'ep','tp'" ? "4,2" : "2,4") +
           "]}},'params':["
           "{'name':'qkv','mesh':'m','value':" +
           v.qkv +
           "},"
           "{'name':'mlp','mesh':'m','value':" +
           v.mlp +
           "},"
           "{'name':'kv','mesh':'m','value':" +
           v.kv +
           "},"
           "{'for':{'e':'0..8'},'name':'x{e}','mesh':'m','where':['" +
           v.expert +
           "'],'value':'x.{e}'},"
           "{'name':'o','mesh':'m','value':" +
           v.square +
           "},"
           "{'name':'n','mesh':'m','value':'" +
           v.norm +
           "'}],"
           "'expect':[{'rank':5,'mesh':'m','coords':[2,1]},"
           "{'rank':0,'param':'qkv','shape':[16,4],'points':["
           "{'at':[4,1],'tensor':'k','index':[0,1]},{'at':[8,0],'tensor':'q','index':[4,0]}]},"
           "{'rank':1,'param':'mlp','points':[{'at':[6,3],'tensor':'up','index':[0,3]}]},"
           "{'rank':1,'param':'kv','points':[{'at':[1,2],'tensor':'k','index':[3,2]}]},"
           "{'rank':6,'param':'x7','points':[{'at':[2],'tensor':'x.7','index':[2]}]},"
           "{'rank':0,'param':'o','points':[{'at':[1,2],'tensor':'o','index':[1,2]}]},"
           "{'rank':0,'param':'n','points':[{'at':[0],'tensor':'q_norm','index':[0]}]}]}"),
      "");
}

TEST_CASE("a right layout fulfils its expectations") {
  const LayoutTestInput input = Build({});
  CHECK_MESSAGE(input.good, input.Text());
}

TEST_CASE("each wrong one fails where it is wrong") {
  Variant v;
  SUBCASE("axes in another order") {
    v.axes = "'tp','ep'";
    // Everything that depends on coordinates goes wrong with it.
    const LayoutTestInput input = Build(v);
    REQUIRE(!input.diags.entries().empty());
    CHECK(input.diags.entries()[0].text ==
          "rank 5 has coordinates [1, 1] on mesh 'm', expected [2, 1]");
  }
  SUBCASE("cat for group_cat") {
    v.qkv = "{'op':'cat','in':['q','k','v']}";
    CHECK(Build(v).Codes() == Codes{"expect-failed", "expect-failed"});
  }
  SUBCASE("[up;gate]") {
    v.mlp = "{'op':'cat','in':['up','gate']}";
    const LayoutTestInput input = Build(v);
    CHECK(input.Codes() == kFailed);
    CHECK(input.diags.entries()[0].text ==
          "element [6, 3] of 'mlp' on rank 1 is 'gate' [0, 3], expected 'up' [0, 3]");
  }
  SUBCASE("another KV head") {
    v.kv = "{'op':'slice','start':'((tp+1)%2)*2','stop':'((tp+1)%2)*2+2','in':'k'}";
    CHECK(Build(v).Codes() == kFailed);
  }
  SUBCASE("round-robin experts") {
    v.expert = "e%4==ep";
    CHECK(Build(v).good);  // expert 7 is on rank 6 in both
    v.expert = "(e+2)%8//2==ep";
    CHECK(Build(v).Codes() == kFailed);
  }
  SUBCASE("a square matrix, transposed") {
    v.square = "{'op':'permute','dims':[1,0],'in':'o'}";
    CHECK(Build(v).Codes() == kFailed);
  }
  SUBCASE("norms swapped") {
    v.norm = "k_norm";
    CHECK(Build(v).Codes() == kFailed);
  }
}

TEST_CASE("expectations that speak of nothing") {
  const auto expect = [](const std::string& text) {
    return LayoutTestInput(
               Json("{'format':'reshard-layout','version':1,'side':'source','logical':["
                    "{'name':'a','shape':[4,2]}],'meshes':{'m':{'axes':['x'],'ranks':[3,1]}},"
                    "'params':[{'name':'p','mesh':'m','value':'a'}],'expect':[" +
                    text + "]}"),
               "")
        .Codes();
  };
  CHECK(expect("{'rank':1,'mesh':'m','coords':[1]}").empty());
  CHECK(expect("{'rank':0,'mesh':'m','coords':[1]}") == kFailed);
  CHECK(expect("{'rank':1,'param':'pp','points':[]}") == kFailed);
  CHECK(expect("{'rank':1,'param':'p','shape':[2,4],'points':[]}") == kFailed);
  CHECK(expect("{'rank':1,'param':'p','points':[{'at':[4,0],'tensor':'a','index':[0,0]}]}") ==
        kFailed);
  CHECK(expect("{'rank':1,'param':'p','points':[{'at':[0,0],'tensor':'b','index':[0,0]}]}") ==
        Codes{"unknown-tensor"});
}

TEST_CASE("params are found by name") {
  const LayoutTestInput input = Build({});
  const Layout& layout = input.source;
  CHECK(ParamsOfRank(layout, 0).size() == 7);
  REQUIRE(FindParam(layout, 0, "x1"));
  CHECK(NameOf(layout, *FindParam(layout, 0, "x1")) == "x1");
  CHECK(!FindParam(layout, 0, "x2"));
  CHECK(!FindParam(layout, 0, "x01"));
  CHECK(!FindParam(layout, 0, "x"));
  REQUIRE(FindParam(layout, 2, "x2"));
  const auto element = ElementAt(layout, *FindParam(layout, 2, "x3"), 4);
  REQUIRE(element.has_value());
  CHECK(element->index == std::vector<int64_t>{3, 2});
}

// DeepSeek-V3's FP8 weights: one scale per block of 128 x 128, rows divided over `tp` ranks.
LayoutTestInput Scaled(int tp, const std::string& scale_value, const std::string& more = "") {
  return LayoutTestInput(
      Json(
          "{'format':'reshard-layout','version':1,'side':'destination','logical':["
          "{'for':{'l':'0..2','e':'0..4'},'name':'{l}.{e}.gate','shape':[2048,512],'dtype':'f8e4m3'"
          "},"
          "{'for':{'l':'0..2','e':'0..4'},'name':'{l}.{e}.up','shape':[2048,512],'dtype':'f8e4m3'},"
          "{'for':{'l':'0..2','e':'0..4'},'name':'{l}.{e}.gs','shape':[16,4],'dtype':'f32',"
          "'scale_of':{'tensor':'{l}.{e}.gate','block':[128,128]}},"
          "{'for':{'l':'0..2','e':'0..4'},'name':'{l}.{e}.us','shape':[16,4],'dtype':'f32',"
          "'scale_of':{'tensor':'{l}.{e}.up','block':[128,128]}}],"
          "'meshes':{'m':{'axes':['tp'],'shape':[" +
          std::to_string(tp) +
          "]}},'params':["
          "{'for':{'l':'0..2'},'name':'{l}.w13','mesh':'m','value':{'op':'stack',"
          "'over':{'e':'0..4'},'in':{'op':'cat','in':["
          "{'op':'shard','axes':['tp'],'in':'{l}.{e}.gate'},"
          "{'op':'shard','axes':['tp'],'in':'{l}.{e}.up'}]}}},"
          "{'for':{'l':'0..2'},'name':'{l}.w13s','mesh':'m','value':" +
          scale_value + "}" + more + "]}"),
      "");
}
std::string Scales(const std::string& first, const std::string& second, const std::string& shard) {
  return "{'op':'stack','over':{'e':'0..4'},'in':{'op':'cat','in':[{'op':'shard','axes':['tp']," +
         shard + "'in':'{l}.{e}." + first + "'},{'op':'shard','axes':['tp']," + shard +
         "'in':'{l}.{e}." + second + "'}]}}";
}

TEST_CASE("block scales follow their weights") {
  const LayoutTestInput whole = Scaled(16, Scales("gs", "us", ""));
  CHECK_MESSAGE(whole.good, whole.Text());
  // 64 rows a rank: gate and up share a block of 128.
  const LayoutTestInput cut = Scaled(32, Scales("gs", "us", "'replicate_if_fewer':true,"));
  REQUIRE(!cut.Codes().empty());
  CHECK(cut.Codes()[0] == "scale-misaligned");
  CHECK(Scaled(16, Scales("us", "gs", "")).Codes() ==
        Codes{"scale-misaligned", "scale-misaligned"});
  CHECK(Scaled(16, "'{l}.0.gs'").Codes() == Codes{"scale-misaligned", "scale-misaligned"});
  // Columns stay whole; a scale that is found in another param of the rank is as good.
  CHECK(Scaled(4,
               "{'op':'stack','over':{'e':'0..4'},'in':{'op':'cat','in':["
               "{'op':'shard','axes':['tp'],'in':'{l}.{e}.gs'},"
               "{'op':'shard','axes':['tp'],'in':'{l}.{e}.gs'}]}}",
               ",{'for':{'l':'0..2'},'name':'{l}.w13u','mesh':'m','value':" +
                   Scales("us", "us", "") + "}")
            .good);
}

}  // namespace
}  // namespace reshard
