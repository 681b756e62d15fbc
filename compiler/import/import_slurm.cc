#include "compiler/import/import_slurm.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/frontend/number_list.h"
#include "compiler/import/rank_file.h"
#include "compiler/import/slurm_lines.h"
#include "compiler/import/topo_docs.h"

namespace reshard {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr std::array<std::string_view, 6> kKeys = {"switchname", "switches",  "nodes",
                                                   "linkspeed",  "blockname", "blocksizes"};

// A switch or a block: one line of the file.
struct Unit {
  SlurmText name;
  std::optional<SlurmText> nodes, switches;  // the lists as written
  size_t parent = kNone;                     // the switch that lists it
  Span listed;                               // where
};

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxHostNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

class SlurmReader {
 public:
  explicit SlurmReader(Diagnostics* diags) : diags_(*diags) {}

  // Reads the whole file; false after an error.
  bool Read(std::string_view text, uint32_t file) {
    std::vector<SlurmLine> lines;
    bool good = ReadSlurmLines(text, file, &diags_, &lines);
    for (const SlurmLine& line : lines) good = ReadLine(line) && good;
    if (good && units_.empty()) {
      return Fail({file, 0, 0}, DiagnosticCode::kBadFormat,
                  "the file has no SwitchName and no BlockName, expected Slurm's topology.conf");
    }
    return good && ListHosts() && ListSwitches() && FindRoots();
  }

  bool blocks() const { return blocks_; }
  const std::vector<Unit>& units() const { return units_; }
  // The leaf switch or block of a host, or kNone.
  size_t UnitOf(const std::string& host) const {
    const auto found = unit_of_.find(host);
    return found == unit_of_.end() ? kNone : found->second;
  }
  // The topmost switch over a unit.
  size_t RootOf(size_t unit) const { return roots_[unit]; }

 private:
  Diagnostic& Report(Span span, DiagnosticCode code, std::string text) {
    return diags_.Error(code, span, std::move(text));
  }
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    Report(span, code, std::move(text));
    return false;
  }

  // Keys are known and given once.
  bool CheckKeys(const SlurmLine& line) {
    std::set<std::string_view> seen;
    for (const SlurmSetting& setting : line) {
      if (std::find(kKeys.begin(), kKeys.end(), setting.name) == kKeys.end()) {
        return Fail(setting.key.span, DiagnosticCode::kUnsupported,
                    "'" + setting.key.text +
                        "' is no key of topology.conf that is known, expected SwitchName, "
                        "Switches, Nodes, LinkSpeed, BlockName or BlockSizes");
      }
      if (!seen.insert(setting.name).second) {
        return Fail(setting.key.span, DiagnosticCode::kDuplicateKey,
                    "'" + setting.key.text + "' is given twice in a line");
      }
    }
    return true;
  }

  bool ReadLine(const SlurmLine& line) {
    if (!CheckKeys(line)) return false;
    const Span begin = line.front().key.span;
    const auto get = [&](std::string_view name) -> std::optional<SlurmText> {
      for (const SlurmSetting& setting : line) {
        if (setting.name == name) return setting.value;
      }
      return std::nullopt;
    };
    const std::optional<SlurmText> block = get("blockname");
    const std::optional<SlurmText> name = block ? block : get("switchname");
    if (!name) {
      if (get("blocksizes") && line.size() == 1) return true;  // rules of the scheduler
      return Fail(begin, DiagnosticCode::kMissingKey,
                  "the line has neither SwitchName nor BlockName");
    }
    const Unit unit = {*name, get("nodes"), get("switches"), kNone, {}};
    if (block && (get("switchname") || unit.switches || get("linkspeed"))) {
      return Fail(begin, DiagnosticCode::kUnsupported,
                  "a line with BlockName has a key of a switch");
    }
    if (get("blocksizes")) {
      return Fail(begin, DiagnosticCode::kUnsupported,
                  "BlockSizes is expected in a line of its own");
    }
    return AddUnit(unit, block.has_value(), begin);
  }

