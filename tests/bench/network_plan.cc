#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "reshard/reshard_mpi.h"
#include "tests/bench/network_schemes.h"

namespace reshard {
namespace {

void Need(reshard_result result, const char* what) {
  if (result == RESHARD_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, reshard_last_error());
  MPI_Abort(MPI_COMM_WORLD, 3);
}

class PlanScheme final : public Scheme {
 public:
  PlanScheme(const std::string& path, RankData* data) {
    Need(reshard_plan_load(path.c_str(), nullptr, &plan_), "plan");
    Need(reshard_backend_mpi_create(MPI_COMM_WORLD, nullptr, &backend_), "backend");
    Need(reshard_executor_create(plan_, static_cast<uint32_t>(data->member()), backend_, nullptr,
                                 &executor_),
         "executor");
    for (size_t t = 0; t < data->job().tensors.size(); ++t) {
      const NetworkTensor& tensor = data->job().tensors[t];
      if (const NetworkShard* const shard = data->shard(t)) {
        Bind(tensor.name, RESHARD_SOURCE, data->source(t), shard->rows * tensor.row_bytes);
      }
      if (const NetworkPart* const part = data->part(t)) {
        Bind(tensor.name, RESHARD_DESTINATION, data->destination(t), tensor.rows * part->bytes);
      }
    }
    Need(reshard_executor_prepare(executor_, 0), "prepare");
    reshard_executor_state state{};
    state.struct_size = sizeof(state);
    Need(reshard_executor_get_state(executor_, &state), "state");
    staging_bytes_ = state.staging_bytes;
  }
  ~PlanScheme() override {
    (void)reshard_executor_destroy(executor_);
    (void)reshard_backend_destroy(backend_);
    (void)reshard_plan_free(plan_);
  }

  void Run() override {
    Need(reshard_executor_start(executor_, nullptr, ++generation_), "start");
    Need(reshard_executor_wait(executor_, RESHARD_FOREVER), "wait");
  }
  int64_t KeptBytes() const override { return staging_bytes_; }

 private:
  void Bind(const std::string& name, reshard_side side, uint8_t* data, int64_t bytes) {
    reshard_buffer buffer = RESHARD_BUFFER_INIT;
    buffer.name = name.c_str();
    buffer.side = side;
    buffer.data = data;
    buffer.bytes = bytes;
    Need(reshard_executor_bind(executor_, &buffer), "bind");
  }

  reshard_plan* plan_ = nullptr;
  reshard_backend* backend_ = nullptr;
  reshard_executor* executor_ = nullptr;
  uint64_t generation_ = 0;
  int64_t staging_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Scheme> MakePlanScheme(const std::string& plan_path, RankData* data) {
  return std::make_unique<PlanScheme>(plan_path, data);
}

}  // namespace reshard
