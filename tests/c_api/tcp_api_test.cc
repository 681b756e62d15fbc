// The TCP backend over the C interface: a caller's function tells the members each other's
// addresses.
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "reshard/reshard.h"
#include "runtime/plan/testing/small_plan.h"
#include "tests/c_api/c_job.h"

namespace reshard::testing {
namespace {

constexpr uint32_t kMembers = 6;

// What the caller's function needs: a table in which every member writes its part.
class Table {
 public:
  int32_t Gather(uint32_t member, const void* mine, size_t bytes, void* all) {
    std::unique_lock lock(mutex_);
    parts_.resize(kMembers);
    parts_[member].assign(static_cast<const char*>(mine), bytes);
    ++here_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return here_ == kMembers; });
    for (uint32_t m = 0; m < kMembers; ++m) {
      std::memcpy(static_cast<char*>(all) + m * bytes, parts_[m].data(), bytes);
    }
    return RESHARD_OK;
  }
  size_t calls() const { return here_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> parts_;
  uint32_t here_ = 0;
};

struct Member {
  Table* table = nullptr;
  uint32_t member = 0;
};

int32_t GatherInTable(void* user, const uint32_t* group, size_t group_count, const void* mine,
                      size_t bytes, void* all, int64_t timeout_ns) {
  const auto* const self = static_cast<const Member*>(user);
  if (group_count != kMembers || group[kMembers - 1] != kMembers - 1 || timeout_ns <= 0) {
    return RESHARD_ERROR_INVALID_ARGUMENT;
  }
  return self->table->Gather(self->member, mine, bytes, all);
}

// Makes the backends of all members at once; the error texts of those that could not.
std::vector<std::string> Connect(Table* table,
                                 const std::function<void(reshard_tcp_options*)>& change,
                                 std::vector<reshard_backend*>* backends,
                                 std::vector<reshard_result>* results = nullptr) {
  backends->assign(kMembers, nullptr);
  if (results != nullptr) results->assign(kMembers, RESHARD_OK);
  std::vector<std::string> errors(kMembers);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < kMembers; ++m) {
    threads.emplace_back([&, m] {
      Member self{table, m};
      reshard_control control = RESHARD_CONTROL_INIT;
      control.all_gather = GatherInTable;
      control.user = &self;
      control.member = m;
      control.member_count = kMembers;
      reshard_tcp_options options = RESHARD_TCP_OPTIONS_INIT;
      options.control = &control;
      change(&options);
      const reshard_result result = reshard_backend_tcp_create(&options, &(*backends)[m]);
      if (result != RESHARD_OK) errors[m] = reshard_last_error();
      if (results != nullptr) (*results)[m] = result;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST_CASE("members find each other; every byte of every generation") {
  for (const int32_t no_shared_memory : {0, 1}) {
    Table table;
    std::vector<reshard_backend*> backends;
    const std::vector<std::string> errors = Connect(
        &table, [&](reshard_tcp_options* options) { options->no_shared_memory = no_shared_memory; },
        &backends);
    REQUIRE(errors == std::vector<std::string>(kMembers));
    // The function and its data are gone from here on: it is called once for each member.
    CHECK(table.calls() == kMembers);
    CJob job(ToyPlan(), nullptr, backends);
    for (const CJob::Outcome& outcome : job.Prepare()) REQUIRE(outcome.result == RESHARD_OK);
    for (uint64_t generation = 1; generation <= 3; ++generation) {
      for (size_t r = 0; r < 2; ++r) {
        std::vector<uint32_t> rows;
        for (size_t i = 0; i < 32; ++i) {
          rows.push_back(static_cast<uint32_t>(generation * 1000 + r * 32 + i));
        }
        std::memcpy(job.buffer(r, "w.rows", RESHARD_SOURCE).data(), rows.data(), 128);
      }
      for (const CJob::Outcome& outcome : job.Execute(generation)) {
        INFO(outcome.error);
        CHECK(outcome.result == RESHARD_OK);
      }
      for (size_t r = 2; r < 6; ++r) {
        std::vector<uint32_t> columns;
        for (size_t row = 0; row < 8; ++row) {
          for (size_t c = 0; c < 2; ++c) {
            columns.push_back(static_cast<uint32_t>(generation * 1000 + row * 8 + (r - 2) * 2 + c));
          }
        }
        CHECK(std::memcmp(job.buffer(r, "w.columns", RESHARD_DESTINATION).data(), columns.data(),
                          64) == 0);
      }
      for (const CJob::Outcome& outcome : job.OnAll([](CJob::Rank& rank) {
             return reshard_executor_commit(rank.executor, 0, nullptr);
           })) {
        CHECK(outcome.result == RESHARD_OK);
      }
    }
  }
}

TEST_CASE("a member that cannot listen at its address is an error of all, which names it") {
  Table table;
  std::vector<reshard_backend*> backends;
  const std::vector<std::string> errors = Connect(
      &table,
      [&](reshard_tcp_options* options) {
        // Of the addresses for documentation: no host has it.
        if (options->control->member == 4) options->address = "203.0.113.7";
      },
      &backends);
  for (uint32_t m = 0; m < kMembers; ++m) {
    CAPTURE(m);
    INFO(errors[m]);
    CHECK(errors[m].find(m == 4 ? "listening at 203.0.113.7 port 0"
                                : "member 4 failed: listening at 203.0.113.7 port 0") == 0);
    CHECK(backends[m] == nullptr);
  }
}

TEST_CASE("an address to which nobody could connect is a wrong argument") {
  for (const char* address : {"0.0.0.0", "::", "0:0::0", "::ffff:0.0.0.0"}) {
    CAPTURE(address);
    Table table;
    std::vector<reshard_backend*> backends;
    std::vector<reshard_result> results;
    const std::vector<std::string> errors = Connect(
        &table, [&](reshard_tcp_options* options) { options->address = address; }, &backends,
        &results);
    for (uint32_t m = 0; m < kMembers; ++m) {
      CHECK(results[m] == RESHARD_ERROR_INVALID_ARGUMENT);
      CHECK(errors[m] == "'" + std::string(address) +
                             "' stands for every address of a host: others need one to connect to");
      CHECK(backends[m] == nullptr);
    }
  }
}

}  // namespace
}  // namespace reshard::testing
