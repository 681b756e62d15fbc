// TopologyDoc: the document of a topology whose hosts are of a few types, each with NVLink inside
// its hosts or none. What importers of topologies have in common.
#ifndef RESHARD_COMPILER_IMPORT_TOPO_DOCS_H_
#define RESHARD_COMPILER_IMPORT_TOPO_DOCS_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/import/json_doc.h"

namespace reshard {

struct HostTypeDoc {
  JsonDoc type = JsonDoc::Object();  // as an entry of "node_types"
  std::string hosts;                 // a host list
  // GB/s of a GPU to all others of its host, as text of a JSON number; "": no NVLink.
  std::string nvlink_gb_per_s;
  std::string nvlink_comment;
};

struct TopologyParts {
  std::string comment;
  std::vector<HostTypeDoc> types;  // not empty
  std::optional<JsonDoc> fabric;
  JsonDoc ranks = JsonDoc::Array();
};
JsonDoc TopologyDoc(TopologyParts parts);

// A fabric of kind "flat" that limits nothing.
JsonDoc FlatFabricDoc(const std::string& comment);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_TOPO_DOCS_H_
