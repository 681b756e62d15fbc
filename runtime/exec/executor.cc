#include "runtime/exec/executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>

#include "runtime/exec/agree.h"
#include "runtime/exec/content_check.h"

namespace reshard {
namespace {

Status WrongOrder(const char* what) { return Status(StatusCode::kWrongOrder, what); }

std::vector<uint32_t> RanksOf(const Plan& plan) {
  std::vector<uint32_t> ranks;
  for (const PlanRank& rank : plan.ranks) ranks.push_back(rank.rank);
  return ranks;
}

// What a rank says when it commits.
struct Holding {
  uint64_t complete = Executor::kNoGeneration;
  // Into the buffers that are bound. Higher than `complete`: its params are a mixture.
  uint64_t started = Executor::kNoGeneration;
};

std::string HoldingText(const Holding& holding) {
  if (holding.started == Executor::kNoGeneration) return "holds none since its params were bound";
  return holding.started == holding.complete
             ? "holds " + std::to_string(holding.complete)
             : "did not complete " + std::to_string(holding.started);
}

Status CompareHoldings(const std::vector<uint32_t>& ranks, const std::vector<Holding>& holdings) {
  const Holding& first = holdings[0];
  const bool first_completed_none = first.complete == Executor::kNoGeneration;
  std::string text = "the replica does not hold one generation: rank " + std::to_string(ranks[0]) +
                     " " +
                     (first_completed_none ? HoldingText(first)
                                           : "has completed " + std::to_string(first.complete));
  const size_t said_bytes = text.size();
  bool one = !first_completed_none;
  for (size_t i = first_completed_none ? 1 : 0; i < ranks.size(); ++i) {
    const Holding& holding = holdings[i];
    if (!first_completed_none && holding.started == holding.complete &&
        holding.complete == first.complete) {
      continue;
    }
    one = false;
    if (text.size() - said_bytes > 300) {
      text += ", ...";
      break;
    }
    text += ", rank " + std::to_string(ranks[i]) + " " + HoldingText(holding);
  }
  if (one) return Status();
  return Status(StatusCode::kAborted, std::move(text));
}

}  // namespace

Executor::Executor(std::shared_ptr<const SharedPlan> plan, uint32_t rank,
                   std::shared_ptr<Backend> backend, ExecutorOptions options)
    : plan_(std::move(plan)),
      rank_(rank),
      backend_(std::move(backend)),
      options_(std::move(options)) {}

StatusOr<std::unique_ptr<Executor>> Executor::Create(std::shared_ptr<const SharedPlan> plan,
                                                     uint32_t rank,
                                                     std::shared_ptr<Backend> backend,
                                                     ExecutorOptions options) {
  const std::vector<uint32_t> ranks = RanksOf(*plan->plan);
  if (!std::binary_search(ranks.begin(), ranks.end(), rank)) {
    return Status(StatusCode::kNotFound, "the plan has no rank " + std::to_string(rank));
  }
  std::vector<uint32_t>& replica = options.replica;
  std::sort(replica.begin(), replica.end());
  if (!replica.empty() &&
      (!std::includes(ranks.begin(), ranks.end(), replica.begin(), replica.end()) ||
       !std::binary_search(replica.begin(), replica.end(), rank) ||
       std::adjacent_find(replica.begin(), replica.end()) != replica.end())) {
    return Status(StatusCode::kInvalidArgument,
                  "the replica has to be ranks of the plan, each once, rank " +
                      std::to_string(rank) + " among them");
  }
  return std::unique_ptr<Executor>(
      new Executor(std::move(plan), rank, std::move(backend), std::move(options)));
}

class Executor::CallerUsesBackend {
 public:
  explicit CallerUsesBackend(Executor* executor) : executor_(*executor) {
    std::unique_lock lock(executor_.mutex_);
    executor_.changed_.wait(lock, [&] { return !executor_.worker_tells_abort_; });
    executor_.caller_uses_backend_ = true;
  }
  ~CallerUsesBackend() {
    {
      const std::lock_guard lock(executor_.mutex_);
      executor_.caller_uses_backend_ = false;
    }
    executor_.changed_.notify_all();
  }
  CallerUsesBackend(const CallerUsesBackend&) = delete;
  CallerUsesBackend& operator=(const CallerUsesBackend&) = delete;

