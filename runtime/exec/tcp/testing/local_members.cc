#include "runtime/exec/tcp/testing/local_members.h"

#include <thread>
#include <utility>

#include "runtime/exec/loopback/loopback_control.h"
#include "runtime/exec/tcp/socket.h"
#include "runtime/exec/tcp/tcp_port.h"

namespace reshard::testing {

std::vector<std::shared_ptr<Backend>> LocalTcpBackends(uint32_t member_count,
                                                       const TcpBackendOptions& options) {
  const auto control = MakeLoopbackControl(member_count);
  std::vector<std::shared_ptr<Backend>> backends(member_count);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < member_count; ++m) {
    threads.emplace_back([&, m] {
      StatusOr<std::shared_ptr<Backend>> made = MakeTcpBackend(control[m].get(), options);
      if (made.ok()) backends[m] = *std::move(made);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::shared_ptr<Backend>& backend : backends) {
    if (backend == nullptr) return {};
  }
  return backends;
}

std::vector<std::unique_ptr<MessagePort>> LocalTcpPorts(uint32_t member_count) {
  std::vector<TcpMember> members;
  std::vector<Descriptor> listeners;
  for (uint32_t m = 0; m < member_count; ++m) {
    members.push_back({{"127.0.0.1", 0}, {m + 1, 7}});
    StatusOr<Descriptor> listener = Listen(&members.back().endpoint);
    if (!listener.ok()) return {};
    listeners.push_back(*std::move(listener));
  }
  std::vector<std::unique_ptr<MessagePort>> ports;
  for (uint32_t m = 0; m < member_count; ++m) {
    StatusOr<std::unique_ptr<MessagePort>> port =
        MakeTcpPort(static_cast<int>(m), members, std::move(listeners[m]));
    if (!port.ok()) return {};
    ports.push_back(*std::move(port));
  }
  return ports;
}

}  // namespace reshard::testing
