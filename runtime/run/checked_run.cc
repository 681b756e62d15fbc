#include "runtime/run/checked_run.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/exec/trace.h"
#include "runtime/run/layout_oracle.h"

namespace reshard {
namespace {

// Calls work(0 .. count - 1), each once, on as many threads as the machine has processors.
void ForEachInParallel(size_t count, const std::function<void(size_t)>& work) {
  const size_t workers = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, count);
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> threads;
  for (size_t w = 1; w < workers; ++w) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
}

// Fills and compares all ranks of one job.
class ContentCheck {
 public:
  ContentCheck(const Plan& plan, const LoopbackJob& job)
      : plan_(plan), job_(job), oracle_(plan), source_hashes_(job.rank_count()) {}

  void Fill(uint64_t generation) {
    ForEachInParallel(job_.rank_count(), [&](size_t r) {
      oracle_.Fill(job_.params_of(r), generation);
      source_hashes_[r] = LayoutOracle::HashSources(job_.params_of(r));
    });
  }

  void Compare(uint64_t generation, CheckedRunResult* result) {
    std::vector<RankCheck> sources(job_.rank_count());
    std::vector<RankCheck> destinations(job_.rank_count());
    ForEachInParallel(job_.rank_count(), [&](size_t r) {
      destinations[r] = oracle_.CheckDestination(job_.params_of(r), generation);
      sources[r] = LayoutOracle::CheckSource(job_.params_of(r), source_hashes_[r]);
    });
    // A source that was overwritten explains wrong destinations, so it goes first.
    for (const std::vector<RankCheck>* checks : {&sources, &destinations}) {
      for (size_t r = 0; r < checks->size(); ++r) {
        const RankCheck& check = (*checks)[r];
        result->compared_bytes += check.compared_bytes;
        result->wrong_bytes += check.wrong_bytes;
        if (check.first && !result->first) {
          result->first = ExplainDifference(plan_, job_.params_of(r), *check.first, generation);
        }
      }
    }
  }

 private:
  const Plan& plan_;
  const LoopbackJob& job_;
  const LayoutOracle oracle_;
  std::vector<std::vector<uint64_t>> source_hashes_;
};

void Describe(const std::vector<RankRecord>& records, bool trace, CheckedRunResult* result) {
  for (const RankRecord& rank : records) {
    const ExecutionRecord::PeerWait* const slowest = rank.record->slowest();
    if (slowest != nullptr && slowest->waited > result->slowest.waited) {
      result->slowest = {slowest->waited, rank.rank, slowest->peer};
    }
  }
  if (!trace) return;
  std::ostringstream text;
  WriteTrace(records, text);
  result->trace = text.str();
}

}  // namespace

StatusOr<CheckedRunResult> RunChecked(const Plan& plan, const CheckedRunOptions& options) {
  const auto enter = [&options](RunPhase phase, uint32_t execution) {
    if (options.on_phase) options.on_phase(phase, execution);
  };
  enter(RunPhase::kPrepare, 0);
  StatusOr<std::unique_ptr<LoopbackJob>> created =
      LoopbackJob::Create(plan, {options.timeout, options.pace, options.trace});
  if (!created.ok()) return created.status();
  LoopbackJob& job = **created;
  ContentCheck content(plan, job);
  CheckedRunResult result;
  for (uint32_t e = 0; e < options.executions && result.ok(); ++e) {
    if (options.check || e == 0) {
      enter(RunPhase::kFill, e);
      content.Fill(e);
    }
    enter(RunPhase::kExecute, e);
    RESHARD_RETURN_IF_ERROR(job.Execute());
    result.elapsed.push_back(job.stats().elapsed);
    if (!options.check) continue;
    enter(RunPhase::kCompare, e);
    content.Compare(e, &result);
  }
  result.max_staging_bytes = job.stats().max_staging_bytes;
  Describe(job.records(), options.trace, &result);
  return result;
}

}  // namespace reshard
