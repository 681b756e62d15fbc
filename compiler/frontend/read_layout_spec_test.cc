#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/frontend/testing/as_constant.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

using testing::AsConstant;

struct ReadResult {
  SourceMap sources;
  Diagnostics diags;
  LayoutSpec spec;
  bool ok = false;

  // "code: pointed-at text", one per error, in the order found.
  std::vector<std::string> Errors() const {
    std::vector<std::string> errors;
    for (const Diagnostic& entry : diags.entries()) {
      const std::string_view text = sources.text(entry.span.file);
      errors.push_back(
          std::string(CodeText(entry.code)) + ": " +
          std::string(text.substr(entry.span.begin, entry.span.end - entry.span.begin)));
    }
    return errors;
  }
};

ReadResult Read(std::string text) {
  ReadResult result;
  const uint32_t file = result.sources.Add("test.json", std::move(text));
  JsonNode root;
  REQUIRE(ReadJson(result.sources, file, &result.diags, &root));
  result.ok = ReadLayoutSpec(root, &result.diags, &result.spec);
  return result;
}

// A layout with one logical tensor "w", a mesh "m" of axes a and b, and `more` keys.
ReadResult ReadWith(const std::string& more) {
  return Read(R"({"format":"reshard-layout","version":1,"side":"source","symbols":{"N":4},)"
              R"("tables":{"place":[2,1]},"logical":[{"name":"w","shape":["N",8]}],)"
              R"("meshes":{"m":{"axes":["a","b"],"shape":[2,"N"]}},)" +
              more + "}");
}

// One param with the given members besides name and mesh.
ReadResult ReadParamWith(const std::string& members) {
  return ReadWith(R"("params":[{"name":"p","mesh":"m",)" + members + "}]");
}
ReadResult ReadValueOf(const std::string& value) { return ReadParamWith("\"value\":" + value); }

using Errors = std::vector<std::string>;

