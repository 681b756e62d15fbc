// A rank of a job of TCP in which another one fails: see failure_rank.h. tcp_job.py starts it.
//
// Usage: tcp_failure MEMBER COUNT FOLDER ADDRESS ARGUMENTS...
//   FOLDER   empty; the processes tell each other there how they are reached, by files
//   ADDRESS  of this process, as the others reach it
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reshard/reshard.h"
#include "tests/backends/failure_rank.h"

namespace reshard {
namespace {

// Longer than any process takes to come, on any machine.
constexpr std::chrono::seconds kBarrierTime{240};

// Members write files and wait for those of the others. Calls are matched by their order.
class FileGather {
 public:
  FileGather(std::string folder, uint32_t member) : folder_(std::move(folder)), member_(member) {}

  reshard_result Gather(std::span<const uint32_t> group, std::span<const char> mine, char* all,
                        std::chrono::nanoseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    const std::string call = folder_ + "/" + std::to_string(call_count_++) + ".";
    const std::string own = call + std::to_string(member_);
    std::ofstream(own + ".new", std::ios::binary)
        .write(mine.data(), static_cast<std::streamsize>(mine.size()));
    std::filesystem::rename(own + ".new", own);
    for (size_t m = 0; m < group.size(); ++m) {
      const std::string other = call + std::to_string(group[m]);
      while (!std::filesystem::exists(other)) {
        if (std::chrono::steady_clock::now() >= end) return RESHARD_ERROR_TIMEOUT;
        usleep(1000);
      }
      std::ifstream(other, std::ios::binary)
          .read(all + m * mine.size(), static_cast<std::streamsize>(mine.size()));
    }
    return RESHARD_OK;
  }

 private:
  const std::string folder_;
  const uint32_t member_;
  size_t call_count_ = 0;
};

// Members of a backend, numbered from 0 among those that make it together.
int32_t AllGather(void* user, const uint32_t* group, size_t count, const void* mine, size_t bytes,
                  void* all, int64_t timeout_ns) {
  return static_cast<FileGather*>(user)->Gather(
      {group, count}, {static_cast<const char*>(mine), bytes}, static_cast<char*>(all),
      std::chrono::nanoseconds(timeout_ns));
}

class TcpNetwork final : public FailureNetwork {
 public:
  TcpNetwork(int member, int count, std::string folder, std::string address)
      : member_(member), count_(count), folder_(std::move(folder)), address_(std::move(address)) {}

  int member() const override { return member_; }
  reshard_result MakeBackend(std::span<const int> members, int64_t timeout_ns,
                             reshard_backend** backend) override {
    const auto own = std::find(members.begin(), members.end(), member_) - members.begin();
    FileGather files(NewFolder(), static_cast<uint32_t>(own));
    reshard_control control = RESHARD_CONTROL_INIT;
    control.all_gather = AllGather;
    control.user = &files;
    control.member = static_cast<uint32_t>(own);
    control.member_count = static_cast<uint32_t>(members.size());
    reshard_tcp_options options = RESHARD_TCP_OPTIONS_INIT;
    options.control = &control;
    options.address = address_.c_str();
    options.timeout_ns = timeout_ns;
    return reshard_backend_tcp_create(&options, backend);
  }
  void Barrier() override {
    std::vector<uint32_t> everybody(static_cast<size_t>(count_));
    std::iota(everybody.begin(), everybody.end(), 0U);
    FileGather files(NewFolder(), static_cast<uint32_t>(member_));
    if (files.Gather(everybody, {}, nullptr, kBarrierTime) != RESHARD_OK) _exit(3);
  }

 private:
  // The same one in all processes, which make it together or find it.
  std::string NewFolder() {
    const std::string made = folder_ + "/" + std::to_string(folder_count_++);
    std::filesystem::create_directories(made);
    return made;
  }

  const int member_;
  const int count_;
  const std::string folder_;
  const std::string address_;
  int folder_count_ = 0;
};

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  // Whoever started it may be killed, by a time limit for instance.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  reshard::TcpNetwork network(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], argv[4]);
  reshard::RunFailureRank(std::span(argv, static_cast<size_t>(argc)).subspan(5), &network);
}
