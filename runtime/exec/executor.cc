#include "runtime/exec/executor.h"

#include <sstream>
#include <string>
#include <utility>

namespace reshard {

StatusOr<std::unique_ptr<Executor>> Executor::Create(const Plan& plan, const ProgramIndex& index,
                                                     uint32_t rank, Bindings bindings,
                                                     RankTransport* transport) {
  StatusOr<PreparedProgram> program = PrepareProgram(plan, index, rank, std::move(bindings));
  if (!program.ok()) return program.status();
  const PlanRank& entry = plan.ranks[index.RankIndex(plan, rank)];
  if (transport->arena_bytes() < entry.staging_bytes()) {
    return Status(StatusCode::kInvalidArgument,
                  "the transport of rank " + std::to_string(rank) + " has an arena of " +
                      std::to_string(transport->arena_bytes()) + " bytes, expected " +
                      std::to_string(entry.staging_bytes()));
  }
  return std::unique_ptr<Executor>(new Executor(*std::move(program), transport));
}

Status Executor::Execute(const ExecuteOptions& options) {
  if (!failure_.ok()) return failure_;
  base_step_ = execution_count_ * program_.round_count;
  timeout_ = options.timeout;
  current_round_ = 0;
  Status status = RunRounds();
  if (status.ok()) {
    ++execution_count_;
    return status;
  }
  // Another rank's failure already names that rank.
  failure_ = status.code() == StatusCode::kAborted ? std::move(status) : Explain(status);
  transport_->Abort(failure_);
  return failure_;
}

Status Executor::Explain(const Status& status) const {
  std::ostringstream text;
  text << "round " << current_round_ << " of execution " << execution_count_ << ": "
       << status.message();
  if (status.code() == StatusCode::kTimeout) {
    text << " (gave up after " << std::chrono::duration<double>(timeout_).count() << " s)";
  }
  return Status(status.code(), text.str());
}

Status Executor::RunRounds() {
  program_.fills.Zero();
  RESHARD_RETURN_IF_ERROR(transport_->PublishReads(base_step_ + program_.reads_begin));
  const std::vector<PreparedRound>& rounds = program_.rounds;
  bool packed = false;
  for (size_t i = 0; i < rounds.size(); ++i) {
    const PreparedRound& round = rounds[i];
    current_round_ = round.round;
    if (!packed) RESHARD_RETURN_IF_ERROR(Pack(round));
    RESHARD_RETURN_IF_ERROR(StartMessages(round));
    RESHARD_RETURN_IF_ERROR(CopyOut(round));
    // Only the next round has the other pack slot for certain.
    packed = i + 1 < rounds.size() && rounds[i + 1].round == round.round + 1;
    if (packed) RESHARD_RETURN_IF_ERROR(Pack(rounds[i + 1]));
    const uint64_t step = StepOf(round.round);
    if (round.first_send != round.send_end || round.first_receive != round.receive_end) {
      RESHARD_RETURN_IF_ERROR(transport_->FinishStep(step, DeadlineFromNow(), nullptr));
    }
    if (round.lands) RESHARD_RETURN_IF_ERROR(transport_->PublishLanded(step));
  }
  return Status();
}

Status Executor::AwaitSlot(const PreparedRound& round) {
  // Step base_step_ is the end of the execution before.
  const uint64_t step = base_step_ + round.slot_free_below;
  for (uint32_t reader : program_.neighbours) {
    RESHARD_RETURN_IF_ERROR(transport_->AwaitReads(reader, step, DeadlineFromNow()));
  }
  return Status();
}

Status Executor::Pack(const PreparedRound& round) {
  if (round.lands) RESHARD_RETURN_IF_ERROR(AwaitSlot(round));
  for (uint32_t p = round.first_pack; p < round.pack_end; ++p) {
    const PreparedPack& pack = program_.packs[p];
    program_.gathers.Gather(pack.copies, transport_->arena() + pack.arena_offset);
  }
  return Status();
}

Status Executor::StartMessages(const PreparedRound& round) {
  const uint64_t step = StepOf(round.round);
  for (uint32_t r = round.first_receive; r < round.receive_end; ++r) {
    const PreparedMessage& message = program_.receives[r];
    RESHARD_RETURN_IF_ERROR(
        transport_->Receive(message.peer, step, message.arena_offset, message.extent));
  }
  for (uint32_t s = round.first_send; s < round.send_end; ++s) {
    const PreparedMessage& message = program_.sends[s];
    RESHARD_RETURN_IF_ERROR(
        transport_->Send(message.peer, step, message.arena_offset, message.extent));
  }
  return Status();
}

Status Executor::CopyOut(const PreparedRound& round) {
  if (round.first_read == round.read_end) return Status();
  for (uint32_t r = round.first_read; r < round.read_end; ++r) {
    const PreparedRead& read = program_.reads[r];
    const uint8_t* arena = transport_->arena();
    if (read.lander != program_.rank) {
      const StatusOr<const uint8_t*> landed =
          transport_->AwaitLanded(read.lander, StepOf(read.round), DeadlineFromNow());
      if (!landed.ok()) return landed.status();
      arena = *landed;
    }
    program_.scatters.Scatter(read.copies, arena + read.lander_offset);
  }
  return transport_->PublishReads(base_step_ + round.reads_done_below);
}

}  // namespace reshard
