#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "tests/bench/network_schemes.h"

namespace reshard {
namespace {

constexpr int64_t kChunkBytes = 60 * 1024;
constexpr size_t kWindow = 16;

// Copies columns of rows out of whole rows.
void TakePart(const NetworkTensor& tensor, const NetworkPart& part, const uint8_t* rows,
              int64_t first_row, int64_t row_count, uint8_t* destination) {
  for (int64_t row = 0; row < row_count; ++row) {
    std::memcpy(destination + (first_row + row) * part.bytes,
                rows + row * tensor.row_bytes + part.first_byte, static_cast<size_t>(part.bytes));
  }
}

// Communicators of the same members are made once.
class Communicators {
 public:
  MPI_Comm Of(std::vector<int> members) {
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    const auto found = made_.find(members);
    if (found != made_.end()) return found->second;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
    int own = MPI_UNDEFINED;
    MPI_Group_rank(group, &own);
    if (own != MPI_UNDEFINED) MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
    return made_[members] = comm;
  }

 private:
  std::map<std::vector<int>, MPI_Comm> made_;
};

class GatherBroadcast final : public Scheme {
 public:
  explicit GatherBroadcast(RankData* data) : data_(*data) {
    for (const NetworkTensor& tensor : data_.job().tensors) {
      most_bytes_ = std::max(most_bytes_, tensor.bytes());
    }
  }

  void Prepare() override { whole_.resize(static_cast<size_t>(most_bytes_)); }
  void Release() override { std::vector<uint8_t>().swap(whole_); }
  void Run() override {
    for (size_t t = 0; t < data_.job().tensors.size(); ++t) Move(t);
  }

 private:
  void Move(size_t t) {
    const NetworkTensor& tensor = data_.job().tensors[t];
    std::vector<int> holders, receivers{tensor.shards[0].member};
    for (const NetworkShard& shard : tensor.shards) holders.push_back(shard.member);
    for (const NetworkPart& part : tensor.parts) receivers.push_back(part.member);
    const NetworkShard* const shard = data_.shard(t);
    if (shard != nullptr && holders.size() == 1) {
      std::memcpy(whole_.data(), data_.source(t), static_cast<size_t>(tensor.bytes()));
    } else if (shard != nullptr) {
      const auto count = static_cast<int>(shard->rows * tensor.row_bytes);
      MPI_Allgather(data_.source(t), count, MPI_BYTE, whole_.data(), count, MPI_BYTE,
                    communicators_.Of(holders));
    }
    const NetworkPart* const part = data_.part(t);
    const bool root = data_.member() == tensor.shards[0].member;
    if (part == nullptr && !root) return;
    // The root is the lowest of its communicator: sources come before destinations.
    MPI_Bcast(whole_.data(), static_cast<int>(tensor.bytes()), MPI_BYTE, 0,
              communicators_.Of(receivers));
    if (part == nullptr) return;
    TakePart(tensor, *part, whole_.data(), 0, tensor.rows, data_.destination(t));
  }

  RankData& data_;
  Communicators communicators_;
  int64_t most_bytes_ = 0;
  std::vector<uint8_t> whole_;
};

// Chunks of the bytes of one source rank, from one member to another.
class Stream {
 public:
  Stream(int member, int tag, uint8_t* bytes, int64_t count)
      : member_(member),
        tag_(tag),
        bytes_(bytes),
        chunks_((count + kChunkBytes - 1) / kChunkBytes),
        count_(count),
        requests_(kWindow, MPI_REQUEST_NULL) {}

  bool done() const { return finished_ == chunks_; }
  int64_t finished() const { return finished_; }
  // Chunks below `ready` may be sent.
  void Send(int64_t ready) {
    Finish();
    const int64_t end = std::min({ready, chunks_, finished_ + static_cast<int64_t>(kWindow)});
    for (; posted_ < end; ++posted_) {
      MPI_Isend(At(), Extent(), MPI_BYTE, member_, tag_, MPI_COMM_WORLD, Slot(posted_));
    }
  }
  void Receive() {
    Finish();
    for (; posted_ < std::min(chunks_, finished_ + static_cast<int64_t>(kWindow)); ++posted_) {
      MPI_Irecv(At(), Extent(), MPI_BYTE, member_, tag_, MPI_COMM_WORLD, Slot(posted_));
    }
  }

