#include "runtime/plan/verify_routes.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace reshard {
namespace {

std::string Item(const char* what, size_t index) { return what + (" " + std::to_string(index)); }

// Where a schedule may cut a class. Class bytes have been found right.
class ClassCuts {
 public:
  explicit ClassCuts(const Plan& plan) : plan_(plan), cell_begin_(plan.cells.size(), 0) {
    for (const PlanClass& cls : plan.classes) {
      int64_t begin = 0;
      for (uint32_t i = cls.first_cell; i < cls.first_cell + cls.cell_count; ++i) {
        cell_begin_[i] = begin;
        const PlanSuper& super = plan.supers[plan.cells[i].super];
        int64_t bytes = DTypeBytes(super.dtype);
        for (size_t d = 0; d < super.dims.size(); ++d) {
          bytes *= plan.intervals[plan.cell_dims[plan.cells[i].first_dim + d]].extent;
        }
        begin += bytes;
      }
    }
  }

  // At the ends of the class, and at multiples of kCutAlignBytes from the start of a cell. Every
  // element size divides that; from the start of the class it would not keep elements whole, where
  // cells of odd sizes stand before.
  bool Allow(uint32_t cls, int64_t at) const {
    const PlanClass& c = plan_.classes[cls];
    if (at == 0 || at == c.bytes) return true;
    const auto first = cell_begin_.begin() + c.first_cell;
    const auto cell = std::upper_bound(first, first + c.cell_count, at) - 1;
    return (at - *cell) % kCutAlignBytes == 0;
  }

 private:
  const Plan& plan_;
  std::vector<int64_t> cell_begin_;  // per cell, in its class
};

// Domains that get the same streams; a stream brings each of its bytes once to each of them.
using DomainList = std::vector<uint32_t>;

class RouteChecker {
 public:
  RouteChecker(const Plan& plan, const VerifyFacts& facts, VerifyLog* log)
      : plan_(plan), facts_(facts), log_(*log), cuts_(plan), set_domains_(plan, facts) {}

  void Run() {
    constexpr void (RouteChecker::*kSteps[])() = {
        &RouteChecker::FindNics,
        &RouteChecker::CheckTrees,
        &RouteChecker::CheckInjects,
        &RouteChecker::CheckDelivery,
    };
    for (const auto step : kSteps) {
      if (log_.clean()) (this->*step)();
    }
  }

 private:
  // A piece as delivery sees it.
  struct Part {
    uint32_t cls = 0;
    uint32_t audience = 0;  // of audiences_
    int64_t begin = 0;
    int64_t end = 0;
    auto operator<=>(const Part&) const = default;
  };
  // The parts of one class that one set of domains gets.
  struct Share {
    uint32_t audience = 0;
    std::vector<Part>::const_iterator first, last;
  };

  void FindNics();
  void CheckTrees();
  bool Needs(uint32_t stream, uint32_t domain) const;
  bool HeadIsNear(uint32_t tree);
  void CheckInjects();
  void CheckInject(uint32_t i);
  void CheckHandOver(uint32_t i);
  void CheckDelivery();
  void CheckClass(uint32_t cls, const std::vector<Share>& shares);
  void CheckDomain(uint32_t cls, uint32_t domain, std::vector<Part> parts);

