#include "runtime/exec/nccl/comm_control.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/exec/nccl/copy_table.h"

namespace reshard::nccl {
namespace {

constexpr std::chrono::microseconds kPollInterval(20);
// Ranks that one group of NCCL talks to; more could be cut at other places on other ranks.
constexpr size_t kGroupRanks = 16;

class CommControl final : public ControlChannel {
 public:
  CommControl(GpuRuntime* gpu, Communicator* comm) : gpu_(*gpu), comm_(*comm) {}
  ~CommControl() override {
    const CurrentDevice current(&gpu_);
    if (stream_ != nullptr) gpu_.DestroyStream(stream_);
    if (done_ != nullptr) gpu_.DestroyEvent(done_);
  }

  Status Open() {
    const CurrentDevice current(&gpu_);
    RESHARD_RETURN_IF_ERROR(current.status());
    const StatusOr<StreamHandle> stream = gpu_.CreateStream(/*first=*/false);
    if (!stream.ok()) return stream.status();
    stream_ = *stream;
    const StatusOr<EventHandle> event = gpu_.CreateEvent();
    if (!event.ok()) return event.status();
    done_ = *event;
    return Status();
  }

  uint32_t member() const override { return static_cast<uint32_t>(comm_.rank()); }
  uint32_t member_count() const override { return static_cast<uint32_t>(comm_.rank_count()); }

  Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                   std::span<uint8_t> all, Deadline deadline) override {
    const CurrentDevice current(&gpu_);
    RESHARD_RETURN_IF_ERROR(current.status());
    const auto each = static_cast<int64_t>(mine.size());
    const auto total = static_cast<int64_t>(all.size());
    if (each == 0) return Status();
    StatusOr<DeviceBlock> from = DeviceBlock::Upload(&gpu_, mine.data(), each);
    if (!from.ok()) return from.status();
    StatusOr<DeviceBlock> to = DeviceBlock::Make(&gpu_, total);
    if (!to.ok()) return to.status();
    const Status status = group.size() == member_count()
                              ? GatherAll(from->data(), to->data(), each, deadline)
                              : GatherSome(group, from->data(), to->data(), each, deadline);
    if (!status.ok()) {
      // Nothing may touch the blocks any more when they go.
      comm_.Stop();
      static_cast<void>(gpu_.Synchronize(stream_));
      return status;
    }
    return gpu_.CopyToHost(all.data(), to->data(), total);
  }

 private:
  Status GatherAll(const uint8_t* from, uint8_t* to, int64_t each, Deadline deadline) {
    RESHARD_RETURN_IF_ERROR(comm_.AllGather(from, to, each, stream_, deadline));
    return AwaitStream(deadline);
  }

  // Every member sends to the next ones of the group and receives from the ones before, a few at a
  // time, equally on all of them.
  Status GatherSome(std::span<const uint32_t> group, const uint8_t* from, uint8_t* to, int64_t each,
                    Deadline deadline) {
    const size_t count = group.size();
    const auto self =
        static_cast<size_t>(std::lower_bound(group.begin(), group.end(), member()) - group.begin());
    for (size_t first = 0; first < count; first += kGroupRanks) {
      RESHARD_RETURN_IF_ERROR(comm_.Begin());
      Status status;
      for (size_t k = first; status.ok() && k < std::min(count, first + kGroupRanks); ++k) {
        const size_t next = (self + k) % count;
        const size_t before = (self + count - k) % count;
        status = comm_.Send(from, each, static_cast<int32_t>(group[next]), stream_);
        if (!status.ok()) break;
        status = comm_.Receive(to + static_cast<int64_t>(before) * each, each,
                               static_cast<int32_t>(group[before]), stream_);
      }
      const Status ended = comm_.End(deadline);
      RESHARD_RETURN_IF_ERROR(status.ok() ? ended : status);
    }
    return AwaitStream(deadline);
  }

  Status AwaitStream(Deadline deadline) {
    RESHARD_RETURN_IF_ERROR(gpu_.Record(done_, stream_));
    for (;;) {
      const StatusOr<bool> done = gpu_.IsDone(done_);
      if (!done.ok()) return done.status();
      RESHARD_RETURN_IF_ERROR(comm_.Check());
      if (*done) return Status();
      if (std::chrono::steady_clock::now() >= deadline) {
        return Status(StatusCode::kTimeout,
                      "some ranks did not take part in time; NCCL cannot tell which");
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  GpuRuntime& gpu_;
  Communicator& comm_;
  StreamHandle stream_ = nullptr;
  EventHandle done_ = nullptr;
};

}  // namespace

StatusOr<std::unique_ptr<ControlChannel>> MakeCommControl(GpuRuntime* gpu, Communicator* comm) {
  auto control = std::make_unique<CommControl>(gpu, comm);
  RESHARD_RETURN_IF_ERROR(control->Open());
  return std::unique_ptr<ControlChannel>(std::move(control));
}

}  // namespace reshard::nccl