TEST_CASE("every key of the language arrives in the spec") {
  const ReadResult result = Read(R"json({
    "format": "reshard-layout", "version": 1, "side": "destination", "rank_base": "B", "world": 16,
    "colocated": true, "comment": "anything", "symbols": {"B": 8, "A": "B*2", "comment": {"x": [1]}},
    "tables": {"place": [3, -1]},
    "logical": [
      {"for": {"l": "0..A", "e": "0..4..2"}, "name": "x.{l}.{e}", "shape": ["A", 3], "dtype": "f32",
       "scale_of": {"tensor": "y.{l}", "block": [128, "B"]}}],
    "meshes": {"m": {"axes": ["pp", "tp"], "shape": [2, 8]}, "k": {"axes": ["q"], "ranks": [3, 1]}},
    "pipeline": {"axis": "pp", "stages": [[0, "A"], [[16, 18], [18, 20]], []]},
    "params": [
      {"for": {"l": ["0..4", 7, "A"]}, "where": ["stage(l)==pp"], "let": {"j": "k2+1", "k2": "l*2"},
       "name": "p.{j}", "mesh": "m", "shares": ["s.{l}"],
       "value": {"op": "shard", "dim": -1, "axes": ["tp"], "unit": "B", "uneven": "balanced",
                 "replicate_if_fewer": true,
        "in": {"op": "pad", "to": 20, "fill": "keep",
         "in": {"op": "group_cat", "groups": 2, "in": ["x.0.0",
          {"op": "stack", "dim": 1, "over": {"e": "tp..A..8"},
           "in": {"op": "slice", "start": 0, "stop": 2, "step": 1,
            "in": {"op": "index", "at": "e",
             "in": {"op": "permute", "dims": [1, 0],
              "in": {"op": "reshape", "shape": [6, "B"], "in": "x.{l}.{e}"}}}}}]}}}},
      {"name": "t", "mesh": "m", "tensor": "x.0.0", "placements": ["S(-1)", "_S(0,2)"],
       "strided": "replay"},
      {"name": "u", "mesh": "m", "external": {"shape": [4], "dtype": "i8", "why": "made later"}}],
    "explicit": [
      {"for": {"r": "0..2"}, "rank": "r+B", "param": "e.{r}", "dtype": "u8", "shape": [4, 4],
       "fill": "zero",
       "pieces": [{"t": "x.0.0", "src": [[0, 2, 3], [1, 4]], "dst": [[0, 4], [2, 2]],
                   "dims": [1, null]}]},
      {"ranks": "0-3,7", "param": "e", "dtype": "bf16", "shape": [], "pieces": []}],
    "aliases": [{"for": {"l": "0..2"}, "name": "n.{l}", "of": "x.{l}.0"}],
    "unused": ["x.1.*"],
    "expect": [{"rank": 9, "mesh": "m", "coords": [0, 1]},
               {"rank": 9, "param": "t", "shape": [4, 3],
                "points": [{"at": [0, 1], "tensor": "x.0.0", "index": [5, 6]}]}]})json");
  CHECK(result.Errors() == Errors{});
  REQUIRE(result.ok);
  const LayoutSpec& spec = result.spec;
  CHECK(spec.side == Side::kDestination);
  CHECK(AsName(*spec.rank_base) == "B");
  CHECK(AsConstant(*spec.world) == 16);
  CHECK(spec.colocated);
  REQUIRE(spec.symbols.size() == 2);
  CHECK(spec.symbols[0].name == "B");  // before "A", which uses it
  CHECK(spec.tables[0].values == std::vector<int64_t>{3, -1});

  CHECK(spec.has_logical);
  const LogicalSpec& logical = spec.logical.at(0);
  CHECK(logical.loops.at(0).name == "l");  // as the name mentions them
  CHECK(AsConstant(logical.loops.at(1).range.parts.at(0).step) == 2);
  CHECK(logical.name.source == "x.{l}.{e}");
  CHECK(AsName(logical.shape.at(0)) == "A");
  CHECK(logical.dtype == DType::kF32);
  CHECK(logical.scale_of->tensor.source == "y.{l}");
  CHECK(AsConstant(logical.scale_of->block.at(0)) == 128);

  REQUIRE(spec.meshes.size() == 2);
  CHECK(spec.meshes[0].name == "k");  // by name
  CHECK(spec.meshes[0].ranks->items.size() == 2);
  CHECK(spec.meshes[1].axes == std::vector<std::string>{"pp", "tp"});
  REQUIRE(spec.pipeline->stages.size() == 3);
  CHECK(AsName(spec.pipeline->stages[0].at(0).end) == "A");
  CHECK(spec.pipeline->stages[1].size() == 2);
  CHECK(spec.pipeline->stages[2].empty());

  const ParamSpec& param = spec.params.at(0);
  CHECK(param.loops.at(0).range.parts.size() == 3);
  CHECK(FunctionsIn(param.where.at(0)) == std::set<std::string>{"stage"});
  CHECK(param.lets.at(0).name == "k2");  // before "j", which uses it
  CHECK(param.shares.at(0).source == "s.{l}");
  const ValueSpec& shard = *param.value;
  CHECK(shard.op == ValueOp::kShard);
  CHECK(AsConstant(*shard.dim) == -1);
  CHECK(shard.axes == std::vector<std::string>{"tp"});
  CHECK(AsName(*shard.unit) == "B");
  CHECK(shard.uneven == UnevenRule::kBalanced);
  CHECK(shard.replicate_if_fewer);
  const ValueSpec& pad = shard.inputs.at(0);
  CHECK(pad.op == ValueOp::kPad);
  CHECK(AsConstant(*pad.to) == 20);
  CHECK(pad.fill == FillRule::kKeep);
  const ValueSpec& groups = pad.inputs.at(0);
  CHECK(groups.op == ValueOp::kGroupCat);
  CHECK(AsConstant(*groups.groups) == 2);
  CHECK(groups.inputs.at(0).tensor.source == "x.0.0");
  const ValueSpec& stack = groups.inputs.at(1);
  CHECK(stack.op == ValueOp::kStack);
  CHECK(stack.over->name == "e");
  const ValueSpec& slice = stack.inputs.at(0);
  CHECK(slice.op == ValueOp::kSlice);
  CHECK(AsConstant(*slice.stop) == 2);
  const ValueSpec& index = slice.inputs.at(0);
  CHECK(AsName(*index.at) == "e");
  CHECK(index.inputs.at(0).dims.size() == 2);
  CHECK(index.inputs.at(0).inputs.at(0).shape.size() == 2);

  const ParamSpec& placed = spec.params.at(1);
  CHECK(placed.value->op == ValueOp::kTensor);
  CHECK(placed.has_placements);
  CHECK(placed.placements.at(0).dim == -1);
  CHECK(placed.placements.at(1).kind == PlacementSpec::Kind::kStridedShard);
  CHECK(placed.placements.at(1).split_factor == 2);
  CHECK(placed.strided == StridedReading::kReplay);
  CHECK(spec.params.at(2).external->dtype == DType::kI8);
  CHECK(spec.params.at(2).external->why == "made later");

  const ExplicitSpec& explicit_param = spec.explicit_params.at(0);
  CHECK(explicit_param.ranks.size() == 1);
  CHECK(explicit_param.dtype == DType::kU8);
  CHECK(explicit_param.fill == FillRule::kZero);
  const ExplicitSpec::Piece& piece = explicit_param.pieces.at(0);
  CHECK(AsConstant(piece.src.at(0).step) == 3);
  CHECK(!piece.src.at(1).step);
  CHECK(AsConstant(piece.dst.at(1).extent) == 2);
  CHECK(piece.dims->at(0).has_value());
  CHECK(!piece.dims->at(1).has_value());
  CHECK(spec.explicit_params.at(1).rank_list == "0-3,7");
  CHECK(spec.aliases.at(0).of.source == "x.{l}.0");
  CHECK(spec.unused.at(0).pattern == "x.1.*");
  CHECK(spec.expect.at(0).coords.size() == 2);
  CHECK(spec.expect.at(1).param == "t");
  CHECK(spec.expect.at(1).shape->size() == 2);
  CHECK(AsConstant(spec.expect.at(1).points.at(0).index.at(1)) == 6);
}

