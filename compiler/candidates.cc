#include "compiler/candidates.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/judge.h"
#include "compiler/route/hubs.h"
#include "compiler/route/merge_direct.h"
#include "compiler/route/ports.h"
#include "compiler/route/span_groups.h"
#include "compiler/route/witnesses.h"
#include "compiler/routing_measures.h"
#include "compiler/schedule/slots.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

constexpr std::array kKindTexts = {
#define RESHARD_CANDIDATE(name, text, meaning) std::string_view(text),
#include "compiler/candidate_kinds.def"
#undef RESHARD_CANDIDATE
};

// Nothing else is tried within this part of the bound.
constexpr int64_t kGoodEnough = 40;
// A candidate replaces another one when it is faster by this part: its plan may be larger.
constexpr int64_t kWorthReplacing = 400;
// Within this part of the bound more trees are tried only for what they save by filling sooner:
// fewer rounds than the first trees are deep, which has to be worth this part of all rounds.
constexpr int64_t kNear = 30;
constexpr int64_t kWorthFilling = 200;
// Candidates are tried until they have this many injects and tree members together: time to
// compile.
constexpr int64_t kMostWork = 500'000;
// A job in which the costs of its rounds are more than this part of the time is sent directly, if
// its plan has at most so many messages then.
constexpr int64_t kRoundsDecide = 5;
constexpr int64_t kMostDirect = 100'000;

// Of those that pass the network.
int64_t LargestSlice(const Schedule& schedule) {
  std::map<std::pair<uint32_t, uint32_t>, int64_t> slices;  // by tree and round
  int64_t largest = 1;
  for (const PlanInject& inject : schedule.injects) {
    if (schedule.streams[schedule.trees[inject.tree].stream].local) continue;
    largest = std::max(largest, slices[{inject.tree, inject.round}] += inject.extent);
  }
  return largest;
}

int64_t BoundNs(const Routing& routing) {
  return routing.witnesses.empty() ? 0 : WitnessNs(routing.witnesses[0]);
}

Candidate Describe(const CandidateInputs& in, CandidateKind kind, const Routing& routing,
                   const Schedule& schedule, bool alone) {
  Candidate candidate;
  candidate.kind = kind;
  std::vector<uint32_t> trees_of_stream(schedule.streams.size(), 0);
  for (const PlanTree& tree : schedule.trees) {
    if (schedule.streams[tree.stream].local) continue;
    candidate.heads = std::max(candidate.heads, ++trees_of_stream[tree.stream]);
    candidate.depth = std::max(candidate.depth, TreeDepth(tree.kind, tree.member_count - 1) + 1);
  }
  const Judgement judgement = JudgeSchedule(*in.transfers, *in.topology, schedule, alone);
  candidate.rounds = schedule.round_count;
  candidate.peers = MostPeers(routing);
  candidate.predicted_ns = judgement.predicted_ns;
  candidate.simulated_whole = judgement.whole;
  candidate.busiest_port_ns = BusiestPortNs(*in.topology, routing, false);
  candidate.bound_ns = BoundNs(routing);
  // An estimate of some rounds can be below what no schedule beats.
  candidate.simulated_ns = judgement.whole ? judgement.simulated_ns
                                           : std::max(judgement.simulated_ns, candidate.bound_ns);
  candidate.injects = static_cast<int64_t>(schedule.injects.size());
  for (const RankSlots& slots : schedule.slots) {
    candidate.staging_bytes = std::max(candidate.staging_bytes, StagingBytes(slots));
  }
  return candidate;
}

class CandidateSearch {
 public:
  CandidateSearch(const CandidateInputs& inputs, Routing* routing, Schedule* schedule)
      : in_(inputs), routing_(*routing), schedule_(*schedule) {}

