#include "compiler/transfer/transfer_set.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/transfer/testing/test_layouts.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

// The oracle knows elements one by one: who holds each, who needs it, where each place has it.
using Element = std::vector<int64_t>;  // super-tensor, then an index per axis
struct Owners {
  std::set<Rank> holders, needers;
};
// Side, family, element, instance, byte.
using Stored = std::tuple<int, FamilyId, Element, int64_t, int64_t>;
struct Oracle {
  std::map<Element, Owners> owners;
  std::multiset<Stored> stored;
};

void VisitDigits(const Place& place, size_t axis, size_t digit, Element* element, int64_t instance,
                 int64_t byte, const std::function<void(const Element&, int64_t, int64_t)>& visit) {
  if (axis == place.axes.size()) {
    visit(*element, instance, byte);
    return;
  }
  if (digit == 0) element->push_back(place.axes[axis].begin);
  if (digit == place.axes[axis].digits.size()) {
    VisitDigits(place, axis + 1, 0, element, instance, byte, visit);
  } else {
    const PlaceDigit& d = place.axes[axis].digits[digit];
    for (int64_t k = 0; k < d.extent; ++k) {
      const Element saved = *element;
      element->back() += k * d.step;
      VisitDigits(place, axis, digit + 1, element, instance + k * d.instance_stride,
                  byte + k * d.stride_bytes, visit);
      *element = saved;
    }
  }
  if (digit == 0) element->pop_back();
}

Oracle MakeOracle(const Layout& source, const Layout& destination) {
  Oracle oracle;
  for (const Layout* layout : {&source, &destination}) {
    const bool is_source = layout == &source;
    for (const Place& place : layout->places) {
      Element element = {place.super};
      VisitDigits(
          place, 0, 0, &element, place.base_instance, place.base_bytes,
          [&](const Element& at, int64_t instance, int64_t byte) {
            Owners& owners = oracle.owners[at];
            for (const Rank rank : layout->rank_sets[layout->families[place.family].ranks]) {
              (is_source ? owners.holders : owners.needers).insert(rank);
            }
            oracle.stored.emplace(is_source ? 0 : 1, place.family, at, instance, byte);
          });
    }
  }
  return oracle;
}

// Calls `visit(index per refined dim)` for every element of a box.
template <typename Dims>
void VisitBox(const Dims& box, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> index;
  std::function<void(size_t)> recurse = [&](size_t d) {
    if (d == box.size()) return visit(index);
    for (int64_t i = 0; i < box[d].extent; ++i) {
      index.push_back(box[d].begin + i);
      recurse(d + 1);
      index.pop_back();
    }
  };
  recurse(0);
}

Element ElementAt(const TransferSet& set, SuperId super, size_t axis_count,
                  const std::vector<int64_t>& index) {
  Element element(1 + axis_count);
  element[0] = super;
  for (size_t d = 0; d < index.size(); ++d) {
    element[1 + set.dims[super][d].axis] += index[d] * set.dims[super][d].weight;
  }
  return element;
}

std::set<Rank> AsSet(const RankList& ranks) { return {ranks.begin(), ranks.end()}; }

// The places of `set` store what the layouts' places store, each element once.
bool PlacesMatch(const LogicalTable& table, const TransferSet& set, const Oracle& oracle) {
  std::multiset<Stored> stored;
  for (const BoxPlace& place : set.places) {
    VisitBox(place.dims, [&](const std::vector<int64_t>& index) {
      int64_t byte = place.base_bytes, instance = place.base_instance;
      for (size_t d = 0; d < index.size(); ++d) {
        byte += (index[d] - place.dims[d].begin) * place.dims[d].stride_bytes;
        instance += (index[d] - place.dims[d].begin) * place.dims[d].instance_stride;
      }
      stored.emplace(place.side == Side::kSource ? 0 : 1, place.family,
                     ElementAt(set, place.super, table.supers[place.super].axis_count(), index),
                     instance, byte);
    });
  }
  return stored == oracle.stored;
}

