#include "runtime/exec/nccl/device_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace reshard::nccl {
namespace {

constexpr int64_t kBounceAlignBytes = 256;

// A message through NCCL inside the domain, and the group that it belongs to where there are
// several.
struct DomainMessage {
  DeviceMessage message;
  uint32_t phase = 0;
};

// What is collected for one round before everything is laid flat.
struct Draft {
  const PreparedRound* prepared = nullptr;
  std::vector<DomainMessage> domain;
  // Copies out of what came through NCCL.
  std::vector<std::pair<const PreparedRead*, uint8_t*>> bounced;
};

int64_t AlignUp(int64_t bytes) {
  return (bytes + kBounceAlignBytes - 1) / kBounceAlignBytes * kBounceAlignBytes;
}

// The first byte of `range` in its param when it is a single run; null otherwise.
uint8_t* SingleRun(const CopyList& list, CopyRange range, int64_t bytes) {
  const std::span<const CopyList::Nest> nests = list.nests(range);
  if (nests.size() != 1) return nullptr;
  const CopyList::Nest& nest = nests.front();
  if (nest.run_bytes != bytes || nest.row_runs != 1 || nest.row_count != 1) return nullptr;
  return nest.instances[nest.base_instance] + nest.base_bytes;
}

}  // namespace

class DeviceProgramBuilder {
 public:
  DeviceProgramBuilder(GpuRuntime* gpu, const DomainLink& link, const PreparedProgram& program,
                       std::span<const DomainRead> reads_of_others, DeviceProgram* out)
      : gpu_(gpu), link_(link), program_(program), reads_of_others_(reads_of_others), out_(*out) {}

  Status Run() {
    out_.round_count_ = program_.round_count;
    out_.reads_begin_ = program_.reads_begin;
    for (const PreparedRound& round : program_.rounds) drafts_[round.round].prepared = &round;
    if (!link_.direct()) {
      RESHARD_RETURN_IF_ERROR(AddDomainSends());
      RESHARD_RETURN_IF_ERROR(AddDomainReceives());
    }
    const uint32_t zeros = tables_.mark();
    RESHARD_RETURN_IF_ERROR(tables_.AddZeros(program_.fills));
    out_.zeros_ = tables_.Since(zeros);
    for (const auto& [number, draft] : drafts_) {
      RESHARD_RETURN_IF_ERROR(AddRound(number, draft));
    }
    SetRoundsCopied();
    StatusOr<CopyTable> table = tables_.Upload(gpu_);
    if (!table.ok()) return table.status();
    out_.table_ = *std::move(table);
    return link_.direct() ? UploadFlags() : Status();
  }

 private:
  StatusOr<DeviceMessage> Message(uint32_t rank, uint8_t* data, int64_t bytes, bool send) const {
    const int32_t peer = link_.CommRankOf(rank);
    if (peer == DomainLink::kNoRank) {
      return Status(StatusCode::kCorruptData,
                    "rank " + std::to_string(rank) + " is not in the communicator");
    }
    return DeviceMessage{data, bytes, rank, peer, send};
  }

  // Of a message from `src` to `dst`; the same at both ends, and few ranks share one.
  uint32_t Phase(int32_t src, int32_t dst) const {
    const int32_t count = link_.comm_rank_count();
    return static_cast<uint32_t>((dst - src + count) % count) / link_.tuning().phase_ranks;
  }

  Status AddDomainSends() {
    const int32_t self = link_.CommRankOf(program_.rank);
    for (const DomainRead& read : reads_of_others_) {
      const StatusOr<DeviceMessage> message =
          Message(read.reader, link_.arena() + read.arena_offset, read.extent, /*send=*/true);
      if (!message.ok()) return message.status();
      drafts_[read.round + 1].domain.push_back({*message, Phase(self, message->peer)});
    }
    return Status();
  }

