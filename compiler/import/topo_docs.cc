#include "compiler/import/topo_docs.h"

#include <cstddef>
#include <utility>

namespace reshard {

JsonDoc FlatFabricDoc(const std::string& comment) {
  return JsonDoc::Object().Set("comment", comment).Set("name", "network").Set("kind", "flat");
}

JsonDoc TopologyDoc(TopologyParts parts) {
  const bool several = parts.types.size() > 1;
  JsonDoc types = JsonDoc::Object();
  JsonDoc nodes = JsonDoc::Array();
  JsonDoc domains = JsonDoc::Array();
  for (size_t i = 0; i < parts.types.size(); ++i) {
    HostTypeDoc& host = parts.types[i];
    const std::string number = several ? std::to_string(i + 1) : "";
    const std::string name = "host" + number;
    types.Set(name, std::move(host.type));
    nodes.Add(JsonDoc::Object().Set("names", host.hosts).Set("type", name));
    if (host.nvlink_gb_per_s.empty()) continue;
    JsonDoc domain = JsonDoc::Object();
    domain.Set("comment", host.nvlink_comment)
        .Set("name", "nvl" + number + "-{node}")
        .Set("per", "node");
    if (several) domain.Set("nodes", host.hosts);
    domains.Add(std::move(domain.Set("bw", JsonDoc::Literal(host.nvlink_gb_per_s))));
  }
  JsonDoc topo = JsonDoc::Object();
  topo.Set("format", "reshard-topo").Set("version", 1).Set("comment", parts.comment);
  topo.Set("node_types", std::move(types)).Set("nodes", std::move(nodes));
  if (!domains.items().empty()) topo.Set("scaleup", std::move(domains));
  if (parts.fabric) topo.Set("fabrics", JsonDoc::Array().Add(std::move(*parts.fabric)));
  topo.Set("ranks", std::move(parts.ranks));
  return topo;
}

}  // namespace reshard
