#include "runtime/exec/nccl/double/device_job.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard::nccl {
namespace {

// A different byte everywhere, and in every execution.
uint8_t SourceByte(uint32_t execution, uint32_t rank, uint32_t family, int64_t instance,
                   size_t position) {
  uint64_t x = execution * 1000003ULL + rank * 8191ULL + family * 127ULL +
               static_cast<uint64_t>(instance) * 31ULL + position;
  x = (x ^ (x >> 13)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<uint8_t>(x >> 56);
}

template <class Param>
void Fill(uint32_t execution, const Param& param) {
  // Replicas hold the same; that a plan reads any of them is left to whole-job tests.
  for (size_t b = 0; b < param.bytes.size(); ++b) {
    param.bytes[b] = param.side == PlanSide::kSource
                         ? SourceByte(execution, 0, param.family, param.instance, b)
                         : uint8_t{0xEE};
  }
}

// Three executions; every byte of every param against the loopback backend.
void CheckLikeLoopback(const Plan& plan, const HostBackendOptions& options) {
  StatusOr<std::unique_ptr<LoopbackJob>> reference = LoopbackJob::Create(plan, {});
  REQUIRE(reference.ok());
  {
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(plan), options);
    REQUIRE(job.status().ToString() == "ok");
    for (uint32_t execution = 0; execution < 3; ++execution) {
      CAPTURE(execution);
      for (const LoopbackParam& param : (*reference)->params()) Fill(execution, param);
      for (const DeviceParam& param : (*job)->params()) Fill(execution, param);
      REQUIRE((*reference)->Execute().ToString() == "ok");
      for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
      REQUIRE((*job)->params().size() == (*reference)->params().size());
      for (size_t p = 0; p < (*job)->params().size(); ++p) {
        const DeviceParam& found = (*job)->params()[p];
        const LoopbackParam& expected = (*reference)->params()[p];
        CAPTURE(found.rank);
        CAPTURE(found.name);
        CHECK(std::equal(found.bytes.begin(), found.bytes.end(), expected.bytes.begin(),
                         expected.bytes.end()));
      }
    }
  }
}

TEST_CASE("small plans arrive as on loopback, by both paths, in many orders") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(named.name);
        CAPTURE(static_cast<int>(path));
        CAPTURE(seed);
        HostBackendOptions options;
        options.path = path;
        options.nccl.seed = seed;
        options.jitter_seed = seed - 1;
        CheckLikeLoopback(named.plan, options);
      }
    }
  }
}

HostBackendOptions Options(DomainPath path, uint64_t seed = 1) {
  HostBackendOptions options;
  options.path = path;
  options.nccl.seed = seed;
  return options;
}

TEST_CASE("groups that would be too large are cut equally on all ranks") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const uint32_t phase_ranks : {1U, 2U, 100U}) {
      CAPTURE(named.name);
      CAPTURE(phase_ranks);
      HostBackendOptions options = Options(DomainPath::kNccl);
      options.tuning.group_operations = 1;
      options.tuning.phase_ranks = phase_ranks;
      CheckLikeLoopback(named.plan, options);
    }
  }
}

TEST_CASE("what lies in one piece is sent from its param and received in its param") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
      CAPTURE(named.name);
      HostBackendOptions options = Options(path);
      options.tuning.zero_copy_bytes = 1;
      CheckLikeLoopback(named.plan, options);
    }
  }
}

// Groups of one execution, on all ranks.
uint64_t GroupsOfAnExecution(const Plan& plan, const HostBackendOptions& options) {
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(plan), options);
  REQUIRE(job.ok());
  const uint64_t before = (*job)->nccl().group_count();
  for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
  return (*job)->nccl().group_count() - before;
}

TEST_CASE("a rank has one group per round in which it sends or receives") {
  // Rounds 0 to 3: both sources and rank 2; 1 to 4: rank 5; 2 to 5: rank 6. Each lander sends on
  // to its neighbour a round later, which for ranks 2 and 5 means one round more with a group.
  const Plan plan = testing::ReplicatedPlan();
  HostBackendOptions options = Options(DomainPath::kDirect);
  CHECK(GroupsOfAnExecution(plan, options) == 2 * 4 + 5 + 5 + 4);
  options.path = DomainPath::kNccl;
  CHECK(GroupsOfAnExecution(plan, options) == 2 * 4 + 5 + 4 + 5 + 4 + 5 + 4);
  options.tuning.group_operations = 1;
  CHECK(GroupsOfAnExecution(plan, options) == 2 * 4 + (5 + 4) + 4 + (5 + 4) + 4 + (4 + 4) + 4);
}