  // Messages straight into a param need no room; all others lie in a slot per round, alternately.
  Status AddDomainReceives() {
    std::vector<std::pair<const PreparedRead*, int64_t>> placed;
    int64_t slot_bytes = 0;
    for (const PreparedRound& round : program_.rounds) {
      int64_t used = 0;
      for (uint32_t r = round.first_read; r < round.read_end; ++r) {
        const PreparedRead& read = program_.reads[r];
        if (read.lander == program_.rank || WholeParam(read) != nullptr) continue;
        placed.push_back({&read, used});
        used = AlignUp(used + read.extent);
      }
      slot_bytes = std::max(slot_bytes, used);
    }
    StatusOr<DeviceBlock> bounce = DeviceBlock::Make(gpu_, 2 * slot_bytes);
    if (!bounce.ok()) return bounce.status();
    out_.bounce_ = *std::move(bounce);
    const int32_t self = link_.CommRankOf(program_.rank);
    auto next = placed.begin();
    for (const PreparedRound& round : program_.rounds) {
      for (uint32_t r = round.first_read; r < round.read_end; ++r) {
        const PreparedRead& read = program_.reads[r];
        if (read.lander == program_.rank) continue;
        uint8_t* to = WholeParam(read);
        if (to == nullptr) {
          to = out_.bounce_.data() + (round.round % 2) * slot_bytes + next->second;
          drafts_[round.round + 1].bounced.push_back({&read, to});
          ++next;
        }
        const StatusOr<DeviceMessage> message =
            Message(read.lander, to, read.extent, /*send=*/false);
        if (!message.ok()) return message.status();
        drafts_[round.round].domain.push_back({*message, Phase(message->peer, self)});
      }
    }
    return Status();
  }

  uint8_t* WholeParam(const PreparedRead& read) const {
    if (read.extent < link_.tuning().zero_copy_bytes) return nullptr;
    return SingleRun(program_.scatters, read.copies, read.extent);
  }

  Status AddRound(uint32_t number, const Draft& draft) {
    DeviceRound round;
    round.round = number;
    round.first_group = static_cast<uint32_t>(out_.groups_.size());
    const auto first = static_cast<uint32_t>(out_.messages_.size());
    if (draft.prepared != nullptr) {
      RESHARD_RETURN_IF_ERROR(AddPacksAndMessages(*draft.prepared, &round));
    }
    AddGroups(first, draft.domain);
    round.group_end = static_cast<uint32_t>(out_.groups_.size());
    const uint32_t mark = tables_.mark();
    for (const auto& [read, from] : draft.bounced) {
      RESHARD_RETURN_IF_ERROR(tables_.Add(program_.scatters, read->copies, from));
      round.copied_bytes += program_.scatters.Bytes(read->copies);
    }
    if (draft.prepared != nullptr) {
      RESHARD_RETURN_IF_ERROR(AddReads(*draft.prepared, &round));
    } else {
      lander_lists_.push_back({});
    }
    round.copies = tables_.Since(mark);
    out_.rounds_.push_back(round);
    return Status();
  }

  Status AddPacksAndMessages(const PreparedRound& prepared, DeviceRound* round) {
    const uint32_t mark = tables_.mark();
    std::map<int64_t, uint8_t*> unpacked;  // by arena offset
    for (uint32_t p = prepared.first_pack; p < prepared.pack_end; ++p) {
      const PreparedPack& pack = program_.packs[p];
      const int64_t bytes = program_.gathers.Bytes(pack.copies);
      uint8_t* const whole = bytes < link_.tuning().zero_copy_bytes
                                 ? nullptr
                                 : SingleRun(program_.gathers, pack.copies, bytes);
      if (whole != nullptr && IsSent(prepared, pack.arena_offset, bytes)) {
        unpacked[pack.arena_offset] = whole;
        continue;
      }
      RESHARD_RETURN_IF_ERROR(
          tables_.Add(program_.gathers, pack.copies, link_.arena() + pack.arena_offset));
      round->packed_bytes += bytes;
    }
    round->packs = tables_.Since(mark);
    for (uint32_t s = prepared.first_send; s < prepared.send_end; ++s) {
      const PreparedMessage& send = program_.sends[s];
      const auto whole = unpacked.find(send.arena_offset);
      RESHARD_RETURN_IF_ERROR(AddMessage(
          send, whole != unpacked.end() ? whole->second : link_.arena() + send.arena_offset, true));
    }
    for (uint32_t r = prepared.first_receive; r < prepared.receive_end; ++r) {
      const PreparedMessage& receive = program_.receives[r];
      RESHARD_RETURN_IF_ERROR(AddMessage(receive, link_.arena() + receive.arena_offset, false));
    }
    round->lands = prepared.lands;
    round->slot_free_below = prepared.slot_free_below;
    return Status();
  }

