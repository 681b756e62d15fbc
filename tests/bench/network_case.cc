#include "tests/bench/network_case.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace reshard {
namespace {

uint64_t WordAt(size_t tensor, int64_t row, int64_t byte) {
  uint64_t x = (uint64_t{tensor} << 48) ^ (static_cast<uint64_t>(row) << 24) ^
               static_cast<uint64_t>(byte / 8);
  x *= 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 32)) * 0xD1B54A32D192ED03u;
  return x ^ (x >> 29);
}

}  // namespace

NetworkCase ReadNetworkCase(const nlohmann::json& json) {
  NetworkCase job;
  for (const nlohmann::json& tensor : json.at("tensors")) {
    NetworkTensor next;
    next.name = tensor.at("name");
    next.rows = tensor.at("rows");
    next.row_bytes = tensor.at("row_bytes");
    for (const nlohmann::json& shard : tensor.at("shards")) {
      next.shards.push_back({shard.at(0), shard.at(1), shard.at(2)});
    }
    for (const nlohmann::json& part : tensor.at("parts")) {
      next.parts.push_back({part.at(0), part.at(1), part.at(2)});
    }
    job.tensors.push_back(std::move(next));
  }
  job.domain_of = json.at("domain_of").get<std::vector<size_t>>();
  job.domain_count = 1 + *std::max_element(job.domain_of.begin(), job.domain_of.end());
  return job;
}

RankData::RankData(const NetworkCase& job, int member) : job_(job), member_(member) {
  for (size_t t = 0; t < job.tensors.size(); ++t) {
    const NetworkTensor& tensor = job.tensors[t];
    if (const NetworkShard* own = shard(t)) {
      std::vector<uint64_t>& words = sources_[t];
      words.resize(static_cast<size_t>(own->rows * tensor.row_bytes / 8));
      size_t at = 0;
      for (int64_t row = own->first_row; row < own->first_row + own->rows; ++row) {
        for (int64_t byte = 0; byte < tensor.row_bytes; byte += 8) {
          words[at++] = WordAt(t, row, byte);
        }
      }
    }
    if (const NetworkPart* own = part(t)) {
      destinations_[t].resize(static_cast<size_t>(tensor.rows * own->bytes / 8));
    }
  }
}

const NetworkShard* RankData::shard(size_t tensor) const {
  for (const NetworkShard& shard : job_.tensors[tensor].shards) {
    if (shard.member == member_) return &shard;
  }
  return nullptr;
}

const NetworkPart* RankData::part(size_t tensor) const {
  for (const NetworkPart& part : job_.tensors[tensor].parts) {
    if (part.member == member_) return &part;
  }
  return nullptr;
}

uint8_t* RankData::Find(std::map<size_t, std::vector<uint64_t>>* buffers, size_t tensor) {
  const auto found = buffers->find(tensor);
  return found == buffers->end() ? nullptr : reinterpret_cast<uint8_t*>(found->second.data());
}

void RankData::ClearDestination() {
  for (auto& [tensor, words] : destinations_) std::fill(words.begin(), words.end(), 0);
}

int64_t RankData::WrongBytes() {
  int64_t wrong = 0;
  for (const auto& [t, words] : destinations_) {
    const NetworkPart& own = *part(t);
    size_t at = 0;
    for (int64_t row = 0; row < job_.tensors[t].rows; ++row) {
      for (int64_t byte = own.first_byte; byte < own.first_byte + own.bytes; byte += 8) {
        wrong += words[at++] == WordAt(t, row, byte) ? 0 : 8;
      }
    }
  }
  return wrong;
}

}  // namespace reshard
