#include "runtime/exec/messages/domain_links.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// The buffers of an exchange, which outlive it when it fails: see Exchange.
template <class T>
struct Buffers {
  std::vector<std::vector<T>> out, in;
};

template <class T>
std::span<const uint8_t> BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::span<uint8_t> WritableBytesOf(std::vector<T>* values) {
  return {reinterpret_cast<uint8_t*>(values->data()), values->size() * sizeof(T)};
}

}  // namespace

// Makes the links, in three exchanges between neighbours: where is your memory; can you reach
// mine, and how many pieces do you need else; which ones.
class DomainLinks::Connector {
 public:
  Connector(const EngineSpec& spec, MessagePort* port, Deadline deadline, ExchangeFailure* failure)
      : spec_(spec), port_(port), deadline_(deadline), failure_(failure) {}

  Status Connect(const DomainLinkOptions& options, SharedSegment* own, DomainLinks* out) {
    out->own_progress_ = &own->progress();
    out->own_arena_ = own->arena();
    RESHARD_RETURN_IF_ERROR(OpenSegments(options, *own, &out->links_));
    FindWanted(&out->links_);
    RESHARD_RETURN_IF_ERROR(CompareReach(&out->links_));
    RESHARD_RETURN_IF_ERROR(ExchangePieces(&out->links_));
    own->CloseDescriptor();
    for (Link& link : out->links_) PrepareMirror(&link);
    return Status();
  }

 private:
  // Exchanges values[n] with neighbour n, for as many values as in[n] has.
  template <class T>
  Status ExchangeWith(const std::vector<Link>& links, std::unique_ptr<Buffers<T>>* buffers) {
    std::vector<ExchangePart> parts;
    for (size_t n = 0; n < links.size(); ++n) {
      parts.push_back({links[n].neighbour.member, BytesOf((*buffers)->out[n]),
                       WritableBytesOf(&(*buffers)->in[n])});
    }
    Status status = Exchange(port_, kLinkSetupTag, parts, deadline_, failure_);
    if (failure_->buffers_in_use) (void)buffers->release();
    return status;
  }

  Status OpenSegments(const DomainLinkOptions& options, const SharedSegment& own,
                      std::vector<Link>* links) {
    auto addresses = std::make_unique<Buffers<SegmentAddress>>();
    addresses->out.assign(links->size(), {own.address()});
    addresses->in.assign(links->size(), std::vector<SegmentAddress>(1));
    RESHARD_RETURN_IF_ERROR(ExchangeWith(*links, &addresses));
    for (size_t n = 0; n < links->size(); ++n) {
      if (options.shared_memory) (*links)[n].segment = SharedSegment::Open(addresses->in[n][0]);
    }
    return Status();
  }

  // What this rank reads of each neighbour's landings, merged, by (round, offset).
  void FindWanted(std::vector<Link>* links) const {
    for (const Op& op : ExpandProgram(*spec_.plan, *spec_.index, spec_.rank).ops) {
      if (op.kind != OpKind::kCopy || op.peer == spec_.rank) continue;
      for (Link& link : *links) {
        if (link.neighbour.rank != op.peer) continue;
        link.wanted.push_back({op.round, 0, op.peer_offset, op.extent});
      }
    }
    for (Link& link : *links) {
      std::sort(link.wanted.begin(), link.wanted.end(), [](const Piece& a, const Piece& b) {
        return std::pair(a.round, a.offset_bytes) < std::pair(b.round, b.offset_bytes);
      });
      std::vector<Piece> merged;
      for (const Piece& piece : link.wanted) {
        if (!merged.empty() && merged.back().round == piece.round &&
            piece.offset_bytes <= merged.back().offset_bytes + merged.back().bytes) {
          merged.back().bytes = std::max(
              merged.back().bytes, piece.offset_bytes + piece.bytes - merged.back().offset_bytes);
        } else {
          merged.push_back(piece);
        }
      }
      link.wanted = std::move(merged);
    }
  }

