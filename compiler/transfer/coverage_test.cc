#include "compiler/transfer/coverage.h"

#include <string>
#include <vector>

#include "compiler/transfer/testing/test_layouts.h"
#include "compiler/transfer/transfer_set.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Sides {
  LogicalTable table;
  Layout source, destination;

  // "code: text | note" of every finding, in the order reported.
  std::vector<std::string> Findings() const {
    Diagnostics diags;
    TransferSet set;
    const bool ok = BuildTransfers(table, source, destination, &diags, &set);
    CHECK(ok == !diags.has_errors());
    std::vector<std::string> findings;
    for (const Diagnostic& entry : diags.entries()) {
      std::string text = std::string(CodeText(entry.code)) + ": " + entry.text;
      for (const Note& note : entry.notes) text += " | " + note.text;
      findings.push_back(text);
    }
    return findings;
  }
};

// Two layers of four experts [6, 4].
Sides Experts() {
  Sides sides;
  sides.table.supers.push_back(TestSuper("experts", {3, 0}, {2, 4}, {6, 4}));
  return sides;
}

void Add(Layout* layout, const RankList& ranks, BoxDim layers, BoxDim experts, BoxDim rows) {
  AddTestPlace(layout, ranks, 0,
               {TestRange(layers.begin, layers.extent, 24 * experts.extent),
                TestRange(experts.begin, experts.extent, 24), TestRange(rows.begin, rows.extent, 4),
                TestRange(0, 4)});
}

TEST_CASE("everything held and needed: nothing to say") {
  Sides sides = Experts();
  Add(&sides.source, {0}, {3, 2}, {0, 2}, {0, 6});
  Add(&sides.source, {1}, {3, 2}, {2, 2}, {0, 6});
  Add(&sides.destination, {2, 3}, {3, 2}, {0, 4}, {0, 6});
  CHECK(sides.Findings().empty());
}

TEST_CASE("an expert block off by one: the first missing tensor, how many, and both sides") {
  Sides sides = Experts();
  Add(&sides.source, {0}, {3, 2}, {0, 2}, {0, 6});
  Add(&sides.source, {1}, {3, 2}, {1, 2}, {0, 6});
  Add(&sides.destination, {2, 3}, {3, 2}, {0, 4}, {0, 6});
  CHECK(sides.Findings() ==
        std::vector<std::string>{
            "not-held: 'experts.3.3' and 1 more are needed here but held by no source param: "
            "elements [0:6, 0:4], on rank 2 for one | 'param0' has other elements of it"});
}

TEST_CASE("part of a tensor: exactly the elements that are missing") {
  Sides sides = Experts();
  Add(&sides.source, {0}, {3, 2}, {0, 4}, {0, 2});
  Add(&sides.source, {1}, {3, 2}, {0, 4}, {3, 3});
  Add(&sides.destination, {2}, {3, 2}, {0, 4}, {0, 6});
  CHECK(sides.Findings() ==
        std::vector<std::string>{
            "not-held: 'experts.3.0' and 7 more are needed here but held by no source param: "
            "elements [2:3, 0:4], on rank 2 for one | 'param0' has other elements of it"});
}

TEST_CASE("held but not needed is an error unless `unused` names it") {
  Sides sides = Experts();
  Add(&sides.source, {0, 1}, {3, 2}, {0, 4}, {0, 6});
  Add(&sides.destination, {2}, {3, 1}, {0, 4}, {0, 6});
  Add(&sides.destination, {2}, {4, 1}, {0, 2}, {0, 6});
  CHECK(
      sides.Findings() ==
      std::vector<std::string>{
          "not-needed: 'experts.4.2' and 1 more are held here but needed by no destination param: "
          "elements [0:6, 0:4], on rank 0 for one (list it under 'unused' if that is meant) | "
          "'param0' has other elements of it"});
  sides.destination.unused = {{"experts.4.3", Span{}}};
  CHECK(sides.Findings() ==
        std::vector<std::string>{
            "not-needed: 'experts.4.2' is held here but needed by no destination param: "
            "elements [0:6, 0:4], on rank 0 for one (list it under 'unused' if that is meant) | "
            "'param0' has other elements of it"});
  sides.destination.unused = {{"experts.4.*", Span{}}};
  CHECK(sides.Findings().empty());
}