  bool AddUnit(const Unit& unit, bool block, Span line) {
    const std::string name(unit.name.text);
    if (!units_.empty() && block != blocks_) {
      Report(line, DiagnosticCode::kUnsupported, "a file has switches or blocks, not both")
          .notes.push_back({units_.front().name.span, blocks_ ? "a block" : "a switch"});
      return false;
    }
    blocks_ = block;
    if (!IsPlainName(unit.name.text)) {
      return Fail(unit.name.span, DiagnosticCode::kBadValue,
                  "'" + name + "' is no name of a " + Kind());
    }
    if (unit.nodes.has_value() == unit.switches.has_value()) {
      return unit.nodes ? Fail(unit.switches->span, DiagnosticCode::kUnsupported,
                               "switch '" + name + "' has both Nodes and Switches")
                        : Fail(unit.name.span, DiagnosticCode::kMissingKey,
                               std::string(Kind()) + " '" + name + "' has no Nodes" +
                                   (block ? "" : " and no Switches"));
    }
    const auto [first, added] = by_name_.try_emplace(name, units_.size());
    if (!added) {
      Report(unit.name.span, DiagnosticCode::kNameCollision,
             std::string(Kind()) + " '" + name + "' is given twice")
          .notes.push_back({units_[first->second].name.span, "given here"});
      return false;
    }
    units_.push_back(unit);
    return true;
  }

  bool ListHosts() {
    bool good = true;
    for (size_t i = 0; i < units_.size(); ++i) {
      if (!units_[i].nodes) continue;
      std::vector<std::string> hosts;
      const SlurmText& list = *units_[i].nodes;
      if (!ExpandHostList(list.text, list.span, &budget_, &diags_, &hosts)) return false;
      for (std::string& host : hosts) {
        const auto [first, added] = unit_of_.try_emplace(std::move(host), i);
        if (added) continue;
        Report(list.span, DiagnosticCode::kDuplicateNode,
               "host '" + first->first + "' of " + Kind() + " '" +
                   std::string(units_[i].name.text) + "' is listed twice")
            .notes.push_back({units_[first->second].nodes->span, "listed here"});
        good = false;
      }
    }
    return good;
  }

  bool ListSwitches() {
    bool good = true;
    for (size_t i = 0; i < units_.size(); ++i) {
      if (!units_[i].switches) continue;
      std::vector<std::string> names;
      const SlurmText list = *units_[i].switches;
      if (!ExpandHostList(list.text, list.span, &budget_, &diags_, &names)) return false;
      for (const std::string& name : names) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) {
          good = Fail(list.span, DiagnosticCode::kBadValue, "no switch is called '" + name + "'");
          continue;
        }
        Unit& child = units_[found->second];
        if (child.parent != kNone) {
          Report(list.span, DiagnosticCode::kUnsupported,
                 "switch '" + name + "' is listed twice: only trees are known")
              .notes.push_back({child.listed, "listed here"});
          good = false;
          continue;
        }
        child.parent = i;
        child.listed = list.span;
      }
    }
    return good;
  }

  bool FindRoots() {
    enum class State : uint8_t { kNew, kOnPath, kKnown };
    std::vector<State> states(units_.size(), State::kNew);
    roots_.assign(units_.size(), kNone);
    for (size_t start = 0; start < units_.size(); ++start) {
      std::vector<size_t> path;
      size_t at = start;
      while (states[at] == State::kNew) {
        states[at] = State::kOnPath;
        path.push_back(at);
        if (units_[at].parent == kNone) break;
        at = units_[at].parent;
        if (states[at] == State::kOnPath) {
          return Fail(units_[at].name.span, DiagnosticCode::kCycle,
                      "switch '" + std::string(units_[at].name.text) + "' is below itself");
        }
      }
      const size_t root = states[at] == State::kKnown ? roots_[at] : at;
      for (const size_t unit : path) {
        roots_[unit] = root;
        states[unit] = State::kKnown;
      }
    }
    return true;
  }

  const char* Kind() const { return blocks_ ? "block" : "switch"; }

  Diagnostics& diags_;
  ListBudget budget_;
  bool blocks_ = false;
  std::vector<Unit> units_;
  std::unordered_map<std::string, size_t> by_name_, unit_of_;
  std::vector<size_t> roots_;
};