  // A link shares memory when both ends reach the other's.
  Status CompareReach(std::vector<Link>* links) {
    auto reach = std::make_unique<Buffers<int64_t>>();
    for (const Link& link : *links) {
      const auto pieces = static_cast<int64_t>(link.wanted.size());
      reach->out.push_back({link.segment != nullptr ? 1 : 0, pieces});
      reach->in.emplace_back(2);
    }
    RESHARD_RETURN_IF_ERROR(ExchangeWith(*links, &reach));
    for (size_t n = 0; n < links->size(); ++n) {
      Link& link = (*links)[n];
      if (reach->in[n][0] == 0) link.segment = nullptr;
      if (link.segment != nullptr) {
        link.wanted.clear();
        continue;
      }
      if (reach->in[n][1] < 0 || reach->in[n][1] > kMaxPlanBytes) {
        return Status(StatusCode::kCorruptData, "rank " + std::to_string(link.neighbour.rank) +
                                                    " wants an impossible number of pieces");
      }
      link.pushed.resize(static_cast<size_t>(reach->in[n][1]));
    }
    return Status();
  }

  Status ExchangePieces(std::vector<Link>* links) {
    auto pieces = std::make_unique<Buffers<Piece>>();
    for (Link& link : *links) {
      pieces->out.push_back(link.wanted);
      pieces->in.push_back(link.pushed);
    }
    RESHARD_RETURN_IF_ERROR(ExchangeWith(*links, &pieces));
    for (size_t n = 0; n < links->size(); ++n) {
      Link& link = (*links)[n];
      link.pushed = std::move(pieces->in[n]);
      for (const Piece& piece : link.pushed) {
        const bool inside = piece.offset_bytes >= 0 && piece.bytes > 0 &&
                            piece.offset_bytes <= spec_.arena_bytes &&
                            piece.bytes <= spec_.arena_bytes - piece.offset_bytes;
        if (inside && piece.round < spec_.plan->header.totals.rounds) continue;
        return Status(StatusCode::kCorruptData, "rank " + std::to_string(link.neighbour.rank) +
                                                    " wants bytes that never land here");
      }
    }
    return Status();
  }

  void PrepareMirror(Link* link) const {
    if (link->wanted.empty()) return;
    const uint32_t rank_index = spec_.index->RankIndex(*spec_.plan, link->neighbour.rank);
    const int64_t bytes = kRecvSlots * spec_.plan->ranks[rank_index].recv_slot_bytes;
    link->mirror = std::make_unique<uint8_t[]>(static_cast<size_t>(bytes));
    // The last round whose pieces used the same slot has to be read first.
    std::array<uint64_t, kRecvSlots> free_below{};
    for (size_t p = 0; p < link->wanted.size(); ++p) {
      const uint32_t round = link->wanted[p].round;
      const bool same_round = p > 0 && link->wanted[p - 1].round == round;
      uint64_t& below = free_below[round % kRecvSlots];
      link->wanted_free_below.push_back(same_round ? link->wanted_free_below.back()
                                                   : std::exchange(below, round + 1));
    }
  }

  const EngineSpec& spec_;
  MessagePort* const port_;
  const Deadline deadline_;
  ExchangeFailure* const failure_;
};

StatusOr<std::unique_ptr<DomainLinks>> DomainLinks::Connect(const EngineSpec& spec,
                                                            MessagePort* port,
                                                            std::span<const Neighbour> neighbours,
                                                            const DomainLinkOptions& options,
                                                            SharedSegment* own, Deadline deadline,
                                                            ExchangeFailure* failure) {
  std::unique_ptr<DomainLinks> links(new DomainLinks(spec.plan->header.totals.rounds));
  links->links_.resize(neighbours.size());
  for (size_t n = 0; n < neighbours.size(); ++n) links->links_[n].neighbour = neighbours[n];
  RESHARD_RETURN_IF_ERROR(
      Connector(spec, port, deadline, failure).Connect(options, own, links.get()));
  return links;
}

size_t DomainLinks::max_sends() const {
  // A round is pushed while the one before may still be on its way, once for each reader.
  size_t most = 0;
  for (const Link& link : links_) most += link.pushed.size();
  return std::min<size_t>(most, 2 * kMaxOpsPerRound * links_.size());
}

size_t DomainLinks::max_receives() const {
  size_t most = 0;
  for (const Link& link : links_) most += link.wanted.size();
  return std::min<size_t>(most, kRecvSlots * kMaxOpsPerRound * links_.size());
}