 private:
  uint8_t* At() const { return bytes_ + posted_ * kChunkBytes; }
  int Extent() const {
    return static_cast<int>(std::min(kChunkBytes, count_ - posted_ * kChunkBytes));
  }
  MPI_Request* Slot(int64_t chunk) { return &requests_[static_cast<size_t>(chunk) % kWindow]; }
  void Finish() {
    while (finished_ < posted_) {
      int over = 0;
      MPI_Status status;
      MPI_Test(Slot(finished_), &over, &status);
      if (over == 0) return;
      ++finished_;
    }
  }

  const int member_, tag_;
  uint8_t* const bytes_;
  const int64_t chunks_, count_;
  std::vector<MPI_Request> requests_;
  int64_t posted_ = 0, finished_ = 0;
};

class Ring final : public Scheme {
 public:
  explicit Ring(RankData* data) : data_(*data) {
    const NetworkCase& job = data_.job();
    std::map<size_t, std::vector<int>> domains;
    for (const NetworkTensor& tensor : job.tensors) {
      for (const NetworkPart& part : tensor.parts) {
        std::vector<int>& members = domains[job.domain_of[static_cast<size_t>(part.member)]];
        if (std::find(members.begin(), members.end(), part.member) == members.end()) {
          members.push_back(part.member);
        }
      }
      for (const NetworkShard& shard : tensor.shards) {
        bytes_of_[shard.member] += shard.rows * tensor.row_bytes;
      }
    }
    for (auto& [domain, members] : domains) domains_.push_back(members);
  }

  void Prepare() override {
    const bool receiver = Position().first < domains_.size();
    for (const auto& [member, bytes] : bytes_of_) {
      if (receiver || member == data_.member()) model_[member].resize(static_cast<size_t>(bytes));
    }
  }
  void Release() override { model_.clear(); }

  void Run() override {
    if (model_.count(data_.member()) != 0) Collect();
    MakeStreams();
    for (bool busy = true; busy;) {
      busy = false;
      for (Flow& flow : flows_) {
        if (flow.receive) {
          flow.receive->Receive();
          busy = busy || !flow.receive->done();
        }
        const int64_t ready = flow.receive ? flow.receive->finished() : INT64_MAX;
        for (Stream& send : flow.sends) {
          send.Send(ready);
          busy = busy || !send.done();
        }
      }
    }
    flows_.clear();
    if (Position().first < domains_.size()) TakeParts();
  }

 private:
  struct Flow {
    std::unique_ptr<Stream> receive;
    std::vector<Stream> sends;
  };

  // Domain and place in it; domains_.size() for a source rank.
  std::pair<size_t, size_t> Position() const {
    for (size_t d = 0; d < domains_.size(); ++d) {
      const auto found = std::find(domains_[d].begin(), domains_[d].end(), data_.member());
      if (found != domains_[d].end()) {
        return {d, static_cast<size_t>(found - domains_[d].begin())};
      }
    }
    return {domains_.size(), 0};
  }

  // What a source rank holds, in one piece.
  void Collect() {
    uint8_t* at = model_[data_.member()].data();
    for (size_t t = 0; t < data_.job().tensors.size(); ++t) {
      const NetworkShard* const shard = data_.shard(t);
      if (shard == nullptr) continue;
      const int64_t bytes = shard->rows * data_.job().tensors[t].row_bytes;
      std::memcpy(at, data_.source(t), static_cast<size_t>(bytes));
      at += bytes;
    }
  }

