#include "runtime/exec/nccl/device_engine.h"

#include <algorithm>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/exec/agree.h"
#include "runtime/exec/nccl/connect_peers.h"
#include "runtime/exec/nccl/standing.h"

namespace reshard::nccl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kPollInterval(20);
// What a device that was stopped gets to come to rest.
constexpr std::chrono::seconds kDrainTime(10);
// What other ranks get to say where they stand, after a timeout.
constexpr std::chrono::seconds kBlameTime(5);

}  // namespace

DeviceEngine::DeviceEngine(const DeviceEngineSpec& spec, const EngineSpec& engine)
    : spec_(spec),
      plan_(*engine.plan),
      ranks_of_members_(engine.ranks_of_members.begin(), engine.ranks_of_members.end()),
      neighbours_(engine.program->neighbours) {}

StatusOr<std::unique_ptr<DeviceEngine>> DeviceEngine::Make(const DeviceEngineSpec& spec,
                                                           const EngineSpec& engine,
                                                           Deadline deadline) {
  const CurrentDevice current(spec.gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  std::unique_ptr<DeviceEngine> made(new DeviceEngine(spec, engine));
  made->reads_of_others_ =
      ReadsFrom(*engine.plan, *engine.index, engine.rank, engine.program->neighbours);
  const OperationCounts counts = CountOperations(*engine.program, made->reads_of_others_);
  DomainLink::Spec link;
  link.gpu = spec.gpu;
  link.control = spec.control;
  link.engine = &engine;
  link.path = spec.path;
  link.tuning = spec.tuning;
  link.comm_rank = spec.comm->rank();
  link.comm_rank_count = spec.comm->rank_count();
  link.network_ops = counts.network;
  link.domain_ops = counts.domain;
  StatusOr<std::unique_ptr<DomainLink>> linked = DomainLink::Make(link, deadline);
  Status status = linked.status();
  if (linked.ok()) made->link_ = *std::move(linked);
  if (status.ok()) status = made->CreateStreams();
  if (status.ok()) status = made->SetProgram(engine.program);
  // Nobody connects to a rank that will not be there.
  RESHARD_RETURN_IF_ERROR(AgreeOnStatus(spec.control, made->ranks_of_members_, status, deadline));
  RESHARD_RETURN_IF_ERROR(made->Connect(deadline));
  return made;
}

Status DeviceEngine::CreateStreams() {
  for (StreamHandle* stream : {&network_, &copies_}) {
    const StatusOr<StreamHandle> created = spec_.gpu->CreateStream(stream == &network_);
    if (!created.ok()) return created.status();
    *stream = *created;
  }
  std::vector<EventHandle*> wanted = {&caller_ready_, &start_, &finished_[0], &finished_[1]};
  for (RoundEvents& set : events_) {
    for (EventHandle* event : {&set.pack_begin, &set.packed, &set.net_begin, &set.net_end,
                               &set.copy_begin, &set.copied}) {
      wanted.push_back(event);
    }
  }
  for (EventHandle* event : wanted) {
    const StatusOr<EventHandle> created = spec_.gpu->CreateEvent();
    if (!created.ok()) return created.status();
    *event = *created;
  }
  const StatusOr<SharedWord> word = spec_.gpu->AllocateWord();
  if (!word.ok()) return word.status();
  stop_ = *word;
  return Status();
}

DeviceEngine::~DeviceEngine() {
  const CurrentDevice current(spec_.gpu);
  if (!current.status().ok() || !drained_) {
    // The device may still write there: better lost than given to somebody else.
    static_cast<void>(program_.release());
    static_cast<void>(link_.release());
    return;
  }
  for (StreamHandle stream : {network_, copies_}) {
    if (stream != nullptr) spec_.gpu->DestroyStream(stream);
  }
  for (EventHandle event : {caller_ready_, start_, finished_[0], finished_[1]}) {
    if (event != nullptr) spec_.gpu->DestroyEvent(event);
  }
  for (const RoundEvents& set : events_) {
    for (EventHandle event :
         {set.pack_begin, set.packed, set.net_begin, set.net_end, set.copy_begin, set.copied}) {
      if (event != nullptr) spec_.gpu->DestroyEvent(event);
    }
  }
  if (stop_.host != nullptr) spec_.gpu->FreeWord(stop_);
  // While the device is current.
  program_.reset();
  link_.reset();
}

Status DeviceEngine::SetProgram(PreparedProgram* program) {
  const CurrentDevice current(spec_.gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  RESHARD_RETURN_IF_ERROR(CheckMemory(*program));
  StatusOr<std::unique_ptr<DeviceProgram>> made =
      DeviceProgram::Make(spec_.gpu, *link_, *program, reads_of_others_);
  if (!made.ok()) return made.status();
  program_ = *std::move(made);
  return Status();
}

// A kernel that uses memory of the host, or of another device, would end the whole process.
Status DeviceEngine::CheckMemory(const PreparedProgram& program) {
  for (uint32_t f = 0; f < plan_.families.size(); ++f) {
    for (const uint8_t* instance : program.bindings.instances(f)) {
      if (instance == nullptr) continue;
      const StatusOr<bool> usable = spec_.gpu->IsDeviceMemory(instance);
      if (!usable.ok()) return usable.status();
      if (*usable) continue;
      const PlanFamily& family = plan_.families[f];
      return Status(StatusCode::kInvalidArgument,
                    "a buffer of '" + family.name.Describe(family.loop_begin, family.loop_extent) +
                        "' is no memory of device " + std::to_string(spec_.gpu->identity().device));
    }
  }
  return Status();
}

Status DeviceEngine::Connect(Deadline deadline) {
  DeviceBlock scratch;
  const Status status = ConnectPeers(
      {spec_.gpu, spec_.comm, program_.get(), network_, finished_[0], spec_.tuning.phase_ranks},
      &scratch, deadline);
  if (status.ok()) return status;
  StopDevice();
  // The device may still write there: better lost than given to somebody else.
  if (!drained_) static_cast<void>(new DeviceBlock(std::move(scratch)));
  return status;
}

Status DeviceEngine::Begin(void* stream) {
  const CurrentDevice current(spec_.gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  return spec_.gpu->Record(caller_ready_, static_cast<StreamHandle>(stream));
}

Status DeviceEngine::CopyToHost(const uint8_t* from, std::span<uint8_t> to) {
  const CurrentDevice current(spec_.gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  return spec_.gpu->CopyToHost(to.data(), from, static_cast<int64_t>(to.size()));
}

void DeviceEngine::Abort(const Status& reason) {
  {
    const std::lock_guard lock(abort_mutex_);
    if (aborted_.load(std::memory_order_acquire)) return;
    abort_reason_ = Status(StatusCode::kAborted, reason.message());
  }
  aborted_.store(true, std::memory_order_release);
}

Status DeviceEngine::CheckStopped() const {
  if (!aborted_.load(std::memory_order_acquire)) return Status();
  const std::lock_guard lock(abort_mutex_);
  return abort_reason_;
}

Status DeviceEngine::Execute(const ExecuteOptions& options, ExecutionRecord* record) {
  if (!failure_.ok()) return failure_;
  const CurrentDevice current(spec_.gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  base_step_ = execution_count_ * program_->round_count();
  timeout_ = options.timeout;
  issued_ = completed_ = published_ = 0;
  record->Begin();
  Status status = AwaitCaller();
  if (status.ok()) {
    record->Begin();  // the caller's own work is no part of it
    status = RunRounds(record);
  }
  record->End();
  if (!status.ok()) return Fail(status);
  ++execution_count_;
  return status;
}

// The caller's own work may take as long as it likes.
Status DeviceEngine::AwaitCaller() {
  for (;;) {
    RESHARD_RETURN_IF_ERROR(CheckStopped());
    const StatusOr<bool> done = spec_.gpu->IsDone(caller_ready_);
    if (!done.ok()) return done.status();
    if (*done) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  start_time_ = progress_ = Clock::now();
  return Status();
}

Status DeviceEngine::RunRounds(ExecutionRecord* record) {
  RESHARD_RETURN_IF_ERROR(Start());
  const size_t count = program_->rounds().size();
  for (issued_ = 0; issued_ < count; ++issued_) {
    while (issued_ >= completed_ + kRoundsAhead) RESHARD_RETURN_IF_ERROR(AwaitOldest(record));
    RESHARD_RETURN_IF_ERROR(Issue(issued_));
  }
  RESHARD_RETURN_IF_ERROR(PublishLandedBefore(count));
  // Nobody reads this rank's memory after the execution: it may be gone then.
  if (program_->reads_flags().count > 0) {
    RESHARD_RETURN_IF_ERROR(
        spec_.gpu->LaunchAwait(program_->reads_flags(), LastStep(), stop_.device, copies_));
  }
  while (completed_ < count) RESHARD_RETURN_IF_ERROR(AwaitOldest(record));
  RESHARD_RETURN_IF_ERROR(AwaitEnd());
  record->SetFilled();
  return Status();
}

Status DeviceEngine::AwaitEnd() {
  RESHARD_RETURN_IF_ERROR(spec_.gpu->Record(finished_[0], copies_));
  return Poll([&] { return spec_.gpu->IsDone(finished_[0]); });
}

Status DeviceEngine::Start() {
  GpuRuntime& gpu = *spec_.gpu;
  RESHARD_RETURN_IF_ERROR(gpu.Record(start_, copies_));
  if (program_->zeros().count > 0) {
    RESHARD_RETURN_IF_ERROR(
        gpu.LaunchCopies(CopyKind::kZero, program_->tables(), program_->zeros(), copies_));
  }
  if (program_->reads_signals().count > 0) {
    RESHARD_RETURN_IF_ERROR(gpu.LaunchSignal(
        program_->reads_signals(), base_step_ + program_->reads_begin(), stop_.device, copies_));
  }
  return program_->rounds().empty() ? Status() : Pack(0);
}

Status DeviceEngine::Issue(size_t i) {
  const std::span<const DeviceRound> rounds = program_->rounds();
  const DeviceRound& round = rounds[i];
  GpuRuntime& gpu = *spec_.gpu;
  RESHARD_RETURN_IF_ERROR(gpu.AwaitEvent(network_, events(i).packed));
  RESHARD_RETURN_IF_ERROR(gpu.Record(events(i).net_begin, network_));
  RESHARD_RETURN_IF_ERROR(IssueGroups(round));
  RESHARD_RETURN_IF_ERROR(gpu.Record(events(i).net_end, network_));
  RESHARD_RETURN_IF_ERROR(PublishLandedBefore(i));
  RESHARD_RETURN_IF_ERROR(CopyOut(i));
  if (i + 1 == rounds.size()) return Status();
  // Only the next round has the other pack slot for certain.
  if (rounds[i + 1].round != round.round + 1) RESHARD_RETURN_IF_ERROR(PublishLandedBefore(i + 1));
  return Pack(i + 1);
}

Status DeviceEngine::IssueGroups(const DeviceRound& round) {
  for (uint32_t g = round.first_group; g < round.group_end; ++g) {
    RESHARD_RETURN_IF_ERROR(IssueGroup(program_->groups()[g]));
  }
  return Status();
}

Status DeviceEngine::IssueGroup(const MessageRange& group) {
  RESHARD_RETURN_IF_ERROR(spec_.comm->Begin());
  Status status;
  for (const DeviceMessage& message : program_->messages(group)) {
    status = message.send
                 ? spec_.comm->Send(message.data, message.bytes, message.peer, network_)
                 : spec_.comm->Receive(message.data, message.bytes, message.peer, network_);
    if (!status.ok()) break;
  }
  const Status ended = spec_.comm->End(DeadlineIn(timeout_));
  return status.ok() ? ended : status;
}

// The copy stream goes on when the messages of rounds[0 .. i) are over, and says so to the domain.
Status DeviceEngine::PublishLandedBefore(size_t i) {
  for (; published_ < i; ++published_) {
    const DeviceRound& round = program_->rounds()[published_];
    RESHARD_RETURN_IF_ERROR(spec_.gpu->AwaitEvent(copies_, events(published_).net_end));
    if (!round.lands || program_->landed_signals().count == 0) continue;
    RESHARD_RETURN_IF_ERROR(spec_.gpu->LaunchSignal(program_->landed_signals(), StepOf(round.round),
                                                    stop_.device, copies_));
  }
  return Status();
}

Status DeviceEngine::CopyOut(size_t i) {
  const DeviceRound& round = program_->rounds()[i];
  GpuRuntime& gpu = *spec_.gpu;
  if (round.landers.count > 0) {
    // They landed in the round before.
    RESHARD_RETURN_IF_ERROR(
        gpu.LaunchAwait(round.landers, StepOf(round.round) - 1, stop_.device, copies_));
  }
  RESHARD_RETURN_IF_ERROR(gpu.Record(events(i).copy_begin, copies_));
  if (round.copies.count > 0) {
    RESHARD_RETURN_IF_ERROR(
        gpu.LaunchCopies(CopyKind::kScatter, program_->tables(), round.copies, copies_));
  }
  RESHARD_RETURN_IF_ERROR(gpu.Record(events(i).copied, copies_));
  if (!round.reads || program_->reads_signals().count == 0) return Status();
  return gpu.LaunchSignal(program_->reads_signals(), base_step_ + round.reads_done_below,
                          stop_.device, copies_);
}

Status DeviceEngine::Pack(size_t i) {
  const DeviceRound& round = program_->rounds()[i];
  GpuRuntime& gpu = *spec_.gpu;
  if (round.lands && program_->reads_flags().count > 0) {
    RESHARD_RETURN_IF_ERROR(gpu.LaunchAwait(
        program_->reads_flags(), base_step_ + round.slot_free_below, stop_.device, copies_));
  }
  RESHARD_RETURN_IF_ERROR(gpu.Record(events(i).pack_begin, copies_));
  if (round.packs.count > 0) {
    RESHARD_RETURN_IF_ERROR(
        gpu.LaunchCopies(CopyKind::kGather, program_->tables(), round.packs, copies_));
  }
  return gpu.Record(events(i).packed, copies_);
}

template <class Done>
Status DeviceEngine::Poll(Done done) {
  for (;;) {
    const StatusOr<bool> is_done = done();
    if (!is_done.ok()) return is_done.status();
    // First: what ended because it failed is not done.
    RESHARD_RETURN_IF_ERROR(spec_.comm->Check());
    if (*is_done) {
      progress_ = Clock::now();
      return Status();
    }
    RESHARD_RETURN_IF_ERROR(CheckStopped());
    if (Clock::now() - progress_ >= timeout_) return StalledStatus();
    std::this_thread::sleep_for(kPollInterval);
  }
}

Status DeviceEngine::AwaitOldest(ExecutionRecord* record) {
  const RoundEvents& set = events(completed_);
  const Status status = Poll([&]() -> StatusOr<bool> {
    const StatusOr<bool> sent = spec_.gpu->IsDone(set.net_end);
    return sent.ok() && *sent ? spec_.gpu->IsDone(set.copied) : sent;
  });
  RESHARD_RETURN_IF_ERROR(status);
  RESHARD_RETURN_IF_ERROR(Report(completed_, record));
  ++completed_;
  return Status();
}

Status DeviceEngine::Report(size_t i, ExecutionRecord* record) {
  const DeviceRound& round = program_->rounds()[i];
  const RoundEvents& set = events(i);
  record->SetFilled();
  record->SetRoundsMoved(round.rounds_copied);
  record->SetRoundsCopied(round.rounds_copied);
  if (round.packs.count > 0) {
    RESHARD_RETURN_IF_ERROR(ReportSpan(ExecStage::kPack, round, kNoId, round.packed_bytes,
                                       set.pack_begin, set.packed, record));
  }
  if (round.first_group < round.group_end) {
    // Who of several was late, NCCL does not tell.
    const std::span<const DeviceMessage> messages =
        program_->messages(program_->groups()[round.first_group]);
    const bool one = round.group_end - round.first_group == 1 &&
                     std::all_of(messages.begin(), messages.end(), [&](const DeviceMessage& m) {
                       return m.rank == messages.front().rank;
                     });
    RESHARD_RETURN_IF_ERROR(ReportSpan(ExecStage::kNetworkWait, round,
                                       one ? messages.front().rank : kNoId, 0, set.net_begin,
                                       set.net_end, record));
  }
  if (round.copies.count == 0) return Status();
  return ReportSpan(ExecStage::kCopy, round, kNoId, round.copied_bytes, set.copy_begin, set.copied,
                    record);
}

Status DeviceEngine::ReportSpan(ExecStage stage, const DeviceRound& round, uint32_t peer,
                                int64_t bytes, EventHandle begin, EventHandle end,
                                ExecutionRecord* record) {
  const StatusOr<std::chrono::nanoseconds> from = spec_.gpu->Elapsed(start_, begin);
  if (!from.ok()) return from.status();
  const StatusOr<std::chrono::nanoseconds> to = spec_.gpu->Elapsed(start_, end);
  if (!to.ok()) return to.status();
  record->Add(stage, round.round, peer, bytes, start_time_ + *from, start_time_ + *to);
  return Status();
}

Status DeviceEngine::FlagsStatus(uint64_t* (DomainLink::*flag)(size_t) const, uint64_t value,
                                 const std::string& what) {
  std::vector<uint32_t> late;
  for (size_t n = 0; link_->direct() && n < neighbours_.size(); ++n) {
    const StatusOr<uint64_t> reached = spec_.gpu->ReadFlag(((*link_).*flag)(n));
    if (reached.ok() && *reached < value) late.push_back(neighbours_[n]);
  }
  if (late.empty()) return Status();
  return Status(StatusCode::kTimeout, RanksText(std::move(late)) + what);
}

Status DeviceEngine::StalledStatus() {
  const std::span<const DeviceRound> rounds = program_->rounds();
  if (completed_ >= rounds.size()) {
    RESHARD_RETURN_IF_ERROR(
        FlagsStatus(&DomainLink::reads_in, LastStep(),
                    " did not finish reading step " + std::to_string(LastStep())));
    return Status(StatusCode::kTimeout, "the device did not finish its copies");
  }
  const DeviceRound& round = rounds[completed_];
  const RoundEvents& set = events(completed_);
  const StatusOr<bool> packed = spec_.gpu->IsDone(set.packed);
  if (!packed.ok()) return packed.status();
  if (!*packed && link_->direct()) {
    RESHARD_RETURN_IF_ERROR(FlagsStatus(
        &DomainLink::reads_in, base_step_ + round.slot_free_below,
        " did not finish reading step " + std::to_string(base_step_ + round.slot_free_below)));
  }
  const StatusOr<bool> sent = spec_.gpu->IsDone(set.net_end);
  if (!sent.ok()) return sent.status();
  if (*packed && !*sent) {
    std::vector<uint32_t> ranks;
    for (uint32_t g = round.first_group; g < round.group_end; ++g) {
      for (const DeviceMessage& message : program_->messages(program_->groups()[g])) {
        ranks.push_back(message.rank);
      }
    }
    return Status(StatusCode::kTimeout,
                  "messages with " + RanksText(std::move(ranks)) + " were not finished");
  }
  if (*sent && link_->direct()) {
    RESHARD_RETURN_IF_ERROR(
        FlagsStatus(&DomainLink::landed_in, StepOf(round.round) - 1,
                    " did not land step " + std::to_string(StepOf(round.round) - 1)));
  }
  return Status(StatusCode::kTimeout, "the device did not finish its copies");
}

uint64_t DeviceEngine::OldestRound() const {
  const std::span<const DeviceRound> rounds = program_->rounds();
  return completed_ < rounds.size() ? rounds[completed_].round : program_->round_count();
}

Status DeviceEngine::Fail(const Status& status) {
  StopDevice();
  failure_ = status.code() == StatusCode::kAborted ? status : Explain(status);
  return failure_;
}

Status DeviceEngine::Explain(const Status& status) {
  const std::span<const DeviceRound> rounds = program_->rounds();
  std::ostringstream text;
  if (completed_ < rounds.size()) text << "round " << rounds[completed_].round << " of ";
  text << "execution " << execution_count_ << ": " << status.message();
  if (status.code() == StatusCode::kTimeout) {
    text << " (gave up after " << std::chrono::duration<double>(timeout_).count() << " s)"
         << BlameText(spec_.control, ranks_of_members_, {execution_count_, OldestRound()},
                      DeadlineIn(std::min<Clock::duration>(timeout_, kBlameTime)));
  }
  return Status(status.code(), text.str());
}

void DeviceEngine::StopDevice() {
  std::atomic_ref<uint32_t>(*stop_.host).store(1, std::memory_order_release);
  spec_.comm->Stop();
  const Clock::time_point deadline = Clock::now() + kDrainTime;
  for (size_t s = 0; s < finished_.size(); ++s) {
    // A device that reports errors does not come to rest, and does nothing either.
    if (!spec_.gpu->Record(finished_[s], s == 0 ? network_ : copies_).ok()) continue;
    for (;;) {
      const StatusOr<bool> done = spec_.gpu->IsDone(finished_[s]);
      if (!done.ok() || *done) break;
      if (Clock::now() >= deadline) {
        drained_ = false;
        break;
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

}  // namespace reshard::nccl
