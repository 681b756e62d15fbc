#include "tests/backends/failure_rank.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reshard/reshard.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/load_plan.h"
#include "runtime/run/layout_oracle.h"
#include "tests/backends/touched_pages.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

struct Args {
  std::string plan;
  int64_t victim = -1;
  std::string when, how;
  int64_t timeout_ns = 0;
  std::string survivors_plan;
  std::string cut_file;
};

void Say(const nlohmann::json& json) {
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

[[noreturn]] void Leave(int status) {
  std::fflush(stdout);
  // Whatever would wait for the dead is left out.
  _exit(status);
}

void Need(reshard_result result, const char* what) {
  if (result == RESHARD_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, reshard_last_error());
  Leave(3);
}

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The plan as the test itself reads it, to know what every byte has to be.
Plan ReadPlan(const std::string& path) {
  StatusOr<LoadedPlan> loaded = LoadPlanFile(path, {});
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str());
    Leave(3);
  }
  return std::move(loaded->plan);
}

// The params of one rank, and what is done with them over the C interface.
class RankJob {
 public:
  RankJob(const std::string& path, uint32_t rank, ParamBuffers* buffers)
      : plan_(ReadPlan(path)), rank_(rank), buffers_(buffers) {
    reshard_plan_options options = RESHARD_PLAN_OPTIONS_INIT;
    Need(reshard_plan_load(path.c_str(), &options, &handle_), "load");
  }

  const Plan& plan() const { return plan_; }
  std::span<const LoopbackParam> params() const { return buffers_->params(); }
  void Fill(uint64_t generation) { LayoutOracle(plan_).Fill(params(), generation); }
  int64_t WrongBytes(uint64_t generation) {
    return LayoutOracle(plan_).CheckDestination(params(), generation).wrong_bytes;
  }

  void Connect(FailureNetwork* network, std::span<const int> members, int64_t timeout_ns) {
    Need(network->MakeBackend(members, timeout_ns, &backend_), "backend");
    reshard_executor_options executor_options = RESHARD_EXECUTOR_OPTIONS_INIT;
    executor_options.wait_timeout_ns = timeout_ns;
    Need(reshard_executor_create(handle_, rank_, backend_, &executor_options, &executor_),
         "executor");
    for (const LoopbackParam& param : params()) {
      reshard_buffer buffer = RESHARD_BUFFER_INIT;
      buffer.name = param.name.c_str();
      buffer.side = param.side == PlanSide::kSource ? RESHARD_SOURCE : RESHARD_DESTINATION;
      buffer.data = param.bytes.data();
      buffer.bytes = static_cast<int64_t>(param.bytes.size());
      Need(reshard_executor_bind(executor_, &buffer), "bind");
    }
    Need(reshard_executor_prepare(executor_, timeout_ns), "prepare");
  }

  reshard_result Execute(uint64_t generation) {
    const reshard_result started = reshard_executor_start(executor_, nullptr, generation);
    return started == RESHARD_OK ? reshard_executor_wait(executor_, RESHARD_FOREVER) : started;
  }
  reshard_result Commit(int64_t timeout_ns, uint64_t* generation) {
    return reshard_executor_commit(executor_, timeout_ns, generation);
  }
  double LastSeconds() {
    reshard_stats stats{};
    stats.struct_size = sizeof(stats);
    Need(reshard_executor_get_stats(executor_, &stats), "stats");
    return static_cast<double>(stats.elapsed_ns) * 1e-9;
  }

  // What the executor says of its params, and how many bytes of those that it calls complete are
  // not as they have to be. What they have to be comes from a run of the whole plan on loopback.
  nlohmann::json State(uint64_t generation) {
    reshard_executor_state state{};
    state.struct_size = sizeof(state);
    Need(reshard_executor_get_state(executor_, &state), "state");
    std::vector<size_t> complete(state.destination_count);
    size_t count = 0;
    Need(reshard_executor_get_complete(executor_, complete.data(), complete.size(), &count),
         "complete");
    complete.resize(std::min(count, complete.size()));
    int64_t wrong = 0;
    const std::vector<std::vector<uint8_t>> expected = Expected(generation);
    for (const size_t index : complete) {
      reshard_param_info info{};
      info.struct_size = sizeof(info);
      Need(reshard_plan_get_param(handle_, rank_, index, &info), "param");
      wrong += WrongBytesOf(info, expected);
    }
    return {{"started", state.started_generation},
            {"complete_generation", state.complete_generation},
            {"destination_count", state.destination_count},
            {"complete_count", state.complete_count},
            {"listed", count},
            {"wrong_bytes", wrong}};
  }

