// BuildLayout against arrays that the operations were carried out on, and against the naive
// interpreter where layouts use what the random ones do not.
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/property/layout_arrays.h"
#include "tests/property/naive_arrays.h"
#include "tests/property/random_job.h"

namespace reshard {
namespace {

constexpr uint64_t kFirstSeed = 52'000;

TEST_CASE("random layouts: every element of every param") {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 400; ++seed) {
    const Job job = RandomJob(seed, {6, 7});
    CAPTURE(seed);
    CAPTURE(job.train);
    CAPTURE(job.infer);
    std::vector<JobParam> found;
    std::string error;
    REQUIRE_MESSAGE(LayoutJobParams(job.train, job.infer, &found, &error), error);
    REQUIRE(DifferenceOf(found, job.params) == "");
  }
}

// Layout texts in single quotes.
std::string Json(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

std::string Source(const std::string& body) {
  return Json("{'format':'reshard-layout','version':1,'side':'source'," + body + "}");
}

void CheckAgainstNaive(const std::string& train) {
  CAPTURE(train);
  std::vector<JobParam> found, naive;
  std::string error;
  const std::string infer =
      Json("{'format':'reshard-layout','version':1,'side':'destination','meshes':{},'params':[]}");
  REQUIRE_MESSAGE(LayoutJobParams(train, "", &found, &error), error);
  REQUIRE_MESSAGE(NaiveJobParams(train, infer, &naive, &error), error);
  REQUIRE(!found.empty());
  CHECK(DifferenceOf(found, naive) == "");
}

constexpr const char* kExperts =
    "'symbols':{'L':6,'E':8,'EP':4,'PP':2},"
    "'logical':[{'for':{'l':'0..L','e':'0..E'},'name':'m.{l}.x.{e}.w','shape':[4,3],'dtype':'u8'},"
    "{'for':{'l':'0..L'},'name':'m.{l}.n','shape':[5],'dtype':'u8'}],"
    "'pipeline':{'axis':'pp','stages':[[0,2],[2,6]]},"
    "'meshes':{'m':{'axes':['pp','ep'],'shape':[2,4]}},";

TEST_CASE("expert and pipeline maps") {
  const auto params = [](const std::string& text) {
    CheckAgainstNaive(Source(kExperts + std::string("'params':[") + text + "]"));
  };
  SUBCASE("linear experts, one clause each") {
    params(
        "{'for':{'l':'0..L','e':'0..E'},'name':'p.{j}.e{k}','mesh':'m',"
        "'where':['pp==stage(l)','ep==e//(E//EP)'],"
        "'let':{'j':'l-stage_start(pp)','k':'e-ep*(E//EP)'},'value':'m.{l}.x.{e}.w'}");
  }
  SUBCASE("one clause for everything, round robin") {
    params(
        "{'for':{'l':'0..L','e':'0..E'},'name':'p.{l}.e{e}','mesh':'m',"
        "'where':['pp==stage(l) and e%EP==ep'],'value':'m.{l}.x.{e}.w'}");
  }
  SUBCASE("a relation that is no product") {
    params(
        "{'for':{'l':'0..L','e':'0..E'},'name':'p.{l}.e{e}','mesh':'m',"
        "'where':['(l+e)%2==pp','e<=l+1 or e==7'],'value':'m.{l}.x.{e}.w'}");
  }
  SUBCASE("bounds that depend on each other") {
    params(
        "{'for':{'e':'l..l+2','l':'0..L'},'name':'p.{l}.e{e}','mesh':'m',"
        "'value':'m.{l}.x.{e}.w'}");
  }
  SUBCASE("an irregular table") {
    CheckAgainstNaive(Source("'tables':{'place':[3,1,0,0,2,1,3,2]}," + std::string(kExperts) +
                             "'params':[{'for':{'l':'0..L','e':'0..E'},'name':'p.{l}.e{e}',"
                             "'mesh':'m','where':['place[e]==ep'],'value':'m.{l}.x.{e}.w'}]"));
  }
  SUBCASE("stacks over linear, strided and listed experts") {
    params(
        "{'for':{'l':'0..L'},'name':'a.{l}','mesh':'m','value':{'op':'stack',"
        "'over':{'e':'ep*2..ep*2+2'},'in':'m.{l}.x.{e}.w'}},"
        "{'for':{'l':'0..L'},'name':'b.{l}','mesh':'m','value':{'op':'stack','dim':1,"
        "'over':{'e':'ep..E..EP'},'in':{'op':'shard','axes':['pp'],'in':'m.{l}.x.{e}.w'}}},"
        "{'for':{'l':'0..L'},'name':'c.{l}','mesh':'m','value':{'op':'stack','dim':-1,"
        "'over':{'e':[7,'ep',5]},'in':'m.{l}.x.{e}.w'}}");
  }
  SUBCASE("a stack whose structure depends on its variable") {
    params(
        "{'name':'a','mesh':'m','value':{'op':'stack','over':{'e':'0..4'},'in':"
        "{'op':'slice','start':'e','stop':'e+1','in':'m.{ep}.x.{e}.w'}}}");
  }
  SUBCASE("stacks of layers and experts, flattened names") {
    params(
        "{'name':'a','mesh':'m','value':{'op':'stack','over':{'l':'0..L'},'in':"
        "{'op':'stack','dim':-1,'over':{'e':'0..E'},'in':'m.{l}.x.{e}.w'}}},"
        "{'for':{'i':'0..L*E'},'name':'b.{i}','mesh':'m','value':'m.{i//E}.x.{i%E}.w'},"
        "{'for':{'l':'0..L','e':'0..E'},'name':'c.{l*E+e}','mesh':'m',"
        "'value':'m.{l}.x.{e}.w'},"
        "{'for':{'l':'0..L','e':'0..E'},'name':'d.{l}{e}','mesh':'m',"
        "'value':'m.{L-1-l}.x.{E-1-e}.w'},"
        "{'for':{'l':'0..L'},'name':'g.{l}','mesh':'m','value':'m.{l}.x.{l}.w'}");
  }
  SUBCASE("instances that hold the same") {
    params(
        "{'for':{'l':'0..L'},'name':'a.{l}','mesh':'m','value':'m.{ep}.n'},"
        "{'name':'b','mesh':'m','value':{'op':'stack','over':{'e':'0..3'},'in':'m.0.n'}}");
  }
}

TEST_CASE("operations") {
  const auto value = [](const std::string& text) {
    CheckAgainstNaive(Source(
        "'logical':[{'name':'a','shape':[6,4],'dtype':'u16'},"
        "{'name':'b','shape':[6,4],'dtype':'u16'},{'name':'z','shape':[0,4],'dtype':'u16'},"
        "{'name':'q','shape':[24,2],'dtype':'u16'},{'name':'k','shape':[12,2],'dtype':'u16'},"
        "{'name':'s','shape':[],'dtype':'u16'}],"
        "'meshes':{'m':{'axes':['x','y'],'shape':[2,3]}},"
        "'params':[{'name':'p','mesh':'m','value':" +
        text + "}]"));
  };
  value("{'op':'cat','dim':-1,'in':['a','b','a']}");
  value("{'op':'cat','in':['a','z','b']}");
  value("'s'");
  value("{'op':'reshape','shape':[1,1],'in':'s'}");
  value("{'op':'group_cat','groups':3,'in':['a','b']}");
  value("{'op':'group_cat','groups':2,'dim':1,'in':['a','b']}");
  value("{'op':'shard','axes':['y'],'in':{'op':'group_cat','groups':6,'in':['q','k']}}");
  value(
      "{'op':'shard','axes':['x','y'],'uneven':'chunk','in':{'op':'group_cat','groups':4,"
      "'in':['q','k']}}");
  value("{'op':'shard','axes':['x','y'],'unit':4,'uneven':'balanced','in':'q'}");
  value("{'op':'shard','axes':['y'],'unit':5,'uneven':'chunk','in':'q'}");
  value(
      "{'op':'shard','axes':['x','y'],'unit':12,'replicate_if_fewer':true,'uneven':'chunk',"
      "'in':'q'}");
  value(
      "{'op':'slice','start':1,'stop':24,'step':5,'in':{'op':'group_cat','groups':4,"
      "'in':['q','k']}}");
  value(
      "{'op':'slice','start':'x','stop':12,'step':7,'dim':1,'in':{'op':'reshape',"
      "'shape':[4,12],'in':'q'}}");
  value("{'op':'index','dim':1,'at':1,'in':{'op':'reshape','shape':[4,3,2,2],'in':'q'}}");
  value("{'op':'reshape','shape':[3,16],'in':{'op':'permute','dims':[1,0],'in':'q'}}");
  value("{'op':'reshape','shape':[2,2,9,2],'in':{'op':'group_cat','groups':4,'in':['q','k']}}");
  value("{'op':'permute','dims':[2,0,1],'in':{'op':'reshape','shape':[4,6,2],'in':'q'}}");
  value("{'op':'pad','dim':1,'to':7,'in':{'op':'pad','multiple':4,'fill':'keep','in':'a'}}");
  value("{'op':'shard','axes':['x','y'],'in':{'op':'pad','multiple':12,'in':'a'}}");
  value("{'op':'reshape','shape':[2,24],'in':{'op':'pad','multiple':12,'in':'a'}}");
  value(
      "{'op':'cat','in':[{'op':'slice','start':0,'stop':3,'in':'a'},"
      "{'op':'slice','start':3,'stop':6,'in':'a'}]}");
  value("{'op':'reshape','shape':[0,9],'in':'z'}");
  value("{'op':'shard','axes':['y'],'unit':2,'replicate_if_fewer':true,'in':'z'}");
}

TEST_CASE("logical tensors declared in different ways") {
  CheckAgainstNaive(Source(
      "'logical':[{'for':{'l':'0..2'},'name':'t.{l}','shape':[3],'dtype':'u8'},"
      "{'for':{'l':'2..5'},'name':'t.{l}','shape':['2+1'],'dtype':'u8'},"
      "{'name':'t.5','shape':[3],'dtype':'u8'},"
      "{'for':{'l':'6..10..2'},'name':'t.{l}','shape':[3],'dtype':'u8'},"
      "{'for':{'l':'0..3','k':'0..2'},'name':'u{l}{k}','shape':['k+1'],'dtype':'u8'}],"
      "'aliases':[{'name':'last','of':'t.8'},{'for':{'i':'0..4'},'name':'v.{i}','of':'t.{i}'},"
      "{'for':{'i':'0..2'},'name':'w.{i}','of':'v.{i+1}'}],"
      "'meshes':{'m':{'axes':['x'],'shape':[2]}},"
      "'params':[{'for':{'l':'0..7'},'name':'p{l}','mesh':'m','value':'t.{l}'},"
      "{'for':{'l':'0..3','k':'0..2'},'name':'q{l}.{k}','mesh':'m','value':'u{l}{k}'},"
      "{'name':'r','mesh':'m','value':'last'},"
      "{'for':{'l':'0..4'},'name':'s{l}','mesh':'m','value':'v.{l}'},"
      "{'for':{'l':'0..2'},'name':'o{l}','mesh':'m','value':'w.{l}'}]"));
}

TEST_CASE("explicit params") {
  CheckAgainstNaive(
      Source("'logical':[{'for':{'l':'0..4'},'name':'t.{l}','shape':[6,4],'dtype':'u16'}],"
             "'meshes':{'m':{'axes':['x'],'ranks':[5,3]}},"
             "'explicit':[{'for':{'l':'0..4'},'ranks':'3-5','param':'p.{l}','dtype':'u16',"
             "'shape':[3,4],'fill':'zero','pieces':["
             "{'t':'t.{l}','src':[[1,2,3],[0,4]],'dst':[[0,2],[0,4]]},"
             "{'t':'t.{l}','src':[[0,1],[2,1]],'dst':[[2,1],[3,1]]}]},"
             "{'for':{'l':'0..4'},'rank':'l','param':'q','dtype':'u16','shape':['l+1',1,2],"
             "'pieces':[{'t':'t.{l}','src':[[0,2,4],[0,'l+1']],'dst':[[0,'l+1'],[0,1],[0,2]],"
             "'dims':[1,null,0]}]}]"));
}

}  // namespace
}  // namespace reshard
