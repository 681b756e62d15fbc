// ReadNics: the NICs of a node type, listed one by one or made from one entry with "for".
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/frontend/expr.h"
#include "compiler/frontend/topo_reader.h"

namespace reshard {

namespace {

// What a hole of a "for" entry can see: `i`.
class IndexEnv : public ExprEnv {
 public:
  explicit IndexEnv(int64_t index) : index_(index) {}
  std::optional<int64_t> Variable(std::string_view name) const override {
    if (name == "i") return index_;
    return std::nullopt;
  }
  const std::vector<int64_t>* Table(std::string_view) const override { return nullptr; }
  std::optional<int64_t> Pipeline(std::string_view, int64_t, std::string* error) const override {
    *error = "a topology has no pipeline";
    return std::nullopt;
  }

 private:
  int64_t index_;
};

// Reads one entry of "nics", for one value of `i` when it has a "for".
class NicReader {
 public:
  NicReader(const NodeTypeSpec& type, std::optional<int64_t> index, TopoReader* reader)
      : type_(type), index_(index), diags_(reader->diags), reader_(reader) {}

  bool Read(const JsonNode& node, NicSpec* out) {
    const size_t errors_before = diags_->error_count();
    ObjectReader object(node, "the NIC", diags_);
    if (index_) static_cast<void>(object.Optional("for"));
    out->span = node.span;
    out->name = reader_->RequiredText("name", &object);
    out->name.value = Fill(out->name.value, out->name.span);
    out->bytes_per_s = reader_->RequiredBandwidth("bw", &object);
    ReadGpus(&object, out);
    if (const JsonNode* rail = object.Optional("rail")) {
      const std::optional<int64_t> value = Index(*rail, object.Describe("rail"), kMaxNicsPerNode);
      if (value) out->rail = static_cast<int32_t>(*value);
    }
    if (const JsonNode* numa = object.Optional("numa")) {
      const auto count = static_cast<int64_t>(type_.numa.size());
      const std::optional<int64_t> value = Index(*numa, object.Describe("numa"), kMaxGpusPerNode);
      if (value && *value >= count) {
        diags_->Error(DiagnosticCode::kBadValue, numa->span,
                      object.Describe("numa") + " is " + std::to_string(*value) +
                          ", the node type has " + std::to_string(count) + " NUMA nodes");
      } else if (value) {
        out->numa = static_cast<uint32_t>(*value);
      }
    }
    if (const JsonNode* path = object.Optional("path")) ReadPath(*path, &object, out);
    out->gdr = object.Bool("gdr").value_or(true);
    out->c2c = object.Bool("c2c").value_or(false);
    reader_->IgnoreNumber("line_rate_gbit", &object);
    // A "for" repeats these lists, so their size is not bounded by the file's.
    const size_t entries = out->gpus.size() + out->gpu_paths.size();
    if (entries > reader_->lists.entries) {
      diags_->Error(DiagnosticCode::kTooLarge, node.span,
                    "the NICs list more GPUs than a file may");
      return false;
    }
    reader_->lists.entries -= entries;
    return object.Finish() && diags_->error_count() == errors_before;
  }

 private:
  // The text with its holes filled, where the entry has a "for"; reports and returns "" on errors.
  std::string Fill(const std::string& text, Span span) {
    if (!index_ || text.empty()) return text;
    const Span inside = span.end - span.begin == text.size() + 2
                            ? Span{span.file, span.begin + 1, span.end - 1}
                            : span;
    const NameExpr name = ParseName(text, inside, diags_);
    if (name.text.empty()) return "";
    std::string out = name.text[0];
    for (size_t i = 0; i < name.holes.size(); ++i) {
      std::string error;
      Span where;
      const std::optional<int64_t> value = Eval(name.holes[i], IndexEnv(*index_), &error, &where);
      if (!value) {
        diags_->Error(DiagnosticCode::kEvaluation, where,
                      error + ", where i is " + std::to_string(*index_));
        return "";
      }
      out += std::to_string(*value) + name.text[i + 1];
    }
    return out;
  }

  // An integer in [0, limit), as a number or, where the entry has a "for", as a text like "{i}".
  std::optional<int64_t> Index(const JsonNode& node, const std::string& what, uint32_t limit) {
    const int64_t highest = int64_t{limit} - 1;
    if (node.kind != JsonNode::Kind::kString || !index_) {
      return ReadInteger(node, what, 0, highest, diags_);
    }
    const size_t errors_before = diags_->error_count();
    const std::string text = Fill(node.text, node.span);
    if (diags_->error_count() != errors_before) return std::nullopt;
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end && value >= 0 && value <= highest) {
      return value;
    }
    diags_->Error(DiagnosticCode::kBadValue, node.span,
                  what + " is '" + text + "' where i is " + std::to_string(*index_) +
                      ", expected 0 to " + std::to_string(highest));
    return std::nullopt;
  }

  void AddGpu(const JsonNode& node, const std::string& what, NicSpec* out) {
    const std::optional<int64_t> gpu = Index(node, what, type_.gpus);
    if (!gpu) return;
    for (const uint32_t other : out->gpus) {
      if (other != *gpu) continue;
      diags_->Error(DiagnosticCode::kBadValue, node.span,
                    "GPU " + std::to_string(*gpu) + " is twice in " + what);
      return;
    }
    out->gpus.push_back(static_cast<uint32_t>(*gpu));
  }

