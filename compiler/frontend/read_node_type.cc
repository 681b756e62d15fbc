// ReadNodeType: what a node of a topology is made of, apart from its NICs (read_nics.cc).
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/topo_reader.h"

namespace reshard {

namespace {

// [[0,1],[2,3]]: sets of GPUs, each GPU in one at most.
GpuSets ReadGpuSets(const JsonNode& node, const std::string& what, uint32_t gpus,
                    Diagnostics* diags) {
  GpuSets sets;
  std::vector<const JsonNode*> seen(gpus, nullptr);
  if (!ExpectKind(node, JsonNode::Kind::kArray, what, diags)) return sets;
  for (const JsonNode& entry : node.items) {
    std::vector<uint32_t>& set = sets.emplace_back();
    if (!ExpectKind(entry, JsonNode::Kind::kArray, "a set in " + what, diags)) continue;
    for (const JsonNode& item : entry.items) {
      const std::optional<int64_t> gpu =
          ReadInteger(item, "a GPU in " + what, 0, int64_t{gpus} - 1, diags);
      if (!gpu) continue;
      const JsonNode*& first = seen[static_cast<size_t>(*gpu)];
      if (first != nullptr) {
        diags
            ->Error(DiagnosticCode::kBadValue, item.span,
                    "GPU " + std::to_string(*gpu) + " is twice in " + what)
            .notes.push_back({first->span, "it is first here"});
        continue;
      }
      first = &item;
      set.push_back(static_cast<uint32_t>(*gpu));
    }
  }
  return sets;
}

bool ReadGpu(const JsonNode& node, const std::string& owner, TopoReader* reader,
             NodeTypeSpec* out) {
  ObjectReader object(node, "'gpu' of " + owner, reader->diags);
  reader->IgnoreText("model", &object);
  reader->IgnoreNumber("sm", &object);
  out->copy_bytes_per_s = reader->Bandwidth("local_copy_bw", &object);
  if (const JsonNode* memory = object.Optional("mem_gb")) {
    constexpr DecimalRule kMemoryRule = {9, 1'000'000, 1'000'000'000'000'000, "GB",
                                         DiagnosticCode::kBadValue};
    const std::optional<int64_t> bytes =
        ReadDecimal(*memory, object.Describe("mem_gb"), kMemoryRule, reader->diags);
    if (!bytes) object.MarkBad();
    out->memory_bytes = bytes.value_or(0);
  }
  return object.Finish();
}

bool ReadPcie(const JsonNode& node, const std::string& owner, TopoReader* reader,
              NodeTypeSpec* out) {
  ObjectReader object(node, "'pcie' of " + owner, reader->diags);
  PcieSpec& pcie = out->pcie;
  pcie.gpu_bytes_per_s = reader->Bandwidth("gpu_bw", &object);
  pcie.same_switch_bytes_per_s = reader->Bandwidth("p2p_same_switch_bw", &object);
  pcie.cross_switch_bytes_per_s = reader->Bandwidth("p2p_cross_switch_bw", &object);
  pcie.cross_numa_bytes_per_s = reader->Bandwidth("p2p_cross_numa_bw", &object);
  pcie.host_bounce_bytes_per_s = reader->Bandwidth("host_bounce_bw", &object);
  pcie.p2p = object.Bool("p2p").value_or(true);
  reader->IgnoreBool("gpu_nic_shared_switch", &object);
  if (const JsonNode* switches = object.Optional("switches")) {
    pcie.switches = ReadGpuSets(*switches, object.Describe("switches"), out->gpus, reader->diags);
  }
  return object.Finish();
}

bool ReadC2c(const JsonNode& node, const std::string& owner, TopoReader* reader,
             NodeTypeSpec* out) {
  ObjectReader object(node, "'c2c' of " + owner, reader->diags);
  out->c2c_bytes_per_s = reader->RequiredBandwidth("gpu_cpu_bw", &object);
  return object.Finish();
}

}  // namespace

bool ReadNodeType(const JsonMember& member, TopoReader* reader, NodeTypeSpec* out) {
  const size_t errors_before = reader->diags->error_count();
  out->name = {member.key, member.key_span};
  const std::string owner = "the node type '" + member.key + "'";
  ObjectReader object(member.value, owner, reader->diags);
  // Everything else names GPUs by their index, so a bad count would only cause errors that follow.
  if (object.Required("gpus") == nullptr) return false;
  const std::optional<int64_t> gpus = object.Integer("gpus", 1, kMaxGpusPerNode);
  if (!gpus) return false;
  out->gpus = static_cast<uint32_t>(*gpus);
  bool ok = true;
  if (const JsonNode* gpu = object.Optional("gpu")) ok &= ReadGpu(*gpu, owner, reader, out);
  if (const JsonNode* numa = object.Optional("numa")) {
    out->numa = ReadGpuSets(*numa, object.Describe("numa"), out->gpus, reader->diags);
  }
  if (const JsonNode* pcie = object.Optional("pcie")) ok &= ReadPcie(*pcie, owner, reader, out);
  if (const JsonNode* c2c = object.Optional("c2c")) ok &= ReadC2c(*c2c, owner, reader, out);
  out->inter_numa_bytes_per_s = reader->Bandwidth("inter_numa_bw", &object);
  reader->IgnoreNumber("max_channels_per_nic", &object);
  if (const JsonNode* nics = object.Optional("nics")) ok &= ReadNics(*nics, reader, out);
  return object.Finish() && ok && reader->diags->error_count() == errors_before;
}

}  // namespace reshard
