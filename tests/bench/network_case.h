// A job of `tools/bench network`, without plans: what lies where, and the memory of one rank.
//
// Tensors are rows of bytes. A source rank holds whole rows, a destination rank needs the same
// columns of every row. Every 8 bytes have a value of their own.
#ifndef RESHARD_TESTS_BENCH_NETWORK_CASE_H_
#define RESHARD_TESTS_BENCH_NETWORK_CASE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace reshard {

struct NetworkShard {  // rows of a tensor on a source rank
  int member = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};
struct NetworkPart {  // columns of a tensor on a destination rank
  int member = 0;
  int64_t first_byte = 0;
  int64_t bytes = 0;  // of each row
};
struct NetworkTensor {
  std::string name;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  std::vector<NetworkShard> shards;  // by first_row, once each
  std::vector<NetworkPart> parts;
  int64_t bytes() const { return rows * row_bytes; }
};
struct NetworkCase {
  std::vector<NetworkTensor> tensors;
  std::vector<size_t> domain_of;  // by member
  size_t domain_count = 0;
};
NetworkCase ReadNetworkCase(const nlohmann::json& json);

// The params of one member.
class RankData {
 public:
  RankData(const NetworkCase& job, int member);

  const NetworkCase& job() const { return job_; }
  int member() const { return member_; }
  // By tensor; null where this rank has none.
  uint8_t* source(size_t tensor) { return Find(&sources_, tensor); }
  uint8_t* destination(size_t tensor) { return Find(&destinations_, tensor); }
  const NetworkShard* shard(size_t tensor) const;
  const NetworkPart* part(size_t tensor) const;

  void ClearDestination();
  int64_t WrongBytes();

 private:
  static uint8_t* Find(std::map<size_t, std::vector<uint64_t>>* buffers, size_t tensor);

  const NetworkCase& job_;
  const int member_;
  std::map<size_t, std::vector<uint64_t>> sources_, destinations_;
};

}  // namespace reshard

#endif  // RESHARD_TESTS_BENCH_NETWORK_CASE_H_
