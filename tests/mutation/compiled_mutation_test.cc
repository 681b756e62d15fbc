// The mistakes of rule_mutation_test.cc, looked for in whatever the compiler produces.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/verify.h"
#include "tests/mutation/compiled_plans.h"

namespace reshard::testing {
namespace {

std::string Codes(const VerifyReport& report) {
  std::set<std::string> codes;
  if (report.exhausted) codes.insert("exhausted");
  for (const Violation& violation : report.violations) {
    codes.insert(std::string(RuleText(violation.rule)));
  }
  std::string text;
  for (const std::string& code : codes) text += (text.empty() ? "" : " ") + code;
  return text;
}

bool IsDestination(const Plan& plan, const PlanPlace& place) {
  return plan.families[place.family].side == PlanSide::kDestination;
}

uint32_t DomainOf(const Plan& plan, uint32_t rank) {
  for (const PlanSite& site : plan.sites) {
    if (site.rank == rank) return site.domain;
  }
  return kNoId;
}

uint32_t HeadOf(const Plan& plan, const PlanInject& inject) {
  return plan.tree_members[plan.trees[inject.tree].first_member];
}

// The set and one rank more: one that is not in it.
uint32_t AddOneRank(uint32_t rank_set, Plan* plan) {
  RankList ranks = plan->rank_sets[rank_set];
  for (const PlanRank& rank : plan->ranks) {
    if (Contains(ranks, rank.rank)) continue;
    ranks.insert(std::upper_bound(ranks.begin(), ranks.end(), rank.rank), rank.rank);
    plan->rank_sets.push_back(ranks);
    return static_cast<uint32_t>(plan->rank_sets.size() - 1);
  }
  return kNoId;
}

// Each makes its mistake at the first opportunity; false when the plan has none.
using Change = std::function<bool(Plan*)>;
struct Mistake {
  VerifyRule rule;
  Change make;
};

bool RemoveDestinationPlace(Plan* p) {
  for (auto place = p->places.begin(); place != p->places.end(); ++place) {
    if (!IsDestination(*p, *place)) continue;
    p->places.erase(place);
    return true;
  }
  return false;
}

bool MoveDestinationPlace(Plan* p) {
  for (PlanPlace& place : p->places) {
    if (!IsDestination(*p, place)) continue;
    place.base_bytes += p->families[place.family].bytes;
    return true;
  }
  return false;
}

bool ChangeDType(Plan* p) {
  for (PlanPlace& place : p->places) {
    PlanFamily& family = p->families[place.family];
    if (family.dtype != DType::kBf16) continue;
    family.dtype = DType::kF16;
    return true;
  }
  return false;
}

bool RepeatName(Plan* p) {
  for (size_t a = 0; a < p->families.size(); ++a) {
    for (size_t b = a + 1; b < p->families.size(); ++b) {
      const PlanFamily& first = p->families[a];
      PlanFamily& second = p->families[b];
      if (first.side != second.side || first.loop_begin != second.loop_begin ||
          Intersection(p->rank_sets[first.rank_set], p->rank_sets[second.rank_set]).empty()) {
        continue;
      }
      second.name = first.name;
      return true;
    }
  }
  return false;
}

bool RepeatCell(Plan* p) {
  std::map<std::vector<int64_t>, size_t> seen;  // super, extents
  for (size_t c = 0; c < p->cells.size(); ++c) {
    PlanCell& cell = p->cells[c];
    std::vector<int64_t> key = {cell.super};
    for (size_t d = 0; d < p->supers[cell.super].dims.size(); ++d) {
      key.push_back(p->intervals[p->cell_dims[cell.first_dim + d]].extent);
    }
    const auto [known, added] = seen.try_emplace(key, c);
    if (added) continue;
    cell.first_dim = p->cells[known->second].first_dim;
    return true;
  }
  return false;
}

bool AddHolder(Plan* p) {
  const uint32_t more = AddOneRank(p->classes.back().holders, p);
  if (more == kNoId) return false;
  p->classes.back().holders = more;
  return true;
}

bool AddNeeder(Plan* p) {
  for (PlanClass& cls : p->classes) {
    const uint32_t more = AddOneRank(cls.needers, p);
    if (more == kNoId) continue;
    cls.needers = more;
    return true;
  }
  return false;
}

bool RemoveLander(Plan* p) {
  for (PlanTree& tree : p->trees) {
    if (tree.member_count < 2) continue;
    --tree.member_count;
    p->tree_members.erase(p->tree_members.begin() + tree.first_member + tree.member_count);
    for (PlanTree& other : p->trees) {
      if (other.first_member > tree.first_member) --other.first_member;
    }
    return true;
  }
  return false;
}

bool LandTwiceInDomain(Plan* p) {
  for (const PlanTree& tree : p->trees) {
    if (tree.member_count < 2) continue;
    const uint32_t head = p->tree_members[tree.first_member];
    for (const PlanRank& rank : p->ranks) {
      if (rank.rank == head || DomainOf(*p, rank.rank) != DomainOf(*p, head)) continue;
      p->tree_members[tree.first_member + 1] = rank.rank;
      return true;
    }
  }
  return false;
}

bool ShortenInject(Plan* p) {
  for (PlanInject& inject : p->injects) {
    if (inject.extent < 2) continue;
    --inject.extent;
    return true;
  }
  return false;
}

// The receiver of a message, which holds nothing, becomes the source of it.
bool SendWithoutHolding(Plan* p) {
  for (size_t i = 0; i < p->injects.size(); ++i) {
    PlanInject inject = p->injects[i];
    if (HeadOf(*p, inject) == inject.source) continue;
    for (PlanRank& rank : p->ranks) {
      const bool holds = std::any_of(
          p->classes.begin(), p->classes.end(),
          [&](const PlanClass& cls) { return Contains(p->rank_sets[cls.holders], rank.rank); });
      if (holds || DomainOf(*p, rank.rank) == DomainOf(*p, HeadOf(*p, inject))) continue;
      inject.source = rank.rank;
      p->injects.erase(p->injects.begin() + static_cast<std::ptrdiff_t>(i));
      p->injects.push_back(inject);
      std::stable_sort(
          p->injects.begin(), p->injects.end(), [](const PlanInject& a, const PlanInject& b) {
            return std::tie(a.source, a.round, a.tree) < std::tie(b.source, b.round, b.tree);
          });
      uint32_t first = 0;
      for (PlanRank& each : p->ranks) {
        each.first_inject = first;
        while (first < p->injects.size() && p->injects[first].source == each.rank) ++first;
        each.inject_count = first - each.first_inject;
      }
      return true;
    }
  }
  return false;
}

bool CallNetworkLocal(Plan* p) {
  for (const PlanInject& inject : p->injects) {
    if (HeadOf(*p, inject) == inject.source) continue;
    p->streams[p->trees[inject.tree].stream].local = true;
    return true;
  }
  return false;
}

// Is `at` a byte inside a piece of the stream, and 8 bytes further as well?
bool IsInsidePiece(const Plan& plan, const PlanStream& stream, int64_t at) {
  int64_t begin = 0;
  for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
    const int64_t end = begin + plan.pieces[p].extent;
    if (begin < at && at + 8 < end) return true;
    begin = end;
  }
  return false;
}

// Moves a boundary that the schedule chose by 8 bytes.
bool CutOffSixteen(Plan* p) {
  for (PlanInject& a : p->injects) {
    const int64_t end = a.begin + a.extent;
    if (!IsInsidePiece(*p, p->streams[p->trees[a.tree].stream], end)) continue;
    for (PlanInject& b : p->injects) {
      if (a.tree != b.tree || b.begin != end || b.extent <= 8) continue;
      a.extent += 8;
      b.begin += 8;
      b.extent -= 8;
      return true;
    }
  }
  return false;
}

bool TakeSlotAway(Plan* p) {
  for (PlanRank& rank : p->ranks) {
    if (rank.recv_slot_bytes == 0) continue;
    rank.recv_slot_bytes -= kSlotAlignBytes;
    return true;
  }
  return false;
}

std::vector<Mistake> Mistakes() {
  return {
      {VerifyRule::kParamCoverage, RemoveDestinationPlace},
      {VerifyRule::kPlaceSize, MoveDestinationPlace},
      {VerifyRule::kPlaceDType, ChangeDType},
      {VerifyRule::kParamNames, RepeatName},
      {VerifyRule::kCellCoverage, RepeatCell},
      {VerifyRule::kCellOrigin, AddHolder},
      {VerifyRule::kCellTarget, AddNeeder},
      {VerifyRule::kClassBytes,
       [](Plan* p) {
         p->classes.back().bytes += 16;
         return true;
       }},
      {VerifyRule::kDelivery, RemoveLander},
      {VerifyRule::kTreeShape, LandTwiceInDomain},
      {VerifyRule::kSliceCoverage, ShortenInject},
      {VerifyRule::kProvenance, SendWithoutHolding},
      {VerifyRule::kLocality, CallNetworkLocal},
      {VerifyRule::kCutAlign, CutOffSixteen},
      {VerifyRule::kSlotSize, TakeSlotAway},
      {VerifyRule::kTotals,
       [](Plan* p) {
         ++p->header.totals.scaleup_bytes;
         return true;
       }},
      {VerifyRule::kCut,
       [](Plan* p) {
         if (p->cuts.empty()) return false;
         ++p->cuts.back().bytes;
         return true;
       }},
  };
}

TEST_CASE("compiled plans are right, and each mistake in them has its code") {
  std::vector<NamedPlan> plans = CompiledPlans();
  for (NamedPlan& plan : ModelPlans()) plans.push_back(std::move(plan));
  for (const NamedPlan& named : plans) {
    CAPTURE(named.name);
    CHECK(Codes(VerifyPlan(named.plan, {})) == "");
  }
  for (const Mistake& mistake : Mistakes()) {
    CAPTURE(RuleText(mistake.rule));
    size_t made = 0;
    for (const NamedPlan& named : plans) {
      CAPTURE(named.name);
      Plan plan = named.plan;
      if (!mistake.make(&plan)) continue;
      ++made;
      CHECK(Codes(VerifyPlan(plan, {})) == RuleText(mistake.rule));
    }
    CHECK(made >= 2);
  }
}

}  // namespace
}  // namespace reshard::testing