  void MakeStreams() {
    const auto [domain, place] = Position();
    size_t index = 0;
    for (const auto& [source, bytes] : bytes_of_) {
      const size_t rail = index++ % domains_[0].size();
      uint8_t* const memory = model_.count(source) != 0 ? model_[source].data() : nullptr;
      Flow flow;
      const auto send_to = [&, bytes = bytes, source = source](int member) {
        flow.sends.emplace_back(member, source, memory, bytes);
      };
      if (source == data_.member()) send_to(domains_[0][rail]);
      if (domain < domains_.size()) {
        const bool lands = place == rail;
        const int from = !lands        ? domains_[domain][rail]
                         : domain == 0 ? source
                                       : domains_[domain - 1][rail];
        flow.receive = std::make_unique<Stream>(from, source, memory, bytes);
        if (lands && domain + 1 < domains_.size()) send_to(domains_[domain + 1][rail]);
        for (int other : domains_[domain]) {
          if (lands && other != data_.member()) send_to(other);
        }
      }
      if (flow.receive || !flow.sends.empty()) flows_.push_back(std::move(flow));
    }
  }

  void TakeParts() {
    std::map<int, int64_t> at;
    for (size_t t = 0; t < data_.job().tensors.size(); ++t) {
      const NetworkTensor& tensor = data_.job().tensors[t];
      const NetworkPart* const part = data_.part(t);
      for (const NetworkShard& shard : tensor.shards) {
        int64_t& offset = at[shard.member];
        if (part != nullptr) {
          TakePart(tensor, *part, model_[shard.member].data() + offset, shard.first_row, shard.rows,
                   data_.destination(t));
        }
        offset += shard.rows * tensor.row_bytes;
      }
    }
  }

  RankData& data_;
  std::vector<std::vector<int>> domains_;  // of destinations: members
  std::map<int, int64_t> bytes_of_;        // by source member
  std::map<int, std::vector<uint8_t>> model_;
  std::vector<Flow> flows_;
};

class PointToPoint final : public Scheme {
 public:
  explicit PointToPoint(RankData* data) : data_(*data) {}

  void Run() override {
    for (size_t t = 0; t < data_.job().tensors.size(); ++t) {
      Start(t);
      // Two tensors are on their way at a time.
      if (t > 0) Finish(&batches_[(t - 1) % 2]);
    }
    Finish(&batches_[(data_.job().tensors.size() - 1) % 2]);
  }

 private:
  struct Batch {
    std::vector<MPI_Request> requests;
    std::vector<std::vector<uint8_t>> packed;
  };

  void Start(size_t t) {
    const NetworkTensor& tensor = data_.job().tensors[t];
    Batch& batch = batches_[t % 2];
    const int tag = static_cast<int>(t);
    if (const NetworkPart* const part = data_.part(t)) {
      for (const NetworkShard& shard : tensor.shards) {
        batch.requests.push_back(MPI_REQUEST_NULL);
        MPI_Irecv(data_.destination(t) + shard.first_row * part->bytes,
                  static_cast<int>(shard.rows * part->bytes), MPI_BYTE, shard.member, tag,
                  MPI_COMM_WORLD, &batch.requests.back());
      }
    }
    const NetworkShard* const shard = data_.shard(t);
    if (shard == nullptr) return;
    for (const NetworkPart& part : tensor.parts) {
      std::vector<uint8_t>& packed =
          batch.packed.emplace_back(static_cast<size_t>(shard->rows * part.bytes));
      TakePart(tensor, part, data_.source(t), 0, shard->rows, packed.data());
      batch.requests.push_back(MPI_REQUEST_NULL);
      MPI_Isend(packed.data(), static_cast<int>(packed.size()), MPI_BYTE, part.member, tag,
                MPI_COMM_WORLD, &batch.requests.back());
    }
  }

  static void Finish(Batch* batch) {
    MPI_Waitall(static_cast<int>(batch->requests.size()), batch->requests.data(),
                MPI_STATUSES_IGNORE);
    batch->requests.clear();
    batch->packed.clear();
  }

  RankData& data_;
  Batch batches_[2];
};

}  // namespace

std::unique_ptr<Scheme> MakeGatherBroadcastScheme(RankData* data) {
  return std::make_unique<GatherBroadcast>(data);
}
std::unique_ptr<Scheme> MakeRingScheme(RankData* data) { return std::make_unique<Ring>(data); }
std::unique_ptr<Scheme> MakePointToPointScheme(RankData* data) {
  return std::make_unique<PointToPoint>(data);
}

}  // namespace reshard