 private:
  Executor& executor_;
};

Executor::~Executor() {
  if (running_) Abort("its executor was destroyed while an execution ran");
  if (worker_.joinable()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return order_ != Order::kRun; });
      order_ = Order::kQuit;
    }
    changed_.notify_all();
    worker_.join();
  }
  engine_.reset();
  backend_->Release(this);
}

Status Executor::Bind(ParamBuffer buffer) {
  if (running_) return WrongOrder("an execution runs: wait for it before binding");
  buffers_.push_back(std::move(buffer));
  ForgetGeneration();
  return Status();
}

Status Executor::Unbind() {
  if (running_) return WrongOrder("an execution runs: wait for it before unbinding");
  buffers_.clear();
  ForgetGeneration();
  return Status();
}

void Executor::ForgetGeneration() {
  ready_ = false;
  complete_generation_ = kNoGeneration;
  executed_ = false;
}

Status Executor::CreateProgram(std::unique_ptr<PreparedProgram>* program) const {
  StatusOr<Bindings> bindings = BindParams(*plan_->plan, rank_, buffers_, backend_->device());
  if (!bindings.ok()) return bindings.status();
  StatusOr<PreparedProgram> prepared =
      PrepareProgram(*plan_->plan, plan_->index, rank_, *std::move(bindings));
  if (!prepared.ok()) return prepared.status();
  *program = std::make_unique<PreparedProgram>(*std::move(prepared));
  return Status();
}

Status Executor::Prepare(std::chrono::nanoseconds timeout) {
  if (running_) return WrongOrder("an execution runs: wait for it before preparing");
  if (!failure_.ok()) return failure_;
  RESHARD_RETURN_IF_ERROR(backend_->CheckThread());
  if (!backend_->Claim(this)) {
    return WrongOrder("the backend serves another executor: destroy that one first");
  }
  const CallerUsesBackend use(this);
  ready_ = false;  // what this rank had agreed on before, another one may no longer have
  const Deadline deadline = DeadlineIn(timeout);
  std::unique_ptr<PreparedProgram> program;
  Status local = TakeEarlyAbort();
  if (local.ok()) local = CreateProgram(&program);
  StatusOr<std::vector<uint32_t>> ranks = AgreeOnPlan(
      backend_->control(), {rank_, plan_->root_digest, local, options_.verify_executions},
      RanksOf(*plan_->plan), deadline);
  if (!ranks.ok()) return ranks.status();
  ranks_of_members_ = *std::move(ranks);
  backend_->control()->SetRanks(ranks_of_members_);
  Status connected = Connect(std::move(program), deadline);
  if (connected.ok()) connected = TakeEarlyAbort();
  // Engines are made together or not at all: one that lacks its peers is of no use.
  failure_ = AgreeOnStatus(backend_->control(), ranks_of_members_, connected, deadline);
  ready_ = failure_.ok();
  return failure_;
}

Status Executor::Connect(std::unique_ptr<PreparedProgram> program, Deadline deadline) {
  record_.Prepare(*program, options_.trace);
  // The engine uses the old program until it has the new one.
  const std::unique_ptr<PreparedProgram> old = std::exchange(program_, std::move(program));
  if (engine_) return engine_->SetProgram(program_.get());
  const Plan& plan = *plan_->plan;
  const PlanRank& entry = plan.ranks[plan_->index.RankIndex(plan, rank_)];
  EngineSpec spec;
  spec.plan = &plan;
  spec.index = &plan_->index;
  spec.rank = rank_;
  spec.arena_bytes = entry.staging_bytes();
  spec.program = program_.get();
  spec.ranks_of_members = ranks_of_members_;
  StatusOr<std::unique_ptr<ExecutionEngine>> engine = backend_->CreateEngine(spec, deadline);
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  {
    const std::lock_guard lock(mutex_);
    abortable_ = engine_.get();
  }
  if (backend_->needs_callers_thread()) return Status();
  try {
    worker_ = std::thread([this] { Work(); });
  } catch (const std::system_error& error) {
    return Status(StatusCode::kUnavailable,
                  std::string("cannot start a thread to execute on: ") + error.what());
  }
  return Status();
}