// A place has all of a cell or nothing of it.
bool CellsFitPlaces(const TransferSet& set) {
  for (const BoxPlace& place : set.places) {
    for (const Cell& cell : set.cells) {
      if (cell.super != place.super) continue;
      bool inside = true, apart = false;
      for (size_t d = 0; d < cell.box.size(); ++d) {
        const int64_t begin = place.dims[d].begin, end = begin + place.dims[d].extent;
        inside = inside && begin <= cell.box[d].begin && cell.box[d].end() <= end;
        apart = apart || cell.box[d].end() <= begin || end <= cell.box[d].begin;
      }
      if (!inside && !apart) return false;
    }
  }
  return true;
}

// What classes say of each element is what the oracle says; nothing is said twice or left out.
bool ClassesMatch(const LogicalTable& table, const TransferSet& set, const Oracle& oracle) {
  std::map<Element, Owners> said;
  std::set<std::pair<RankSetId, RankSetId>> keys;
  bool ok = true;
  size_t next_cell = 0;
  for (const TransferClass& cls : set.classes) {
    ok = ok && keys.insert({cls.holders, cls.needers}).second;
    ok = ok && cls.first_cell == next_cell && cls.cell_count > 0;
    next_cell += cls.cell_count;
    int64_t bytes = 0;
    for (uint32_t c = cls.first_cell; c < cls.first_cell + cls.cell_count; ++c) {
      const Cell& cell = set.cells[c];
      int64_t elements = 0;
      VisitBox(cell.box, [&](const std::vector<int64_t>& index) {
        ++elements;
        const Element at = ElementAt(set, cell.super, table.supers[cell.super].axis_count(), index);
        Owners owners{AsSet(set.rank_sets[cls.holders]), AsSet(set.rank_sets[cls.needers])};
        ok = ok && said.emplace(at, std::move(owners)).second;
      });
      ok = ok && cell.bytes == elements;  // u8
      bytes += elements;
    }
    ok = ok && cls.bytes == bytes;
  }
  ok = ok && next_cell == set.cells.size();
  size_t both = 0;
  for (const auto& [at, owners] : oracle.owners) {
    if (owners.holders.empty() || owners.needers.empty()) continue;
    ++both;
    const auto found = said.find(at);
    ok = ok && found != said.end() && found->second.holders == owners.holders &&
         found->second.needers == owners.needers;
  }
  return ok && both == said.size();
}

bool HasCode(const Diagnostics& diags, DiagnosticCode code) {
  return std::any_of(diags.entries().begin(), diags.entries().end(),
                     [&](const Diagnostic& entry) { return entry.code == code; });
}

// Compares the pass with the oracle. Returns "" or what differs.
std::string Judge(const LogicalTable& table, const Layout& source, const Layout& destination) {
  const Oracle oracle = MakeOracle(source, destination);
  bool gap = false, idle = false;
  for (const auto& [at, owners] : oracle.owners) {
    gap = gap || owners.holders.empty();
    idle = idle || owners.needers.empty();
  }
  Diagnostics diags;
  TransferSet set;
  const bool ok = BuildTransfers(table, source, destination, &diags, &set);
  if (HasCode(diags, DiagnosticCode::kNotHeld) != gap) return "not-held";
  if (HasCode(diags, DiagnosticCode::kNotNeeded) != idle) return "not-needed";
  if (ok == (gap || idle)) return "result";
  if (!PlacesMatch(table, set, oracle)) return "places";
  if (!ok) return "";
  if (!CellsFitPlaces(set)) return "cells and places";
  if (!ClassesMatch(table, set, oracle)) return "classes";
  return "";
}

// Every set of indices below `extent` that one axis of a place can hold with up to two digits.
std::vector<PlaceAxis> AllAxes(int64_t extent) {
  std::vector<PlaceAxis> axes;
  std::set<std::vector<int64_t>> seen;
  for (int64_t begin = 0; begin < extent; ++begin) {
    for (int64_t e1 = 1; e1 <= extent; ++e1) {
      for (int64_t s1 = 1; s1 < extent; ++s1) {
        for (int64_t e2 = 1; e2 <= extent; ++e2) {
          for (int64_t s2 = 1; s2 < extent; ++s2) {
            // A digit with one index has no step to vary.
            if ((e1 == 1 && s1 > 1) || (e2 == 1 && s2 > 1) || (e1 == 1 && e2 > 1)) continue;
            if (begin + (e1 - 1) * s1 + (e2 - 1) * s2 >= extent) continue;
            std::vector<int64_t> indices;
            for (int64_t i = 0; i < e1; ++i) {
              for (int64_t j = 0; j < e2; ++j) indices.push_back(begin + i * s1 + j * s2);
            }
            // In the order of the buffer: equal sets in another order are other places.
            std::set<int64_t> distinct(indices.begin(), indices.end());
            if (distinct.size() != indices.size() || !seen.insert(indices).second) continue;
            axes.push_back({begin, {{e1, s1, e2, 0}, {e2, s2, 1, 0}}});
          }
        }
      }
    }
  }
  return axes;
}