size_t DomainLinks::max_chunks() const {
  size_t most = 0;
  for (const Link& link : links_) {
    int64_t in_round = 0;
    int64_t most_in_round = 0;
    for (size_t p = 0; p < link.wanted.size(); ++p) {
      if (p > 0 && link.wanted[p].round != link.wanted[p - 1].round) in_round = 0;
      in_round += ChunkCount(link.wanted[p].bytes);
      most_in_round = std::max(most_in_round, in_round);
    }
    most += kRecvSlots * static_cast<size_t>(most_in_round);
  }
  return most;
}

void DomainLinks::Use(ChunkedSends* sends, ChunkedReceives* receives, Notices* notices) {
  sends_ = sends;
  receives_ = receives;
  notices_ = notices;
}

Status DomainLinks::PublishLanded(uint64_t step) {
  own_progress_->landed.store(step, std::memory_order_release);
  const auto round = static_cast<uint32_t>((step - 1) % rounds_);
  for (const Link& link : links_) {
    const auto first = std::lower_bound(link.pushed.begin(), link.pushed.end(), round,
                                        [](const Piece& p, uint32_t r) { return p.round < r; });
    for (auto piece = first; piece != link.pushed.end() && piece->round == round; ++piece) {
      OutgoingMessage message;
      message.member = link.neighbour.member;
      message.tag = kPushTag;
      message.step = step;
      message.data = own_arena_ + piece->offset_bytes;
      message.bytes = piece->bytes;
      message.order = static_cast<uint64_t>(piece - link.pushed.begin());
      message.allowed = true;
      sends_->Add(message);
    }
  }
  return Status();
}

Status DomainLinks::PostWanted(Link* link) {
  const size_t count = link->wanted.size();
  while (count > 0) {
    const size_t p = link->next_wanted % count;
    const uint64_t base = link->next_wanted / count * rounds_;
    if (own_reads_ < base + link->wanted_free_below[p]) return Status();
    const Piece& piece = link->wanted[p];
    RESHARD_RETURN_IF_ERROR(
        receives_->Add({link->neighbour.member, kPushTag, base + piece.round + 1,
                        link->mirror.get() + piece.offset_bytes, piece.bytes}));
    ++link->next_wanted;
  }
  return Status();
}

Status DomainLinks::PublishReads(uint64_t step) {
  own_reads_ = step;
  own_progress_->reads.store(step, std::memory_order_release);
  for (Link& link : links_) {
    if (link.segment != nullptr) continue;
    RESHARD_RETURN_IF_ERROR(PostWanted(&link));
    Notice notice;
    notice.kind = NoticeKind::kReads;
    notice.value = step;
    RESHARD_RETURN_IF_ERROR(notices_->Send(link.neighbour.member, notice));
  }
  return Status();
}

bool DomainLinks::Landed(size_t neighbour, uint64_t step) const {
  const Link& link = links_[neighbour];
  if (link.segment != nullptr) {
    return link.segment->progress().landed.load(std::memory_order_acquire) >= step;
  }
  // All pieces of the step have been posted, since their slot was free, and none is missing.
  const auto round = static_cast<uint32_t>((step - 1) % rounds_);
  const uint64_t execution = (step - 1) / rounds_;
  const auto end = std::upper_bound(link.wanted.begin(), link.wanted.end(), round,
                                    [](uint32_t r, const Piece& p) { return r < p.round; });
  const uint64_t pieces =
      execution * link.wanted.size() + static_cast<uint64_t>(end - link.wanted.begin());
  return link.next_wanted >= pieces &&
         receives_->FirstMissing(kPushTag, link.neighbour.member, step) == nullptr;
}

bool DomainLinks::ReadsDone(size_t neighbour, uint64_t step) const {
  const Link& link = links_[neighbour];
  const uint64_t reads = link.segment != nullptr
                             ? link.segment->progress().reads.load(std::memory_order_acquire)
                             : link.reads;
  return reads >= step;
}

const uint8_t* DomainLinks::ArenaOf(size_t neighbour) const {
  const Link& link = links_[neighbour];
  return link.segment != nullptr ? link.segment->arena() : link.mirror.get();
}

void DomainLinks::OnReads(int member, uint64_t step) {
  for (Link& link : links_) {
    if (link.neighbour.member == member) link.reads = std::max(link.reads, step);
  }
}

}  // namespace reshard
