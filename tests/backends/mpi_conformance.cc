// The suite on MPI: started by mpirun with kConformanceRanks processes, each of which compiles
// every case and plays one of its ranks; those that a case does not need sit it out.
//
// Usage: mpi_conformance messages|shared|threads [GROUP...]
// threads: with MPI_THREAD_MULTIPLE, so that executions run on threads of the library.
// Member 0 prints a line for each group; exit status 0 when all cases of all groups were right. An
// execution that allocates memory (of C++; what MPI does itself is not counted) is not right.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/mpi/mpi_backend.h"
#include "runtime/exec/testing/allocation_count.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"

namespace reshard {
namespace {

// A backend over the first processes, kept: a trainer too makes several executors of one.
class Backends {
 public:
  Backends(int member, bool shared_memory) : member_(member), shared_memory_(shared_memory) {}

  // Collective over all processes; null where this one is none of the first `member_count`.
  std::shared_ptr<Backend> Of(int member_count) {
    const auto found = backends_.find(member_count);
    if (found != backends_.end()) return found->second;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, member_ < member_count ? 0 : MPI_UNDEFINED, member_, &comm);
    std::shared_ptr<Backend> backend;
    if (comm != MPI_COMM_NULL) {
      MpiBackendOptions options;
      options.shared_memory = shared_memory_;
      StatusOr<std::shared_ptr<Backend>> made = MakeMpiBackend(comm, options);
      if (made.ok()) backend = *std::move(made);
    }
    backends_[member_count] = backend;
    return backend;
  }

 private:
  const int member_;
  const bool shared_memory_;
  std::map<int, std::shared_ptr<Backend>> backends_;
};

// The number of members where something went wrong.
int RunCase(const ConformanceGroup& group, const ConformanceCase& one, int member,
            Backends* backends) {
  CompiledCase compiled;
  std::string problem = CompileCase(one.make(), &compiled);
  const int ranks = problem.empty() ? static_cast<int>(compiled.plan->plan->ranks.size()) : 0;
  if (problem.empty()) {
    const std::shared_ptr<Backend> backend = backends->Of(ranks);
    if (member < ranks) {
      problem =
          backend == nullptr
              ? "no backend"
              : RunRank(compiled, compiled.plan->plan->ranks[static_cast<size_t>(member)].rank,
                        backend, 2, testing::AllocationCount);
    }
  }
  if (!problem.empty()) {
    std::fprintf(stderr, "%s, %s: %s\n", group.name.c_str(), one.name.c_str(), problem.c_str());
  }
  int wrong = problem.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

int RunSuite(bool shared_memory, const std::vector<std::string>& groups) {
  int member = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &member);
  Backends backends(member, shared_memory);
  bool ok = true;
  for (const ConformanceGroup& group : ConformanceSuite()) {
    bool wanted = groups.empty();
    for (const std::string& name : groups) wanted = wanted || name == group.name;
    if (!wanted) continue;
    size_t right = 0;
    for (const ConformanceCase& one : group.cases) {
      if (RunCase(group, one, member, &backends) == 0) ++right;
    }
    ok = ok && right == group.cases.size() && right > 0;
    if (member == 0) {
      std::printf("%s: %zu of %zu right\n", group.name.c_str(), right, group.cases.size());
      std::fflush(stdout);
    }
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int wanted = mode == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (level < wanted) return 2;
  const bool shared_memory = mode != "messages";
  const int status = reshard::RunSuite(
      shared_memory, std::vector<std::string>(argv + std::min(argc, 2), argv + argc));
  MPI_Finalize();
  return status;
}
