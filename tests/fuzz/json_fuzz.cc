// Any bytes as a topology file: the JSON reader, the spec reader, the builder, and what a message
// about the input prints. Checks what must hold for every input, beside the absence of crashes.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/topo_spec.h"
#include "compiler/layout/topology.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

// Every span lies inside its parent's.
void CheckSpans(const JsonNode& node, uint32_t begin, uint32_t end) {
  RESHARD_CHECK(begin <= node.span.begin && node.span.begin < node.span.end && node.span.end <= end,
                "a value's span is outside of its parent's");
  for (const JsonNode& item : node.items) CheckSpans(item, node.span.begin, node.span.end);
  for (const JsonMember& member : node.members) {
    RESHARD_CHECK(
        node.span.begin < member.key_span.begin && member.key_span.end < member.value.span.begin,
        "a key is not before its value");
    CheckSpans(member.value, member.key_span.end, node.span.end);
  }
}

// The canonical text is JSON, and canonical.
void CheckCanonical(const JsonNode& root) {
  const std::string text = CanonicalJson(root);
  SourceMap sources;
  Diagnostics diags;
  JsonNode again;
  RESHARD_CHECK(ReadJson(sources, sources.Add("canonical", text), &diags, &again),
                "a canonical text is no JSON");
  RESHARD_CHECK(CanonicalJson(again) == text, "a canonical text is not canonical");
}

void CheckTopology(const Topology& topology) {
  for (const RankSite& site : topology.sites) {
    RESHARD_CHECK(site.node < topology.nodes.size() && site.domain < topology.domains.size(),
                  "a site refers to nothing");
    RESHARD_CHECK(site.group == kNone || site.group < topology.groups.size(), "no such group");
    RESHARD_CHECK(Contains(topology.domains[site.domain].ranks, site.rank),
                  "a domain does not know its rank");
    for (const NicId nic : site.nics) {
      RESHARD_CHECK(nic < topology.nics.size() && topology.nics[nic].node == site.node,
                    "a rank uses a NIC of another node");
      RESHARD_CHECK(topology.nics[nic].bytes_per_s > 0, "a NIC has no bandwidth");
    }
    RESHARD_CHECK(topology.Site(site.rank) == &site, "a rank is not found");
  }
}

void Run(std::string text) {
  SourceMap sources;
  const uint32_t file = sources.Add("input", std::move(text));
  Diagnostics diags;
  JsonNode root;
  bool ok = ReadJson(sources, file, &diags, &root);
  if (ok) {
    CheckSpans(root, 0, static_cast<uint32_t>(sources.text(file).size()));
    CheckCanonical(root);
    TopoSpec spec;
    Topology topology;
    ok = ReadTopoSpec(root, &diags, &spec) && BuildTopology(spec, &diags, &topology);
    if (ok) CheckTopology(topology);
  }
  RESHARD_CHECK(ok != diags.has_errors(), "a failure without an error, or the reverse");
  std::ostringstream out;
  diags.Print(sources, 20, out);
}

}  // namespace
}  // namespace reshard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reshard::Run(std::string(data, data + size));
  return 0;
}
