#include "compiler/candidates.h"

#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/route/witnesses.h"
#include "compiler/schedule/predict.h"
#include "compiler/schedule/slots.h"

namespace reshard {
namespace {

// Nothing else is tried within this part of the bound, or within this time of it.
constexpr int64_t kGoodEnough = 40;
constexpr int64_t kGoodEnoughNs = 1'000'000;
// A candidate replaces another one when it is faster by this part: its plan may be larger.
constexpr int64_t kWorthReplacing = 400;
// Within this part of the bound more trees are tried only for what they save by filling sooner:
// fewer rounds than the first trees are deep, which has to be worth this part of all rounds.
constexpr int64_t kNear = 20;
constexpr int64_t kWorthFilling = 200;
// Candidates are tried until they have this many injects and tree members together: time to
// compile.
constexpr int64_t kMostWork = 500'000;

Candidate Describe(const Topology& topology, const Schedule& schedule) {
  Candidate candidate;
  std::vector<uint32_t> trees_of_stream(schedule.streams.size(), 0);
  for (const PlanTree& tree : schedule.trees) {
    if (schedule.streams[tree.stream].local) continue;
    candidate.heads = std::max(candidate.heads, ++trees_of_stream[tree.stream]);
    candidate.depth = std::max(candidate.depth, tree.member_count);
  }
  candidate.rounds = schedule.round_count;
  candidate.predicted_ns = PredictNs(topology, schedule);
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
    tried_.push_back(Describe(*in_.topology, schedule_));
    work_ = WorkOf(schedule_);
    const uint32_t first_heads = tried_[0].heads;
    const uint32_t most_heads = MostHeads();
    // More trees are shorter and fill sooner; fewer spare the sources.
    for (const uint32_t heads : {2 * first_heads, 3 * first_heads, first_heads / 2}) {
      if (heads == 0 || heads > most_heads) continue;
      if (heads > first_heads && IsWithin(kNear) && !CanGainByFilling()) continue;
      if (IsGoodEnough() || work_ > kMostWork) break;
      Try(heads);
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

  bool CanGainByFilling() const {
    return (int64_t{tried_[0].depth} - 1) * kWorthFilling >= int64_t{tried_[0].rounds};
  }

  // The best schedule takes at most the bound and 1 / `part` of it, or kGoodEnoughNs, more.
  bool IsWithin(int64_t part) const {
    if (routing_.witnesses.empty()) return true;
    const int64_t bound_ns = WitnessNs(routing_.witnesses[0]);
    return tried_[best_].predicted_ns <= bound_ns + std::max(bound_ns / part, kGoodEnoughNs);
  }

  bool IsGoodEnough() const { return IsWithin(kGoodEnough); }

  // A tree has a slice in each round, and one more wherever its bytes change their source.
  int64_t EstimatedInjects(const Routing& routing) const {
    int64_t injects = 0;
    for (const RoutedStream& stream : routing.streams) {
      if (stream.local) continue;
      for (const RoutedTree& tree : stream.trees) {
        injects += tried_[best_].rounds;
        for (size_t i = 1; i < tree.sources.size(); ++i) {
          injects += tree.sources[i].source != tree.sources[i - 1].source ? 1 : 0;
        }
      }
    }
    return injects;
  }

  void Try(uint32_t heads) {
    Diagnostics diags;  // of a candidate that is left out
    Routing routing;
    Schedule schedule;
    if (!BuildRouting(*in_.table, *in_.transfers, *in_.topology, {heads}, &diags, &routing) ||
        EstimatedInjects(routing) > kMostWork ||
        !BuildSchedule(*in_.transfers, *in_.topology, routing, in_.options, &diags, &schedule)) {
      return;
    }
    work_ += WorkOf(schedule);
    tried_.push_back(Describe(*in_.topology, schedule));
    const int64_t best_ns = tried_[best_].predicted_ns;
    if (tried_.back().predicted_ns > best_ns - best_ns / kWorthReplacing) return;
    best_ = tried_.size() - 1;
    routing_ = std::move(routing);
    schedule_ = std::move(schedule);
  }

  const CandidateInputs& in_;
  Routing& routing_;
  Schedule& schedule_;
  std::vector<Candidate> tried_;
  size_t best_ = 0;
  int64_t work_ = 0;
};

}  // namespace

std::vector<Candidate> KeepBestCandidate(const CandidateInputs& inputs, Routing* routing,
                                         Schedule* schedule) {
  return CandidateSearch(inputs, routing, schedule).Run();
}

}  // namespace reshard
