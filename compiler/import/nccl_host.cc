#include "compiler/import/nccl_host.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "compiler/frontend/topo_spec.h"
#include "compiler/import/nccl_tree.h"

namespace reshard {
namespace {

struct NvlinkRate {
  int generation = 0;
  int64_t bytes_per_s = 0;  // of one link
};

NvlinkRate RateOfNvlink(int64_t sm) {
  switch (sm) {
#define RESHARD_NVLINK(number, generation, bytes_per_s) \
  case number:                                          \
    return {generation, bytes_per_s};
#include "compiler/import/nvlink_rates.def"
#undef RESHARD_NVLINK
    default:
      return {};
  }
}

class HostBuilder {
 public:
  HostBuilder(const NcclTree& tree, Diagnostics* diags) : tree_(tree), diags_(*diags) {}

  bool Build(NcclHost* out) {
    if (!AddGpus(out)) return false;
    const bool linked = AddLinks(out);
    return AddNics(out) && linked;
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  // The tree's GPUs by rising number.
  bool AddGpus(NcclHost* out) {
    for (const NcclTreeGpu& gpu : tree_.gpus) gpus_.push_back(&gpu);
    std::stable_sort(gpus_.begin(), gpus_.end(), [](const NcclTreeGpu* a, const NcclTreeGpu* b) {
      return a->number < b->number;
    });
    bool good = true;
    out->pcie_bytes_per_s = out->c2c_bytes_per_s = kMaxBytesPerSecond;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      const NcclTreeGpu& gpu = *gpus_[i];
      out->gpus.push_back(gpu.number);
      out->pcie_bytes_per_s = std::min(out->pcie_bytes_per_s, gpu.device.pcie_bytes_per_s);
      out->c2c_bytes_per_s = std::min(out->c2c_bytes_per_s, gpu.c2c_bytes_per_s);
      if (i == 0 || gpus_[i - 1]->number != gpu.number) continue;
      diags_
          .Error(DiagnosticCode::kNameCollision, gpu.device.span,
                 "GPU " + std::to_string(gpu.number) + " is given twice")
          .notes.push_back({gpus_[i - 1]->device.span, "given here"});
      good = false;
    }
    for (const NcclTreeGpu* gpu : gpus_) {
      if (gpu->gdr == gpus_[0]->gdr) continue;
      return Fail(gpu->device.span, DiagnosticCode::kUnsupported,
                  "NICs read the memory of some GPUs directly (gdr) and not of all");
    }
    return good;
  }

  // Links of GPU i that lead to others: to all over switches, or to one.
  struct Links {
    int64_t to_switches = 0;
    std::map<size_t, int64_t> to_gpus;
  };

  std::vector<Links> CountLinks() const {
    std::map<std::string_view, size_t> gpu_at;
    for (size_t i = 0; i < gpus_.size(); ++i) gpu_at.try_emplace(gpus_[i]->device.bus, i);
    std::vector<Links> links(gpus_.size());
    for (size_t i = 0; i < gpus_.size(); ++i) {
      for (const NcclTreeLink& link : gpus_[i]->links) {
        const auto peer = gpu_at.find(link.target);
        if (link.to_switch) {
          links[i].to_switches += link.count;
        } else if (peer != gpu_at.end()) {  // otherwise a GPU that the job does not use
          links[i].to_gpus[peer->second] += link.count;
        }
      }
    }
    return links;
  }

  // Every link has two ends, which count it alike.
  bool CheckBothEnds(const std::vector<Links>& links) {
    bool good = true;
    for (size_t i = 0; i < links.size(); ++i) {
      for (size_t k = i + 1; k < links.size(); ++k) {
        const auto there = links[i].to_gpus.find(k);
        const auto back = links[k].to_gpus.find(i);
        const int64_t count = there == links[i].to_gpus.end() ? 0 : there->second;
        const int64_t count_back = back == links[k].to_gpus.end() ? 0 : back->second;
        if (count == count_back) continue;
        const std::string first = "GPU " + std::to_string(gpus_[i]->number);
        const std::string second = "GPU " + std::to_string(gpus_[k]->number);
        diags_
            .Error(DiagnosticCode::kBadValue, gpus_[i]->device.span,
                   first + " has " + std::to_string(count) + " NVLinks to " + second + ", " +
                       second + " has " + std::to_string(count_back) + " to " + first)
            .notes.push_back({gpus_[k]->device.span, second});
        good = false;
      }
    }
    return good;
  }