  const Plan& plan_;
  const VerifyFacts& facts_;
  VerifyLog& log_;
  std::vector<bool> has_nic_;  // per entry of plan.ranks
  std::map<uint32_t, bool> head_is_near_;
  std::vector<DomainList> audiences_;
  std::vector<uint32_t> audience_of_stream_;
  const ClassCuts cuts_;
  const RankSetDomains set_domains_;
  std::vector<uint32_t> shares_of_domain_;  // per domain, of one class; zeros between classes
  std::vector<uint32_t> last_share_;        // per domain, the last one counted there
};

void RouteChecker::FindNics() {
  for (const PlanRank& rank : plan_.ranks) {
    has_nic_.push_back(!plan_.sites[facts_.index().SiteIndex(plan_, rank.rank)].nics.empty());
  }
}

bool RouteChecker::Needs(uint32_t stream, uint32_t domain) const {
  const PlanStream& s = plan_.streams[stream];
  for (uint32_t p = s.first_piece; p < s.first_piece + s.piece_count; ++p) {
    const std::vector<uint32_t>& needing =
        set_domains_.Of(plan_.classes[plan_.pieces[p].cls].needers);
    if (std::binary_search(needing.begin(), needing.end(), domain)) return true;
  }
  return false;
}

// Does the domain of the head need the stream? Found out once for each tree.
bool RouteChecker::HeadIsNear(uint32_t tree) {
  const auto [found, is_new] = head_is_near_.try_emplace(tree, false);
  if (is_new && log_.Charge(plan_.streams[plan_.trees[tree].stream].piece_count)) {
    found->second =
        Needs(plan_.trees[tree].stream, facts_.DomainOfMember(plan_.trees[tree].first_member));
  }
  return found->second;
}

// Bounds have found the members of each single tree in different domains. Several trees of a stream
// may have members in one domain where nobody needs the stream: these only pass it on.
void RouteChecker::CheckTrees() {
  std::map<DomainList, uint32_t> ids;
  std::vector<DomainList> domains(plan_.streams.size());
  for (size_t t = 0; t < plan_.trees.size(); ++t) {
    const PlanTree& tree = plan_.trees[t];
    if (!log_.Charge(tree.member_count)) return;
    for (uint32_t m = tree.first_member; m < tree.first_member + tree.member_count; ++m) {
      domains[tree.stream].push_back(facts_.DomainOfMember(m));
      if (tree.member_count > 1 && !has_nic_[facts_.member_rank()[m]]) {
        log_.Add(VerifyRule::kNoNic, Item("tree", t),
                 "rank " + std::to_string(plan_.tree_members[m]) +
                     " sends or receives over the network, but has no NIC");
      }
    }
    if (plan_.streams[tree.stream].local && tree.member_count > 1) {
      log_.Add(VerifyRule::kLocality, Item("tree", t),
               "is of a local stream, but has " + std::to_string(tree.member_count) + " landers");
    }
  }
  for (size_t s = 0; s < domains.size() && log_.CanGoOn(); ++s) {
    std::sort(domains[s].begin(), domains[s].end());
    for (auto at = domains[s].begin(); at != domains[s].end();) {
      const auto end = std::upper_bound(at, domains[s].end(), *at);
      if (end - at > 1) {
        if (!log_.Charge(plan_.streams[s].piece_count)) return;
        if (Needs(static_cast<uint32_t>(s), *at)) {
          log_.Add(VerifyRule::kTreeShape, Item("stream", s),
                   "two landers of its trees are in domain '" + plan_.domains[*at].name + "'");
        }
      }
      at = end;
    }
    domains[s].erase(std::unique(domains[s].begin(), domains[s].end()), domains[s].end());
    const auto [known, added] =
        ids.try_emplace(std::move(domains[s]), static_cast<uint32_t>(audiences_.size()));
    if (added) audiences_.push_back(known->first);
    audience_of_stream_.push_back(known->second);
  }
}

void RouteChecker::CheckInjects() {
  for (uint32_t i = 0; i < plan_.injects.size() && log_.CanGoOn(); ++i) CheckInject(i);
}

void RouteChecker::CheckInject(uint32_t i) {
  const PlanInject& inject = plan_.injects[i];
  const PlanTree& tree = plan_.trees[inject.tree];
  const PlanStream& stream = plan_.streams[tree.stream];
  const std::string where =
      "rank " + std::to_string(inject.source) + ", round " + std::to_string(inject.round);
  if (inject.extent == 0) {
    log_.Add(VerifyRule::kEmptyOp, where, Item("inject", i) + " moves no byte");
    return;
  }
  const uint32_t head = plan_.tree_members[tree.first_member];
  if (inject.source != head) {
    const PlanSite& site = plan_.sites[facts_.index().SiteIndex(plan_, inject.source)];
    if (stream.local) {
      log_.Add(VerifyRule::kLocality, where,
               Item("inject", i) + " sends a local stream to rank " + std::to_string(head));
    } else if (site.domain == facts_.DomainOfMember(tree.first_member)) {
      CheckHandOver(i);
    } else if (site.nics.empty() || !has_nic_[facts_.member_rank()[tree.first_member]]) {
      log_.Add(VerifyRule::kNoNic, where,
               Item("inject", i) + " goes to rank " + std::to_string(head) +
                   ", and one of them has no NIC");
    }
  }
  // The pieces that its bytes lie in.
  const std::vector<int64_t>& begins = facts_.index().piece_begin;
  const auto first = begins.begin() + stream.first_piece;
  const auto last = first + stream.piece_count;
  const int64_t end = inject.begin + inject.extent;
  for (auto at = std::upper_bound(first, last, inject.begin) - 1; at != last && *at < end; ++at) {
    if (!log_.Charge(8)) return;
    const auto p = static_cast<uint32_t>(at - begins.begin());
    const PlanPiece& piece = plan_.pieces[p];
    const int64_t from = std::max(inject.begin, *at) - *at;
    const int64_t to = std::min(end, *at + piece.extent) - *at;
    if (!Contains(plan_.rank_sets[plan_.classes[piece.cls].holders], inject.source)) {
      log_.Add(VerifyRule::kProvenance, where,
               Item("inject", i) + " sends bytes of class " + std::to_string(piece.cls) +
                   ", which rank " + std::to_string(inject.source) + " does not hold");
      return;
    }
    for (const int64_t cut : {from, to}) {
      if (cut == 0 || cut == piece.extent || cuts_.Allow(piece.cls, piece.begin + cut)) continue;
      log_.Add(VerifyRule::kCutAlign, where,
               Item("inject", i) + " cuts class " + std::to_string(piece.cls) + " at byte " +
                   std::to_string(piece.begin + cut));
      return;
    }
  }
}

// A message inside a domain: over its fabric, to a head that passes it on, to other domains or to
// needers of its own.
void RouteChecker::CheckHandOver(uint32_t i) {
  const PlanInject& inject = plan_.injects[i];
  const PlanTree& tree = plan_.trees[inject.tree];
  const uint32_t domain = facts_.DomainOfMember(tree.first_member);
  const bool has_fabric = plan_.domains[domain].bytes_per_s > 0;
  if (has_fabric && (tree.member_count > 1 || HeadIsNear(inject.tree))) return;
  log_.Add(VerifyRule::kLocality,
           "rank " + std::to_string(inject.source) + ", round " + std::to_string(inject.round),
           Item("inject", i) + " goes to rank " +
               std::to_string(plan_.tree_members[tree.first_member]) +
               " of its own domain, which " +
               (has_fabric ? "passes it on to nobody" : "has no scale-up fabric"));
}

void RouteChecker::CheckDelivery() {
  std::vector<Part> parts;
  parts.reserve(plan_.pieces.size());
  for (size_t s = 0; s < plan_.streams.size(); ++s) {
    const PlanStream& stream = plan_.streams[s];
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      const PlanPiece& piece = plan_.pieces[p];
      parts.push_back({piece.cls, audience_of_stream_[s], piece.begin, piece.begin + piece.extent});
    }
  }
  if (!log_.Charge(parts.size() * 16)) return;
  std::sort(parts.begin(), parts.end());
  shares_of_domain_.assign(plan_.domains.size(), 0);
  last_share_.assign(plan_.domains.size(), 0);
  auto at = parts.cbegin();
  for (uint32_t cls = 0; cls < plan_.classes.size() && log_.CanGoOn(); ++cls) {
    std::vector<Share> shares;
    while (at != parts.cend() && at->cls == cls) {
      Share share{at->audience, at, at};
      while (share.last != parts.cend() && share.last->cls == cls &&
             share.last->audience == share.audience) {
        ++share.last;
      }
      at = share.last;
      shares.push_back(share);
    }
    CheckClass(cls, shares);
  }
}