  Status AddMessage(const PreparedMessage& message, uint8_t* data, bool send) {
    const StatusOr<DeviceMessage> made = Message(message.peer, data, message.extent, send);
    if (!made.ok()) return made.status();
    out_.messages_.push_back(*made);
    return Status();
  }

  // Whether a pack is a message; when this rank is the head itself, it stays here and is read.
  bool IsSent(const PreparedRound& round, int64_t arena_offset, int64_t bytes) const {
    for (uint32_t s = round.first_send; s < round.send_end; ++s) {
      const PreparedMessage& send = program_.sends[s];
      if (send.arena_offset == arena_offset) return send.extent == bytes;
    }
    return false;
  }

  // The messages from `first` on are those of the network.
  void AddGroups(uint32_t first, std::vector<DomainMessage> domain) {
    if (!link_.joint()) {
      CloseGroup(&first);
      std::stable_sort(
          domain.begin(), domain.end(),
          [](const DomainMessage& a, const DomainMessage& b) { return a.phase < b.phase; });
    }
    for (size_t i = 0; i < domain.size(); ++i) {
      const bool next_phase = i > 0 && domain[i].phase != domain[i - 1].phase;
      if (!link_.joint() && next_phase) CloseGroup(&first);
      out_.messages_.push_back(domain[i].message);
    }
    CloseGroup(&first);
  }

  void CloseGroup(uint32_t* first) {
    const auto end = static_cast<uint32_t>(out_.messages_.size());
    if (end > *first) out_.groups_.push_back({*first, end});
    *first = end;
  }

  Status AddReads(const PreparedRound& prepared, DeviceRound* round) {
    std::vector<uint32_t> landers;
    for (uint32_t r = prepared.first_read; r < prepared.read_end; ++r) {
      const PreparedRead& read = program_.reads[r];
      const uint8_t* arena = link_.arena();
      if (read.lander != program_.rank) {
        if (!link_.direct()) continue;
        const uint32_t neighbour = NeighbourOf(read.lander);
        arena = link_.neighbour_arena(neighbour);
        landers.push_back(neighbour);
      }
      // Scattering only reads the message.
      RESHARD_RETURN_IF_ERROR(tables_.Add(program_.scatters, read.copies,
                                          const_cast<uint8_t*>(arena) + read.lander_offset));
      round->copied_bytes += program_.scatters.Bytes(read.copies);
    }
    round->reads = prepared.first_read != prepared.read_end;
    round->reads_done_below = prepared.reads_done_below;
    std::sort(landers.begin(), landers.end());
    landers.erase(std::unique(landers.begin(), landers.end()), landers.end());
    lander_lists_.push_back(AddFlagList(landers, &DomainLink::landed_in));
    return Status();
  }

  uint32_t NeighbourOf(uint32_t rank) const {
    const auto found =
        std::lower_bound(program_.neighbours.begin(), program_.neighbours.end(), rank);
    return static_cast<uint32_t>(found - program_.neighbours.begin());
  }