// The ranks of each group that has some, by number of its line. False after an error was reported.
bool GroupRanks(const SlurmReader& reader, const std::vector<RankPlacement>& ranks,
                Diagnostics* diags, std::map<size_t, std::vector<RankPlacement>>* out) {
  bool good = true;
  std::unordered_map<std::string_view, bool> seen;
  for (const RankPlacement& rank : ranks) {
    const size_t unit = reader.UnitOf(rank.host);
    if (unit != kNone) {
      (*out)[unit].push_back(rank);
    } else if (seen.try_emplace(rank.host, true).second) {
      diags->Error(DiagnosticCode::kUnknownNode, rank.host_span,
                   "no " + std::string(reader.blocks() ? "block" : "switch") + " has host '" +
                       rank.host + "'");
      good = false;
    }
  }
  if (!good || reader.blocks()) return good;
  const size_t first = out->begin()->first;
  for (const auto& [unit, members] : *out) {
    if (reader.RootOf(unit) == reader.RootOf(first)) continue;
    const SlurmText& name = reader.units()[unit].name;
    const SlurmText& first_name = reader.units()[first].name;
    diags
        ->Error(DiagnosticCode::kUnsupported, name.span,
                "switches '" + std::string(first_name.text) + "' and '" + std::string(name.text) +
                    "' have ranks and no switch above both")
        .notes.push_back({first_name.span, "the other switch"});
    good = false;
  }
  return good;
}

JsonDoc FabricDoc(const SlurmReader& reader, const std::string& uplink,
                  const std::map<size_t, std::vector<RankPlacement>>& ranks_of) {
  JsonDoc groups = JsonDoc::Array();
  for (const auto& [unit, ranks] : ranks_of) {
    JsonDoc group = JsonDoc::Object();
    group.Set("name", reader.units()[unit].name.text).Set("nodes", HostList(ranks));
    if (!uplink.empty()) group.Set("uplink_bw_per_leaf", JsonDoc::Literal(uplink));
    groups.Add(std::move(group));
  }
  const std::string kind = reader.blocks() ? "blocks" : "leaf switches";
  JsonDoc fabric = FlatFabricDoc("groups are " + kind + " with ranks; " +
                                 (uplink.empty() ? "their uplinks are not known and limit nothing"
                                                 : "uplink_bw_per_leaf is --uplink-bw"));
  return fabric.Set("groups", std::move(groups));
}

}  // namespace

bool ImportSlurm(const SourceMap& sources, const SlurmInput& input, Diagnostics* diags,
                 JsonDoc* out) {
  SlurmReader reader(diags);
  const bool read = reader.Read(sources.text(input.topology), input.topology);
  std::vector<RankPlacement> ranks;
  const bool placed = ReadRankFile(sources, input.rank_file, input.gpus_per_node, diags, &ranks);
  if (!read || !placed) return false;
  std::map<size_t, std::vector<RankPlacement>> ranks_of;
  if (!GroupRanks(reader, ranks, diags, &ranks_of)) return false;

  JsonDoc nics = JsonDoc::Object();
  nics.Set("for", input.gpus_per_node).Set("name", "nic{i}");
  nics.Set("bw", JsonDoc::Literal(input.nic_gb_per_s)).Set("gpu", "{i}");
  JsonDoc type = JsonDoc::Object();
  type.Set("gpus", input.gpus_per_node);
  type.Set("comment", "gpus is --gpus-per-node; each GPU has one NIC, whose bw is --nic-bw");
  type.Set("nics", std::move(nics));
  TopologyParts parts;
  parts.comment = "from Slurm's topology.conf, a rank file and options";
  parts.types.push_back(
      {std::move(type), HostList(ranks), input.nvlink_gb_per_s, "bw is --nvlink-bw"});
  parts.fabric = FabricDoc(reader, input.uplink_gb_per_s, ranks_of);
  parts.ranks = RanksDoc(ranks, input.gpus_per_node);
  *out = TopologyDoc(std::move(parts));
  return true;
}

}  // namespace reshard
