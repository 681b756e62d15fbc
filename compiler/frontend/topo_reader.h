// TopoReader: the values that the parts of a topology file have in common. Internal to the readers
// of topology files; ReadTopoSpec makes one for each file.
#ifndef RESHARD_COMPILER_FRONTEND_TOPO_READER_H_
#define RESHARD_COMPILER_FRONTEND_TOPO_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/number_list.h"
#include "compiler/frontend/object_reader.h"
#include "compiler/frontend/topo_spec.h"

namespace reshard {

struct TopoReader {
  Diagnostics* diags = nullptr;
  ListBudget lists;
  size_t nic_count = 0;  // of all node types so far

  // Each reads the member `key` of `object`; mistakes are reported and leave the object not ok().

  // GB/s as bytes/s: 0 when absent, an error when zero, negative or beyond kMaxBytesPerSecond.
  int64_t Bandwidth(std::string_view key, ObjectReader* object) const;
  // The same, but absence is an error (bad-bandwidth) too.
  int64_t RequiredBandwidth(std::string_view key, ObjectReader* object) const;
  // us as ns; nullopt when absent.
  std::optional<int64_t> Latency(std::string_view key, ObjectReader* object) const;
  // A name that is not empty.
  LocatedText RequiredText(std::string_view key, ObjectReader* object) const;
  std::optional<LocatedText> OptionalText(std::string_view key, ObjectReader* object) const;
  HostList RequiredHosts(std::string_view key, ObjectReader* object);
  std::optional<HostList> OptionalHosts(std::string_view key, ObjectReader* object);
  // "0-63,70"; empty when absent.
  std::vector<uint32_t> Numbers(std::string_view key, uint32_t highest, ObjectReader* object);

  // Descriptive members: checked for type, then dropped.
  void IgnoreText(std::string_view key, ObjectReader* object) const;
  void IgnoreBool(std::string_view key, ObjectReader* object) const;
  void IgnoreNumber(std::string_view key, ObjectReader* object) const;
};

// node_types. The type called `name`, whose value is `node`.
[[nodiscard]] bool ReadNodeType(const JsonMember& member, TopoReader* reader, NodeTypeSpec* out);
// nics of the node type `type`, which has its other members already.
[[nodiscard]] bool ReadNics(const JsonNode& nics, TopoReader* reader, NodeTypeSpec* type);
// One entry of fabrics.
[[nodiscard]] bool ReadFabric(const JsonNode& node, TopoReader* reader, FabricSpec* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_TOPO_READER_H_