  bool Destroy() {
    const reshard_result executor = reshard_executor_destroy(executor_);
    const reshard_result backend = reshard_backend_destroy(backend_);
    return executor == RESHARD_OK && backend == RESHARD_OK;
  }

 private:
  // Of every param of this rank after an execution.
  std::vector<std::vector<uint8_t>> Expected(uint64_t generation) {
    StatusOr<std::unique_ptr<LoopbackJob>> job = LoopbackJob::Create(plan_, {});
    if (!job.ok()) Leave(3);
    size_t own = 0;
    for (size_t r = 0; r < (*job)->rank_count(); ++r) {
      LayoutOracle(plan_).Fill((*job)->params_of(r), generation);
      if (plan_.ranks[r].rank == rank_) own = r;
    }
    if (!(*job)->Execute().ok()) Leave(3);
    std::vector<std::vector<uint8_t>> expected;
    for (const LoopbackParam& param : (*job)->params_of(own)) {
      expected.emplace_back(param.bytes.begin(), param.bytes.end());
    }
    return expected;
  }

  int64_t WrongBytesOf(const reshard_param_info& info,
                       const std::vector<std::vector<uint8_t>>& expected) {
    for (size_t p = 0; p < params().size(); ++p) {
      const LoopbackParam& param = params()[p];
      if (param.side != PlanSide::kDestination || param.name != info.name) continue;
      int64_t wrong = 0;
      for (size_t b = 0; b < param.bytes.size(); ++b) {
        wrong += param.bytes[b] != expected[p][b] ? 1 : 0;
      }
      return info.side == RESHARD_DESTINATION ? wrong : info.bytes;
    }
    return info.bytes;
  }

  const Plan plan_;
  const uint32_t rank_;
  ParamBuffers* const buffers_;
  reshard_plan* handle_ = nullptr;
  reshard_backend* backend_ = nullptr;
  reshard_executor* executor_ = nullptr;
};

int SignalOf(const std::string& how) { return how == "stop" ? SIGSTOP : SIGKILL; }

// The rank `rank`, that fails. `touched`: pages of its params that the first execution touched; for
// `middle` it fails when the second one touches half as many.
void PlayVictim(const Args& args, uint32_t rank, size_t touched, RankJob* job) {
  const int signal = SignalOf(args.how);
  if (args.when == "start") raise(signal);
  const TouchedPages pages(job->params(), args.when == "middle" ? touched / 2 : 0, signal);
  (void)job->Execute(2);
  raise(signal);
  // Stopped, and continued by the test when all others have given up.
  uint64_t generation = 0;
  const reshard_result committed = job->Commit(args.timeout_ns, &generation);
  Say({{"resumed", rank},
       {"commit", reshard_result_name(committed)},
       {"commit_text", committed == RESHARD_OK ? "" : reshard_last_error()}});
}

// At the point `when` of a job whose network the test cuts there.
void AwaitCut(const Args& args, const std::string& when, uint32_t rank, FailureNetwork* network) {
  if (args.how != "link" || args.when != when) return;
  Say({{"waits", rank}});
  while (access(args.cut_file.c_str(), F_OK) != 0) {
    network->Progress();
    usleep(1000);
  }
}

// `touched`: of the rank that stops in the middle, for the network to be cut there; else 0.
reshard_result ExecuteSecond(size_t touched, RankJob* job) {
  std::optional<TouchedPages> pages;
  if (touched > 0) pages.emplace(job->params(), touched / 2, SIGSTOP);
  return job->Execute(2);
}

