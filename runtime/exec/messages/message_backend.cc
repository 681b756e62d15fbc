#include "runtime/exec/messages/message_backend.h"

#include <sys/random.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/exec/host_engine.h"
#include "runtime/exec/messages/message_control.h"
#include "runtime/exec/messages/message_transport.h"

namespace reshard {
namespace {

class MessageBackend final : public Backend {
 public:
  explicit MessageBackend(MessageBackendSpec spec)
      : name_(spec.name),
        needs_callers_thread_(spec.needs_callers_thread),
        shared_memory_(spec.shared_memory),
        port_(std::move(spec.port)),
        control_(MakeMessageControl(port_.get())) {}

  Status AgreeOnNumber(Deadline deadline);

  std::string_view name() const override { return name_; }
  bool needs_callers_thread() const override { return needs_callers_thread_; }
  Status CheckThread() const override;
  ControlChannel* control() override { return control_.get(); }
  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline deadline) override;

 private:
  const std::string_view name_;
  const bool needs_callers_thread_;
  const std::thread::id maker_ = std::this_thread::get_id();
  const bool shared_memory_;
  const std::unique_ptr<MessagePort> port_;
  const std::unique_ptr<ControlChannel> control_;
  uint64_t next_transport_ = 0;
};

// Transports of different backends never have the same number, even of one network.
Status MessageBackend::AgreeOnNumber(Deadline deadline) {
  uint64_t mine = 0;
  if (getrandom(&mine, sizeof(mine), 0) != static_cast<ssize_t>(sizeof(mine))) {
    return Status(StatusCode::kIoError, "no random bytes");
  }
  std::vector<uint32_t> everybody(control_->member_count());
  std::iota(everybody.begin(), everybody.end(), 0U);
  std::vector<uint8_t> said(sizeof(mine));
  std::memcpy(said.data(), &mine, sizeof(mine));
  std::vector<uint8_t> all(everybody.size() * sizeof(mine));
  RESHARD_RETURN_IF_ERROR(control_->AllGather(everybody, said, all, deadline));
  std::memcpy(&next_transport_, all.data(), sizeof(next_transport_));
  return Status();
}

Status MessageBackend::CheckThread() const {
  if (!needs_callers_thread_ || std::this_thread::get_id() == maker_) return Status();
  return Status(StatusCode::kWrongOrder,
                "only the thread that made the backend may use it: " + std::string(name_) +
                    " was not set up for several threads");
}

StatusOr<std::unique_ptr<ExecutionEngine>> MessageBackend::CreateEngine(const EngineSpec& spec,
                                                                        Deadline deadline) {
  MessageTransportSpec transport_spec;
  transport_spec.engine = &spec;
  transport_spec.port = port_.get();
  transport_spec.number = next_transport_++;
  transport_spec.links.shared_memory = shared_memory_;
  StatusOr<std::shared_ptr<RankTransport>> transport =
      MakeMessageTransport(transport_spec, deadline);
  if (!transport.ok()) return transport.status();
  return MakeHostEngine(spec, *std::move(transport));
}

}  // namespace

StatusOr<std::shared_ptr<Backend>> MakeMessageBackend(MessageBackendSpec spec, Deadline deadline) {
  auto backend = std::make_shared<MessageBackend>(std::move(spec));
  RESHARD_RETURN_IF_ERROR(backend->AgreeOnNumber(deadline));
  return std::shared_ptr<Backend>(std::move(backend));
}

}  // namespace reshard