  std::vector<Candidate> Run() {
    const bool binary =
        std::any_of(schedule_.trees.begin(), schedule_.trees.end(),
                    [](const PlanTree& tree) { return tree.kind != PlanTreeKind::kChain; });
    const CandidateKind first = binary ? CandidateKind::kTwoTrees : CandidateKind::kChains;
    most_heads_ = MostHeads();
    tried_.push_back(Describe(in_, first, routing_, schedule_, most_heads_ == 0));
    work_ = WorkOf(schedule_);
    if (in_.max_peers > 0) {
      if (!in_.settled) TryForPeers();
      tried_[best_].kept = IsAllowed(best());
      return std::move(tried_);
    }
    if (most_heads_ > 0) {
      TryByGroup();
      if (best().depth == 1) TrySmallSlices();
      // Near the bound chains gain nothing over two trees, and take far longer to make.
      const bool pooled = TryPooled(Strategy::kChains);
      if (pooled && most_heads_ >= 3 && CanGainByFilling()) TryPooled(Strategy::kTwoTrees);
      const bool chains = !binary || !IsWithin(kNear);
      if (binary && chains && !pool_) TryChains();
      TryDirect();
      if (chains) TrySlowApart();
      if (chains) TryHeads();
      TryHubs(CandidateKind::kHubs, Options());
      TryOtherHubs();
      TryHubs(CandidateKind::kRelays, Options());
      if (!binary) TryTwoTrees();
      TrySmallSlices();
      TryMerged();
    }
    tried_[best_].kept = true;
    return std::move(tried_);
  }

 private:
  static int64_t WorkOf(const Schedule& schedule) {
    return static_cast<int64_t>(schedule.injects.size() + schedule.tree_members.size());
  }

  uint32_t MostHeads() const {
    size_t most = 0;
    for (const RoutedStream& stream : routing_.streams) {
      if (!stream.local) most = std::max(most, stream.domains.size());
    }
    return static_cast<uint32_t>(most);
  }

  const Candidate& best() const { return tried_[best_]; }

  // The best schedule takes at most the bound and 1 / `part` of it, or a round, more.
  bool IsWithin(int64_t part) const {
    const int64_t bound_ns = BoundNs(routing_);
    return best().simulated_ns <= bound_ns + std::max(bound_ns / part, in_.topology->round_ns);
  }
  bool IsDone() const { return IsWithin(kGoodEnough) || work_ > kMostWork; }

  // What the candidates so far have shown to be better is kept for the next ones.
  RouteOptions Options() const {
    RouteOptions options;
    options.pool = pool_;
    options.by_group = by_group_;
    return options;
  }

  // Streams of their own for what holders of each group send are more streams.
  void TryByGroup() {
    if (IsDone() || !Ports(*in_.topology).uplinks_limit()) return;
    RouteOptions options;
    options.strategy = Strategy::kChains;
    options.by_group = true;
    Routing routing;
    if (!Route(options, &routing)) return;
    if (!Judge(CandidateKind::kByGroup, in_.options, std::move(routing))) return;
    chains_ = tried_.size() - 1;
    by_group_ = true;
  }

  // Sources' NICs are busier than the bound asks for, and others of their domains can help.
  // A carrier that one holder feeds takes turns between its trees: chains have one of them.
  bool TryPooled(Strategy strategy) {
    // Or others of their domains are in other groups, behind other uplinks.
    const bool across = Ports(*in_.topology).uplinks_limit() && DomainsSpanGroups(*in_.topology);
    const bool busy = BusiestPortNs(*in_.topology, routing_, true) > NeededNs();
    if (IsDone() || !(pool_ || busy || across)) return false;
    RouteOptions options = Options();
    options.strategy = strategy;
    options.pool = true;
    options.by_group = by_group_ || across;
    Routing routing;
    if (!Route(options, &routing) || !HasCarriers(*in_.topology, routing)) return false;
    if (!Judge(CandidateKind::kPooled, in_.options, std::move(routing))) return false;
    if (!pool_) chains_ = tried_.size() - 1;
    pool_ = true;
    by_group_ = options.by_group;
    return true;
  }