  bool AddLinks(NcclHost* out) {
    const std::vector<Links> links = CountLinks();
    if (!CheckBothEnds(links)) return false;
    const size_t with_switches = static_cast<size_t>(std::count_if(
        links.begin(), links.end(), [](const Links& one) { return one.to_switches > 0; }));
    const bool all_switched = with_switches == links.size();
    const NcclTreeGpu* without = nullptr;  // reaches one of the others only over PCIe
    const NcclTreeGpu* with = nullptr;     // has NVLinks
    for (size_t i = 0; i < links.size(); ++i) {
      const bool any = links[i].to_switches > 0 || !links[i].to_gpus.empty();
      if (any && with == nullptr) with = gpus_[i];
      const bool reaches_all = all_switched || links[i].to_gpus.size() + 1 == links.size();
      if (!reaches_all && without == nullptr) without = gpus_[i];
    }
    if (with == nullptr) return true;
    if (without != nullptr) {
      diags_
          .Error(DiagnosticCode::kUnsupported, without->device.span,
                 "NVLink does not connect GPU " + std::to_string(without->number) +
                     " with all others: which GPUs reach each other directly has to be written by "
                     "hand")
          .notes.push_back({with->device.span, "a GPU with NVLink"});
      return false;
    }
    SetLinks(links, out);
    return true;
  }

  void SetLinks(const std::vector<Links>& links, NcclHost* out) {
    out->least_links = INT64_MAX;
    for (const Links& one : links) {
      int64_t count = one.to_switches;
      for (const auto& [peer, number] : one.to_gpus) count += number;
      out->least_links = std::min(out->least_links, count);
      out->most_links = std::max(out->most_links, count);
    }
    const NvlinkRate rate = RateOfNvlink(gpus_[0]->sm);
    const bool one_kind = std::all_of(gpus_.begin(), gpus_.end(), [&](const NcclTreeGpu* gpu) {
      return gpu->sm == gpus_[0]->sm;
    });
    if (!one_kind) return;
    out->nvlink_generation = rate.generation;
    out->nvlink_bytes_per_s = rate.bytes_per_s * out->least_links;
  }

  bool AddNics(NcclHost* out) {
    bool good = true;
    std::map<std::string_view, Span> seen;
    std::vector<std::vector<std::string_view>> paths;  // by GPU, by NIC
    for (const NcclTreeGpu* gpu : gpus_) paths.push_back(PathsToNics(tree_, gpu->device));
    for (size_t n = 0; n < tree_.nics.size(); ++n) {
      const NcclTreeNic& nic = tree_.nics[n];
      const bool plain =
          !nic.name.empty() && std::all_of(nic.name.begin(), nic.name.end(), [](char c) {
            return c > ' ' && c <= '~' && c != '{' && c != '}';
          });
      if (!plain) {
        good = Fail(nic.device.span, DiagnosticCode::kBadValue,
                    "'" + nic.name + "' is no name of a NIC");
        continue;
      }
      const auto [first, added] = seen.try_emplace(nic.name, nic.device.span);
      if (!added) {
        diags_
            .Error(DiagnosticCode::kNameCollision, nic.device.span,
                   "NIC '" + nic.name + "' is given twice")
            .notes.push_back({first->second, "given here"});
        good = false;
        continue;
      }
      std::vector<std::string_view> to_gpus;
      for (const std::vector<std::string_view>& of_gpu : paths) to_gpus.push_back(of_gpu[n]);
      out->nics.push_back(NicOf(nic, std::move(to_gpus), out->c2c_bytes_per_s > 0));
    }
    return good;
  }

  // The NIC, with what its paths say of each GPU.
  NcclNic NicOf(const NcclTreeNic& nic, std::vector<std::string_view> paths, bool with_c2c) const {
    NcclNic made;
    made.name = nic.name;
    made.span = nic.device.span;
    made.mbit_per_s = std::max<int64_t>(nic.mbit_per_s, 0);
    made.pcie_bytes_per_s = nic.device.pcie_bytes_per_s;
    made.gdr = nic.gdr && gpus_[0]->gdr;
    const bool behind_switch = std::any_of(paths.begin(), paths.end(), [](std::string_view path) {
      return path == "PIX" || path == "PXB";
    });
    made.c2c = with_c2c && !behind_switch;
    made.paths = std::move(paths);
    return made;
  }

  const NcclTree& tree_;
  Diagnostics& diags_;
  std::vector<const NcclTreeGpu*> gpus_;
};

}  // namespace

bool ReadNcclHost(const XmlElement& system, Diagnostics* diags, NcclHost* out) {
  NcclTree tree;
  return ReadNcclTree(system, diags, &tree) && HostBuilder(tree, diags).Build(out);
}

}  // namespace reshard