// Each domain with a needer gets each byte once. A domain of one share gets it with that share
// alone; most classes have one.
void RouteChecker::CheckClass(uint32_t cls, const std::vector<Share>& shares) {
  std::vector<bool> whole(shares.size(), false);
  for (uint32_t i = 0; i < shares.size(); ++i) {
    const DomainList& audience = audiences_[shares[i].audience];
    if (!log_.Charge(audience.size() + 1)) return;
    for (const uint32_t domain : audience) {
      ++shares_of_domain_[domain];
      last_share_[domain] = i;
    }
    int64_t covered = 0;
    for (auto part = shares[i].first; part != shares[i].last; ++part) {
      if (part->begin != covered) break;
      covered = part->end;
      whole[i] = part + 1 == shares[i].last && covered == plan_.classes[cls].bytes;
    }
  }
  for (const uint32_t domain : set_domains_.Of(plan_.classes[cls].needers)) {
    if (!log_.Charge(1)) break;
    if (shares_of_domain_[domain] == 1 && whole[last_share_[domain]]) continue;
    std::vector<Part> parts;
    for (const Share& share : shares) {
      if (!log_.Charge(8)) break;
      const DomainList& audience = audiences_[share.audience];
      if (!std::binary_search(audience.begin(), audience.end(), domain)) continue;
      parts.insert(parts.end(), share.first, share.last);
    }
    CheckDomain(cls, domain, std::move(parts));
    if (!log_.CanGoOn()) break;
  }
  for (const Share& share : shares) {
    for (const uint32_t domain : audiences_[share.audience]) shares_of_domain_[domain] = 0;
  }
}

