#include "tests/backends/rank_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "runtime/exec/bindings.h"
#include "tests/property/compiled_job.h"
#include "tests/property/job_content.h"

namespace reshard {
namespace {

constexpr std::chrono::seconds kTimeout{60};

// The params of one rank with their memory.
class RankBuffers {
 public:
  RankBuffers(const CompiledCase& compiled, uint32_t rank) : rank_(rank) {
    for (const JobParam& param : compiled.job.params) {
      if (param.rank != rank) continue;
      Buffer buffer{&param, param.elements(), {}};
      const size_t bytes = buffer.array.ids.size() * static_cast<size_t>(param.element_bytes);
      buffer.words.resize(bytes / sizeof(uint64_t) + 1);
      buffers_.push_back(std::move(buffer));
    }
  }

  Status BindTo(Executor* executor, int32_t device) {
    for (Buffer& buffer : buffers_) {
      ParamBuffer bound;
      bound.side = buffer.param->destination ? PlanSide::kDestination : PlanSide::kSource;
      bound.name = buffer.param->name;
      bound.data = buffer.bytes();
      bound.bytes = buffer.byte_count();
      bound.device = device;
      RESHARD_RETURN_IF_ERROR(executor->Bind(std::move(bound)));
    }
    return Status();
  }

  void Fill(uint32_t execution) {
    for (Buffer& buffer : buffers_) {
      const std::vector<uint8_t> content =
          ParamContent(*buffer.param, buffer.array, execution, /*after=*/false);
      std::copy(content.begin(), content.end(), buffer.bytes());
    }
  }

  // "" or the first wrong byte.
  std::string Compare(uint32_t execution) {
    for (Buffer& buffer : buffers_) {
      const std::vector<uint8_t> content =
          ParamContent(*buffer.param, buffer.array, execution, /*after=*/true);
      const auto wrong = std::mismatch(content.begin(), content.end(), buffer.bytes()).first;
      if (wrong == content.end()) continue;
      return "rank " + std::to_string(rank_) + (buffer.param->destination ? "" : " source") +
             " param '" + buffer.param->name + "' byte " + std::to_string(wrong - content.begin()) +
             " is wrong in execution " + std::to_string(execution);
    }
    return "";
  }

  size_t size() const { return buffers_.size(); }

 private:
  struct Buffer {
    const JobParam* param = nullptr;
    ElementArray array;
    std::vector<uint64_t> words;
    uint8_t* bytes() { return reinterpret_cast<uint8_t*>(words.data()); }
    int64_t byte_count() const {
      return static_cast<int64_t>(array.ids.size()) * param->element_bytes;
    }
  };
  const uint32_t rank_;
  std::vector<Buffer> buffers_;
};

std::string Problem(uint32_t rank, const Status& status) {
  return "rank " + std::to_string(rank) + ": " + status.ToString();
}

}  // namespace

std::string CompileCase(Job job, CompiledCase* out) {
  if (job.params.empty()) return "the job has no params";
  LoadedPlan loaded;
  std::string problem = CompileJob(job, &loaded);
  if (!problem.empty()) return problem;
  size_t expected = 0;
  for (const PlanRank& rank : loaded.plan.ranks) {
    expected += ParamsOfRank(loaded.plan, rank.rank).size();
  }
  if (expected != job.params.size()) {
    return "the plan has " + std::to_string(expected) + " params, expected " +
           std::to_string(job.params.size());
  }
  auto shared = std::make_shared<SharedPlan>();
  shared->plan = std::make_shared<const Plan>(std::move(loaded.plan));
  shared->index = BuildProgramIndex(*shared->plan);
  shared->root_digest = loaded.root_digest;
  out->job = std::move(job);
  out->plan = std::move(shared);
  return "";
}

std::string RunRank(const CompiledCase& compiled, uint32_t rank, std::shared_ptr<Backend> backend,
                    uint32_t executions, CountAllocations allocations) {
  ExecutorOptions options;
  options.wait_timeout = kTimeout;
  options.verify_executions = 1;
  const int32_t device = backend->device();
  StatusOr<std::unique_ptr<Executor>> created =
      Executor::Create(compiled.plan, rank, std::move(backend), options);
  if (!created.ok()) return Problem(rank, created.status());
  Executor& executor = **created;
  RankBuffers buffers(compiled, rank);
  Status status = buffers.BindTo(&executor, device);
  if (status.ok()) status = executor.Prepare(kTimeout);
  if (!status.ok()) return Problem(rank, status);
  for (uint32_t e = 0; e < executions; ++e) {
    buffers.Fill(e);
    const int64_t before = allocations == nullptr ? 0 : allocations();
    status = executor.Start(nullptr, e + 1);
    while (status.ok()) {
      const StatusOr<bool> over = executor.Wait(kTimeout);
      if (!over.ok()) status = over.status();
      if (!over.ok() || *over) break;
    }
    const int64_t allocated = allocations == nullptr ? 0 : allocations() - before;
    if (!status.ok()) return Problem(rank, status);
    std::string wrong = buffers.Compare(e);
    if (wrong.empty() && e > 0 && allocated != 0) {
      wrong = "rank " + std::to_string(rank) + " allocated " + std::to_string(allocated) + " times";
    }
    // All go on together: a rank that fills its sources anew must not be read by another one that
    // is still in the execution before.
    const StatusOr<uint64_t> committed = executor.Commit(kTimeout);
    if (!wrong.empty()) return wrong;
    if (!committed.ok()) return Problem(rank, committed.status());
    if (*committed != e + 1) return "generation " + std::to_string(*committed) + " was committed";
  }
  return "";
}

std::string RunOnThreads(Job job, const MakeBackends& make_backends, uint32_t executions) {
  CompiledCase compiled;
  std::string problem = CompileCase(std::move(job), &compiled);
  if (!problem.empty()) return problem;
  const std::vector<PlanRank>& ranks = compiled.plan->plan->ranks;
  const std::vector<std::shared_ptr<Backend>> backends =
      make_backends(static_cast<uint32_t>(ranks.size()));
  std::vector<std::string> problems(ranks.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back(
        [&, r] { problems[r] = RunRank(compiled, ranks[r].rank, backends[r], executions); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& found : problems) {
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace reshard