  // Two trees are shallow, but even ports are what they need: with others chains may be better.
  void TryChains() {
    if (IsDone()) return;
    RouteOptions options;
    options.strategy = Strategy::kChains;
    Routing routing;
    if (!Route(options, &routing)) return;
    const size_t tried_before = tried_.size();
    Judge(CandidateKind::kChains, in_.options, std::move(routing));
    if (tried_.size() > tried_before) chains_ = tried_before;
  }

  bool IsAllowed(const Candidate& candidate) const {
    return in_.max_peers == 0 || candidate.peers <= in_.max_peers;
  }

  // Chains have the fewest peers in a tree, fewer heads have fewer sources each; then all other
  // kinds, within the budget. What is tried does not depend on the limit.
  void TryForPeers() {
    if (most_heads_ == 0) return;
    const std::vector<Attempt> others = OthersForPeers();
    RouteOptions options;
    options.strategy = Strategy::kChains;
    if (tried_[0].kind != CandidateKind::kChains) TryAttempt({CandidateKind::kChains, options});
    const bool has_chains = tried_.back().kind == CandidateKind::kChains;
    const uint32_t first_heads = tried_.back().heads;
    std::vector<uint32_t> heads = {1, first_heads / 2, 2 * first_heads, most_heads_};
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    for (const uint32_t count : heads) {
      const bool is_made = has_chains && count == first_heads;
      options.heads = count;
      if (count > 0 && count <= most_heads_ && !is_made) {
        TryAttempt({CandidateKind::kChains, options});
      }
    }
    work_ = 0;
    for (const Attempt& attempt : others) {
      if (work_ <= kMostWork) TryAttempt(attempt);
    }
  }

  struct Attempt {
    CandidateKind kind = CandidateKind::kChains;
    RouteOptions options;
  };

  // Those that may make sense for the first routing.
  std::vector<Attempt> OthersForPeers() const {
    const bool uplinks = Ports(*in_.topology).uplinks_limit();
    const bool hubs = most_heads_ >= 2 && most_heads_ <= kMostHubs;
    const bool has_two_trees = tried_[0].kind == CandidateKind::kTwoTrees;
    std::vector<Attempt> attempts;
    RouteOptions options;
    const auto add = [&](CandidateKind kind, Strategy strategy, uint32_t heads) {
      attempts.push_back({kind, options});
      attempts.back().options.strategy = strategy;
      attempts.back().options.heads = heads;
    };
    if (HasSlowLanders()) {
      options.slow_apart = true;
      add(CandidateKind::kSlowApart, Strategy::kChains, 0);
      options.slow_apart = false;
    }
    if (uplinks) {
      options.by_group = true;
      add(CandidateKind::kByGroup, Strategy::kChains, 0);
    }
    for (const bool pool : {false, true}) {
      options.pool = pool;
      const CandidateKind trees = pool ? CandidateKind::kPooled : CandidateKind::kTwoTrees;
      for (const uint32_t heads : {0U, 1U}) {
        if (pool) add(CandidateKind::kPooled, Strategy::kChains, heads);
      }
      if (most_heads_ >= 3 && (pool || !has_two_trees)) add(trees, Strategy::kTwoTrees, 0);
      if (hubs) add(CandidateKind::kHubs, Strategy::kHubs, 0);
      options.idle_relays = true;
      if (hubs) add(CandidateKind::kRelays, Strategy::kHubs, 0);
      options.idle_relays = false;
      if (DirectRanges() <= kMostDirect) add(CandidateKind::kDirect, Strategy::kAuto, most_heads_);
    }
    return attempts;
  }

  void TryAttempt(const Attempt& attempt) {
    Routing routing;
    if (!Route(attempt.options, &routing)) return;
    if (attempt.options.pool && !HasCarriers(*in_.topology, routing)) return;
    if (attempt.kind == CandidateKind::kDirect) routing = MergeDirect(*in_.topology, routing);
    Judge(attempt.kind, in_.options, std::move(routing));
  }

