#include "tests/property/topology_text.h"

#include <algorithm>

namespace reshard {
namespace {

struct NodeText {
  std::vector<uint32_t> ranks;
  uint32_t nic_count = 1;
  std::string nic_bandwidth;
  bool nvlink = true;
};

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

// GPUs of a node share its NICs in turn.
std::string NicsOf(const NodeText& node) {
  std::vector<std::string> nics;
  for (uint32_t nic = 0; nic < node.nic_count; ++nic) {
    std::vector<std::string> gpus;
    for (size_t gpu = nic; gpu < node.ranks.size(); gpu += node.nic_count) {
      gpus.push_back(std::to_string(gpu));
    }
    nics.push_back(R"({"name":"nic)" + std::to_string(nic) + R"(","bw":)" + node.nic_bandwidth +
                   R"(,"gpus":[)" + Joined(gpus) + R"(],"rail":)" + std::to_string(nic) + "}");
  }
  return Joined(nics);
}

std::string TopologyOf(const std::vector<NodeText>& nodes, const std::string& fabric) {
  std::vector<std::string> types, names, scaleups, ranks;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = "node" + std::to_string(i);
    types.push_back("\"type" + std::to_string(i) + R"(":{"gpus":)" +
                    std::to_string(nodes[i].ranks.size()) + R"(,"nics":[)" + NicsOf(nodes[i]) +
                    "]}");
    names.push_back(R"({"names":")" + name + R"(","type":"type)" + std::to_string(i) + "\"}");
    if (nodes[i].nvlink) {
      scaleups.push_back(R"({"name":"nvl-)" + name + R"(","nodes":")" + name + R"(","bw":300})");
    }
    for (size_t gpu = 0; gpu < nodes[i].ranks.size(); ++gpu) {
      ranks.push_back(R"({"rank":)" + std::to_string(nodes[i].ranks[gpu]) + R"(,"node":")" + name +
                      R"(","gpu":)" + std::to_string(gpu) + "}");
    }
  }
  return R"({"format":"reshard-topo","version":1,"node_types":{)" + Joined(types) +
         R"(},"nodes":[)" + Joined(names) + R"(],"scaleup":[)" + Joined(scaleups) +
         R"(],"fabrics":[)" + fabric + R"(],"ranks":[)" + Joined(ranks) + "]}";
}

}  // namespace

std::string EvenTopology(const std::vector<uint32_t>& ranks, uint32_t gpus_per_node) {
  std::vector<NodeText> nodes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i % gpus_per_node == 0) nodes.push_back({{}, 0, "50", true});
    nodes.back().ranks.push_back(ranks[i]);
    ++nodes.back().nic_count;
  }
  return TopologyOf(nodes, R"({"name":"ib","kind":"flat","lat":5})");
}

std::string DomainTopology(const std::vector<std::vector<std::string>>& nics_of_domains,
                           const std::string& scaleup) {
  std::vector<std::string> types, nodes, scaleups, ranks;
  for (const std::vector<std::string>& nics : nics_of_domains) {
    std::string hosts;
    for (const std::string& bandwidth : nics) {
      const std::string id = std::to_string(ranks.size());
      const std::string nic =
          bandwidth.empty() ? "" : R"({"name":"nic","bw":)" + bandwidth + R"(,"gpu":0})";
      types.push_back("\"type" + id + R"(":{"gpus":1,"nics":[)" + nic + "]}");
      nodes.push_back(R"({"names":"node)" + id + R"(","type":"type)" + id + "\"}");
      ranks.push_back(R"({"rank":)" + id + R"(,"node":"node)" + id + R"(","gpu":0})");
      hosts += (hosts.empty() ? "node" : ",node") + id;
    }
    scaleups.push_back(R"({"name":"domain)" + std::to_string(scaleups.size()) + R"(","nodes":")" +
                       hosts + R"(","bw":)" + scaleup + "}");
  }
  return R"({"format":"reshard-topo","version":1,"node_types":{)" + Joined(types) +
         R"(},"nodes":[)" + Joined(nodes) + R"(],"scaleup":[)" + Joined(scaleups) +
         R"(],"fabrics":[{"name":"ib","kind":"flat","lat":5}],"ranks":[)" + Joined(ranks) + "]}";
}

std::string RandomTopology(std::vector<uint32_t> ranks, std::mt19937_64* random) {
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>((*random)() % n); };
  if (below(2) == 0) std::shuffle(ranks.begin(), ranks.end(), *random);
  const std::vector<std::string> bandwidths = {"50", "25", "12.5", "0.4", "100"};
  std::vector<NodeText> nodes;
  for (size_t next = 0; next < ranks.size();) {
    const size_t count = std::min<size_t>(1 + below(4), ranks.size() - next);
    NodeText node;
    node.ranks.assign(ranks.begin() + static_cast<std::ptrdiff_t>(next),
                      ranks.begin() + static_cast<std::ptrdiff_t>(next + count));
    node.nic_count = 1 + below(count);
    node.nic_bandwidth = bandwidths[below(3) == 0 ? below(bandwidths.size()) : 0];
    node.nvlink = below(4) != 0;
    nodes.push_back(std::move(node));
    next += count;
  }
  return TopologyOf(nodes, below(3) == 0 ? R"({"name":"ib","kind":"rails","lat":3})"
                                         : R"({"name":"ib","kind":"flat","lat":5})");
}

}  // namespace reshard
