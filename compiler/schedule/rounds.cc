#include "compiler/schedule/rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/schedule/ledger.h"
#include "compiler/schedule/matching.h"
#include "runtime/base/check.h"
#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// Buckets that one tree looks through in one round; the next round goes on behind them.
constexpr size_t kBucketsPerLook = 64;
// Slices of a bucket that are looked at: those with a second source may not fit when others do.
constexpr size_t kSlicesPerLook = 4;

// Sources that matching looks at, over all rounds: time to compile.
constexpr int64_t kMatchingWork = 100'000'000;

// Slices of a tree that have their largest portion from one source, the next one last.
struct Bucket {
  OutletId outlet = 0;  // kNone: handed over inside a domain
  SiteId site = 0;      // of that source
  std::vector<uint32_t> slices;
};

// A portion of this round.
struct Reservation {
  SiteId site = 0;
  OutletId outlet = 0;  // kNone: handed over inside a domain
  int64_t extent = 0;
  PortId way_out = kNone, way_in = kNone;  // uplinks that it passes
};

// Calls `visit(port, bytes)` for what a portion passes.
template <class Visit>
void ForPorts(const Ports& ports, const Reservation& portion, const Visit& visit) {
  if (portion.outlet == kNone) return;
  const Outlet& outlet = ports.outlet(portion.outlet);
  for (size_t i = 0; i < outlet.shares.size(); ++i) {
    visit(outlet.shares[i].port, ShareBytes(outlet, i, portion.extent));
  }
  if (portion.way_out != kNone) visit(portion.way_out, portion.extent);
  if (portion.way_in != kNone) visit(portion.way_in, portion.extent);
}

struct OpenTree {
  uint32_t tree = 0;
  std::vector<Bucket> buckets;
  size_t next_bucket = 0;
  size_t slices_left = 0;
  int64_t slice_bytes = 0;          // of its first slice; the others are hardly larger
  int64_t least_bytes = INT64_MAX;  // of its smallest slice
};

// What a port receives in a round.
struct Received {
  uint32_t round = 0;  // whose bytes these are; older ones are void
  int64_t bytes = 0;
};

class OpenShop {
 public:
  OpenShop(const Topology& topology, const Ports& ports, const RoundLimits& limits,
           std::vector<ScheduledTree>* trees)
      : ports_(ports),
        limits_(limits),
        trees_(*trees),
        ledger_(ports, *trees, limits.recv_bytes),
        sent_(ports.port_count(), 0),
        packed_(topology.sites.size(), 0),
        left_bytes_(ports.outlet_count(), 0),
        left_ps_(ports.outlet_count(), 0),
        left_handed_(topology.sites.size(), 0),
        received_(ports.port_count()) {}

  // Returns the number of rounds that slices start in.
  uint32_t Run();

 private:
  void Open(uint32_t tree);
  void StartRound();
  bool IsDue(const OpenTree& open) const;
  std::vector<OutletId> MatchRound();
  bool TakeMatched();
  // From a bucket of `outlet`; kNone: of any.
  bool TakeOne(OpenTree* open, OutletId outlet);
  // kNone: the portion stays inside a domain.
  OutletId OutletOf(const ScheduledTree& tree, const SourceRun& portion) const {
    return tree.carried ? kNone : ports_.outlet_of_rank(portion.source);
  }
  Reservation ReservationOf(const ScheduledTree& tree, const SourceRun& portion) const;
  int64_t& ReceivedBy(PortId port);
  bool HeadHasRoom(const ScheduledTree& tree, int64_t extent);
  bool Reserve(const Reservation& portion, uint32_t portions_before);
  int64_t LeftOf(const Bucket& bucket) const {
    return bucket.outlet == kNone ? left_handed_[bucket.site] : left_ps_[bucket.outlet];
  }
  int64_t SentBefore(PortId port, uint32_t portions_before) const;
  void ReleaseLast(uint32_t portion_count);
  bool ReserveAll(const ScheduledTree& tree, const DraftSlice& slice);
  void Take(OpenTree* open, size_t bucket, size_t slice);

  const Ports& ports_;
  const RoundLimits& limits_;
  std::vector<ScheduledTree>& trees_;
  Ledger ledger_;
  uint32_t round_ = 0;
  std::vector<OpenTree> open_;
  std::vector<int64_t> sent_;    // per port, in this round
  std::vector<int64_t> packed_;  // per site, in this round
  std::vector<Reservation> reserved_;
  std::vector<int64_t> left_bytes_;  // per outlet, over all slices without a round
  std::vector<int64_t> left_ps_;
  std::vector<int64_t> left_handed_;  // per site, what it hands over in slices without a round
  std::vector<Received> received_;    // per port, where nothing is passed on
  int64_t matching_work_ = kMatchingWork;
};