TEST_CASE("another format or version is refused at once") {
  CHECK(Read(R"({"format":"x","version":1,"bad":1})").Errors() == Errors{"bad-format: \"x\""});
  CHECK(Read(R"({"format":"reshard-layout","version":2})").Errors() == Errors{"bad-format: 2"});
  CHECK(Read(R"({"version":1})").Errors() == Errors{"missing-key: {"});
  CHECK(Read("[]").Errors() == Errors{"wrong-type: []"});
}

TEST_CASE("all errors of a file are found in one run") {
  const ReadResult result =
      ReadWith(R"("paramz":[],"params":[{"name":"p","mesh":"m","value":{"op":"shart","in":"w"}},)"
               R"({"name":"q{","mesh":"m","value":"w"},{"name":"r","mesh":"n","value":"w"},)"
               R"({"mesh":"m","value":"w"}],"expect":[{"rank":1.5,"mesh":"m","coords":["c"]}])");
  CHECK(!result.ok);
  CHECK(result.Errors() == Errors{"bad-value: \"shart\"", "bad-name: {", "missing-key: {",
                                  "bad-value: 1.5", "unknown-key: \"paramz\"",
                                  "unknown-mesh: \"n\"", "unknown-name: c"});
}

TEST_CASE("values are read strictly") {
  const auto errors = [](const std::string& value) { return ReadValueOf(value).Errors(); };
  CHECK(errors(R"("w")") == Errors{});
  CHECK(errors("7") == Errors{"wrong-type: 7"});
  CHECK(errors(R"({"in":"w"})") == Errors{"missing-key: {"});
  CHECK(errors(R"({"op":"cat","in":"w"})") == Errors{"wrong-type: \"w\""});
  CHECK(errors(R"({"op":"cat","in":[]})") == Errors{"bad-value: []"});
  CHECK(errors(R"({"op":"cat","in":["w"],"axes":["a"]})") == Errors{"unknown-key: \"axes\""});
  CHECK(errors(R"({"op":"permute","dim":0,"dims":[1,0],"in":"w"})") ==
        Errors{"unknown-key: \"dim\""});
  CHECK(errors(R"({"op":"shard","in":"w"})") == Errors{"missing-key: {"});
  CHECK(errors(R"({"op":"shard","axes":["a"],"uneven":"chunks","in":"w"})") ==
        Errors{"bad-value: \"chunks\""});
  CHECK(errors(R"({"op":"shard","axes":["a"],"replicate_if_fewer":1,"in":"w"})") ==
        Errors{"wrong-type: 1"});
  CHECK(errors(R"({"op":"shard","axes":["a","tp"],"in":"w"})") == Errors{"unknown-axis: \"tp\""});
  CHECK(errors(R"({"op":"shard","axes":["a","a"],"in":"w"})") == Errors{"bad-value: \"a\""});
  CHECK(errors(R"({"op":"pad","in":"w"})") == Errors{"missing-key: {"});
  CHECK(errors(R"({"op":"pad","to":8,"multiple":8,"in":"w"})").size() == 1);
  CHECK(errors(R"({"op":"stack","over":{"x":"0..2","y":"0..2"},"in":"w"})") ==
        Errors{R"(bad-value: {"x":"0..2","y":"0..2"})"});
  CHECK(errors(R"({"op":"stack","over":{"x":"2"},"in":"w"})") == Errors{"bad-range: 2"});
  CHECK(errors(R"({"op":"slice","start":0,"in":"w"})") == Errors{"missing-key: {"});
  CHECK(errors(R"({"op":"index","at":0,"in":"w","fill":"zero"})") ==
        Errors{"unknown-key: \"fill\""});
}

TEST_CASE("placements") {
  const auto errors = [](const std::string& members) { return ReadParamWith(members).Errors(); };
  CHECK(errors(R"j("tensor":"w","placements":["S( 1 )","_S( 0 , 2 )"],"strided":"order")j") ==
        Errors{});
  CHECK(errors(R"("tensor":"w","placements":["R","P"])") == Errors{});
  for (const std::string text : {"S", "S()", "S(1", "_S(1)", "_S(1,0)", "S(1,2)", "r", "", "S(1)x",
                                 "_S(99999999999999999999,1)"}) {
    CHECK(errors("\"tensor\":\"w\",\"placements\":[\"" + text + "\",\"R\"]") ==
          Errors{"bad-placement: \"" + text + "\""});
  }
  CHECK(errors(R"("tensor":"w","placements":["R","R"],"strided":"both")") ==
        Errors{"bad-value: \"both\""});
  CHECK(errors(R"("tensor":"w","strided":"order")") == Errors{"missing-key: {"});
  CHECK(errors(R"("value":"w","strided":"order")") == Errors{"missing-key: {"});
  CHECK(errors(R"("tensor":"w")") == Errors{"missing-key: {"});
  CHECK(errors(R"("tensor":"w","placement":["R"])") == Errors{"unknown-key: \"placement\""});
  CHECK(errors(R"("tensor":"w","value":"w")") == Errors{"bad-value: \"w\""});
  CHECK(errors(R"("shares":[])") == Errors{"missing-key: {"});
  CHECK(errors(R"("external":{"shape":[1],"dtype":"f32"})") == Errors{"missing-key: {"});
  CHECK(errors(R"("external":{"shape":[1],"dtype":"f33","why":"x"})") ==
        Errors{"bad-value: \"f33\""});
}

TEST_CASE("explicit params and facts") {
  const auto errors = [](const std::string& members) {
    return ReadWith(R"("explicit":[{"param":"p","dtype":"f32","shape":[4],)" + members + "}]")
        .Errors();
  };
  CHECK(errors(R"("rank":0,"pieces":[])") == Errors{});
  CHECK(errors(R"("pieces":[])") == Errors{"missing-key: {"});
  CHECK(errors(R"("rank":0,"ranks":"1","pieces":[])") == Errors{"bad-value: \"1\""});
  CHECK(errors(R"("rank":0,"pieces":[{"t":"w","src":[[0]],"dst":[[0,4,1]]}])") ==
        Errors{"bad-piece: [0]", "bad-piece: [0,4,1]"});
  CHECK(errors(R"("rank":0,"pieces":[{"t":"w","src":[[0,4]],"dst":[[0,4]],"dims":[true]}])") ==
        Errors{"wrong-type: true"});
  CHECK(ReadWith(R"("expect":[{"rank":0}])").Errors() == Errors{"missing-key: {"});
  CHECK(ReadWith(R"("expect":[{"rank":0,"param":"p","coords":[0],"points":[]}])").Errors() ==
        Errors{"unknown-key: \"coords\""});
}

TEST_CASE("names are known only where they are defined") {
  const auto errors = [](const std::string& members) { return ReadParamWith(members).Errors(); };
  CHECK(errors(R"("value":"w.{a}{b}{N}{place[0]}")") == Errors{});
  CHECK(errors(R"("value":"w.{M}")") == Errors{"unknown-name: M"});
  CHECK(errors(R"("value":"w.{place}")") == Errors{"unknown-name: place"});
  CHECK(errors(R"("value":"w.{N[0]}")") == Errors{"unknown-name: N[0]"});
  CHECK(errors(R"("value":"w.{stage(1)}")") == Errors{"unknown-name: stage(1)"});
  // Conditions see coordinates but not `let`; ranges see neither.
  CHECK(errors(R"("where":["j==a"],"let":{"j":"a"},"value":"w")") == Errors{"unknown-name: j"});
  CHECK(errors(R"("for":{"l":"0..a"},"value":"w")") == Errors{"unknown-name: a"});
  CHECK(errors(R"("for":{"l":"0..k","k":"0..N"},"value":"w")") == Errors{});
  // A stack's variable ends with the stack; its range does not see it.
  CHECK(errors(
            R"("value":{"op":"cat","in":[{"op":"stack","over":{"x":"a..N"},"in":"w.{x}"},"w"]})") ==
        Errors{});
  CHECK(errors(
            R"("value":{"op":"cat","in":[{"op":"stack","over":{"x":"0..2"},"in":"w"},"w.{x}"]})") ==
        Errors{"unknown-name: x"});
  CHECK(errors(R"("value":{"op":"stack","over":{"x":"0..x"},"in":"w"})") ==
        Errors{"unknown-name: x"});
  CHECK(ReadWith(R"("explicit":[{"rank":"a","param":"p","dtype":"f32","shape":[],"pieces":[]}])")
            .Errors() == Errors{"unknown-name: a"});
  const ReadResult hint = ReadParamWith(R"("let":{"local":"a"},"value":"w.{locl}")");
  CHECK(hint.diags.entries()[0].text == "'locl' is not known here, did you mean 'local'?");
}

TEST_CASE("one name space for symbols, tables, variables, axes and functions") {
  const auto errors = [](const std::string& members) { return ReadParamWith(members).Errors(); };
  CHECK(errors(R"("for":{"N":"0..2"},"value":"w")") == Errors{"name-collision: \"N\""});
  CHECK(errors(R"("for":{"a":"0..2"},"value":"w")") == Errors{"name-collision: \"a\""});
  CHECK(errors(R"("for":{"stage":"0..2"},"value":"w")") == Errors{"name-collision: \"stage\""});
  CHECK(errors(R"("for":{"l":"0..2"},"let":{"l":"1"},"value":"w")") ==
        Errors{"name-collision: \"l\""});
  CHECK(errors(R"("let":{"place":1},"value":"w")") == Errors{"name-collision: \"place\""});
  CHECK(errors(R"("let":{"1x":1},"value":"w")") == Errors{"bad-name: \"1x\""});
  CHECK(errors(R"("value":{"op":"stack","over":{"b":"0..2"},"in":"w"})") ==
        Errors{"name-collision: \"b\""});
  const auto file = [](const std::string& members) {
    return Read(R"({"format":"reshard-layout","version":1,"side":"source",)" + members + "}")
        .Errors();
  };
  CHECK(file(R"("symbols":{"x":1},"tables":{"x":[1]})") == Errors{"name-collision: \"x\""});
  CHECK(file(R"("meshes":{"m":{"axes":["t","t"],"shape":[1,1]}})") ==
        Errors{"name-collision: \"t\""});
  CHECK(file(R"("symbols":{"x":1},"meshes":{"m":{"axes":["x"],"shape":[1]}})") ==
        Errors{"name-collision: \"x\""});
  // Meshes may share axis names.
  CHECK(file(R"("meshes":{"m":{"axes":["t"],"shape":[1]},"n":{"axes":["t"],"shape":[1]}})") ==
        Errors{});
}

TEST_CASE("circles of definitions") {
  const auto file = [](const std::string& members) {
    return Read(R"({"format":"reshard-layout","version":1,"side":"source",)" + members + "}");
  };
  CHECK(file(R"("symbols":{"x":"x"})").Errors() == Errors{"cycle: \"x\""});
  const ReadResult three = file(R"("symbols":{"x":"y+1","y":"z","z":"x","u":"x"})");
  REQUIRE(three.diags.error_count() == 1);
  CHECK(three.diags.entries()[0].text == "symbol 'x' is defined by itself, through 'y', 'z'");
  CHECK(three.diags.entries()[0].notes.size() == 2);
  CHECK(ReadParamWith(R"("let":{"i":"j","j":"i"},"value":"w")").Errors() == Errors{"cycle: \"i\""});
  CHECK(ReadParamWith(R"("for":{"i":"0..j","j":"0..i"},"value":"w")").Errors() ==
        Errors{"cycle: \"i\""});
}

TEST_CASE("the order of keys has no meaning") {
  const auto describe = [](const std::string& loops, const std::string& symbols) {
    const ReadResult result =
        Read(R"({"format":"reshard-layout","version":1,"side":"source","symbols":{)" + symbols +
             R"(},"logical":[{"for":{)" + loops + R"(},"name":"x.{z}.{e}","shape":[]}]})");
    REQUIRE(result.ok);
    std::string text;
    for (const SymbolSpec& symbol : result.spec.symbols) text += symbol.name + " ";
    for (const LoopSpec& loop : result.spec.logical[0].loops) text += loop.name + " ";
    return text;
  };
  const std::string expected = "b a c z e n ";
  CHECK(describe(R"("e":"0..2","z":"0..2","n":"0..z")", R"("a":"b","b":1,"c":2)") == expected);
  CHECK(describe(R"("n":"0..z","z":"0..2","e":"0..2")", R"("c":2,"b":1,"a":"b")") == expected);
}

TEST_CASE("errors inside strings with escapes point at the string") {
  CHECK(ReadValueOf(R"("w.{M}")").Errors() == Errors{"unknown-name: M"});
  CHECK(ReadValueOf(R"("w\u002e{M}")").Errors() == Errors{R"(unknown-name: w\u002e{M})"});
}

TEST_CASE("the layouts of real models") {
  for (const std::string name :
       {"all_keys", "deepseek_v3_128_infer", "deepseek_v3_128_train", "deepseek_v3_4096_infer",
        "deepseek_v3_4096_tp32_infer", "deepseek_v3_4096_train", "deepseek_v3_infer",
        "deepseek_v3_train", "qwen3_235b_infer", "qwen3_235b_train", "toy_infer",
        "toy_infer_explicit", "toy_train"}) {
    CAPTURE(name);
    std::ifstream file("tests/data/layouts/" + name + ".json");
    std::stringstream text;
    text << file.rdbuf();
    const ReadResult result = Read(text.str());
    CHECK(result.Errors() == Errors{});
    CHECK(result.spec.params.size() + result.spec.explicit_params.size() > 0);
    CHECK((result.spec.side == Side::kSource) == (name.find("train") != std::string::npos));
  }
}

}  // namespace
}  // namespace reshard
