#include "compiler/import/nccl_tree.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compiler/frontend/topo_spec.h"

namespace reshard {
namespace {

constexpr std::string_view kSwitchClass = "0x068000";  // NVSwitch
constexpr std::string_view kGpuClass = "0x03";         // begins that of a GPU
constexpr int64_t kMaxLinks = 4096;
constexpr size_t kMaxSwitchLinks = 4096;
constexpr int64_t kMaxC2cMbPerS = 10'000'000;

std::string SmallLetters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// "32.0 GT/s PCIe" and "16", or as older kernels write it "32 GT/s". 0: not known.
int64_t PcieRate(const XmlElement& pci) {
  const XmlAttribute* speed = pci.Find("link_speed");
  const XmlAttribute* width = pci.Find("link_width");
  if (speed == nullptr || width == nullptr) return 0;
  int64_t lanes = 0;
  const char* end = width->value.data() + width->value.size();
  if (std::from_chars(width->value.data(), end, lanes).ptr != end || lanes < 1 || lanes > 32) {
    return 0;
  }
  const size_t unit = speed->value.find(" GT/s");
  if (unit == std::string::npos) return 0;
  std::string_view number = std::string_view(speed->value).substr(0, unit);
  if (number.ends_with(".0")) number.remove_suffix(2);
#define RESHARD_PCIE(gt_per_s, bytes_per_s) \
  if (number == gt_per_s) return lanes * bytes_per_s;
#include "compiler/import/pcie_rates.def"
#undef RESHARD_PCIE
  return 0;
}

class TreeReader {
 public:
  TreeReader(Diagnostics* diags, NcclTree* out) : diags_(*diags), tree_(*out) {}

  bool Read(const XmlElement& system) {
    if (system.name != "system") {
      return Fail(system.span, DiagnosticCode::kBadFormat,
                  "the file begins with '" + system.name +
                      "', expected 'system', as NCCL_TOPO_DUMP_FILE has it");
    }
    const XmlAttribute* version = system.Find("version");
    if (version == nullptr || version->value != "1") {
      return Fail(
          version == nullptr ? system.span : version->span, DiagnosticCode::kBadFormat,
          "the version is '" + (version == nullptr ? "" : version->value) + "', only 1 is known");
    }
    for (const XmlElement& child : system.children) {
      if (IsKnown(system, child, {"cpu"})) ReadCpu(child);
    }
    ResolveSwitchLinks();
    if (good_ && tree_.gpus.empty()) {
      return Fail(system.span, DiagnosticCode::kBadFormat,
                  "the file has no 'gpu', expected what NCCL_TOPO_DUMP_FILE names after a run");
    }
    return good_;
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return good_ = false;
  }