TEST_CASE("one place on each side: every pair of nested digit sets below 8") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {8}));
  const std::vector<PlaceAxis> axes = AllAxes(8);
  CHECK(axes.size() > 100);
  size_t wrong = 0;
  std::string first;
  for (const PlaceAxis& a : axes) {
    for (const PlaceAxis& b : axes) {
      Layout source, destination;
      AddTestPlace(&source, {0}, 0, {a});
      AddTestPlace(&destination, {9}, 0, {b});
      const std::string verdict = Judge(table, source, destination);
      if (!verdict.empty() && wrong++ == 0) first = verdict;
    }
  }
  CHECK(wrong == 0);
  CHECK(first == "");
}

TEST_CASE("ranges that overlap in part: two holders and two needers, every choice below 5") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {5}));
  std::vector<PlaceAxis> ranges;
  for (int64_t begin = 0; begin < 5; ++begin) {
    for (int64_t end = begin + 1; end <= 5; ++end) ranges.push_back(TestRange(begin, end - begin));
  }
  size_t wrong = 0, accepted = 0;
  for (const PlaceAxis& a : ranges) {
    for (const PlaceAxis& b : ranges) {
      for (const PlaceAxis& c : ranges) {
        for (const PlaceAxis& d : ranges) {
          Layout source, destination;
          AddTestPlace(&source, {0}, 0, {a});
          AddTestPlace(&source, {1}, 0, {b});
          AddTestPlace(&destination, {2}, 0, {c});
          AddTestPlace(&destination, {3}, 0, {d});
          if (!Judge(table, source, destination).empty()) ++wrong;
          Diagnostics diags;
          TransferSet set;
          if (BuildTransfers(table, source, destination, &diags, &set)) ++accepted;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(accepted > 1000);
}

// A random place of a super-tensor: digits of random axes get strides in a random order, as a
// permuted buffer would have them; loop digits may count instances.
std::vector<PlaceAxis> RandomAxes(const SuperTensor& super, std::mt19937* random) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>((*random)() % static_cast<uint64_t>(n));
  };
  std::vector<PlaceAxis> axes;
  std::vector<PlaceDigit*> order;
  for (size_t a = 0; a < super.axis_count(); ++a) {
    const bool loop = a < super.loop_count();
    const int64_t first = loop ? super.loop_begin[a] : 0;
    const int64_t extent = loop ? super.loop_extent[a] : super.shape[a - super.loop_count()];
    PlaceAxis axis;
    const int64_t kind = below(4);
    if (kind == 0) {
      axis = {first, {{extent, 1, 0, 0}}};
    } else if (kind == 1) {
      const int64_t begin = below(extent);
      axis = {first + begin, {{1 + below(extent - begin), 1, 0, 0}}};
    } else {
      const int64_t inner = 1 + below(2), step1 = 1 + below(2);
      const int64_t step2 = (inner - 1) * step1 + 1 + below(3);
      const int64_t span = (inner - 1) * step1;
      const int64_t begin = below(std::max<int64_t>(extent - span, 1));
      const int64_t room = extent - begin - span;
      if (room < 1) {
        axis = {first, {}};
      } else {
        axis = {first + begin,
                {{1 + below((room - 1) / step2 + 1), step2, 0, 0}, {inner, step1, 0, 0}}};
      }
    }
    axes.push_back(axis);
  }
  for (PlaceAxis& axis : axes) {
    for (PlaceDigit& digit : axis.digits) order.push_back(&digit);
  }
  std::shuffle(order.begin(), order.end(), *random);
  int64_t stride = 1, instance = 1;
  for (PlaceDigit* digit : order) {
    if (below(4) == 0) {
      digit->instance_stride = instance;
      instance *= digit->extent;
    } else {
      digit->stride_bytes = stride;
      stride *= digit->extent;
    }
  }
  return axes;
}

TEST_CASE("random places of several super-tensors") {
  constexpr uint32_t kSeed = 20261129;
  size_t accepted = 0;
  for (uint32_t round = 0; round < 2000; ++round) {
    std::mt19937 random(kSeed + round);
    LogicalTable table;
    table.supers.push_back(TestSuper("a", {}, {}, {7, 6}));
    table.supers.push_back(TestSuper("b", {3, 0}, {4, 6}, {5}));
    table.supers.push_back(TestSuper("c", {}, {}, {}));
    Layout source, destination;
    const bool whole = round % 2 == 0;
    for (SuperId super = 0; super < table.supers.size(); ++super) {
      for (Layout* layout : {&source, &destination}) {
        const Rank first = layout == &source ? 0 : 10;
        const uint32_t count = 1 + static_cast<uint32_t>(random() % 4);
        for (uint32_t i = 0; i < count; ++i) {
          RankList ranks;
          for (Rank rank = first; rank < first + 5; ++rank) {
            if (random() % 2 == 0) ranks.push_back(rank);
          }
          if (ranks.empty()) ranks.push_back(first + i);
          AddTestPlace(layout, ranks, super, RandomAxes(table.supers[super], &random));
        }
        if (!whole) continue;
        // With the whole tensor on both sides nothing is missing, and cells are judged.
        std::vector<PlaceAxis> axes;
        int64_t stride = 1;
        for (size_t a = 0; a < table.supers[super].axis_count(); ++a) {
          const bool loop = a < table.supers[super].loop_count();
          const int64_t begin = loop ? table.supers[super].loop_begin[a] : 0;
          const int64_t extent =
              loop ? table.supers[super].loop_extent[a]
                   : table.supers[super].shape[a - table.supers[super].loop_count()];
          axes.push_back(TestRange(begin, extent, stride));
          stride *= extent;
        }
        AddTestPlace(layout, {first + 7}, super, axes);
      }
    }
    const std::string verdict = Judge(table, source, destination);
    INFO("seed ", kSeed + round);
    CHECK(verdict == "");
    if (whole && verdict.empty()) ++accepted;
  }
  CHECK(accepted == 1000);
}

TEST_CASE("the 8x8 example: two row halves to four column quarters") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {8, 8}));
  Layout source, destination;
  for (Rank rank = 0; rank < 2; ++rank) {
    AddTestPlace(&source, {rank}, 0, {TestRange(4 * rank, 4, 8), TestRange(0, 8)});
  }
  for (Rank rank = 0; rank < 4; ++rank) {
    AddTestPlace(&destination, {2 + rank}, 0, {TestRange(0, 8, 2), TestRange(2 * rank, 2)});
  }
  Diagnostics diags;
  TransferSet set;
  REQUIRE(BuildTransfers(table, source, destination, &diags, &set));
  CHECK(set.cells.size() == 8);
  CHECK(set.classes.size() == 8);
  for (const TransferClass& cls : set.classes) CHECK(cls.bytes == 8);
}