  void ReadGpus(ObjectReader* object, NicSpec* out) {
    const JsonNode* gpu = object->Optional("gpu");
    const JsonNode* gpus = object->Optional("gpus", JsonNode::Kind::kArray);
    if (gpu != nullptr && gpus != nullptr) {
      diags_->Error(DiagnosticCode::kBadValue, gpus->span,
                    "the NIC has both 'gpu' and 'gpus', expected one of them");
      return;
    }
    if (gpu != nullptr) AddGpu(*gpu, object->Describe("gpu"), out);
    if (gpus == nullptr) return;
    for (const JsonNode& item : gpus->items) AddGpu(item, object->Describe("gpus"), out);
    std::sort(out->gpus.begin(), out->gpus.end());
  }

  std::optional<PciePath> Word(const JsonNode& node, const std::string& what) {
    if (!ExpectKind(node, JsonNode::Kind::kString, what, diags_)) return std::nullopt;
#define RESHARD_PCIE_PATH(name, text_of, meaning) \
  if (node.text == text_of) return PciePath::name;
#include "compiler/frontend/pcie_paths.def"
#undef RESHARD_PCIE_PATH
    diags_->Error(DiagnosticCode::kBadValue, node.span,
                  what + " is '" + node.text + "', expected PIX, PXB, PHB, NODE or SYS");
    return std::nullopt;
  }

  // "PIX", or {"0": "PIX", "1": "SYS"}.
  void ReadPath(const JsonNode& node, ObjectReader* object, NicSpec* out) {
    const std::string what = object->Describe("path");
    if (node.kind == JsonNode::Kind::kString) {
      out->path = Word(node, what);
      return;
    }
    if (!ExpectKind(node, JsonNode::Kind::kObject, what, diags_)) return;
    for (const JsonMember& member : node.members) {
      if (member.key == "comment") continue;
      uint32_t gpu = 0;
      const char* end = member.key.data() + member.key.size();
      const auto parsed = std::from_chars(member.key.data(), end, gpu);
      const bool canonical = member.key == std::to_string(gpu);
      if (parsed.ec != std::errc() || parsed.ptr != end || gpu >= type_.gpus || !canonical) {
        diags_->Error(DiagnosticCode::kBadValue, member.key_span,
                      "'" + member.key + "' in " + what + " is no GPU, expected 0 to " +
                          std::to_string(type_.gpus - 1));
        continue;
      }
      const std::optional<PciePath> path = Word(member.value, what);
      if (path) out->gpu_paths.emplace_back(gpu, *path);
    }
  }

  const NodeTypeSpec& type_;
  std::optional<int64_t> index_;
  Diagnostics* diags_;
  TopoReader* reader_;
};

// Charges `count` NICs at `node` to the node and to the file.
bool ChargeNics(const JsonNode& node, size_t count, TopoReader* reader) {
  reader->nic_count += count;
  if (count <= kMaxNicsPerNode && reader->nic_count <= kMaxNicSpecs) return true;
  reader->diags->Error(DiagnosticCode::kTooLarge, node.span,
                       "more than " + std::to_string(kMaxNicsPerNode) + " NICs in a node type or " +
                           std::to_string(kMaxNicSpecs) + " in all of them");
  return false;
}

bool ReadRepeated(const JsonNode& nics, TopoReader* reader, NodeTypeSpec* type) {
  const JsonNode* count_node = nics.Find("for");
  if (count_node == nullptr) {
    const Span brace = {nics.span.file, nics.span.begin, nics.span.begin + 1};
    reader->diags->Error(DiagnosticCode::kMissingKey, brace, "'nics' as an object has no 'for'");
    return false;
  }
  const std::optional<int64_t> count =
      ReadInteger(*count_node, "'for' of 'nics'", 1, kMaxNicsPerNode, reader->diags);
  if (!count || !ChargeNics(*count_node, static_cast<size_t>(*count), reader)) return false;
  for (int64_t i = 0; i < *count; ++i) {
    // The entry's mistakes are the same for every i: say them once.
    if (!NicReader(*type, i, reader).Read(nics, &type->nics.emplace_back())) return false;
  }
  return true;
}

bool ReadListed(const JsonNode& nics, TopoReader* reader, NodeTypeSpec* type) {
  if (!ChargeNics(nics, nics.items.size(), reader)) return false;
  bool ok = true;
  for (const JsonNode& entry : nics.items) {
    ok &= NicReader(*type, std::nullopt, reader).Read(entry, &type->nics.emplace_back());
  }
  return ok;
}

// By their lowest own GPU, those without one last, and by name: "mlx5_9" before "mlx5_10". Names
// are unique, so that the order in which the file lists them has no meaning.
bool StandsBefore(const NicSpec& a, const NicSpec& b) {
  const auto key = [](const NicSpec& nic) {
    return std::tuple(nic.gpus.empty() ? kMaxGpusPerNode : nic.gpus.front(), nic.name.value.size(),
                      std::string_view(nic.name.value));
  };
  return key(a) < key(b);
}

}  // namespace

bool ReadNics(const JsonNode& nics, TopoReader* reader, NodeTypeSpec* type) {
  bool ok = false;
  if (nics.kind == JsonNode::Kind::kObject) {
    ok = ReadRepeated(nics, reader, type);
  } else if (nics.kind == JsonNode::Kind::kArray) {
    ok = ReadListed(nics, reader, type);
  } else {
    reader->diags->Error(
        DiagnosticCode::kWrongType, nics.span,
        "'nics' is " + DescribeJson(nics) + ", expected an array, or an object with 'for'");
  }
  if (!ok) return false;
  std::set<std::string_view> names;
  for (const NicSpec& nic : type->nics) {
    if (names.insert(nic.name.value).second) continue;
    reader->diags->Error(DiagnosticCode::kBadValue, nic.name.span,
                         "the node type has two NICs '" + nic.name.value + "'");
    return false;
  }
  std::sort(type->nics.begin(), type->nics.end(), StandsBefore);
  return true;
}

}  // namespace reshard
