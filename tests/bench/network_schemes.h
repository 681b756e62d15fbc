// Ways to move the weights of a NetworkCase under MPI.
#ifndef RESHARD_TESTS_BENCH_NETWORK_SCHEMES_H_
#define RESHARD_TESTS_BENCH_NETWORK_SCHEMES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tests/bench/network_case.h"

namespace reshard {

class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual void Prepare() {}  // memory, before the time is taken
  virtual void Run() = 0;    // collective
  virtual void Release() {}  // what Prepare took
  // Memory that it keeps from run to run, beside what it takes in Prepare and Run.
  virtual int64_t KeptBytes() const { return 0; }
};

// The plan, by libreshard. Ends the program when it cannot be executed.
std::unique_ptr<Scheme> MakePlanScheme(const std::string& plan_path, RankData* data);

// Tensor by tensor: the ranks that share one gather it whole (MPI_Allgather), the first of them
// broadcasts it to all destination ranks (MPI_Bcast), which take their part out.
std::unique_ptr<Scheme> MakeGatherBroadcastScheme(RankData* data);

// Every source rank sends what it holds once, chunk by chunk, to a rank of the first destination
// domain, this one to a rank of the next and so on; inside a domain every rank hands on what it
// received to all others. All NICs are used; every destination rank holds the whole model.
std::unique_ptr<Scheme> MakeRingScheme(RankData* data);

// Tensor by tensor, every source rank packs for every destination rank what that one needs and
// sends it, also to each replica by itself.
std::unique_ptr<Scheme> MakePointToPointScheme(RankData* data);

}  // namespace reshard

#endif  // RESHARD_TESTS_BENCH_NETWORK_SCHEMES_H_
