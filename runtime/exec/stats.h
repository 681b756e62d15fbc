// ExecutionRecord: what one rank did in one execution, for statistics and traces.
//
// An engine reports into it while it runs; room for everything is made beforehand, so that
// reporting never allocates. Not thread-safe: read it between executions.
#ifndef RESHARD_RUNTIME_EXEC_STATS_H_
#define RESHARD_RUNTIME_EXEC_STATS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/exec/prepared_program.h"

namespace reshard {

enum class ExecStage : uint8_t {
#define RESHARD_STAGE(enumerator, name, meaning) enumerator,
#include "runtime/exec/stages.def"
#undef RESHARD_STAGE
};
inline constexpr size_t kStageCount = 0
#define RESHARD_STAGE(enumerator, name, meaning) +1
#include "runtime/exec/stages.def"
#undef RESHARD_STAGE
    ;
std::string_view ExecStageText(ExecStage stage);  // "network-wait"

class ExecutionRecord {
 public:
  using Clock = std::chrono::steady_clock;

  struct PeerWait {
    uint32_t peer = 0;
    std::chrono::nanoseconds waited{0};
  };
  struct Span {
    ExecStage stage{};
    uint32_t round = 0;
    uint32_t peer = 0;  // whom it waited for or copied from; kNoId: nobody in particular
    int64_t bytes = 0;  // moved by it
    Clock::time_point begin{}, end{};
  };
  struct Message {  // that this rank received
    uint32_t round = 0;
    uint32_t peer = 0;
    int64_t bytes = 0;
    Clock::time_point begin{}, end{};
  };
  struct Bytes {
    int64_t sent = 0;       // to ranks of other domains
    int64_t received = 0;   // from ranks of other domains into the own receive slots
    int64_t read = 0;       // from other ranks of the domain: from their receive slots, and handed
    int64_t handed = 0;     // ... of these: in messages, to be passed on
    int64_t local = 0;      // packed here and copied out here
    int64_t delivered = 0;  // written into destination params
  };

  // Room for executions of `program`; `trace` keeps every span and message too.
  void Prepare(const PreparedProgram& program, bool trace);

  // An execution begins: all figures at zero.
  void Begin();
  // One step of the rank. A wait for `peer` counts for that peer. Spans of one execution need not
  // follow each other in time.
  void Add(ExecStage stage, uint32_t round, uint32_t peer, int64_t bytes, Clock::time_point begin,
           Clock::time_point end);
  // Waiting for one peer inside a span that names nobody.
  void AddWait(uint32_t peer, std::chrono::nanoseconds waited);
  // The messages of `round` may come from now on; one of them has arrived.
  void BeginMessages(uint32_t round);
  void AddMessage(uint32_t peer, int64_t bytes);
  // What has been done, in this order for every round; positions in `rounds` of the program.
  void SetFilled() { filled_ = true; }
  void SetRoundsMoved(size_t end);   // sends and receives of rounds[0 .. end) are finished
  void SetRoundsCopied(size_t end);  // copies of rounds[0 .. end) are finished: they are final
  // The execution is over.
  void End();

  std::chrono::nanoseconds elapsed() const { return end_ - begin_; }
  std::chrono::nanoseconds stage_time(ExecStage stage) const {
    return stage_time_[static_cast<size_t>(stage)];
  }
  const Bytes& bytes() const { return bytes_; }
  // By peer, rising: every rank that this one may wait for.
  std::span<const PeerWait> peer_waits() const { return peer_waits_; }
  // The peer waited for longest; null when nobody was waited for.
  const PeerWait* slowest() const;
  std::span<const Span> spans() const { return spans_; }
  std::span<const Message> messages() const { return messages_; }
  Clock::time_point begin_time() const { return begin_; }
  size_t rounds_moved() const { return rounds_moved_; }
  size_t rounds_copied() const { return rounds_copied_; }
  bool filled() const { return filled_; }

 private:
  bool trace_ = false;
  bool filled_ = false;
  size_t rounds_copied_ = 0;
  Clock::time_point begin_{}, end_{};
  std::array<std::chrono::nanoseconds, kStageCount> stage_time_{};
  uint32_t message_round_ = 0;
  Clock::time_point messages_begin_{};
  size_t rounds_moved_ = 0;
  Bytes bytes_;
  std::vector<Bytes> round_bytes_;  // of the program, per round
  std::vector<PeerWait> peer_waits_;
  std::vector<Span> spans_;
  std::vector<Message> messages_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_STATS_H_
