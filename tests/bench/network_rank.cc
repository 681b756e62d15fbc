// One rank of `tools/bench network`: the same weights moved by a plan and by what people use
// instead, in turn, under MPI.
//
// Usage: network_rank CASE.json PLAN REPEATS INTERFACE
// The case says which rows of which tensor lie on which source rank, which columns each destination
// rank needs, and the domain of every rank; ranks are members of MPI_COMM_WORLD. Member 0 prints a
// line of JSON for each run of a scheme: seconds of the slowest rank, payload that each domain
// received by the kernel's counters, peak memory of a rank beyond its params, and whether every
// destination byte was right.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bench/network_case.h"
#include "tests/bench/network_schemes.h"

namespace reshard {
namespace {

// What the kernel has counted on one interface of this network namespace.
struct Counters {
  int64_t bytes = 0;
  int64_t packets = 0;
};
Counters Received(const std::string& interface) {
  std::ifstream devices("/proc/self/net/dev");
  for (std::string line; std::getline(devices, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(' ');
    if (line.substr(begin, colon - begin) != interface) continue;
    Counters counters;
    std::istringstream(line.substr(colon + 1)) >> counters.bytes >> counters.packets;
    return counters;
  }
  return {};
}
// Ethernet, IPv4 and TCP with time stamps, once for each packet that is counted.
constexpr int64_t kHeadBytes = 14 + 20 + 32;

int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    int64_t kib = 0;
    if (name == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}
int64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    int64_t kib = 0;
    if (name == "VmRSS:" && status >> kib) return kib * 1024;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Runs one scheme once on all ranks.
void Measure(const std::string& name, Scheme* scheme, int repeat, RankData* data,
             const std::string& interface) {
  const NetworkCase& job = data->job();
  data->ClearDestination();
  ResetPeak();
  const int64_t resident = ResidentBytes();
  scheme->Prepare();
  // Counted from before the barrier: behind it others may have sent already.
  const Counters before = Received(interface);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  scheme->Run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const Counters after = Received(interface);
  int64_t peak = PeakBytes() - resident + scheme->KeptBytes();
  MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  scheme->Release();
  std::vector<int64_t> received(job.domain_count, 0);
  received[job.domain_of[static_cast<size_t>(data->member())]] =
      after.bytes - before.bytes - (after.packets - before.packets) * kHeadBytes;
  MPI_Allreduce(MPI_IN_PLACE, received.data(), static_cast<int>(received.size()), MPI_INT64_T,
                MPI_SUM, MPI_COMM_WORLD);
  int64_t wrong = data->WrongBytes();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (data->member() != 0 || repeat < 0) return;
  const nlohmann::json line = {{"scheme", name},     {"repeat", repeat},
                               {"seconds", seconds}, {"received", received},
                               {"peak_bytes", peak}, {"wrong_bytes", wrong}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int Run(char** argv) {
  std::ifstream file(argv[1]);
  const NetworkCase job = ReadNetworkCase(nlohmann::json::parse(file));
  int member = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &member);
  RankData data(job, member);
  std::vector<std::pair<std::string, std::unique_ptr<Scheme>>> schemes;
  schemes.emplace_back("plan", MakePlanScheme(argv[2], &data));
  schemes.emplace_back("gather_bcast", MakeGatherBroadcastScheme(&data));
  schemes.emplace_back("ring", MakeRingScheme(&data));
  schemes.emplace_back("point_to_point", MakePointToPointScheme(&data));
  // The first, unmeasured turn makes all connections.
  for (int repeat = -1; repeat < std::atoi(argv[3]); ++repeat) {
    for (const auto& [name, scheme] : schemes) {
      Measure(name, scheme.get(), repeat, &data, argv[4]);
    }
  }
  return 0;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) return 2;
  const int status = reshard::Run(argv);
  MPI_Finalize();
  return status;
}
