#include "runtime/exec/mpi/mpi_port.h"

#include <cstring>

#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

// A request of MPI is a number or an address.
static_assert(sizeof(MPI_Request) <= sizeof(uint64_t));

MPI_Request ToMpi(const MessageRequest& request) {
  MPI_Request out = MPI_REQUEST_NULL;
  std::memcpy(&out, &request.bits, sizeof(out));
  return out;
}

MessageRequest FromMpi(MPI_Request request) {
  MessageRequest out;
  std::memcpy(&out.bits, &request, sizeof(request));
  out.active = true;
  return out;
}

class MpiPort final : public MessagePort {
 public:
  explicit MpiPort(MPI_Comm comm) : comm_(comm) {
    (void)MPI_Comm_rank(comm, &member_);
    (void)MPI_Comm_size(comm, &member_count_);
  }

  int member() const override { return member_; }
  int member_count() const override { return member_count_; }
  int64_t max_message_bytes() const override { return INT32_MAX; }  // MPI counts in an int

  Status Send(int member, int tag, std::span<const uint8_t> bytes,
              MessageRequest* request) override;
  Status Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) override;
  StatusOr<bool> Test(MessageRequest* request, Arrival* arrival) override;
  StatusOr<std::optional<int64_t>> Probe(int member, int tag) override;
  bool Abandon(MessageRequest* request) override;

 private:
  const MPI_Comm comm_;
  int member_ = 0;
  int member_count_ = 1;
};

Status MpiPort::Send(int member, int tag, std::span<const uint8_t> bytes, MessageRequest* request) {
  MPI_Request started = MPI_REQUEST_NULL;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()),
                                              MPI_BYTE, member, tag, comm_, &started),
                                    "MPI_Isend"));
  *request = FromMpi(started);
  return Status();
}

Status MpiPort::Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) {
  MPI_Request started = MPI_REQUEST_NULL;
  RESHARD_RETURN_IF_ERROR(
      MpiStatus(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                          member == kAnyMember ? MPI_ANY_SOURCE : member, tag, comm_, &started),
                "MPI_Irecv"));
  *request = FromMpi(started);
  return Status();
}

StatusOr<bool> MpiPort::Test(MessageRequest* request, Arrival* arrival) {
  if (!request->active) return true;
  MPI_Request tested = ToMpi(*request);
  int done = 0;
  MPI_Status status;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Test(&tested, &done, &status), "MPI_Test"));
  if (done == 0) return false;
  *request = MessageRequest();
  if (arrival == nullptr) return true;
  int bytes = 0;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count"));
  *arrival = {status.MPI_SOURCE, bytes};
  return true;
}

StatusOr<std::optional<int64_t>> MpiPort::Probe(int member, int tag) {
  int here = 0;
  MPI_Status status;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Iprobe(member, tag, comm_, &here, &status), "MPI_Iprobe"));
  if (here == 0) return std::optional<int64_t>();
  int bytes = 0;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count"));
  return std::optional<int64_t>(bytes);
}

// MPI cannot take back what is on its way.
bool MpiPort::Abandon(MessageRequest* request) {
  if (!request->active) return false;
  MPI_Request given_up = ToMpi(*request);
  *request = MessageRequest();
  AbandonRequest(&given_up);
  return true;
}

}  // namespace

std::unique_ptr<MessagePort> MakeMpiPort(MPI_Comm comm) { return std::make_unique<MpiPort>(comm); }

}  // namespace reshard