Status Executor::Start(void* stream, uint64_t generation) {
  if (running_) return WrongOrder("an execution runs already: wait for it before starting another");
  if (!failure_.ok()) return failure_;
  if (!ready_) return WrongOrder("the executor is not prepared, or params were bound since");
  if (generation <= started_generation_) {
    return Status(StatusCode::kInvalidArgument, "generation " + std::to_string(generation) +
                                                    " does not follow generation " +
                                                    std::to_string(started_generation_));
  }
  RESHARD_RETURN_IF_ERROR(engine_->Begin(stream));
  started_generation_ = generation;
  executed_ = true;
  running_ = true;
  if (!worker_.joinable()) return Status();
  {
    const std::lock_guard lock(mutex_);
    order_ = Order::kRun;
  }
  changed_.notify_all();
  return Status();
}

void Executor::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto can_tell = [&] { return has_untold_abort_ && !caller_uses_backend_; };
    changed_.wait(lock,
                  [&] { return order_ == Order::kRun || order_ == Order::kQuit || can_tell(); });
    if (can_tell()) {
      has_untold_abort_ = false;
      worker_tells_abort_ = true;
      lock.unlock();
      engine_->TellAbort();
      lock.lock();
      worker_tells_abort_ = false;
      changed_.notify_all();
      continue;
    }
    if (order_ == Order::kQuit) return;
    lock.unlock();
    Status result = RunOnce();
    lock.lock();
    result_ = std::move(result);
    order_ = Order::kDone;
    changed_.notify_all();
  }
}

Status Executor::RunOnce() {
  const Status status = engine_->Execute({options_.wait_timeout}, &record_);
  if (!status.ok()) return Explain(status);
  if (execution_count_ >= options_.verify_executions) return status;
  ContentCheckSpec spec;
  spec.plan = plan_->plan.get();
  spec.rank = rank_;
  spec.host_memory = backend_->device() == kHostDevice;
  spec.program = program_.get();
  spec.engine = engine_.get();
  spec.control = backend_->control();
  spec.ranks_of_members = ranks_of_members_;
  const Status checked = CheckContent(spec, DeadlineIn(options_.wait_timeout));
  if (checked.code() != StatusCode::kTimeout) return checked;
  return Status(checked.code(),
                "all of generation " + std::to_string(started_generation_) +
                    " has come, but its content was not compared: " + checked.message());
}

StatusOr<bool> Executor::Wait(std::chrono::nanoseconds timeout) {
  if (!running_) return WrongOrder("no execution runs");
  RESHARD_RETURN_IF_ERROR(backend_->CheckThread());
  Status result;
  if (worker_.joinable()) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, DeadlineIn(timeout), [&] { return order_ == Order::kDone; })) {
      return false;
    }
    order_ = Order::kIdle;
    result = std::move(result_);
    result_ = Status();
  } else {
    result = RunOnce();
  }
  running_ = false;
  ++execution_count_;
  if (result.ok()) {
    complete_generation_ = started_generation_;
    return true;
  }
  failure_ = std::move(result);
  return failure_;
}

StatusOr<uint64_t> Executor::Commit(std::chrono::nanoseconds timeout) {
  if (running_) return WrongOrder("an execution runs: wait for it before committing");
  if (started_generation_ == kNoGeneration) return WrongOrder("nothing was executed yet");
  RESHARD_RETURN_IF_ERROR(backend_->CheckThread());
  const std::vector<uint32_t> members = ReplicaMembers();
  const Holding mine{complete_generation_, executed_ ? started_generation_ : kNoGeneration};
  std::array<uint8_t, sizeof(Holding)> said{};
  std::memcpy(said.data(), &mine, sizeof(mine));
  std::vector<uint8_t> all(members.size() * sizeof(Holding));
  const CallerUsesBackend use(this);
  const Status gathered = backend_->control()->AllGather(members, said, all, DeadlineIn(timeout));
  if (!gathered.ok()) return ExplainSilence(gathered);
  std::vector<Holding> holdings(members.size());
  std::memcpy(holdings.data(), all.data(), all.size());
  std::vector<uint32_t> ranks;
  for (const uint32_t member : members) ranks.push_back(ranks_of_members_[member]);
  RESHARD_RETURN_IF_ERROR(CompareHoldings(ranks, holdings));
  return complete_generation_;
}