  // A list of flags in flags_.
  struct FlagRange {
    size_t first = 0;
    uint32_t count = 0;
  };
  FlagRange AddFlagList(std::span<const uint32_t> neighbours,
                        uint64_t* (DomainLink::*flag)(size_t) const) {
    const FlagRange range{flags_.size(), static_cast<uint32_t>(neighbours.size())};
    for (uint32_t neighbour : neighbours) flags_.push_back((link_.*flag)(neighbour));
    return range;
  }

  Status UploadFlags() {
    std::vector<uint32_t> all(program_.neighbours.size());
    std::iota(all.begin(), all.end(), 0U);
    const FlagRange landed_signals = AddFlagList(all, &DomainLink::landed_out);
    const FlagRange reads_signals = AddFlagList(all, &DomainLink::reads_out);
    const FlagRange reads_flags = AddFlagList(all, &DomainLink::reads_in);
    StatusOr<DeviceBlock> block = DeviceBlock::Upload(
        gpu_, flags_.data(), static_cast<int64_t>(flags_.size() * sizeof(uint64_t*)));
    if (!block.ok()) return block.status();
    out_.flag_lists_ = *std::move(block);
    auto* const base = reinterpret_cast<uint64_t* const*>(out_.flag_lists_.data());
    const auto resolve = [&](const FlagRange& range) {
      return FlagList{base + range.first, range.count};
    };
    out_.landed_signals_ = resolve(landed_signals);
    out_.reads_signals_ = resolve(reads_signals);
    out_.reads_flags_ = resolve(reads_flags);
    for (size_t r = 0; r < lander_lists_.size(); ++r) {
      out_.rounds_[r].landers = resolve(lander_lists_[r]);
    }
    return Status();
  }

  void SetRoundsCopied() {
    size_t copied = 0;
    for (DeviceRound& round : out_.rounds_) {
      while (copied < program_.rounds.size() && DoneRound(program_.rounds[copied]) <= round.round) {
        ++copied;
      }
      round.rounds_copied = static_cast<uint32_t>(copied);
    }
    // Rounds that copy nothing are over with the last one.
    if (!out_.rounds_.empty()) {
      out_.rounds_.back().rounds_copied = static_cast<uint32_t>(program_.rounds.size());
    }
  }

  // The round after which the copies of a prepared round are over.
  uint32_t DoneRound(const PreparedRound& round) const {
    if (link_.direct()) return round.round;
    for (uint32_t r = round.first_read; r < round.read_end; ++r) {
      if (program_.reads[r].lander != program_.rank) return round.round + 1;
    }
    return round.round;
  }

  GpuRuntime* gpu_;
  const DomainLink& link_;
  const PreparedProgram& program_;
  std::span<const DomainRead> reads_of_others_;
  DeviceProgram& out_;
  std::map<uint32_t, Draft> drafts_;
  CopyTableBuilder tables_;
  std::vector<uint64_t*> flags_;
  std::vector<FlagRange> lander_lists_;  // per round
};

StatusOr<std::unique_ptr<DeviceProgram>> DeviceProgram::Make(
    GpuRuntime* gpu, const DomainLink& link, const PreparedProgram& program,
    std::span<const DomainRead> reads_of_others) {
  auto made = std::make_unique<DeviceProgram>();
  DeviceProgramBuilder builder(gpu, link, program, reads_of_others, made.get());
  RESHARD_RETURN_IF_ERROR(builder.Run());
  return made;
}

OperationCounts CountOperations(const PreparedProgram& program,
                                std::span<const DomainRead> reads_of_others) {
  OperationCounts most;
  std::map<uint32_t, uint32_t> domain;  // per round
  for (const DomainRead& read : reads_of_others) ++domain[read.round + 1];
  for (const PreparedRound& round : program.rounds) {
    most.network = std::max(
        most.network, round.send_end - round.first_send + round.receive_end - round.first_receive);
    for (uint32_t r = round.first_read; r < round.read_end; ++r) {
      if (program.reads[r].lander != program.rank) ++domain[round.round];
    }
  }
  for (const auto& [round, count] : domain) most.domain = std::max(most.domain, count);
  return most;
}

}  // namespace reshard::nccl