void OpenShop::Open(uint32_t tree) {
  ScheduledTree& facts = trees_[tree];
  OpenTree open;
  open.tree = tree;
  open.slices_left = facts.slices.size();
  open.slice_bytes = facts.slices[0].extent;
  std::map<Rank, size_t> bucket_of;
  for (size_t s = facts.slices.size(); s-- > 0;) {
    const DraftSlice& slice = facts.slices[s];
    open.least_bytes = std::min(open.least_bytes, slice.extent);
    const auto first = facts.portions.begin() + slice.first_portion;
    const auto largest = std::max_element(
        first, first + slice.portion_count,
        [](const SourceRun& a, const SourceRun& b) { return a.extent < b.extent; });
    const auto [entry, is_new] = bucket_of.try_emplace(largest->source, open.buckets.size());
    if (is_new) {
      open.buckets.push_back({OutletOf(facts, *largest), ports_.site(largest->source), {}});
    }
    open.buckets[entry->second].slices.push_back(static_cast<uint32_t>(s));
  }
  std::reverse(open.buckets.begin(), open.buckets.end());
  for (const SourceRun& portion : facts.portions) {
    const OutletId outlet = OutletOf(facts, portion);
    (outlet == kNone ? left_handed_[ports_.site(portion.source)] : left_bytes_[outlet]) +=
        portion.extent;
  }
  open_.push_back(std::move(open));
}

void OpenShop::StartRound() {
  for (const Reservation& portion : reserved_) {
    packed_[portion.site] = 0;
    ForPorts(ports_, portion, [&](PortId port, int64_t) { sent_[port] = 0; });
  }
  reserved_.clear();
}

// What passes the port in this round without the last portions reserved.
int64_t OpenShop::SentBefore(PortId port, uint32_t portions_before) const {
  int64_t bytes = sent_[port];
  for (size_t k = reserved_.size() - portions_before; k < reserved_.size(); ++k) {
    ForPorts(ports_, reserved_[k],
             [&](PortId passed, int64_t extent) { bytes -= passed == port ? extent : 0; });
  }
  return bytes;
}

// A portion fits when its ports have room, or nothing to do but the portions of the same slice
// before it: else a slice larger than a port's share would never move.
bool OpenShop::Reserve(const Reservation& portion, uint32_t portions_before) {
  const int64_t packed = AlignedToSlot(portion.extent);
  if (packed_[portion.site] + packed > limits_.pack_bytes[portion.site]) return false;
  bool fits = true;
  ForPorts(ports_, portion, [&](PortId port, int64_t bytes) {
    fits = fits && (sent_[port] + bytes <= limits_.port_bytes[port] ||
                    SentBefore(port, portions_before) == 0);
  });
  if (!fits) return false;
  ForPorts(ports_, portion, [&](PortId port, int64_t bytes) { sent_[port] += bytes; });
  packed_[portion.site] += packed;
  reserved_.push_back(portion);
  return true;
}

void OpenShop::ReleaseLast(uint32_t portion_count) {
  for (uint32_t k = 0; k < portion_count; ++k) {
    const Reservation portion = reserved_.back();
    reserved_.pop_back();
    packed_[portion.site] -= AlignedToSlot(portion.extent);
    ForPorts(ports_, portion, [&](PortId port, int64_t bytes) { sent_[port] -= bytes; });
  }
}

Reservation OpenShop::ReservationOf(const ScheduledTree& tree, const SourceRun& portion) const {
  Reservation reservation{ports_.site(portion.source), OutletOf(tree, portion), portion.extent};
  const GroupId from = ports_.group_of_rank(portion.source);
  const GroupId to = ports_.group_of_rank(tree.members[0]);
  if (from == to) return reservation;
  reservation.way_out = ports_.uplink_out(from);
  reservation.way_in = ports_.uplink_in(to);
  return reservation;
}

bool OpenShop::ReserveAll(const ScheduledTree& tree, const DraftSlice& slice) {
  for (uint32_t i = 0; i < slice.portion_count; ++i) {
    const SourceRun& portion = tree.portions[slice.first_portion + i];
    if (Reserve(ReservationOf(tree, portion), i)) continue;
    ReleaseLast(i);
    return false;
  }
  return true;
}

int64_t& OpenShop::ReceivedBy(PortId port) {
  Received& received = received_[port];
  if (received.round != round_) received = {round_, 0};
  return received.bytes;
}

