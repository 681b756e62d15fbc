// DomainLinks: how a rank reads what other ranks of its domain have landed.
//
// Where both processes can map each other's memory, a read is a read, and progress is a counter in
// that memory. Where they cannot (a domain over several hosts), the lander sends the bytes that the
// reader needs when it has landed them, into a copy of the lander's receive slots at the reader,
// and readers tell how far they are by notices. A reader posts its receives for a slot before it
// says that the slot is free, so they are always there before the bytes.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_DOMAIN_LINKS_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_DOMAIN_LINKS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/messages/chunked_messages.h"
#include "runtime/exec/messages/exchange.h"
#include "runtime/exec/messages/message_port.h"
#include "runtime/exec/messages/notices.h"
#include "runtime/exec/messages/shared_segment.h"

namespace reshard {

struct DomainLinkOptions {
  bool shared_memory = true;  // false: by messages, as between hosts
};

class DomainLinks {
 public:
  // A neighbour's number, below neighbours.size(), is its index in `neighbours`.
  struct Neighbour {
    uint32_t rank = 0;
    int member = 0;
  };

  // Collective over the neighbours. `own` is the arena of this rank. *failure as Exchange says.
  static StatusOr<std::unique_ptr<DomainLinks>> Connect(const EngineSpec& spec, MessagePort* port,
                                                        std::span<const Neighbour> neighbours,
                                                        const DomainLinkOptions& options,
                                                        SharedSegment* own, Deadline deadline,
                                                        ExchangeFailure* failure);

  // Room that the pushes of a round and the pieces that may come at a time need.
  size_t max_sends() const;
  size_t max_receives() const;
  // Of the pieces that may come at a time.
  size_t max_chunks() const;
  void Use(ChunkedSends* sends, ChunkedReceives* receives, Notices* notices);

  Status PublishLanded(uint64_t step);
  Status PublishReads(uint64_t step);
  // Whether the neighbour has published `step`.
  bool Landed(size_t neighbour, uint64_t step) const;
  bool ReadsDone(size_t neighbour, uint64_t step) const;
  const uint8_t* ArenaOf(size_t neighbour) const;
  // Its kReads notice has come.
  void OnReads(int member, uint64_t step);

  const Neighbour& neighbour(size_t n) const { return links_[n].neighbour; }
  size_t size() const { return links_.size(); }
  bool shares_memory(size_t n) const { return links_[n].segment != nullptr; }

 private:
  // Bytes of the lander's receive slots that one reader needs of what lands in `round`.
  struct Piece {
    uint32_t round = 0;
    uint32_t reserved = 0;
    int64_t offset_bytes = 0;
    int64_t bytes = 0;
    bool operator==(const Piece&) const = default;
  };
  struct Link {
    Neighbour neighbour;
    std::unique_ptr<const SharedSegment> segment;  // null: by messages
    // By messages: what it pushes to us, in this order in every execution, and what we push to it.
    std::vector<Piece> wanted;
    std::vector<uint64_t> wanted_free_below;  // rounds that must have been read before the piece
    std::vector<Piece> pushed;
    std::unique_ptr<uint8_t[]> mirror;
    uint64_t next_wanted = 0;  // pieces posted so far, over all executions
    uint64_t reads = 0;
  };
  class Connector;

  explicit DomainLinks(uint32_t rounds) : rounds_(rounds) {}
  Status PostWanted(Link* link);

  const uint32_t rounds_;
  std::vector<Link> links_;
  SegmentProgress* own_progress_ = nullptr;
  const uint8_t* own_arena_ = nullptr;
  uint64_t own_reads_ = 0;
  ChunkedSends* sends_ = nullptr;
  ChunkedReceives* receives_ = nullptr;
  Notices* notices_ = nullptr;
};

inline constexpr int kLinkSetupTag = 1;
inline constexpr int kPushTag = 2;

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_DOMAIN_LINKS_H_
