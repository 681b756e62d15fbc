#include "tests/gpu/kernel_check.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/exec/bindings.h"
#include "runtime/exec/nccl/copy_table.h"
#include "runtime/exec/pack.h"
#include "runtime/plan/plan.h"
#include "runtime/run/content.h"

namespace reshard::nccl {
namespace {

constexpr int kRepetitions = 10;

// A stream and two events that go with it.
class Timer {
 public:
  explicit Timer(GpuRuntime* gpu) : gpu_(*gpu) {}
  ~Timer() {
    if (stream_ != nullptr) gpu_.DestroyStream(stream_);
    for (EventHandle event : {begin_, end_}) {
      if (event != nullptr) gpu_.DestroyEvent(event);
    }
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Status Open() {
    const StatusOr<StreamHandle> stream = gpu_.CreateStream(/*first=*/false);
    if (!stream.ok()) return stream.status();
    stream_ = *stream;
    for (EventHandle* event : {&begin_, &end_}) {
      const StatusOr<EventHandle> created = gpu_.CreateEvent();
      if (!created.ok()) return created.status();
      *event = *created;
    }
    return Status();
  }
  StreamHandle stream() const { return stream_; }

  // The fastest of several repetitions.
  Status Measure(int64_t bytes, const std::function<Status()>& launch, double* gb_per_s) {
    for (int r = 0; r < kRepetitions; ++r) {
      RESHARD_RETURN_IF_ERROR(gpu_.Record(begin_, stream_));
      RESHARD_RETURN_IF_ERROR(launch());
      RESHARD_RETURN_IF_ERROR(gpu_.Record(end_, stream_));
      RESHARD_RETURN_IF_ERROR(gpu_.Synchronize(stream_));
      const StatusOr<std::chrono::nanoseconds> elapsed = gpu_.Elapsed(begin_, end_);
      if (!elapsed.ok()) return elapsed.status();
      const auto ns = static_cast<double>(std::max<int64_t>(elapsed->count(), 1));
      *gb_per_s = std::max(*gb_per_s, static_cast<double>(bytes) / ns);
    }
    return Status();
  }

 private:
  GpuRuntime& gpu_;
  StreamHandle stream_ = nullptr;
  EventHandle begin_ = nullptr;
  EventHandle end_ = nullptr;
};

class KernelCheck {
 public:
  KernelCheck(GpuRuntime* gpu, const KernelCase& which, int64_t total_bytes)
      : gpu_(*gpu), which_(which), timer_(gpu) {
    run_count_ = std::max<int64_t>(1, total_bytes / which.run_bytes);
    message_bytes_ = run_count_ * which.run_bytes;
    param_bytes_ = which.first_byte + run_count_ * which.pitch_bytes;
  }

  StatusOr<KernelResult> Run() {
    RESHARD_RETURN_IF_ERROR(Prepare());
    RESHARD_RETURN_IF_ERROR(CheckGather());
    RESHARD_RETURN_IF_ERROR(CheckScatter());
    RESHARD_RETURN_IF_ERROR(Time());
    result_.moved_bytes = message_bytes_;
    return result_;
  }

 private:
  Status Prepare() {
    RESHARD_RETURN_IF_ERROR(timer_.Open());
    for (const auto& [block, bytes] :
         {std::pair{&param_, param_bytes_}, std::pair{&message_, message_bytes_}}) {
      StatusOr<DeviceBlock> made = DeviceBlock::Make(&gpu_, bytes);
      if (!made.ok()) return made.status();
      *block = *std::move(made);
    }
    plan_.rank_sets = {{0}};
    PlanFamily family;
    family.name = {{"w"}, {}};
    family.shape = {param_bytes_};
    family.dtype = DType::kU8;
    family.bytes = param_bytes_;
    plan_.families = {family};
    ParamBuffer buffer;
    buffer.name = "w";
    buffer.data = param_.data();
    buffer.bytes = param_bytes_;
    StatusOr<Bindings> bindings = BindParams(plan_, 0, {&buffer, 1}, kHostDevice);
    if (!bindings.ok()) return bindings.status();
    bindings_ = *std::move(bindings);
    RunNest nest;
    nest.base_bytes = which_.first_byte;
    nest.run_bytes = which_.run_bytes;
    nest.dims = {{run_count_, which_.pitch_bytes, 0}};
    const StatusOr<CopyRange> range = list_.Append(plan_, bindings_, {&nest, 1}, message_bytes_);
    if (!range.ok()) return range.status();
    RESHARD_RETURN_IF_ERROR(builder_.Add(list_, *range, message_.data()));
    StatusOr<CopyTable> table = builder_.Upload(&gpu_);
    if (!table.ok()) return table.status();
    table_ = *std::move(table);
    return Status();
  }

  Status Launch(CopyKind kind) {
    return gpu_.LaunchCopies(kind, table_.tables(), builder_.Since(0), timer_.stream());
  }

