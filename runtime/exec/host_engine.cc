#include "runtime/exec/host_engine.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace reshard {
namespace {

using Clock = ExecutionRecord::Clock;

class HostEngine final : public ExecutionEngine {
 public:
  HostEngine(PreparedProgram* program, std::shared_ptr<RankTransport> transport)
      : program_(program), transport_(std::move(transport)) {}

  Status SetProgram(PreparedProgram* program) override {
    program_ = program;
    return Status();
  }
  Status Begin(void* stream) override;
  Status Execute(const ExecuteOptions& options, ExecutionRecord* record) override;
  void Abort(const Status& reason) override { transport_->Abort(reason); }
  void TellAbort() override { transport_->TellAbort(); }
  Status CopyToHost(const uint8_t* from, std::span<uint8_t> to) override {
    std::copy_n(from, to.size(), to.begin());
    return Status();
  }
  int64_t arena_bytes() const override { return transport_->arena_bytes(); }

 private:
  Status RunRounds();
  Status RunRound(size_t position, bool* packed);
  Status AwaitSlot(const PreparedRound& round);
  Status Pack(const PreparedRound& round);
  Status ExpectReceives(const PreparedRound& round);
  Status StartMessages(const PreparedRound& round);
  Status CopyOut(const PreparedRound& round);
  uint64_t StepOf(uint32_t round) const { return base_step_ + round + 1; }
  Deadline DeadlineFromNow() const { return Clock::now() + timeout_; }
  // Adds what was done since `begin`; returns now.
  Clock::time_point Note(ExecStage stage, uint32_t round, uint32_t peer, int64_t bytes,
                         Clock::time_point begin);
  Status Explain(const Status& status) const;

