// PreparedProgram: the program of one rank with its addresses resolved, grouped by round.
//
// ExpandProgram says what moves; this adds where in the param buffers, which regions are zeroed,
// and what a round has to wait for. Flat vectors; running it allocates nothing.
#ifndef RESHARD_RUNTIME_EXEC_PREPARED_PROGRAM_H_
#define RESHARD_RUNTIME_EXEC_PREPARED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/pack.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

struct PreparedMessage {
  uint32_t peer = 0;
  int64_t arena_offset = 0;
  int64_t extent = 0;
};
struct PreparedPack {
  CopyRange copies;  // of `gathers`
  int64_t arena_offset = 0;
};
// Bytes of a slice that a lander of the domain received.
struct PreparedRead {
  CopyRange copies;  // of `scatters`
  uint32_t lander = 0;
  uint32_t round = 0;  // in which it landed
  int64_t lander_offset = 0;
  int64_t extent = 0;  // adjacent bytes there; a param stored twice is written twice
};

// One round in which the rank does anything; ranges [first, end) of the vectors of PreparedProgram.
struct PreparedRound {
  uint32_t round = 0;
  uint32_t first_pack = 0, pack_end = 0;
  uint32_t first_send = 0, send_end = 0;  // messages packed in this round and forwards
  uint32_t first_receive = 0, receive_end = 0;
  uint32_t first_read = 0, read_end = 0;  // of what landed in the round before
  bool lands = false;                     // writes its receive slot
  // The domain must have finished its reads of rounds below this one before the slot is written.
  uint32_t slot_free_below = 0;
  // After its reads this rank has finished all reads of rounds below this one.
  uint32_t reads_done_below = 0;
};

// A destination param that the plan writes, and when it has all its bytes.
struct PreparedParam {
  uint32_t family = 0;
  int64_t instance = 0;
  size_t rounds_until_complete = 0;  // rounds[0 .. n) have been copied out
};

struct PreparedProgram {
  uint32_t rank = 0;
  uint32_t round_count = 0;  // of the plan: steps of one execution
  uint32_t reads_begin = 0;  // the first round from which this rank reads; round_count: never
  std::vector<PreparedRound> rounds;  // rising
  std::vector<PreparedPack> packs;
  std::vector<PreparedMessage> sends, receives;
  std::vector<PreparedRead> reads;
  std::vector<uint32_t> neighbours;  // the other ranks of the domain that take part, rising
  CopyList gathers, scatters;
  FillList fills;
  std::vector<PreparedParam> params;  // by (family, instance)
  Bindings bindings;                  // `gathers` and `scatters` point into it

  // Ranks that it sends to or receives from.
  std::vector<uint32_t> Peers() const;
};

// Error when the plan and the bindings do not fit, which VerifyPlan and BindParams exclude.
StatusOr<PreparedProgram> PrepareProgram(const Plan& plan, const ProgramIndex& index, uint32_t rank,
                                         Bindings bindings);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_PREPARED_PROGRAM_H_
