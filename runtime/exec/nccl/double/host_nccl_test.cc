// The double has to fail where NCCL would hang or corrupt: that is what it is for.
#include "runtime/exec/nccl/double/host_nccl.h"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/communicator.h"
#include "runtime/exec/nccl/double/host_gpu.h"

namespace reshard::nccl {
namespace {

Deadline Late() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

// Ranks with a stream and a few bytes each.
struct Ranks {
  explicit Ranks(int32_t count, HostNcclOptions options = {}) : nccl(options) {
    const UniqueId id = *nccl.NewUniqueId();
    for (int32_t r = 0; r < count; ++r) {
      gpus.push_back(std::make_unique<HostGpu>(&machine, GpuIdentity{0, 0, r}));
      const CurrentDevice current(gpus.back().get());
      streams.push_back(*gpus.back()->CreateStream(false));
      memory.emplace_back(256, static_cast<uint8_t>(r));
    }
    comms.resize(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    for (int32_t r = 0; r < count; ++r) {
      threads.emplace_back([this, r, count, &id] {
        comms[static_cast<size_t>(r)] = *Communicator::Make(&nccl, id, {r, count, 0}, Late());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ~Ranks() {
    for (auto& comm : comms) {
      if (comm != nullptr) comm->Stop();
    }
    for (size_t r = 0; r < gpus.size(); ++r) gpus[r]->DestroyStream(streams[r]);
  }

  struct Message {
    bool send;
    int32_t peer;
    int64_t bytes;
    size_t at = 0;
  };
  void Group(size_t rank, const std::vector<Message>& messages) {
    Communicator& comm = *comms[rank];
    REQUIRE(comm.Begin().ok());
    for (const Message& m : messages) {
      uint8_t* const data = memory[rank].data() + m.at;
      const Status status = m.send ? comm.Send(data, m.bytes, m.peer, streams[rank])
                                   : comm.Receive(data, m.bytes, m.peer, streams[rank]);
      REQUIRE(status.ok());
    }
    // An error may come up here already; ErrorOf tells.
    static_cast<void>(comm.End(Late()));
  }
  // What the communicator says once the stream has come to rest.
  std::string ErrorOf(size_t rank) {
    REQUIRE(gpus[rank]->Synchronize(streams[rank]).ok());
    return comms[rank]->Check().message();
  }

  HostMachine machine;
  HostNccl nccl;
  std::vector<std::unique_ptr<HostGpu>> gpus;
  std::vector<StreamHandle> streams;
  std::vector<std::vector<uint8_t>> memory;
  std::vector<std::unique_ptr<Communicator>> comms;
};

HostNcclOptions Impatient() {
  HostNcclOptions options;
  options.stuck_after = std::chrono::milliseconds(100);
  return options;
}

TEST_CASE("messages of a pair keep their order, in whatever order a group runs") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    HostNcclOptions options;
    options.seed = seed;
    Ranks ranks(3, options);
    for (size_t b = 0; b < 64; ++b) ranks.memory[0][b] = static_cast<uint8_t>(100 + b);
    ranks.Group(0, {{true, 1, 4, 0}, {true, 2, 8, 8}, {true, 1, 4, 16}, {false, 2, 2, 100}});
    ranks.Group(1, {{false, 0, 4, 0}, {false, 0, 4, 4}});
    ranks.Group(2, {{true, 0, 2, 0}, {false, 0, 8, 8}});
    for (size_t r = 0; r < 3; ++r) CHECK(ranks.ErrorOf(r) == "");
    CHECK(ranks.memory[1][0] == 100);
    CHECK(ranks.memory[1][4] == 116);
    CHECK(ranks.memory[2][8] == 108);
    CHECK(ranks.memory[0][100] == 2);
  }
}

TEST_CASE("a missing receive is reported by name, and so is a missing send") {
  Ranks ranks(3, Impatient());
  ranks.Group(0, {{true, 2, 64}, {true, 1, 8}});
  ranks.Group(1, {{false, 0, 8}, {false, 2, 16}});
  CHECK(ranks.ErrorOf(0) == "stuck: rank 0 waits for rank 2 to take 64 bytes");
  CHECK(ranks.ErrorOf(1) == "stuck: rank 1 waits for rank 2 to send 16 bytes");
}

TEST_CASE("another size than expected is an error of both ranks") {
  Ranks ranks(2);
  ranks.Group(0, {{true, 1, 64}});
  ranks.Group(1, {{false, 0, 32}});
  const std::string what = "rank 0 sends 64 bytes to rank 1, which expects 32";
  CHECK(ranks.ErrorOf(0) == what);
  CHECK(ranks.ErrorOf(1) == what);
  CHECK(ranks.memory[1][0] == 1);
}

TEST_CASE("groups in another order than at the peer are stuck") {
  Ranks ranks(2, Impatient());
  // Rank 0 sends first, rank 1 too: without a common group neither receives.
  ranks.Group(0, {{true, 1, 8}});
  ranks.Group(0, {{false, 1, 8}});
  ranks.Group(1, {{true, 0, 8}});
  ranks.Group(1, {{false, 0, 8}});
  CHECK(ranks.ErrorOf(0) == "stuck: rank 0 waits for rank 1 to take 8 bytes");
  CHECK(ranks.ErrorOf(1) == "stuck: rank 1 waits for rank 0 to take 8 bytes");
}

TEST_CASE("a communicator that is stopped lets go at once, and can be shrunk") {
  Ranks ranks(3);
  ranks.Group(0, {{false, 1, 8}});
  ranks.Group(2, {{false, 1, 8}});
  ranks.comms[0]->Stop();
  ranks.comms[2]->Stop();
  REQUIRE(ranks.gpus[0]->Synchronize(ranks.streams[0]).ok());
  CHECK(ranks.comms[0]->Begin().code() == StatusCode::kAborted);
  const std::vector<int32_t> excluded = {1};
  std::vector<std::unique_ptr<Communicator>> survivors(2);
  std::thread other([&] { survivors[1] = *ranks.comms[2]->Shrink(excluded, Late()); });
  survivors[0] = *ranks.comms[0]->Shrink(excluded, Late());
  other.join();
  CHECK(survivors[0]->rank() == 0);
  CHECK(survivors[1]->rank() == 1);
  CHECK(survivors[1]->rank_count() == 2);
}

TEST_CASE("a library that loses communicators by stopping them says so") {
  HostNcclOptions options;
  options.can_revoke = false;
  Ranks ranks(2, options);
  ranks.comms[0]->Stop();
  CHECK(ranks.comms[0]->Shrink(std::vector<int32_t>{1}, Late()).status().code() ==
        StatusCode::kUnavailable);
}

TEST_CASE("all ranks get what all sent") {
  Ranks ranks(4);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < 4; ++r) {
    threads.emplace_back([&, r] {
      CHECK(ranks.comms[r]
                ->AllGather(ranks.memory[r].data() + 128, ranks.memory[r].data(), 3,
                            ranks.streams[r], Late())
                .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t r = 0; r < 4; ++r) {
    CHECK(ranks.ErrorOf(r) == "");
    for (size_t b = 0; b < 12; ++b) CHECK(ranks.memory[r][b] == b / 3);
  }
}

TEST_CASE("events and streams: a wait takes what was recorded when it was asked for") {
  HostMachine machine;
  HostGpu gpu(&machine, {});
  const CurrentDevice current(&gpu);
  const StreamHandle first = *gpu.CreateStream(true);
  const StreamHandle second = *gpu.CreateStream(false);
  const EventHandle event = *gpu.CreateEvent();
  CHECK(*gpu.IsDone(event));
  REQUIRE(gpu.AwaitEvent(second, event).ok());  // nothing recorded: no wait
  REQUIRE(gpu.Synchronize(second).ok());
  const SharedWord stop = *gpu.AllocateWord();
  uint64_t flag = 0;
  uint64_t* const flags[] = {&flag};
  const FlagList list{flags, 1};
  REQUIRE(gpu.LaunchAwait(list, 5, stop.device, first).ok());
  REQUIRE(gpu.Record(event, first).ok());
  REQUIRE(gpu.AwaitEvent(second, event).ok());
  CHECK_FALSE(*gpu.IsDone(event));
  const StreamHandle third = *gpu.CreateStream(false);
  REQUIRE(gpu.LaunchSignal(list, 6, stop.device, third).ok());
  REQUIRE(gpu.Synchronize(second).ok());
  CHECK(*gpu.IsDone(event));
  CHECK(*gpu.ReadFlag(&flag) == 6);
  for (const StreamHandle stream : {first, second, third}) gpu.DestroyStream(stream);
  gpu.DestroyEvent(event);
  gpu.FreeWord(stop);
}

TEST_CASE("handles are for other processes of the same host") {
  HostMachine machine;
  HostGpu here(&machine, {1, 1, 0});
  HostGpu there(&machine, {1, 2, 0});
  HostGpu abroad(&machine, {2, 2, 0});
  const CurrentDevice current(&here);
  uint8_t* const block = *here.Allocate(1000);
  CHECK(*there.IsDeviceMemory(block + 999));
  CHECK_FALSE(*there.IsDeviceMemory(block + 1024));
  CHECK_FALSE(here.Export(block + 8).ok());
  const MemoryHandle handle = *here.Export(block);
  CHECK_FALSE(here.Open(handle).ok());
  CHECK_FALSE(abroad.Open(handle).ok());
  uint8_t* const opened = *there.Open(handle);
  CHECK(opened == block);
  CHECK(machine.handles_open() == 1);
  there.Close(opened);
  here.Free(block);
  CHECK(machine.handles_open() == 0);
  CHECK(machine.blocks_in_use() == 0);
}

}  // namespace
}  // namespace reshard::nccl