  PreparedProgram* program_;
  const std::shared_ptr<RankTransport> transport_;
  uint64_t execution_count_ = 0;
  Status failure_;
  // Of the execution that runs.
  ExecutionRecord* record_ = nullptr;
  uint64_t base_step_ = 0;
  uint32_t current_round_ = 0;
  std::chrono::nanoseconds timeout_{0};
};

Status HostEngine::Begin(void* stream) {
  if (stream == nullptr) return Status();
  return Status(StatusCode::kInvalidArgument, "a stream is given, but params lie in host memory");
}

Status HostEngine::Execute(const ExecuteOptions& options, ExecutionRecord* record) {
  if (!failure_.ok()) return failure_;
  record_ = record;
  base_step_ = execution_count_ * program_->round_count;
  timeout_ = options.timeout;
  current_round_ = 0;
  record_->Begin();
  Status status = RunRounds();
  record_->End();
  if (status.ok()) {
    ++execution_count_;
    return status;
  }
  // Another rank's failure already names that rank.
  failure_ = status.code() == StatusCode::kAborted ? std::move(status) : Explain(status);
  transport_->Abort(failure_);
  return failure_;
}

Status HostEngine::Explain(const Status& status) const {
  std::ostringstream text;
  text << "round " << current_round_ << " of execution " << execution_count_ << ": "
       << status.message();
  if (status.code() == StatusCode::kTimeout) {
    text << " (gave up after " << std::chrono::duration<double>(timeout_).count() << " s)";
  }
  return Status(status.code(), text.str());
}

Clock::time_point HostEngine::Note(ExecStage stage, uint32_t round, uint32_t peer, int64_t bytes,
                                   Clock::time_point begin) {
  const Clock::time_point now = Clock::now();
  record_->Add(stage, round, peer, bytes, begin, now);
  return now;
}

Status HostEngine::RunRounds() {
  const Clock::time_point begin = Clock::now();
  program_->fills.Zero();
  if (!program_->fills.nests().empty()) Note(ExecStage::kFill, 0, kNoId, 0, begin);
  record_->SetFilled();
  RESHARD_RETURN_IF_ERROR(transport_->PublishReads(base_step_ + program_->reads_begin));
  bool packed = false;
  for (size_t i = 0; i < program_->rounds.size(); ++i) {
    RESHARD_RETURN_IF_ERROR(RunRound(i, &packed));
  }
  return transport_->FinishExecution(DeadlineFromNow());
}

Status HostEngine::RunRound(size_t position, bool* packed) {
  const std::vector<PreparedRound>& rounds = program_->rounds;
  const PreparedRound& round = rounds[position];
  current_round_ = round.round;
  if (!*packed) RESHARD_RETURN_IF_ERROR(Pack(round));
  RESHARD_RETURN_IF_ERROR(StartMessages(round));
  RESHARD_RETURN_IF_ERROR(CopyOut(round));
  record_->SetRoundsCopied(position + 1);
  // Only the next round has the other pack slot for certain.
  *packed = position + 1 < rounds.size() && rounds[position + 1].round == round.round + 1;
  if (*packed) {
    RESHARD_RETURN_IF_ERROR(Pack(rounds[position + 1]));
    RESHARD_RETURN_IF_ERROR(ExpectReceives(rounds[position + 1]));
  }
  const uint64_t step = StepOf(round.round);
  if (round.first_send != round.send_end || round.first_receive != round.receive_end) {
    const Clock::time_point begin = Clock::now();
    RESHARD_RETURN_IF_ERROR(transport_->FinishStep(step, DeadlineFromNow(), record_));
    Note(ExecStage::kNetworkWait, round.round, kNoId, 0, begin);
  }
  record_->SetRoundsMoved(position + 1);
  return round.lands ? transport_->PublishLanded(step) : Status();
}

Status HostEngine::AwaitSlot(const PreparedRound& round) {
  // Step base_step_ is the end of the execution before.
  const uint64_t step = base_step_ + round.slot_free_below;
  for (uint32_t reader : program_->neighbours) {
    const Clock::time_point begin = Clock::now();
    RESHARD_RETURN_IF_ERROR(transport_->AwaitReads(reader, step, DeadlineFromNow()));
    Note(ExecStage::kSlotWait, round.round, reader, 0, begin);
  }
  return Status();
}

Status HostEngine::Pack(const PreparedRound& round) {
  if (round.lands) RESHARD_RETURN_IF_ERROR(AwaitSlot(round));
  if (round.first_pack == round.pack_end) return Status();
  const Clock::time_point begin = Clock::now();
  for (uint32_t p = round.first_pack; p < round.pack_end; ++p) {
    const PreparedPack& pack = program_->packs[p];
    program_->gathers.Gather(pack.copies, transport_->arena() + pack.arena_offset);
    RESHARD_RETURN_IF_ERROR(transport_->Progress());
  }
  Note(ExecStage::kPack, round.round, kNoId, 0, begin);
  return Status();
}

// The receive slot of the next round is free once it has been packed for.
Status HostEngine::ExpectReceives(const PreparedRound& round) {
  for (uint32_t r = round.first_receive; r < round.receive_end; ++r) {
    const PreparedMessage& message = program_->receives[r];
    RESHARD_RETURN_IF_ERROR(transport_->ExpectReceive(message.peer, StepOf(round.round),
                                                      message.arena_offset, message.extent));
  }
  return Status();
}

Status HostEngine::StartMessages(const PreparedRound& round) {
  const uint64_t step = StepOf(round.round);
  const Clock::time_point begin = Clock::now();
  record_->BeginMessages(round.round);
  for (uint32_t r = round.first_receive; r < round.receive_end; ++r) {
    const PreparedMessage& message = program_->receives[r];
    RESHARD_RETURN_IF_ERROR(
        transport_->Receive(message.peer, step, message.arena_offset, message.extent));
  }
  for (uint32_t s = round.first_send; s < round.send_end; ++s) {
    const PreparedMessage& message = program_->sends[s];
    RESHARD_RETURN_IF_ERROR(
        transport_->Send(message.peer, step, message.arena_offset, message.extent));
  }
  Note(ExecStage::kStart, round.round, kNoId, 0, begin);
  return Status();
}

Status HostEngine::CopyOut(const PreparedRound& round) {
  if (round.first_read == round.read_end) return Status();
  for (uint32_t r = round.first_read; r < round.read_end; ++r) {
    const PreparedRead& read = program_->reads[r];
    const uint8_t* arena = transport_->arena();
    Clock::time_point begin = Clock::now();
    if (read.lander != program_->rank) {
      const StatusOr<const uint8_t*> landed =
          transport_->AwaitLanded(read.lander, StepOf(read.round), DeadlineFromNow());
      if (!landed.ok()) return landed.status();
      arena = *landed;
      begin = Note(ExecStage::kLandedWait, round.round, read.lander, 0, begin);
    }
    program_->scatters.Scatter(read.copies, arena + read.lander_offset);
    const int64_t bytes = program_->scatters.Bytes(read.copies);
    Note(ExecStage::kCopy, read.round, read.lander, bytes, begin);
    if (read.lander != program_->rank) transport_->NoteRead(read.lander, bytes);
    RESHARD_RETURN_IF_ERROR(transport_->Progress());
  }
  return transport_->PublishReads(base_step_ + round.reads_done_below);
}

}  // namespace

StatusOr<std::unique_ptr<ExecutionEngine>> MakeHostEngine(
    const EngineSpec& spec, std::shared_ptr<RankTransport> transport) {
  if (transport->arena_bytes() < spec.arena_bytes) {
    return Status(StatusCode::kInvalidArgument,
                  "the transport of rank " + std::to_string(spec.rank) + " has an arena of " +
                      std::to_string(transport->arena_bytes()) + " bytes, expected " +
                      std::to_string(spec.arena_bytes));
  }
  return std::unique_ptr<ExecutionEngine>(
      std::make_unique<HostEngine>(spec.program, std::move(transport)));
}

}  // namespace reshard