TEST_CASE("equal holders and needers share a class; cells keep the order of layers") {
  LogicalTable table;
  table.supers.push_back(TestSuper("a", {0}, {4}, {6}));
  table.supers.push_back(TestSuper("b", {0}, {4}, {2}));
  Layout source, destination;
  for (SuperId super = 0; super < 2; ++super) {
    const int64_t extent = super == 0 ? 6 : 2;
    for (int64_t stage = 0; stage < 4; ++stage) {
      const Rank rank = static_cast<Rank>(stage % 2);
      AddTestPlace(&source, {rank}, super, {TestRange(stage, 1), TestRange(0, extent)});
    }
    AddTestPlace(&destination, {4, 5}, super, {TestRange(0, 4, extent), TestRange(0, extent)});
  }
  Diagnostics diags;
  TransferSet set;
  REQUIRE(BuildTransfers(table, source, destination, &diags, &set));
  REQUIRE(set.classes.size() == 2);
  REQUIRE(set.cells.size() == 8);
  const std::vector<std::pair<SuperId, int64_t>> order = {{0, 0}, {0, 2}, {1, 0}, {1, 2},
                                                          {0, 1}, {0, 3}, {1, 1}, {1, 3}};
  for (size_t i = 0; i < order.size(); ++i) {
    CHECK(set.cells[i].super == order[i].first);
    CHECK(set.cells[i].box[0].begin == order[i].second);
  }
}

