// Moves the weights of a small model from its trainer ranks to its inference ranks, all in this
// process, and counts what moved. Usage: refit PLAN
//
// A real job has one rank per process and a backend that connects processes.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <reshard/reshard.hpp>
#include <thread>
#include <vector>

namespace {

// One rank with memory for all its params.
class Rank {
 public:
  Rank(const reshard::Plan& plan, std::uint32_t number, const reshard::Backend& backend)
      : params_(plan.params(number)), executor_(plan, number, backend) {
    for (const reshard::Param& param : params_) {
      buffers_.emplace_back(static_cast<std::size_t>(param.bytes) / 8 + 1);
      executor_.Bind(param.side, param.name, buffers_.back().data(), param.bytes);
    }
  }

  // Trains, moves, and returns the generation that all ranks hold.
  std::uint64_t Step(std::uint64_t generation) {
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (params_[i].side != RESHARD_SOURCE) continue;
      std::memset(buffers_[i].data(), static_cast<int>(generation),
                  static_cast<std::size_t>(params_[i].bytes));
    }
    executor_.Start(generation);
    executor_.Wait();
    return executor_.Commit();
  }

  bool Holds(std::uint64_t generation) const {
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (params_[i].external) continue;
      const auto* bytes = reinterpret_cast<const unsigned char*>(buffers_[i].data());
      for (std::int64_t b = 0; b < params_[i].bytes; ++b) {
        if (bytes[b] != generation) return false;
      }
    }
    return true;
  }

  reshard::Executor& executor() { return executor_; }

 private:
  std::vector<reshard::Param> params_;
  std::vector<std::vector<std::uint64_t>> buffers_;  // outlive the executor
  reshard::Executor executor_;
};

int Run(const char* path) {
  const reshard::Plan plan = reshard::Plan::Load(path);
  const std::vector<std::uint32_t> numbers = plan.ranks();
  const std::vector<reshard::Backend> backends =
      reshard::Backend::Loopback(static_cast<std::uint32_t>(numbers.size()));
  std::vector<std::unique_ptr<Rank>> ranks;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ranks.push_back(std::make_unique<Rank>(plan, numbers[i], backends[i]));
  }
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        ranks[i]->executor().Prepare();
        for (std::uint64_t generation = 1; generation <= 3; ++generation) {
          ranks[i]->Step(generation);
        }
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const reshard_stats stats = ranks[i]->executor().stats();
    std::printf("rank %u: sent %lld, received %lld bytes, %s\n", numbers[i],
                static_cast<long long>(stats.sent_bytes),
                static_cast<long long>(stats.received_bytes),
                ranks[i]->Holds(3) ? "all right" : "WRONG");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: refit PLAN\n");
    return 2;
  }
  try {
    return Run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