// Have the ports that receive a slice at the head room for it, or nothing to do? Where slices are
// passed on, ports also receive those of earlier rounds, and no limit of these would make rounds
// even.
bool OpenShop::HeadHasRoom(const ScheduledTree& tree, int64_t extent) {
  if (!limits_.flat || tree.carried) return true;
  const Outlet& outlet = ports_.outlet(ports_.outlet_of_rank(tree.members[0]));
  for (size_t i = 0; i < outlet.shares.size(); ++i) {
    const PortId port = outlet.shares[i].port;
    const int64_t before = ReceivedBy(port);
    const int64_t bytes = before + ShareBytes(outlet, i, extent);
    if (before > 0 && bytes > limits_.port_bytes[port]) return false;
  }
  return true;
}

void OpenShop::Take(OpenTree* open, size_t bucket, size_t slice) {
  ScheduledTree& tree = trees_[open->tree];
  std::vector<uint32_t>& slices = open->buckets[bucket].slices;
  const uint32_t id = slices[slice];
  slices.erase(slices.begin() + static_cast<std::ptrdiff_t>(slice));
  if (slices.empty()) {
    open->buckets.erase(open->buckets.begin() + static_cast<std::ptrdiff_t>(bucket));
  }
  --open->slices_left;
  const DraftSlice& facts = tree.slices[id];
  RESHARD_CHECK(ReserveAll(tree, facts), "a slice that fitted does not fit");
  for (uint32_t i = 0; i < facts.portion_count; ++i) {
    const SourceRun& portion = tree.portions[facts.first_portion + i];
    const OutletId outlet = OutletOf(tree, portion);
    if (outlet == kNone) {
      left_handed_[ports_.site(portion.source)] -= portion.extent;
      continue;
    }
    left_bytes_[outlet] -= portion.extent;
    left_ps_[outlet] = PicosecondsFor(left_bytes_[outlet], ports_.outlet(outlet).bytes_per_s);
  }
  ledger_.Take(open->tree, facts, round_);
  if (limits_.flat && !tree.carried) {
    const Outlet& outlet = ports_.outlet(ports_.outlet_of_rank(tree.members[0]));
    for (size_t i = 0; i < outlet.shares.size(); ++i) {
      ReceivedBy(outlet.shares[i].port) += ShareBytes(outlet, i, facts.extent);
    }
  }
  tree.rounds[id] = round_;
}

// Streams of one carrier take turns in slices that are larger than their part of a round. Were
// these to start as soon as they can, those who receive them would have too much to do first and
// nothing later.
bool OpenShop::IsDue(const OpenTree& open) const {
  const ScheduledTree& tree = trees_[open.tree];
  if (!IsPassedOnByCarrier(tree)) return true;
  const size_t started = tree.slices.size() - open.slices_left;
  return static_cast<int64_t>(started) * limits_.rounds <=
         static_cast<int64_t>(tree.slices.size()) * round_;
}

// Per open tree, the outlet of the source that it had better take from in this round, or kNone.
std::vector<OutletId> OpenShop::MatchRound() {
  std::vector<int64_t> room_bytes;
  for (OutletId outlet = 0; outlet < ports_.outlet_count(); ++outlet) {
    room_bytes.push_back(limits_.port_bytes[ports_.outlet(outlet).shares[0].port]);
  }
  std::vector<Taker> takers;
  std::vector<uint32_t> taker_of(open_.size(), kNone);
  for (size_t i = 0; i < open_.size(); ++i) {
    const OpenTree& open = open_[i];
    if (trees_[open.tree].carried || !ledger_.MayStart(open.tree, round_)) continue;
    taker_of[i] = static_cast<uint32_t>(takers.size());
    Taker& taker = takers.emplace_back();
    taker.bytes = open.slice_bytes;
    const size_t looks = std::min(open.buckets.size(), kBucketsPerLook);
    for (size_t b = 0; b < looks; ++b) {
      taker.givers.push_back(open.buckets[(open.next_bucket + b) % open.buckets.size()].outlet);
    }
    std::stable_sort(taker.givers.begin(), taker.givers.end(),
                     [&](OutletId a, OutletId b) { return left_ps_[a] > left_ps_[b]; });
  }
  const std::vector<uint32_t> givers = MatchTakers(takers, room_bytes, &matching_work_);
  std::vector<OutletId> outlets;
  for (const uint32_t taker : taker_of) {
    outlets.push_back(taker == kNone ? kNone : givers[taker]);
  }
  return outlets;
}

