#include "runtime/exec/nccl/connect_peers.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/exec/nccl/standing.h"

namespace reshard::nccl {
namespace {

constexpr int64_t kMessageBytes = 16;
constexpr std::chrono::microseconds kPollInterval(20);

// A direction to a peer, and the group that it belongs to.
struct Pair {
  uint32_t phase = 0;
  const DeviceMessage* message = nullptr;
};

std::vector<Pair> PairsOf(const ConnectSpec& spec) {
  const int32_t self = spec.comm->rank();
  const int32_t count = spec.comm->rank_count();
  std::vector<Pair> pairs;
  std::vector<std::pair<int32_t, bool>> seen;
  for (const MessageRange& group : spec.program->groups()) {
    for (const DeviceMessage& message : spec.program->messages(group)) {
      const std::pair<int32_t, bool> pair(message.peer, message.send);
      const auto at = std::lower_bound(seen.begin(), seen.end(), pair);
      if (at != seen.end() && *at == pair) continue;
      seen.insert(at, pair);
      // The same number at both ends.
      const int32_t distance =
          ((message.send ? message.peer - self : self - message.peer) + count) % count;
      pairs.push_back({static_cast<uint32_t>(distance) / spec.phase_ranks, &message});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.phase < b.phase; });
  return pairs;
}

Status AwaitMessages(const ConnectSpec& spec, Deadline deadline) {
  RESHARD_RETURN_IF_ERROR(spec.gpu->Record(spec.done, spec.stream));
  for (;;) {
    const StatusOr<bool> done = spec.gpu->IsDone(spec.done);
    if (!done.ok()) return done.status();
    RESHARD_RETURN_IF_ERROR(spec.comm->Check());
    if (*done) return Status();
    if (std::chrono::steady_clock::now() >= deadline) {
      return Status(StatusCode::kTimeout, "messages were not finished");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

// The messages of one phase, `at` and following.
Status Exchange(const ConnectSpec& spec, std::span<const Pair> pairs, uint8_t* at,
                Deadline deadline) {
  RESHARD_RETURN_IF_ERROR(spec.comm->Begin());
  Status status;
  for (const Pair& pair : pairs) {
    const int32_t peer = pair.message->peer;
    status = pair.message->send ? spec.comm->Send(at, kMessageBytes, peer, spec.stream)
                                : spec.comm->Receive(at, kMessageBytes, peer, spec.stream);
    if (!status.ok()) break;
    at += kMessageBytes;
  }
  const Status ended = spec.comm->End(deadline);
  RESHARD_RETURN_IF_ERROR(status.ok() ? ended : status);
  return AwaitMessages(spec, deadline);
}

}  // namespace

Status ConnectPeers(const ConnectSpec& spec, DeviceBlock* scratch, Deadline deadline) {
  const std::vector<Pair> pairs = PairsOf(spec);
  StatusOr<DeviceBlock> block =
      DeviceBlock::Make(spec.gpu, static_cast<int64_t>(pairs.size()) * kMessageBytes);
  if (!block.ok()) return block.status();
  *scratch = *std::move(block);
  for (size_t first = 0; first < pairs.size();) {
    size_t end = first;
    while (end < pairs.size() && pairs[end].phase == pairs[first].phase) ++end;
    const std::span phase = std::span(pairs).subspan(first, end - first);
    uint8_t* const at = scratch->data() + static_cast<int64_t>(first) * kMessageBytes;
    const Status status = Exchange(spec, phase, at, deadline);
    if (!status.ok()) {
      std::vector<uint32_t> ranks;
      for (const Pair& pair : phase) ranks.push_back(pair.message->rank);
      return Status(status.code(),
                    "connecting to " + RanksText(std::move(ranks)) + ": " + status.message());
    }
    first = end;
  }
  return Status();
}

}  // namespace reshard::nccl