  // The byte of the message that byte `at` of the param belongs to; -1 for none.
  int64_t MessageByte(int64_t at) const {
    const int64_t run = (at - which_.first_byte) / which_.pitch_bytes;
    const int64_t within = (at - which_.first_byte) % which_.pitch_bytes;
    const bool inside = at >= which_.first_byte && within < which_.run_bytes;
    return inside ? run * which_.run_bytes + within : -1;
  }

  static std::vector<uint8_t> Noise(int64_t bytes, uint64_t seed) {
    std::vector<uint8_t> noise(static_cast<size_t>(bytes));
    for (size_t b = 0; b < noise.size(); ++b) noise[b] = static_cast<uint8_t>(Mix64(seed + b));
    return noise;
  }

  Status CheckGather() {
    const std::vector<uint8_t> param = Noise(param_bytes_, 1);
    RESHARD_RETURN_IF_ERROR(gpu_.CopyToDevice(param_.data(), param.data(), param_bytes_));
    RESHARD_RETURN_IF_ERROR(Launch(CopyKind::kGather));
    RESHARD_RETURN_IF_ERROR(gpu_.Synchronize(timer_.stream()));
    std::vector<uint8_t> message(static_cast<size_t>(message_bytes_));
    RESHARD_RETURN_IF_ERROR(gpu_.CopyToHost(message.data(), message_.data(), message_bytes_));
    for (int64_t at = 0; at < param_bytes_; ++at) {
      const int64_t to = MessageByte(at);
      if (to < 0) continue;
      result_.wrong_bytes += message[static_cast<size_t>(to)] != param[static_cast<size_t>(at)];
    }
    return Status();
  }

  // Bytes between the runs stay as they were.
  Status CheckScatter() {
    const std::vector<uint8_t> before = Noise(param_bytes_, 1);
    const std::vector<uint8_t> message = Noise(message_bytes_, 7777777);
    RESHARD_RETURN_IF_ERROR(gpu_.CopyToDevice(message_.data(), message.data(), message_bytes_));
    RESHARD_RETURN_IF_ERROR(Launch(CopyKind::kScatter));
    RESHARD_RETURN_IF_ERROR(gpu_.Synchronize(timer_.stream()));
    std::vector<uint8_t> param(static_cast<size_t>(param_bytes_));
    RESHARD_RETURN_IF_ERROR(gpu_.CopyToHost(param.data(), param_.data(), param_bytes_));
    for (int64_t at = 0; at < param_bytes_; ++at) {
      const int64_t from = MessageByte(at);
      const uint8_t expected =
          from < 0 ? before[static_cast<size_t>(at)] : message[static_cast<size_t>(from)];
      result_.wrong_bytes += param[static_cast<size_t>(at)] != expected;
    }
    return Status();
  }

  Status Time() {
    RESHARD_RETURN_IF_ERROR(timer_.Measure(
        message_bytes_, [&] { return Launch(CopyKind::kGather); }, &result_.gather_gb_per_s));
    RESHARD_RETURN_IF_ERROR(timer_.Measure(
        message_bytes_, [&] { return Launch(CopyKind::kScatter); }, &result_.scatter_gb_per_s));
    return timer_.Measure(
        message_bytes_,
        [&] {
          return gpu_.CopyOnDevice(message_.data(), param_.data(), message_bytes_, timer_.stream());
        },
        &result_.plain_gb_per_s);
  }

  GpuRuntime& gpu_;
  const KernelCase which_;
  int64_t run_count_ = 0;
  int64_t message_bytes_ = 0;
  int64_t param_bytes_ = 0;
  DeviceBlock param_, message_;
  Plan plan_;
  Bindings bindings_;
  CopyList list_;
  CopyTableBuilder builder_;
  CopyTable table_;
  Timer timer_;
  KernelResult result_;
};

}  // namespace

std::vector<KernelCase> KernelCases() {
  constexpr int64_t kKiB = 1024;
  return {{"rows of 128 B", 128, 4 * kKiB, 0},
          {"rows of 1 KiB", kKiB, 14 * kKiB, 0},
          {"rows of 64 KiB", 64 * kKiB, 128 * kKiB, 0},
          {"one piece", 256 * kKiB * kKiB, 256 * kKiB * kKiB, 0},
          {"rows of 2 B", 2, 64, 2},
          {"rows of 8 B", 8, 64, 8},
          {"rows of 1000 B, aligned to 8", 1000, 3000, 8},
          {"rows of 10002 B, aligned to 2", 10002, 30002, 6}};
}

StatusOr<KernelResult> CheckKernels(GpuRuntime* gpu, const KernelCase& which, int64_t total_bytes) {
  const CurrentDevice current(gpu);
  RESHARD_RETURN_IF_ERROR(current.status());
  KernelCase fitted = which;
  // A single piece is as large as asked for.
  if (which.run_bytes > total_bytes) fitted.run_bytes = fitted.pitch_bytes = total_bytes;
  return KernelCheck(gpu, fitted, total_bytes).Run();
}

}  // namespace reshard::nccl