  bool IsKnown(const XmlElement& parent, const XmlElement& child,
               std::initializer_list<std::string_view> names) {
    if (std::find(names.begin(), names.end(), child.name) != names.end()) return true;
    std::string expected;
    for (const std::string_view name : names) {
      expected += (expected.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    return Fail(child.span, DiagnosticCode::kUnsupported,
                "'" + child.name + "' in '" + parent.name + "' is not known, expected " + expected);
  }

  const XmlAttribute* Required(const XmlElement& element, std::string_view name) {
    const XmlAttribute* found = element.Find(name);
    if (found == nullptr) {
      Fail(element.span, DiagnosticCode::kMissingKey,
           "'" + element.name + "' has no attribute '" + std::string(name) + "'");
    }
    return found;
  }

  std::optional<int64_t> Number(const XmlAttribute& attribute, int64_t lowest, int64_t highest) {
    int64_t value = 0;
    const char* end = attribute.value.data() + attribute.value.size();
    const auto [rest, error] = std::from_chars(attribute.value.data(), end, value);
    if (error == std::errc{} && rest == end && value >= lowest && value <= highest) return value;
    Fail(attribute.span, DiagnosticCode::kBadValue,
         "'" + attribute.name + "' is '" + attribute.value + "', expected " +
             std::to_string(lowest) + " to " + std::to_string(highest));
    return std::nullopt;
  }

  std::optional<int64_t> RequiredNumber(const XmlElement& element, std::string_view name,
                                        int64_t lowest, int64_t highest) {
    const XmlAttribute* found = Required(element, name);
    return found == nullptr ? std::nullopt : Number(*found, lowest, highest);
  }

  void ReadCpu(const XmlElement& cpu) {
    // One file of several hosts is what NCCL writes where NVLink connects them.
    if (const XmlAttribute* hash = cpu.Find("host_hash"); hash != nullptr) {
      if (host_hash_ == nullptr) host_hash_ = hash;
      if (hash->value != host_hash_->value) {
        diags_
            .Error(DiagnosticCode::kUnsupported, hash->span,
                   "the file describes several hosts (host_hash), expected one: write a file on "
                   "each host with NCCL_MNNVL_ENABLE=0")
            .notes.push_back({host_hash_->span, "another host"});
        good_ = false;
      }
    }
    above_.push_back(AddUnit(""));
    for (const XmlElement& child : cpu.children) {
      if (!IsKnown(cpu, child, {"pci", "nic"})) continue;
      if (child.name == "pci") {
        ReadPci(child);
      } else {
        ReadNic(child, {above_, "", 0, child.span});
      }
    }
    above_.pop_back();
  }

  size_t AddUnit(const std::string& bus) {
    if (!bus.empty()) unit_of_.try_emplace(bus, tree_.unit_count);
    return tree_.unit_count++;
  }

  // Links to switches that are not in the tree, as no device in use is behind them, mean nothing.
  void ResolveSwitchLinks() {
    for (const auto& [from, bus] : switch_links_) {
      const auto to = unit_of_.find(bus);
      if (to != unit_of_.end()) tree_.switch_links.emplace_back(from, to->second);
    }
  }

  void ReadPci(const XmlElement& pci) {
    const XmlAttribute* bus = Required(pci, "busid");
    if (bus == nullptr) return;
    const NcclDevice device = {above_, SmallLetters(bus->value), PcieRate(pci), pci.span};
    above_.push_back(AddUnit(device.bus));
    for (const XmlElement& child : pci.children) {
      if (!IsKnown(pci, child, {"pci", "gpu", "nic", "pcilink"})) continue;
      if (child.name == "pci") ReadPci(child);
      if (child.name == "gpu") ReadGpu(child, device);
      if (child.name == "nic") ReadNic(child, device);
      if (child.name == "pcilink") ReadSwitchLink(child);
    }
    above_.pop_back();
  }

  void ReadSwitchLink(const XmlElement& element) {
    const XmlAttribute* target = Required(element, "target");
    if (target == nullptr) return;
    if (switch_links_.size() == kMaxSwitchLinks) {
      Fail(element.span, DiagnosticCode::kTooLarge,
           "the host has more than " + std::to_string(kMaxSwitchLinks) + " links of switches");
      return;
    }
    switch_links_.emplace_back(above_.back(), SmallLetters(target->value));
  }

  void ReadGpu(const XmlElement& element, const NcclDevice& device) {
    NcclTreeGpu gpu;
    gpu.device = device;
    const std::optional<int64_t> number = RequiredNumber(element, "dev", 0, kMaxGpusPerNode - 1);
    const std::optional<int64_t> sm = RequiredNumber(element, "sm", 0, 10'000);
    const std::optional<int64_t> gdr = RequiredNumber(element, "gdr", 0, 1);
    if (const XmlAttribute* part = element.Find("mlopart");
        part != nullptr && part->value != "-1") {
      Fail(part->span, DiagnosticCode::kUnsupported, "parts of a GPU (mlopart) are not known");
    }
    if (!number || !sm || !gdr) return;
    if (tree_.gpus.size() == kMaxGpusPerNode) {
      Fail(element.span, DiagnosticCode::kTooLarge,
           "the host has more than " + std::to_string(kMaxGpusPerNode) + " GPUs");
      return;
    }
    gpu.device.span = element.Find("dev")->span;
    for (const NcclTreeGpu& other : tree_.gpus) {
      if (other.device.bus != device.bus) continue;
      diags_
          .Error(DiagnosticCode::kNameCollision, gpu.device.span,
                 "two GPUs have the busid '" + device.bus + "', which NVLinks name them by")
          .notes.push_back({other.device.span, "the other one"});
      good_ = false;
      return;
    }
    gpu.number = static_cast<uint32_t>(*number);
    gpu.sm = *sm;
    gpu.gdr = *gdr != 0;
    for (const XmlElement& child : element.children) {
      if (!IsKnown(element, child, {"nvlink", "c2c"})) continue;
      if (child.name == "nvlink") {
        ReadNvlink(child, &gpu);
      } else {
        const auto mb_per_s = RequiredNumber(child, "bw", 0, kMaxC2cMbPerS);
        const auto count = RequiredNumber(child, "count", 0, kMaxLinks);
        if (mb_per_s && count) gpu.c2c_bytes_per_s = *mb_per_s * *count * 1'000'000;
      }
    }
    tree_.gpus.push_back(std::move(gpu));
  }

  void ReadNvlink(const XmlElement& element, NcclTreeGpu* gpu) {
    const XmlAttribute* target = Required(element, "target");
    const XmlAttribute* kind = Required(element, "tclass");
    const std::optional<int64_t> count = RequiredNumber(element, "count", 1, kMaxLinks);
    if (target == nullptr || kind == nullptr || !count) return;
    const bool to_switch = kind->value == kSwitchClass;
    if (!to_switch && !kind->value.starts_with(kGpuClass)) {
      Fail(kind->span, DiagnosticCode::kUnsupported,
           "NVLink leads to a device of class '" + kind->value +
               "', which is not known: expected an NVSwitch (0x068000) or a GPU (0x03...)");
      return;
    }
    std::string bus = SmallLetters(target->value);
    if (bus == gpu->device.bus) {
      Fail(target->span, DiagnosticCode::kBadValue,
           "NVLink leads from GPU " + std::to_string(gpu->number) + " to itself");
      return;
    }
    gpu->links.push_back({std::move(bus), to_switch, *count});
  }

  void ReadNic(const XmlElement& element, const NcclDevice& device) {
    for (const XmlElement& child : element.children) {
      // gin and rma are other interfaces to the same NICs.
      if (!IsKnown(element, child, {"net", "gin", "rma"}) || child.name != "net") continue;
      // NCCL leaves these out: NICs without a number, and the parts of NICs that it has joined.
      const XmlAttribute* used = child.Find("net");
      if (child.Find("dev") == nullptr || (used != nullptr && used->value == "0")) continue;
      const XmlAttribute* name = Required(child, "name");
      const std::optional<int64_t> speed =
          RequiredNumber(child, "speed", -1, kMaxBytesPerSecond / 125'000);
      const XmlAttribute* gdr = child.Find("gdr");
      const std::optional<int64_t> direct = gdr == nullptr ? 0 : Number(*gdr, 0, 1);
      if (name == nullptr || !speed || !direct) continue;
      if (tree_.nics.size() == kMaxNicsPerNode) {
        Fail(child.span, DiagnosticCode::kTooLarge,
             "the host has more than " + std::to_string(kMaxNicsPerNode) + " NICs");
        return;
      }
      tree_.nics.push_back({device, name->value, *speed, *direct != 0});
      tree_.nics.back().device.span = name->span;
    }
  }

  Diagnostics& diags_;
  NcclTree& tree_;
  std::vector<size_t> above_;                        // of the element that is read
  std::unordered_map<std::string, size_t> unit_of_;  // by bus
  std::vector<std::pair<size_t, std::string>> switch_links_;
  const XmlAttribute* host_hash_ = nullptr;
  bool good_ = true;
};

}  // namespace

bool ReadNcclTree(const XmlElement& system, Diagnostics* diags, NcclTree* out) {
  return TreeReader(diags, out).Read(system);
}

std::vector<std::string_view> PathsToNics(const NcclTree& tree, const NcclDevice& device) {
  std::vector<bool> linked(tree.unit_count);
  const auto is_above = [&](size_t unit) {
    return std::find(device.above.begin(), device.above.end(), unit) != device.above.end();
  };
  for (const auto& [from, to] : tree.switch_links) {
    if (is_above(from)) linked[to] = true;
    if (is_above(to)) linked[from] = true;
  }
  std::vector<std::string_view> paths;
  for (const NcclTreeNic& nic : tree.nics) {
    const std::vector<size_t>& above = nic.device.above;
    const size_t most = std::min(above.size(), device.above.size());
    size_t shared = 0;
    while (shared < most && above[shared] == device.above[shared]) ++shared;
    if (shared >= 2) {  // a switch
      paths.push_back(above.size() == shared && device.above.size() == shared ? "PIX" : "PXB");
    } else if (std::any_of(above.begin(), above.end(), [&](size_t unit) { return linked[unit]; })) {
      paths.push_back("PXB");
    } else {
      paths.push_back(shared == 1 ? "PHB" : "SYS");
    }
  }
  return paths;
}

}  // namespace reshard