// Those without a match, or whose slice did not fit after all, come last.
bool OpenShop::TakeMatched() {
  const std::vector<OutletId> outlets = MatchRound();
  std::vector<size_t> others;
  for (size_t i = 0; i < open_.size(); ++i) {
    if (outlets[i] == kNone || !TakeOne(&open_[i], outlets[i])) others.push_back(i);
  }
  bool moved = others.size() < open_.size();
  for (const size_t i : others) moved |= TakeOne(&open_[i], kNone);
  return moved;
}

// Of the buckets whose next slice fits, the one whose source has most left to send.
bool OpenShop::TakeOne(OpenTree* open, OutletId outlet) {
  const ScheduledTree& tree = trees_[open->tree];
  const size_t count = open->buckets.size();
  const size_t looks = std::min(count, kBucketsPerLook);
  size_t best_bucket = count, best_slice = 0;
  const bool may_start =
      ledger_.MayStart(open->tree, round_) && HeadHasRoom(tree, open->least_bytes);
  for (size_t i = 0; may_start && i < looks; ++i) {
    const size_t bucket = (open->next_bucket + i) % count;
    if (outlet != kNone && open->buckets[bucket].outlet != outlet) continue;
    const int64_t left_ps = LeftOf(open->buckets[bucket]);
    if (best_bucket < count && left_ps <= LeftOf(open->buckets[best_bucket])) continue;
    const std::vector<uint32_t>& slices = open->buckets[bucket].slices;
    for (size_t back = 1; back <= std::min(slices.size(), kSlicesPerLook); ++back) {
      const DraftSlice& slice = tree.slices[slices[slices.size() - back]];
      if (!ledger_.Fits(open->tree, slice, round_) || !HeadHasRoom(tree, slice.extent) ||
          !ReserveAll(tree, slice)) {
        continue;
      }
      ReleaseLast(slice.portion_count);  // a better one may follow
      best_bucket = bucket;
      best_slice = slices.size() - back;
      break;
    }
  }
  if (outlet == kNone || best_bucket < count)
    open->next_bucket = (open->next_bucket + looks) % count;
  if (best_bucket == count) return false;
  Take(open, best_bucket, best_slice);
  return true;
}

uint32_t OpenShop::Run() {
  for (uint32_t tree = 0; tree < trees_.size(); ++tree) {
    trees_[tree].rounds.assign(trees_[tree].slices.size(), 0);
    if (!trees_[tree].local) Open(tree);
  }
  for (OutletId outlet = 0; outlet < left_ps_.size(); ++outlet) {
    left_ps_[outlet] = PicosecondsFor(left_bytes_[outlet], ports_.outlet(outlet).bytes_per_s);
  }
  uint32_t idle_rounds = 0;
  for (; !open_.empty(); ++round_) {
    StartRound();
    // Trees with most left go first, then those with large slices: small ones fill the gaps that
    // these leave. Equal ones take turns.
    std::rotate(open_.begin(), open_.begin() + 1, open_.end());
    std::stable_sort(open_.begin(), open_.end(), [](const OpenTree& a, const OpenTree& b) {
      return std::pair(a.slices_left, a.slice_bytes) > std::pair(b.slices_left, b.slice_bytes);
    });
    bool moved = false;
    if (limits_.tight && matching_work_ > 0) {
      moved = TakeMatched();
    } else {
      for (OpenTree& open : open_) moved |= IsDue(open) && TakeOne(&open, kNone);
    }
    if (!moved) {
      for (OpenTree& open : open_) moved |= TakeOne(&open, kNone);
    }
    std::erase_if(open_, [](const OpenTree& open) { return open.slices_left == 0; });
    idle_rounds = moved ? 0 : idle_rounds + 1;
    RESHARD_CHECK(idle_rounds <= ledger_.horizon(), "a slice fits no round");
  }
  return round_;
}

}  // namespace

void AssignRounds(const Topology& topology, const Ports& ports, const RoundLimits& limits,
                  std::vector<ScheduledTree>* trees) {
  uint64_t rounds = OpenShop(topology, ports, limits, trees).Run();
  for (const ScheduledTree& tree : *trees) {
    if (tree.local) rounds = std::max<uint64_t>(rounds, tree.slices.size());
  }
  // Local copies need no network: spread evenly, they fill no round's slots.
  for (ScheduledTree& tree : *trees) {
    if (!tree.local) continue;
    const uint64_t count = tree.slices.size();
    for (uint64_t i = 0; i < count; ++i) {
      tree.rounds[i] = static_cast<uint32_t>(i * rounds / count);
    }
  }
}

}  // namespace reshard
