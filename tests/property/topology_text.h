// Topology files for tests.
#ifndef RESHARD_TESTS_PROPERTY_TOPOLOGY_TEXT_H_
#define RESHARD_TESTS_PROPERTY_TOPOLOGY_TEXT_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace reshard {

// Ranks fill nodes of `gpus_per_node` in the order given, one NIC for each GPU, one NVLink domain
// for each node.
std::string EvenTopology(const std::vector<uint32_t>& ranks, uint32_t gpus_per_node);

// Domains of hosts with one GPU each, ranks in their order from 0; per rank what its NIC carries in
// GB/s, "" for none. `scaleup`: what each GPU's port into its domain carries.
std::string DomainTopology(const std::vector<std::vector<std::string>>& nics_of_domains,
                           const std::string& scaleup = "300");

// Nodes of random sizes with or without NVLink, shared NICs, other bandwidths, ranks in any order.
std::string RandomTopology(std::vector<uint32_t> ranks, std::mt19937_64* random);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_TOPOLOGY_TEXT_H_