TEST_CASE("what is sent from its param is not packed") {
  for (const bool zero_copy : {false, true}) {
    HostBackendOptions options = Options(DomainPath::kDirect);
    if (zero_copy) options.tuning.zero_copy_bytes = 512;
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
    REQUIRE(job.ok());
    for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
    const ExecutionRecord& record = (*job)->executor(0).record();
    CHECK((record.stage_time(ExecStage::kPack).count() == 0) == zero_copy);
    CHECK(record.bytes().sent == 2048);
  }
}

TEST_CASE("control messages can go over the communicator of the weights") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    HostBackendOptions options = Options(DomainPath::kAuto);
    options.control_over_nccl = true;
    CheckLikeLoopback(named.plan, options);
  }
}

TEST_CASE("ranks of one process share memory by address, those of one host by handle") {
  const auto plan = std::make_shared<Plan>(testing::ReplicatedPlan());
  for (const bool one_process : {false, true}) {
    HostBackendOptions options = Options(DomainPath::kDirect);
    options.place = [&](uint32_t rank) {
      return GpuIdentity{rank / 2, one_process ? rank / 2 : rank, static_cast<int32_t>(rank)};
    };
    StatusOr<std::unique_ptr<DeviceJob>> job = DeviceJob::Create(plan, options);
    REQUIRE(job.status().ToString() == "ok");
    // Three domains of two destination ranks each open each other's arena; the sources' too.
    CHECK(((*job)->machine().handles_open() == 0) == one_process);
    for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
    for (size_t r = 0; r < (*job)->rank_count(); ++r) {
      CHECK((*job)->executor(r).record().bytes().delivered == (r < 2 ? 0 : 4096));
    }
  }
}

TEST_CASE("a domain on two hosts goes through NCCL, or is refused where that is not wanted") {
  HostBackendOptions options = Options(DomainPath::kAuto);
  options.place = [](uint32_t rank) { return GpuIdentity{rank, rank, 0}; };
  CheckLikeLoopback(testing::ReplicatedPlan(), options);
  options.path = DomainPath::kDirect;
  const Status refused =
      DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options).status();
  CHECK(refused.code() != StatusCode::kOk);
  CHECK(refused.message().find("is on another host") != std::string::npos);
}

// Every rank that took part in `job` has failed, within its time; all of the device is given back.
void CheckAllFail(const std::vector<Status>& results, size_t absent) {
  for (size_t r = 0; r < results.size(); ++r) {
    CAPTURE(r);
    CAPTURE(results[r].message());
    if (r != absent) CHECK_FALSE(results[r].ok());
  }
}

TEST_CASE("a rank that never comes is named by all others, by both paths") {
  for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
    CAPTURE(static_cast<int>(path));
    HostBackendOptions options = Options(path);
    options.timeout = std::chrono::milliseconds(300);
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
    REQUIRE(job.status().ToString() == "ok");
    // Rank 2 is the head of the only tree: everybody waits for it in the end.
    const std::vector<Status> results = (*job)->Execute([](size_t r) { return r != 2; });
    CheckAllFail(results, 2);
    for (size_t r = 0; r < results.size(); ++r) {
      if (r == 2) continue;
      CAPTURE(results[r].message());
      CHECK(results[r].code() == StatusCode::kTimeout);
      CHECK(results[r].message().find("execution 0") != std::string::npos);
      // The control channel misses member 2.
      CHECK(results[r].message().find("asked where they stand") != std::string::npos);
      CHECK((*job)->executor(r).complete_generation() == Executor::kNoGeneration);
    }
  }
}