  // What is sent to one lander of what one source holds, about.
  int64_t DirectRanges() const {
    int64_t ranges = 0;
    for (const RoutedStream& stream : routing_.streams) {
      if (stream.local) continue;
      ranges += static_cast<int64_t>(stream.domains.size() * stream.bytes.size());
    }
    return ranges;
  }

  // For jobs that take little longer than their rounds cost.
  void TryDirect() {
    const int64_t rounds_ns = int64_t{best().rounds} * in_.topology->round_ns;
    if (best().rounds <= 1 || rounds_ns < best().predicted_ns / kRoundsDecide ||
        DirectRanges() > kMostDirect || IsDone()) {
      return;
    }
    RouteOptions options = Options();
    options.heads = most_heads_;
    Routing routing;
    if (!Route(options, &routing)) return;
    Judge(CandidateKind::kDirect, in_.options, MergeDirect(*in_.topology, routing));
  }

  // Streams that are sent to all of their landers, and several of which one source sends to one
  // lander.
  void TryMerged() {
    if (IsDone() || best().depth > 1 || best().kind == CandidateKind::kDirect) return;
    if (best().injects > kMostDirect || !StreamsShareMessages(routing_)) return;
    Judge(CandidateKind::kDirect, in_.options, MergeDirect(*in_.topology, routing_));
  }

  void TrySlowApart() {
    if (IsDone() || best().kind == CandidateKind::kDirect || !HasSlowLanders()) return;
    RouteOptions options = Options();
    options.heads = tried_[chains_].heads;
    options.slow_apart = true;
    Routing routing;
    if (!Route(options, &routing)) return;
    if (Judge(CandidateKind::kSlowApart, in_.options, std::move(routing))) slow_apart_ = true;
  }

  // Carriers, which get their bytes inside their domain, are none.
  bool HasSlowLanders() const {
    const Ports ports(*in_.topology);
    for (const RoutedStream& stream : routing_.streams) {
      if (stream.local) continue;
      int64_t fastest = 0, slowest = INT64_MAX;
      for (const RoutedTree& tree : stream.trees) {
        const bool carried = ports.SameDomain(tree.sources[0].source, tree.landers[0]);
        for (size_t p = carried ? 1 : 0; p < tree.landers.size(); ++p) {
          const int64_t rate = ports.outlet(ports.outlet_of_rank(tree.landers[p])).bytes_per_s;
          fastest = std::max(fastest, rate);
          slowest = std::min(slowest, rate);
        }
      }
      if (slowest < fastest - fastest / 2) return true;
    }
    return false;
  }

  // More trees are shorter and fill sooner; fewer spare the sources.
  void TryHeads() {
    const uint32_t first_heads = tried_[chains_].heads;
    for (const uint32_t heads : {2 * first_heads, 3 * first_heads, first_heads / 2}) {
      if (heads == 0 || heads > most_heads_ || best().kind == CandidateKind::kDirect) continue;
      if (heads > first_heads && IsWithin(kNear) && !CanGainByFilling()) continue;
      if (heads < first_heads && IsWithin(kNear) && !SourcesAreBusiest()) continue;
      if (IsDone()) return;
      RouteOptions options = Options();
      options.heads = heads;
      options.slow_apart = slow_apart_;
      Routing routing;
      if (Route(options, &routing)) Judge(CandidateKind::kChains, in_.options, std::move(routing));
    }
  }

  // Stars fill in two rounds, and everybody sends what it receives. Relays help where senders are
  // busier than the bound asks for, and others have less to do.
  void TryHubs(CandidateKind kind, RouteOptions options) {
    if (IsDone() || best().kind == CandidateKind::kDirect) return;
    if (most_heads_ < 2 || most_heads_ > kMostHubs) return;
    const int64_t busiest_ns = BusiestPortNs(*in_.topology, routing_, true);
    const bool relays = kind == CandidateKind::kRelays;
    const bool can_fill = int64_t{best().depth} > 2 &&
                          (int64_t{best().depth} - 2) * kWorthFilling >= int64_t{best().rounds};
    const bool may_win = !relays && (can_fill || !IsWithin(kNear));
    if (busiest_ns <= NeededNs() && !may_win) return;
    options.strategy = Strategy::kHubs;
    options.idle_relays = relays;
    Routing routing;
    if (!Route(options, &routing)) return;
    const int64_t new_ns = BusiestPortNs(*in_.topology, routing, true);
    if (relays && new_ns >= busiest_ns - busiest_ns / kWorthReplacing) return;
    Judge(kind, in_.options, std::move(routing));
  }