std::vector<uint32_t> Executor::ReplicaMembers() const {
  std::vector<uint32_t> members;
  for (uint32_t m = 0; m < ranks_of_members_.size(); ++m) {
    if (options_.replica.empty() ||
        std::binary_search(options_.replica.begin(), options_.replica.end(),
                           ranks_of_members_[m])) {
      members.push_back(m);
    }
  }
  return members;
}

void Executor::Abort(const std::string& reason) {
  const Status status(StatusCode::kAborted, reason);
  ExecutionEngine* engine = nullptr;
  {
    const std::lock_guard lock(mutex_);
    engine = abortable_;
    if (engine == nullptr) {
      if (early_abort_.ok()) early_abort_ = status;
      return;
    }
  }
  engine->Abort(status);
  {
    const std::lock_guard lock(mutex_);
    has_untold_abort_ = true;
  }
  changed_.notify_all();
}

Status Executor::TakeEarlyAbort() {
  const std::lock_guard lock(mutex_);
  return std::exchange(early_abort_, Status());
}

std::vector<bool> Executor::CompleteParams() const {
  std::vector<bool> complete;
  if (!program_) return complete;
  for (const PreparedParam& param : program_->params) {
    // Preparing the same buffers again takes nothing from them, but begins another record.
    const bool all = complete_generation_ == started_generation_;
    complete.push_back(executed_ && (all || (record_.filled() && param.rounds_until_complete <=
                                                                     record_.rounds_copied())));
  }
  return complete;
}

std::string Executor::FamilyText(uint32_t family, int64_t instance) const {
  const PlanFamily& f = plan_->plan->families[family];
  std::vector<int64_t> values = f.loop_begin;
  for (size_t d = values.size(); d-- > 0;) {
    values[d] += instance % f.loop_extent[d];
    instance /= f.loop_extent[d];
  }
  return "'" + f.name.Instance(values) + "'";
}

// The first param that a message of the round in which the rank stopped is packed from.
std::string Executor::SentText() const {
  if (record_.rounds_moved() >= program_->rounds.size()) return "";
  const PreparedRound& round = program_->rounds[record_.rounds_moved()];
  for (uint32_t p = round.first_pack; p < round.pack_end; ++p) {
    for (const CopyList::Nest& nest : program_->gathers.nests(program_->packs[p].copies)) {
      return "; it was sending " + FamilyText(nest.family, nest.base_instance);
    }
  }
  return "";
}

// Adds which params are concerned.
Status Executor::Explain(const Status& status) const {
  std::string text = SentText();
  size_t incomplete = 0;
  for (const PreparedParam& param : program_->params) {
    if (param.rounds_until_complete <= record_.rounds_copied()) continue;
    if (incomplete++ == 0) text += "; " + FamilyText(param.family, param.instance);
  }
  const bool over = record_.rounds_moved() >= program_->rounds.size();
  if (incomplete == 0 && over) text += "; this rank's own part is complete";
  if (incomplete == 1) text += " is incomplete";
  if (incomplete > 1) text += " and " + std::to_string(incomplete - 1) + " more are incomplete";
  return Status(status.code(), status.message() + text);
}

// Adds what this rank knows when others do not answer in its commit.
Status Executor::ExplainSilence(const Status& status) const {
  const std::string generation = "generation " + std::to_string(started_generation_);
  std::string text = status.message();
  if (!executed_) {
    text += "; this rank holds none since its params were bound";
  } else if (complete_generation_ == started_generation_) {
    text += "; this rank's own part of " + generation + " is complete, that of the others unknown";
  } else {
    text += "; this rank did not complete " + generation + ": " + failure_.message();
  }
  return Status(status.code(), std::move(text));
}

}  // namespace reshard