nlohmann::json PlaySurvivor(const Args& args, uint32_t rank, size_t touched, RankJob* job,
                            FailureNetwork* network) {
  nlohmann::json saw = {{"rank", rank}};
  AwaitCut(args, "start", rank, network);
  const Clock::time_point begin = Clock::now();
  const reshard_result result = ExecuteSecond(args.when == "middle" ? touched : 0, job);
  saw["result"] = reshard_result_name(result);
  saw["seconds"] = SecondsSince(begin);
  saw["text"] = result == RESHARD_OK ? "" : reshard_last_error();
  saw["state"] = job->State(2);
  AwaitCut(args, "end", rank, network);
  uint64_t generation = 0;
  const reshard_result committed = job->Commit(args.timeout_ns, &generation);
  saw["commit"] = reshard_result_name(committed);
  saw["commit_text"] = committed == RESHARD_OK ? "" : reshard_last_error();
  saw["commit_generation"] = generation;
  saw["again"] = reshard_result_name(result == RESHARD_OK ? RESHARD_OK : job->Execute(3));
  saw["destroyed"] = job->Destroy();
  return saw;
}

// The survivors that the second plan has, on the buffers they have.
nlohmann::json GoOn(const Args& args, uint32_t rank, const std::vector<uint32_t>& ranks_of_world,
                    ParamBuffers* buffers, FailureNetwork* network) {
  RankJob job(args.survivors_plan, rank, buffers);
  std::vector<int> members;
  for (const PlanRank& entry : job.plan().ranks) {
    const auto member = std::find(ranks_of_world.begin(), ranks_of_world.end(), entry.rank);
    members.push_back(static_cast<int>(member - ranks_of_world.begin()));
  }
  const auto own = std::find(ranks_of_world.begin(), ranks_of_world.end(), rank);
  const int own_member = static_cast<int>(own - ranks_of_world.begin());
  if (std::find(members.begin(), members.end(), own_member) == members.end()) {
    return {{"rank", rank}, {"survivors", "not in the plan"}};
  }
  job.Connect(network, members, args.timeout_ns);
  job.Fill(3);
  const reshard_result result = job.Execute(3);
  const std::string text = result == RESHARD_OK ? "" : reshard_last_error();
  uint64_t generation = 0;
  const reshard_result committed = job.Commit(args.timeout_ns, &generation);
  return {{"rank", rank},
          {"survivors", reshard_result_name(result)},
          {"text", text},
          {"commit", reshard_result_name(committed)},
          {"generation", generation},
          {"wrong_bytes", job.WrongBytes(3)}};
}

void Run(const Args& args, FailureNetwork* network) {
  const Plan plan = ReadPlan(args.plan);
  std::vector<uint32_t> ranks;
  std::vector<int> everybody;
  for (const PlanRank& entry : plan.ranks) {
    everybody.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(entry.rank);
  }
  const uint32_t rank = ranks[static_cast<size_t>(network->member())];
  ParamBuffers buffers;
  if (!buffers.Add(plan, rank).ok()) Leave(3);
  RankJob job(args.plan, rank, &buffers);
  job.Connect(network, everybody, args.timeout_ns);
  job.Fill(1);
  size_t touched = 0;
  if (args.victim == static_cast<int64_t>(rank)) {
    const TouchedPages pages(job.params(), 0, 0);
    Need(job.Execute(1), "first execution");
    touched = pages.count();
    if (touched < 2) Leave(3);
  } else {
    Need(job.Execute(1), "first execution");
  }
  uint64_t generation = 0;
  Need(job.Commit(args.timeout_ns, &generation), "first commit");
  if (generation != 1 || job.WrongBytes(1) != 0) Leave(3);
  job.Fill(2);
  Say({{"ready", rank}, {"process", getpid()}, {"seconds", job.LastSeconds()}});
  // All begin the execution that fails together.
  network->Barrier();
  if (touched > 0 && args.how != "link") {
    PlayVictim(args, rank, touched, &job);
    return;
  }
  Say(PlaySurvivor(args, rank, touched, &job, network));
  if (!args.survivors_plan.empty()) Say(GoOn(args, rank, ranks, &buffers, network));
}

}  // namespace

void RunFailureRank(std::span<char* const> arguments, FailureNetwork* network) {
  if (arguments.size() < 5) Leave(2);
  const Args args{arguments[0],
                  std::atoll(arguments[1]),
                  arguments[2],
                  arguments[3],
                  std::atoll(arguments[4]) * 1'000'000,
                  arguments.size() > 5 ? arguments[5] : "",
                  arguments.size() > 6 ? arguments[6] : ""};
  Run(args, network);
  Leave(0);
}

}  // namespace reshard