TEST_CASE("a device that breaks at any moment fails all ranks and leaves nothing behind") {
  for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
    for (int64_t launches = 0; launches < 6; ++launches) {
      CAPTURE(static_cast<int>(path));
      CAPTURE(launches);
      HostBackendOptions options = Options(path);
      options.timeout = std::chrono::milliseconds(300);
      StatusOr<std::unique_ptr<DeviceJob>> job =
          DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
      REQUIRE(job.status().ToString() == "ok");
      for (const DeviceParam& param : (*job)->params()) Fill(1, param);
      (*job)->gpu(5).BreakAfter(launches);
      const std::vector<Status> results = (*job)->Execute();
      if (results[5].ok()) continue;  // it has less to launch
      CHECK(results[5].message().find("the device is broken") != std::string::npos);
      // What an executor calls complete is complete.
      for (size_t r = 0; r < results.size(); ++r) {
        const Executor& executor = (*job)->executor(r);
        const std::vector<bool> complete = executor.CompleteParams();
        for (size_t p = 0; p < complete.size(); ++p) {
          if (!complete[p]) continue;
          const PreparedParam& named = executor.program()->params[p];
          for (const DeviceParam& param : (*job)->params()) {
            if (param.rank != r || param.side != PlanSide::kDestination ||
                param.family != named.family || param.instance != named.instance) {
              continue;
            }
            size_t wrong = 0;
            for (size_t b = 0; b < param.bytes.size(); ++b) {
              wrong += param.bytes[b] != SourceByte(1, 0, 0, 0, b);
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("messages that end because they failed are not taken for done") {
  // Rank 0 sends less than rank 2 expects: an error of NCCL, which ends the group of both.
  const auto plan = std::make_shared<SharedPlan>();
  plan->plan = std::make_shared<Plan>(testing::ToyPlan());
  plan->index = BuildProgramIndex(*plan->plan);
  HostBackendOptions options = Options(DomainPath::kAuto);
  options.timeout = std::chrono::milliseconds(500);
  StatusOr<std::unique_ptr<DeviceJob>> job = DeviceJob::Create(plan->plan, options);
  REQUIRE(job.ok());
  (*job)->nccl().Shorten(/*rank=*/0);
  const std::vector<Status> results = (*job)->Execute();
  // Rank 0 sends to ranks 2 and 4 at once; which of the two it fails with is left open.
  size_t told_count = 0;
  for (const size_t r : {0U, 2U, 4U}) {
    CAPTURE(results[r].message());
    CHECK_FALSE(results[r].ok());
    told_count += results[r].message().find("rank 0 sends 31 bytes") != std::string::npos;
  }
  CHECK(told_count >= 2);
  for (size_t r = 2; r < 6; ++r) {
    CHECK_FALSE(results[r].ok());
    for (const bool complete : (*job)->executor(r).CompleteParams()) CHECK_FALSE(complete);
  }
}

TEST_CASE("after a failure the survivors go on with another plan over what is left") {
  HostBackendOptions options = Options(DomainPath::kAuto);
  options.timeout = std::chrono::milliseconds(500);
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
  REQUIRE(job.status().ToString() == "ok");
  // Ranks 6 and 7 are gone. Not everybody needs them to get this far; who does, fails.
  CHECK_FALSE((*job)->Execute([](size_t r) { return r < 6; })[5].ok());
  const Plan toy = testing::ToyPlan();
  StatusOr<std::unique_ptr<DeviceJob>> rest =
      (*job)->WithFirstRanks(toy.ranks.size(), std::make_shared<Plan>(toy));
  REQUIRE(rest.status().ToString() == "ok");
  for (const DeviceParam& param : (*rest)->params()) Fill(3, param);
  for (const Status& result : (*rest)->Execute()) CHECK(result.ToString() == "ok");
  for (const DeviceParam& param : (*rest)->params()) {
    if (param.side != PlanSide::kDestination) continue;
    for (size_t b = 0; b < param.bytes.size(); ++b) {
      // Two columns of an 8 x 8 f32 matrix, whose upper rows are rank 0's and lower rows rank 1's.
      const uint32_t row = static_cast<uint32_t>(b / 8);
      CHECK(param.bytes[b] ==
            SourceByte(3, 0, row / 4, 0, row % 4 * 32 + (param.rank - 2) * 8 + b % 8));
    }
  }
}

TEST_CASE("communicators can be lent, also those whose calls block") {
  for (const bool blocking : {false, true}) {
    CAPTURE(blocking);
    HostBackendOptions options = Options(DomainPath::kAuto);
    options.lend = true;
    options.nccl.blocking = blocking;
    CheckLikeLoopback(testing::ReplicatedPlan(), options);
    // A call that blocks for ever is ended in time.
    options.timeout = std::chrono::milliseconds(300);
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
    REQUIRE(job.status().ToString() == "ok");
    const std::vector<Status> results = (*job)->Execute([](size_t r) { return r != 2; });
    for (const size_t sender : {0U, 1U}) CHECK(results[sender].code() == StatusCode::kTimeout);
  }
}

TEST_CASE("records say what was moved, in rounds that follow each other") {
  HostBackendOptions options = Options(DomainPath::kDirect);
  options.timeout = std::chrono::seconds(30);
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), options);
  REQUIRE(job.ok());
  for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
  // 4 slices of 1024 bytes: half of each from rank 0; rank 2 lands them, rank 5 gets them from it.
  const ExecutionRecord& source = (*job)->executor(0).record();
  CHECK(source.bytes().sent == 2048);
  CHECK(source.stage_time(ExecStage::kPack).count() > 0);
  const ExecutionRecord& head = (*job)->executor(2).record();
  CHECK(head.bytes().received == 4096);
  CHECK(head.bytes().sent == 4096);
  CHECK(head.bytes().delivered == 4096);
  CHECK(head.stage_time(ExecStage::kNetworkWait).count() > 0);
  CHECK(head.stage_time(ExecStage::kCopy).count() > 0);
  CHECK(head.filled());
  const ExecutionRecord& neighbour = (*job)->executor(3).record();
  CHECK(neighbour.bytes().read == 4096);
  CHECK(neighbour.bytes().received == 0);
}

TEST_CASE("a slot is not written again before a slow neighbour has read it") {
  for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
    CAPTURE(static_cast<int>(path));
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), Options(path));
    REQUIRE(job.ok());
    // It copies from rank 2, which receives four slices into three slots.
    (*job)->gpu(3).SlowDown(std::chrono::milliseconds(10));
    for (uint32_t execution = 1; execution <= 2; ++execution) {
      for (const DeviceParam& param : (*job)->params()) Fill(execution, param);
      for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
      size_t wrong = 0;
      for (const DeviceParam& param : (*job)->params()) {
        for (size_t b = 0; b < param.bytes.size(); ++b) {
          wrong += param.bytes[b] != SourceByte(execution, 0, 0, 0, b);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a rank that has ended is read by nobody any more") {
  for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
    CAPTURE(static_cast<int>(path));
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(testing::ReplicatedPlan()), Options(path));
    REQUIRE(job.ok());
    for (const DeviceParam& param : (*job)->params()) Fill(1, param);
    (*job)->gpu(3).SlowDown(std::chrono::milliseconds(20));
    // Rank 2, from which rank 3 copies, is destroyed as soon as it has its own bytes.
    const Status ended = OnAllMembers((*job)->rank_count(), [&](size_t r) {
      Executor& executor = (*job)->executor(r);
      RESHARD_RETURN_IF_ERROR(executor.Start(nullptr, 1));
      const StatusOr<bool> done = executor.Wait(std::chrono::hours(1));
      if (r == 2) (*job)->DestroyExecutor(r);
      return done.status();
    });
    CHECK(ended.ToString() == "ok");
    size_t wrong = 0;
    for (const DeviceParam& param : (*job)->params()) {
      for (size_t b = 0; b < param.bytes.size(); ++b) {
        wrong += param.bytes[b] != SourceByte(1, 0, 0, 0, b);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the caller's thread keeps its device") {
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(testing::ToyPlan()), Options(DomainPath::kAuto));
  REQUIRE(job.ok());
  HostGpu& other = (*job)->gpu(5);
  const CurrentDevice current(&other);
  const int64_t before = other.Current();
  REQUIRE((*job)->executor(0).Start(nullptr, 1).ok());
  CHECK(other.Current() == before);
  (*job)->executor(0).Abort("enough");
  CHECK((*job)->executor(0).Wait(std::chrono::hours(1)).status().code() == StatusCode::kAborted);
  (*job)->DestroyExecutors();
  CHECK(other.Current() == before);
}

TEST_CASE("a pack slot is not written again before a slow network has sent it") {
  // Rounds 0 and 2 share a pack slot, and nothing happens in between.
  Plan plan = testing::ToyPlan();
  for (PlanInject& inject : plan.injects) inject.round *= 2;
  plan.header.totals.rounds = 3;
  for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
    CAPTURE(static_cast<int>(path));
    HostBackendOptions options = Options(path);
    options.nccl.delay = std::chrono::milliseconds(5);
    CheckLikeLoopback(plan, options);
  }
}

TEST_CASE("everything is given back") {
  const auto machine_blocks = [](DeviceJob& job) { return job.machine().blocks_in_use(); };
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(testing::ToyPlan()), Options(DomainPath::kDirect));
  REQUIRE(job.ok());
  const size_t before = machine_blocks(**job);
  for (size_t r = 0; r < (*job)->rank_count(); ++r) REQUIRE((*job)->executor(r).Unbind().ok());
  (*job)->DestroyExecutors();
  CHECK(machine_blocks(**job) == (*job)->params().size());
  CHECK(before > (*job)->params().size());
  CHECK((*job)->machine().handles_open() == 0);
}

TEST_CASE("a device that is full is told of by all ranks, at once and by name") {
  HostBackendOptions options = Options(DomainPath::kAuto);
  // Rank 5 has room for its param, and not for its arena.
  options.memory_bytes = [](uint32_t member) { return member == 5 ? 5000 : INT64_MAX; };
  StatusOr<HostBackends> host = MakeHostBackends(8, options);
  REQUIRE(host.ok());
  const auto plan = std::make_shared<SharedPlan>();
  plan->plan = std::make_shared<Plan>(testing::ReplicatedPlan());
  plan->index = BuildProgramIndex(*plan->plan);
  std::vector<std::string> texts(8);
  std::vector<std::unique_ptr<Executor>> executors(8);
  std::vector<uint8_t*> blocks(8);
  const Status ended = OnAllMembers(8, [&](size_t r) {
    HostGpu& gpu = *host->gpus[r];
    const CurrentDevice current(&gpu);
    executors[r] = *Executor::Create(plan, static_cast<uint32_t>(r), host->backends[r], {});
    for (const ExpectedParam& spec : ParamsOfRank(*plan->plan, static_cast<uint32_t>(r))) {
      blocks[r] = *gpu.Allocate(spec.bytes);
      ParamBuffer buffer;
      buffer.side = spec.side;
      buffer.name = spec.name;
      buffer.data = blocks[r];
      buffer.bytes = spec.bytes;
      buffer.device = gpu.identity().device;
      RESHARD_RETURN_IF_ERROR(executors[r]->Bind(buffer));
    }
    texts[r] = executors[r]->Prepare(std::chrono::hours(1)).message();
    return Status();
  });
  CHECK(ended.ToString() == "ok");
  for (size_t r = 0; r < 8; ++r) {
    CAPTURE(texts[r]);
    CHECK(texts[r].find("no memory for") != std::string::npos);
    CHECK((r == 5 || texts[r].find("rank 5") != std::string::npos));
    executors[r].reset();
    host->gpus[r]->Free(blocks[r]);
  }
  CHECK(host->machine->blocks_in_use() == 0);
}

TEST_CASE("memory that is not the device's is refused by name") {
  HostBackendOptions options = Options(DomainPath::kAuto);
  StatusOr<std::unique_ptr<DeviceJob>> job =
      DeviceJob::Create(std::make_shared<Plan>(testing::ToyPlan()), options);
  REQUIRE(job.ok());
  std::vector<uint8_t> host(128);
  const Status refused = OnAllMembers((*job)->rank_count(), [&](size_t r) {
    Executor& executor = (*job)->executor(r);
    if (r == 0) {
      RESHARD_RETURN_IF_ERROR(executor.Unbind());
      ParamBuffer buffer;
      buffer.name = "w.rows";
      buffer.data = host.data();
      buffer.bytes = 128;
      buffer.device = (*job)->gpu(r).identity().device;
      RESHARD_RETURN_IF_ERROR(executor.Bind(buffer));
    }
    return executor.Prepare(std::chrono::seconds(20));
  });
  CHECK(refused.message().find("a buffer of 'w.rows' is no memory of device 0") !=
        std::string::npos);
}

}  // namespace
}  // namespace reshard::nccl
