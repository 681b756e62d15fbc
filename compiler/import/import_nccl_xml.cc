#include "compiler/import/import_nccl_xml.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/import/gb_per_s.h"
#include "compiler/import/nccl_host.h"
#include "compiler/import/rank_file.h"
#include "compiler/import/topo_docs.h"
#include "compiler/import/xml_tree.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

constexpr int64_t kBytesPerMbit = 125'000;

// "400" for 400,000 Mbit/s, "2.5" for 2,500.
std::string GbitText(int64_t mbit_per_s) { return GbPerSText(mbit_per_s * 1'000'000); }

class Importer {
 public:
  Importer(const SourceMap& sources, const NcclXmlInput& input, Diagnostics* diags)
      : sources_(sources), input_(input), diags_(*diags) {}

  bool Import(JsonDoc* out) {
    const bool read = ReadHosts();
    if (!read || !ReadRanks() || !CheckNicBandwidth()) return false;
    TopologyParts parts;
    if (!AddTypes(&parts.types)) return false;
    parts.comment =
        input_.files.size() == 1
            ? "from what NCCL wrote on one host, taken to be like all others, and a rank file"
            : "from what NCCL wrote on each host, and a rank file";
    if (has_nics_) parts.fabric = FlatFabricDoc("the files do not describe the network");
    parts.ranks = RanksDoc(ranks_, gpus_per_host_);
    *out = TopologyDoc(std::move(parts));
    return true;
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  bool ReadHosts() {
    bool good = true;
    for (size_t i = 0; i < input_.files.size(); ++i) {
      const NcclXmlFile& file = input_.files[i];
      NcclHost host;
      XmlElement root;
      if (!ReadXml(sources_, file.file, &diags_, &root) || !ReadNcclHost(root, &diags_, &host)) {
        good = false;
        continue;
      }
      hosts_.push_back(std::move(host));
      const auto [first, added] = host_of_.try_emplace(file.host, hosts_.size() - 1);
      if (added) continue;
      good = Fail({file.file, 0, 0}, DiagnosticCode::kDuplicateNode,
                  "two files are named after the host '" + file.host + "'");
    }
    return good;
  }

  // The number of a host's file, or nullptr.
  const NcclHost* HostOf(const std::string& name) const {
    if (input_.files.size() == 1) return &hosts_[0];
    const auto found = host_of_.find(name);
    return found == host_of_.end() ? nullptr : &hosts_[found->second];
  }

  // No more arrives than the line carries: who gives Gbit/s is told so.
  bool CheckNicBandwidth() {
    const int64_t given =
        input_.nic_gb_per_s.empty() ? 0 : ParseGbPerS(input_.nic_gb_per_s).value_or(0);
    if (fastest_ == 0 || given <= fastest_ * kBytesPerMbit) return true;
    return Fail({input_.files[0].file, 0, 0}, DiagnosticCode::kBadBandwidth,
                "--nic-bw is " + input_.nic_gb_per_s + " GB/s, more than the " +
                    GbPerSText(fastest_ * kBytesPerMbit) + " GB/s (" + GbitText(fastest_) +
                    " Gbit/s) of the fastest NIC's line");
  }

  bool ReadRanks() {
    uint32_t most_gpus = 1;
    for (const NcclHost& host : hosts_) most_gpus = std::max(most_gpus, host.gpus.back() + 1);
    if (!ReadRankFile(sources_, input_.rank_file, most_gpus, &diags_, &ranks_)) return false;
    bool good = true;
    std::set<const NcclHost*> used;
    std::map<std::string, bool> missing;
    for (const RankPlacement& rank : ranks_) {
      const NcclHost* host = HostOf(rank.host);
      if (host == nullptr) {
        if (!missing.try_emplace(rank.host, true).second) continue;
        good = Fail(rank.host_span, DiagnosticCode::kUnknownNode,
                    "host '" + rank.host + "' has no file: expected one called '" + rank.host +
                        ".xml', or one file for all hosts");
      } else if (!std::binary_search(host->gpus.begin(), host->gpus.end(), rank.gpu)) {
        good = Fail(rank.gpu_span, DiagnosticCode::kRankPlacement,
                    "the file of host '" + rank.host + "' has no GPU " + std::to_string(rank.gpu));
      } else if (used.insert(host).second) {
        gpus_per_host_ = std::max(gpus_per_host_, host->gpus.back() + 1);
        for (const NcclNic& nic : host->nics) fastest_ = std::max(fastest_, nic.mbit_per_s);
      }
    }
    return good;
  }

  // One type for all hosts that have the same.
  bool AddTypes(std::vector<HostTypeDoc>* out) {
    struct Type {
      HostTypeDoc doc;
      std::vector<RankPlacement> ranks;
    };
    std::vector<Type> types;
    std::map<std::string, size_t> type_of_doc;
    std::map<const NcclHost*, size_t> type_of_host;
    for (const RankPlacement& rank : ranks_) {
      const NcclHost* host = HostOf(rank.host);
      auto type = type_of_host.find(host);
      if (type == type_of_host.end()) {
        std::optional<HostTypeDoc> made = TypeOf(*host);
        if (!made) return false;
        const std::string key =
            made->type.Line() + made->nvlink_gb_per_s + " " + made->nvlink_comment;
        const size_t number = type_of_doc.try_emplace(key, types.size()).first->second;
        if (number == types.size()) types.push_back({std::move(*made), {}});
        type = type_of_host.try_emplace(host, number).first;
      }
      types[type->second].ranks.push_back(rank);
    }
    for (Type& type : types) {
      type.doc.hosts = HostList(type.ranks);
      out->push_back(std::move(type.doc));
    }
    return true;
  }

  std::optional<HostTypeDoc> TypeOf(const NcclHost& host) {
    HostTypeDoc made;
    std::string comment;
    JsonDoc nics = JsonDoc::Array();
    if (!AddNics(host, &nics) || !SetNvlink(host, &made)) return std::nullopt;
    made.type.Set("gpus", host.gpus.back() + 1);
    if (!host.nics.empty()) {
      comment = input_.nic_gb_per_s.empty()
                    ? "bw is the line rate"
                    : "bw is --nic-bw, for NICs of less speed in proportion";
    }
    if (host.pcie_bytes_per_s > 0) {
      comment += std::string(comment.empty() ? "" : "; ") + "gpu_bw is the line rate of PCIe";
    }
    if (!comment.empty()) made.type.Set("comment", comment);
    if (host.pcie_bytes_per_s > 0) {
      made.type.Set("pcie", JsonDoc::Object().Set("gpu_bw", Bandwidth(host.pcie_bytes_per_s)));
    }
    if (host.c2c_bytes_per_s > 0) {
      made.type.Set("c2c", JsonDoc::Object().Set("gpu_cpu_bw", Bandwidth(host.c2c_bytes_per_s)));
    }
    if (!host.nics.empty()) made.type.Set("nics", std::move(nics));
    return made;
  }

  static JsonDoc Bandwidth(int64_t bytes_per_s) {
    return JsonDoc::Literal(GbPerSText(bytes_per_s));
  }

  bool AddNics(const NcclHost& host, JsonDoc* out) {
    bool good = true;
    for (const NcclNic& nic : host.nics) {
      has_nics_ = true;
      const int64_t bytes_per_s = NicRate(nic);
      if (bytes_per_s < 1) {
        good = Fail(nic.span, DiagnosticCode::kBadBandwidth,
                    "the speed of NIC '" + nic.name + "' is not known or too small" +
                        (input_.nic_gb_per_s.empty() ? ": give --nic-bw" : ""));
        continue;
      }
      if (input_.nic_gb_per_s.empty()) WarnOfNics(nic);
      JsonDoc doc = JsonDoc::Object();
      doc.Set("name", nic.name).Set("bw", Bandwidth(bytes_per_s));
      if (nic.mbit_per_s > 0) {
        doc.Set("line_rate_gbit", JsonDoc::Literal(GbitText(nic.mbit_per_s)));
      }
      if (!nic.gdr) doc.Set("gdr", JsonDoc::Literal("false"));
      if (nic.c2c) doc.Set("c2c", JsonDoc::Literal("true"));
      JsonDoc paths = JsonDoc::Object();
      for (size_t i = 0; i < host.gpus.size(); ++i) {
        paths.Set(std::to_string(host.gpus[i]), nic.paths[i]);
      }
      out->Add(std::move(doc.Set("path", std::move(paths))));
    }
    return good;
  }

  // Bytes per second; 0: not known.
  int64_t NicRate(const NcclNic& nic) const {
    if (input_.nic_gb_per_s.empty()) {
      const int64_t line = nic.mbit_per_s * kBytesPerMbit;
      return nic.pcie_bytes_per_s > 0 ? std::min(line, nic.pcie_bytes_per_s) : line;
    }
    const int64_t given = ParseGbPerS(input_.nic_gb_per_s).value_or(0);
    if (nic.mbit_per_s == 0 || fastest_ == 0) return given;
    const int64_t divisor = std::gcd(nic.mbit_per_s, fastest_);
    const std::optional<int64_t> product = CheckedMul(given, nic.mbit_per_s / divisor);
    return product ? *product / (fastest_ / divisor) : 0;
  }

  void WarnOfNics(const NcclNic& nic) {
    if (std::exchange(warned_of_nics_, true)) return;
    diags_.Warning(DiagnosticCode::kLineRate, nic.span,
                   "bandwidths of NICs are line rates, of which less arrives: measure, and give "
                   "--nic-bw");
  }

  bool SetNvlink(const NcclHost& host, HostTypeDoc* made) {
    if (host.least_links == 0) return true;
    std::string links = std::to_string(host.least_links);
    if (host.most_links > host.least_links) links += " to " + std::to_string(host.most_links);
    links += " links";
    if (host.nvlink_generation > 0) {
      links += " of NVLink " + std::to_string(host.nvlink_generation);
    }
    made->nvlink_comment = links + " for each GPU; bw is ";
    if (!input_.nvlink_gb_per_s.empty()) {
      made->nvlink_comment += "--nvlink-bw";
      made->nvlink_gb_per_s = input_.nvlink_gb_per_s;
      return true;
    }
    const Span span = {SpanFileOf(host), 0, 0};
    if (host.nvlink_bytes_per_s == 0) {
      return Fail(span, DiagnosticCode::kBadBandwidth,
                  "the rate of NVLink of these GPUs is not known: give --nvlink-bw");
    }
    made->nvlink_comment += "the line rate";
    made->nvlink_gb_per_s = GbPerSText(host.nvlink_bytes_per_s);
    if (std::exchange(warned_of_nvlink_, true)) return true;
    diags_.Warning(DiagnosticCode::kLineRate, span,
                   "the bandwidth of NVLink is the line rate, of which less arrives: measure, and "
                   "give --nvlink-bw");
    return true;
  }

  uint32_t SpanFileOf(const NcclHost& host) const {
    return input_.files[static_cast<size_t>(&host - hosts_.data())].file;
  }

  const SourceMap& sources_;
  const NcclXmlInput& input_;
  Diagnostics& diags_;
  std::vector<NcclHost> hosts_;  // of the files
  std::map<std::string, size_t> host_of_;
  uint32_t gpus_per_host_ = 1;  // the most of hosts with ranks
  std::vector<RankPlacement> ranks_;
  int64_t fastest_ = 0;  // Mbit/s of the fastest NIC of hosts with ranks; 0: no speed is known
  bool has_nics_ = false;
  bool warned_of_nics_ = false;
  bool warned_of_nvlink_ = false;
};

}  // namespace

bool ImportNcclXml(const SourceMap& sources, const NcclXmlInput& input, Diagnostics* diags,
                   JsonDoc* out) {
  return Importer(sources, input, diags).Import(out);
}

}  // namespace reshard