  // What is better for chains may not be so for stars.
  void TryOtherHubs() {
    RouteOptions options = Options();
    if (pool_ && !IsWithin(kNear)) {
      options.pool = false;
      TryHubs(CandidateKind::kHubs, options);
    }
    if (!IsWithin(kNear) && Ports(*in_.topology).uplinks_limit()) {
      options = Options();
      options.by_group = !by_group_;
      TryHubs(CandidateKind::kHubs, options);
    }
  }

  // Far from the bound, with chains of whatever number.
  void TryTwoTrees() {
    if (IsDone() || IsWithin(kNear) || most_heads_ < 3) return;
    if (best().kind == CandidateKind::kDirect) return;
    RouteOptions options = Options();
    options.strategy = Strategy::kTwoTrees;
    Routing routing;
    if (!Route(options, &routing)) return;
    Judge(CandidateKind::kTwoTrees, in_.options, std::move(routing));
  }

  // A port is busier than the bound asks for, which fewer heads may spare.
  bool SourcesAreBusiest() const { return best().busiest_port_ns > NeededNs(); }

  // Ports that take longer than this are busier than the bound asks for.
  int64_t NeededNs() const { return best().bound_ns + best().bound_ns / kWorthReplacing; }

  bool CanGainByFilling() const {
    return (int64_t{tried_[chains_].depth} - 1) * kWorthFilling >= int64_t{tried_[chains_].rounds};
  }

  // Rounds are longer than the busiest port needs, by more than what as many rounds again cost:
  // slices do not fit beside each other, or trees fill slowly.
  bool CanGainBySlices() const {
    const int64_t rounds_ns = int64_t{best().rounds} * in_.topology->round_ns;
    const int64_t lost_ns = best().predicted_ns - rounds_ns - best().busiest_port_ns;
    return lost_ns > std::max(best().predicted_ns / kNear, rounds_ns);
  }

  // Filling the trees takes as many rounds as they are deep: where there are few rounds, other
  // limits of slices than what staging allows may be better. Where nothing is passed on, smaller
  // slices than the largest may find their place more easily beside others.
  void TrySmallSlices() {
    if (sliced_ == best_) return;
    const bool flat = best().depth == 1;
    int64_t largest = LargestSlice(schedule_);
    if (!flat) {
      largest = in_.options.max_staging_bytes / kRecvSlots;
      if (in_.options.slice_bytes > 0) largest = std::min(largest, in_.options.slice_bytes);
    }
    for (const int64_t part : {2, 4, 8, 16}) {
      sliced_ = best_;
      if (IsDone() || best().kind == CandidateKind::kDirect) return;
      if (!(flat ? CanGainBySlices() : CanGainByFilling())) return;
      ScheduleOptions options = in_.options;
      options.slice_bytes = largest / part;
      if (!Judge(CandidateKind::kSmallSlices, options, Routing(routing_))) return;
    }
  }

  bool Route(const RouteOptions& options, Routing* routing) const {
    Diagnostics diags;  // of a candidate that is left out
    return BuildRouting(*in_.table, *in_.transfers, *in_.topology, options, &diags, routing);
  }