TEST_CASE("cuts are taken back where both sides store the whole: no more cells than needed") {
  // Rank 1 has a column strip on top of rank 0's whole: three boxes, not the nine of a grid.
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {9, 9}));
  Layout source, destination;
  AddTestPlace(&source, {0}, 0, {TestRange(0, 9, 9), TestRange(0, 9)});
  AddTestPlace(&source, {1}, 0, {TestRange(0, 9, 3), TestRange(3, 3)});
  AddTestPlace(&destination, {2}, 0, {TestRange(0, 9, 9), TestRange(0, 9)});
  Diagnostics diags;
  TransferSet set;
  REQUIRE(BuildTransfers(table, source, destination, &diags, &set));
  CHECK(set.cells.size() == 3);
  CHECK(set.classes.size() == 2);
}

TEST_CASE("a place without elements moves nothing, and nothing at all is an error") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {4}));
  table.supers.push_back(TestSuper("empty", {}, {}, {0}));
  Layout source, destination;
  AddTestPlace(&source, {0}, 1, {TestRange(0, 0)});
  AddTestPlace(&destination, {1}, 1, {TestRange(0, 0)});
  {
    Diagnostics diags;
    TransferSet set;
    CHECK_FALSE(BuildTransfers(table, source, destination, &diags, &set));
    CHECK(HasCode(diags, DiagnosticCode::kNothingToMove));
  }
  AddTestPlace(&source, {0}, 0, {TestRange(0, 4)});
  AddTestPlace(&destination, {1}, 0, {TestRange(0, 4)});
  Diagnostics diags;
  TransferSet set;
  CHECK(BuildTransfers(table, source, destination, &diags, &set));
  CHECK(set.cells.size() == 1);
}

TEST_CASE("ranks on both sides need colocated") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {4}));
  Layout source, destination;
  AddTestPlace(&source, {0, 1}, 0, {TestRange(0, 4)});
  AddTestPlace(&destination, {1, 2}, 0, {TestRange(0, 4)});
  {
    Diagnostics diags;
    TransferSet set;
    CHECK_FALSE(BuildTransfers(table, source, destination, &diags, &set));
    REQUIRE(diags.entries().size() == 1);
    CHECK(diags.entries()[0].code == DiagnosticCode::kRanksShared);
    CHECK(diags.entries()[0].text.find("both layouts have rank 1,") == 0);
  }
  destination.colocated = true;
  Diagnostics diags;
  TransferSet set;
  CHECK(BuildTransfers(table, source, destination, &diags, &set));
}

TEST_CASE("sizes past 64 bits are refused, not wrapped") {
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {0}, {int64_t{1} << 40}, {int64_t{1} << 40}));
  Layout source, destination;
  AddTestPlace(&source, {0}, 0, {TestRange(0, int64_t{1} << 40), TestRange(0, int64_t{1} << 40)});
  AddTestPlace(&destination, {1}, 0,
               {TestRange(0, int64_t{1} << 40), TestRange(0, int64_t{1} << 40)});
  Diagnostics diags;
  TransferSet set;
  CHECK_FALSE(BuildTransfers(table, source, destination, &diags, &set));
  CHECK(HasCode(diags, DiagnosticCode::kTooLarge));
}

TEST_CASE("more pieces than the budget are refused") {
  // Coprime steps on three axes: what is one box for one place is 400 per axis for the other.
  LogicalTable table;
  table.supers.push_back(TestSuper("w", {}, {}, {200'000, 200'000, 200'000}));
  Layout source, destination;
  const auto steps = [](int64_t step) { return PlaceAxis{0, {{200'000 / step, step, 1, 0}}}; };
  AddTestPlace(&source, {0}, 0, {steps(401), steps(401), steps(401)});
  AddTestPlace(&destination, {1}, 0, {steps(409), steps(409), steps(409)});
  Diagnostics diags;
  TransferSet set;
  CHECK_FALSE(BuildTransfers(table, source, destination, &diags, &set));
  CHECK(HasCode(diags, DiagnosticCode::kTooManyPieces));
}

}  // namespace
}  // namespace reshard