TEST_CASE("patterns without a match") {
  Sides sides = Experts();
  Add(&sides.source, {0}, {3, 2}, {0, 4}, {0, 6});
  Add(&sides.destination, {1}, {3, 2}, {0, 4}, {0, 6});
  sides.destination.unused = {
      {"experts.4.*", Span{}}, {"expert.*", Span{}}, {"experts.5.?", Span{}}};
  CHECK(sides.Findings() ==
        std::vector<std::string>{"unused-pattern: no logical tensor matches 'expert.*'",
                                 "unused-pattern: no logical tensor matches 'experts.5.?'"});
}

TEST_CASE("an exact pattern may be an alias, and a misspelled one gets a suggestion") {
  Sides sides;
  sides.table.supers.push_back(TestSuper("embed", {}, {}, {4}));
  sides.table.supers.push_back(TestSuper("norm", {}, {}, {4}));
  sides.table.by_skeleton["embed"].push_back({0, {}, {}});
  sides.table.by_skeleton["lm_head"].push_back({0, {}, {}});
  sides.table.by_skeleton["norm"].push_back({1, {}, {}});
  AddTestPlace(&sides.source, {0}, 0, {TestRange(0, 4)});
  AddTestPlace(&sides.source, {0}, 1, {TestRange(0, 4)});
  AddTestPlace(&sides.destination, {1}, 1, {TestRange(0, 4)});
  sides.destination.unused = {{"lm_head", Span{}}};
  CHECK(sides.Findings().empty());
  sides.destination.unused = {{"lm_head", Span{}}, {"nrom", Span{}}};
  CHECK(sides.Findings() == std::vector<std::string>{"unused-pattern: no logical tensor matches "
                                                     "'nrom', did you mean 'norm'?"});
}

TEST_CASE("declared only: a warning with the tensors that nobody stores") {
  Sides sides = Experts();
  sides.table.supers.push_back(TestSuper("norm", {}, {}, {4}));
  sides.table.supers.push_back(TestSuper("empty", {}, {}, {0}));
  Add(&sides.source, {0}, {3, 2}, {1, 3}, {0, 6});
  Add(&sides.destination, {1}, {3, 2}, {1, 3}, {0, 6});
  CHECK(sides.Findings() == std::vector<std::string>{
                                "unused-tensor: 'experts.3.0' and 1 more are declared, but neither "
                                "side has a param with elements of it",
                                "unused-tensor: 'norm' is declared, but neither side has a param "
                                "with elements of it"});
  sides.destination.unused = {{"norm", Span{}}};
  CHECK(sides.Findings().size() == 1);
}

TEST_CASE("each template's problem is reported once, however many tensors and places it has") {
  Sides sides = Experts();
  sides.table.supers.push_back(TestSuper("gone", {}, {}, {4}));
  for (int64_t layer = 3; layer < 5; ++layer) {
    Add(&sides.destination, {1}, {layer, 1}, {0, 4}, {0, 6});
    sides.destination.families.back().template_index = 0;
  }
  AddTestPlace(&sides.destination, {1}, 1, {TestRange(0, 4)});
  sides.destination.families.back().template_index = 0;
  CHECK(sides.Findings() ==
        std::vector<std::string>{
            "not-held: 'experts.3.0' and 8 more are needed here but held by no source param: "
            "elements "
            "[0:6, 0:4], on rank 1 for one | declared here; no source param has any element of "
            "it"});
}

TEST_CASE("steps: a missing residue is told as its first element") {
  Sides sides;
  sides.table.supers.push_back(TestSuper("w", {}, {}, {12}));
  AddTestPlace(&sides.source, {0}, 0, {{0, {{4, 3, 1, 0}}}});
  AddTestPlace(&sides.source, {1}, 0, {{2, {{4, 3, 1, 0}}}});
  AddTestPlace(&sides.destination, {2}, 0, {TestRange(0, 12)});
  CHECK(
      sides.Findings() ==
      std::vector<std::string>{"not-held: 'w' is needed here but held by no source param: elements "
                               "[1:2], on rank 2 for one | 'param0' has other elements of it"});
}

}  // namespace
}  // namespace reshard