  // A tree has a slice in each round, and one more wherever its bytes change their source.
  int64_t EstimatedInjects(CandidateKind kind, const Routing& routing) const {
    const Candidate& made = in_.max_peers > 0 ? tried_[0] : best();
    int64_t rounds = made.rounds;
    if (kind == CandidateKind::kPooled && made.busiest_port_ns > 0) {
      // Less time, in rounds of about the same size.
      rounds = Portion(BusiestPortNs(*in_.topology, routing, false), rounds, made.busiest_port_ns);
    }
    int64_t injects = 0;
    for (const RoutedStream& stream : routing.streams) {
      if (stream.local) continue;
      for (const RoutedTree& tree : stream.trees) {
        injects += rounds;
        for (size_t i = 1; i < tree.sources.size(); ++i) {
          injects += tree.sources[i].source != tree.sources[i - 1].source ? 1 : 0;
        }
      }
    }
    return injects;
  }

  // Schedules and judges; keeps it when it is the fastest so far.
  bool Judge(CandidateKind kind, const ScheduleOptions& options, Routing routing) {
    Diagnostics diags;  // of a candidate that is left out
    Schedule schedule;
    if (kind != CandidateKind::kDirect && EstimatedInjects(kind, routing) > kMostWork) return false;
    // Its busiest port alone, or filling its deepest tree, takes longer than the best schedule
    // does.
    const int64_t least_ns =
        std::max(BusiestPortNs(*in_.topology, routing, false),
                 LeastNs(Ports(*in_.topology), routing, in_.topology->round_ns));
    if (in_.max_peers == 0 && least_ns >= best().simulated_ns) return false;
    if (!BuildSchedule(*in_.transfers, *in_.topology, routing, options, &diags, &schedule)) {
      return false;
    }
    work_ += WorkOf(schedule);
    tried_.push_back(Describe(in_, kind, routing, schedule, false));
    if (!IsAllowed(tried_.back())) return false;
    const int64_t best_ns = best().simulated_ns;
    if (IsAllowed(best()) && tried_.back().simulated_ns > best_ns - best_ns / kWorthReplacing) {
      return false;
    }
    best_ = tried_.size() - 1;
    routing_ = std::move(routing);
    schedule_ = std::move(schedule);
    return true;
  }

  const CandidateInputs& in_;
  Routing& routing_;
  Schedule& schedule_;
  std::vector<Candidate> tried_;
  size_t best_ = 0;
  size_t chains_ = 0;             // the first one of chains; 0 where there is none
  std::optional<size_t> sliced_;  // smaller slices of this one were tried
  uint32_t most_heads_ = 0;
  bool slow_apart_ = false;
  bool pool_ = false;
  bool by_group_ = false;
  int64_t work_ = 0;
};

}  // namespace

std::string_view CandidateKindText(CandidateKind kind) {
  return kKindTexts[static_cast<size_t>(kind)];
}

std::vector<Candidate> KeepBestCandidate(const CandidateInputs& inputs, Routing* routing,
                                         Schedule* schedule) {
  if (inputs.max_peers == 0 || inputs.settled) {
    return CandidateSearch(inputs, routing, schedule).Run();
  }
  // A limit that the fastest plan keeps changes nothing.
  CandidateInputs unlimited = inputs;
  unlimited.max_peers = 0;
  Routing fastest_routing = *routing;
  Schedule fastest_schedule = *schedule;
  std::vector<Candidate> tried =
      CandidateSearch(unlimited, &fastest_routing, &fastest_schedule).Run();
  const auto kept = std::find_if(tried.begin(), tried.end(),
                                 [](const Candidate& candidate) { return candidate.kept; });
  if (kept->peers > inputs.max_peers) return CandidateSearch(inputs, routing, schedule).Run();
  *routing = std::move(fastest_routing);
  *schedule = std::move(fastest_schedule);
  return tried;
}

bool CheckPeers(const std::vector<Candidate>& candidates, uint32_t max_peers, Diagnostics* diags) {
  uint32_t fewest = UINT32_MAX;
  for (const Candidate& candidate : candidates) {
    if (candidate.kept) return true;
    fewest = std::min(fewest, candidate.peers);
  }
  diags->Error(DiagnosticCode::kPeersInfeasible, Span{},
               "a limit of " + std::to_string(max_peers) +
                   " peers of a rank is too small, the smallest feasible limit is " +
                   std::to_string(fewest));
  return false;
}

}  // namespace reshard