void RouteChecker::CheckDomain(uint32_t cls, uint32_t domain, std::vector<Part> parts) {
  if (!log_.Charge(parts.size() * 8)) return;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  int64_t covered = 0;
  const auto report = [&](const char* how) {
    log_.Add(VerifyRule::kDelivery, Item("class", cls),
             "byte " + std::to_string(covered) + " reaches domain '" + plan_.domains[domain].name +
                 "', which needs it, " + how);
  };
  for (const Part& part : parts) {
    if (part.begin > covered) return report("in no stream");
    if (part.begin < covered) {
      covered = part.begin;
      return report("in two streams");
    }
    covered = part.end;
  }
  if (covered < plan_.classes[cls].bytes) report("in no stream");
}

}  // namespace

void VerifyStreams(const Plan& plan, VerifyLog* log) {
  if (!log->Charge(8 * (plan.cells.size() + plan.pieces.size()))) return;
  const ClassCuts cuts(plan);
  for (size_t s = 0; s < plan.streams.size() && log->CanGoOn(); ++s) {
    const PlanStream& stream = plan.streams[s];
    int64_t bytes = 0;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      const PlanPiece& piece = plan.pieces[p];
      bytes += piece.extent;
      for (const int64_t at : {piece.begin, piece.begin + piece.extent}) {
        if (cuts.Allow(piece.cls, at)) continue;
        log->Add(VerifyRule::kCutAlign, Item("stream", s),
                 "piece " + std::to_string(p) + " cuts class " + std::to_string(piece.cls) +
                     " at byte " + std::to_string(at));
      }
    }
    if (bytes != stream.bytes) {
      log->Add(VerifyRule::kStreamBytes, Item("stream", s),
               "has " + std::to_string(stream.bytes) + " bytes, its pieces have " +
                   std::to_string(bytes));
    }
  }
}

void VerifyRoutes(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  VerifyStreams(plan, log);
  if (!log->clean()) return;
  RouteChecker(plan, facts, log).Run();
}

}  // namespace reshard
