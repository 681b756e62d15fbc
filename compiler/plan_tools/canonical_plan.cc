#include "compiler/plan_tools/canonical_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }
std::string Text(bool value) { return value ? "yes" : "no"; }
std::string Text(uint32_t value) { return std::to_string(value); }

std::string List(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + Text(value);
  return "[" + text + "]";
}

// All ranks, as runs: "0-7", "0-60/4", "(0-7)x16/64".
std::string AllRanks(const RankList& ranks) {
  std::string text;
  for (const RankRun& run : CompressRanks(ranks)) {
    std::string one = Text(run.start);
    if (run.count > 1) one += "-" + Text(run.start + (run.count - 1) * run.stride);
    if (run.count > 1 && run.stride > 1) one += "/" + Text(run.stride);
    if (run.outer_count > 1) {
      one = "(" + one + ")x" + Text(run.outer_count) + "/" + Text(run.outer_stride);
    }
    text += (text.empty() ? "" : ",") + one;
  }
  return text.empty() ? "none" : text;
}

// "layers.{0+1*a}.w": loop variables are a, b, ... and then v26, v27, ...
std::string PatternText(const NamePattern& pattern) {
  const auto& [text, holes] = pattern;
  std::string out = EscapeForTerminal(text[0]);
  for (size_t h = 0; h < holes.size(); ++h) {
    const auto& [base, coef] = holes[h];
    out += "{" + Text(base);
    for (size_t i = 0; i < coef.size(); ++i) {
      if (coef[i] == 0) continue;
      const std::string variable =
          i < 26 ? std::string(1, static_cast<char>('a' + i)) : "v" + std::to_string(i);
      out += (coef[i] < 0 ? "" : "+") + Text(coef[i]) + "*" + variable;
    }
    out += "}" + EscapeForTerminal(text[h + 1]);
  }
  return out;
}

std::string HashOf(const std::string& text) { return ToHex(Sha256Of(text)).substr(0, 16); }

// `names`, escaped, with " (2)" and so on after those that came before.
std::vector<std::string> Distinct(std::vector<std::string> names) {
  std::map<std::string, int> seen;
  for (std::string& name : names) {
    name = EscapeForTerminal(name);
    const int count = ++seen[name];
    if (count > 1) name += " (" + std::to_string(count) + ")";
  }
  return names;
}

template <class Row>
std::vector<std::string> NamesOf(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  return Distinct(std::move(names));
}

// Text of each row of a plan, made in the order in which rows refer to each other.
class Canonicalizer {
 public:
  explicit Canonicalizer(const Plan& plan) : plan_(plan) {}

  CanonicalPlan Run() {
    // Every table of the plan; a new one has to be taken apart here.
    const auto& [header, rank_sets, supers, families, nics, domains, groups, sites, fabric, cuts,
                 places, place_dims, fills, fill_dims, intervals, cells, cell_dims, classes,
                 streams, pieces, trees, tree_members, injects, ranks] = plan_;
    for (const RankList& set : rank_sets) ranks_.push_back(AllRanks(set));
    supers_ = SuperNames(plan_);
    AddWorld();
    AddTensors();
    AddParams();
    AddClasses();
    AddStreams();
    AddTrees();
    AddRanks();
    return std::move(canonical_);
  }

  CanonicalPlan RunWorld() {
    AddWorld();
    AddRanks();
    return std::move(canonical_);
  }

 private:
  void AddWorld() {
    nics_ = NamesOf(plan_.nics);
    domains_ = NamesOf(plan_.domains);
    groups_ = NamesOf(plan_.groups);
    AddHeader();
    AddTopology();
    AddSites();
    AddCuts();
  }
  std::vector<std::string>* Section(std::string_view name) {
    canonical_.sections.push_back({name, {}});
    return &canonical_.sections.back().items;
  }
  static void Sort(std::vector<std::string>* items) { std::sort(items->begin(), items->end()); }

  // An item of a first line and parts in any order.
  static std::string Item(std::string line, std::vector<std::string> parts) {
    Sort(&parts);
    for (const std::string& part : parts) line += "\n  " + part;
    return line;
  }

  void AddHeader() {
    const auto& [version, train, infer, topo, options, totals] = plan_.header;
    const auto& [source, destination, network, scaleup, local, messages, staging, rounds, predicted,
                 bound] = totals;
    std::vector<std::string>* items = Section("header");
    items->push_back("version " + Text(version));
    items->push_back("train " + ToHex(train));
    items->push_back("infer " + ToHex(infer));
    items->push_back("topo " + ToHex(topo));
    for (const auto& [name, value] : options) {
      items->push_back("option " + EscapeForTerminal(name + "=" + value));
    }
    items->push_back("source_bytes " + Text(source));
    items->push_back("destination_bytes " + Text(destination));
    items->push_back("network_bytes " + Text(network));
    items->push_back("scaleup_bytes " + Text(scaleup));
    items->push_back("local_bytes " + Text(local));
    items->push_back("messages " + Text(messages));
    items->push_back("max_staging_bytes " + Text(staging));
    items->push_back("rounds " + Text(rounds));
    items->push_back("predicted_ns " + Text(predicted));
    items->push_back("bound_ns " + Text(bound));
  }

  void AddTopology() {
    const auto& [rails, fabric_rate, latency, cross_rail, cross_group] = plan_.fabric;
    std::vector<std::string>* items = Section("topology");
    items->push_back("fabric rails " + Text(rails) + " bytes_per_s " + Text(fabric_rate) +
                     " latency_ns " + Text(latency) + " cross_rail_latency_ns " + Text(cross_rail) +
                     " cross_group_latency_ns " + Text(cross_group));
    for (size_t i = 0; i < plan_.groups.size(); ++i) {
      const auto& [name, uplink] = plan_.groups[i];
      items->push_back("group " + groups_[i] + " uplink_bytes_per_s " + Text(uplink));
    }
    for (size_t i = 0; i < plan_.domains.size(); ++i) {
      const auto& [name, rate, domain_latency] = plan_.domains[i];
      items->push_back("domain " + domains_[i] + " bytes_per_s " + Text(rate) + " latency_ns " +
                       Text(domain_latency));
    }
    for (size_t i = 0; i < plan_.nics.size(); ++i) {
      const auto& [name, rate, rail] = plan_.nics[i];
      items->push_back("nic " + nics_[i] + " bytes_per_s " + Text(rate) + " rail " +
                       std::to_string(rail));
    }
    Sort(items);
  }

  void AddSites() {
    std::vector<std::string>* items = Section("sites");
    for (const PlanSite& site : plan_.sites) {
      const auto& [rank, node, gpu, domain, group, nics, host, copy, memory] = site;
      std::string nic_names;
      for (const uint32_t nic : nics) nic_names += (nic_names.empty() ? "" : ",") + nics_[nic];
      items->push_back("site " + Text(rank) + " node " + EscapeForTerminal(node) + " gpu " +
                       Text(gpu) + " domain " + domains_[domain] + " group " +
                       (group == kNoId ? "none" : groups_[group]) + " nics " + nic_names +
                       " host_bytes_per_s " + Text(host) + " copy_bytes_per_s " + Text(copy) +
                       " memory_bytes " + Text(memory));
    }
  }

  void AddCuts() {
    std::vector<std::string>* items = Section("cuts");
    for (const PlanCut& cut : plan_.cuts) {
      const auto& [kind, members, bytes, rate] = cut;
      std::string line = items->empty() ? "binding cut " : "cut ";
      line += FactsOf(kind).text;
      std::vector<std::string> names;
      for (const uint32_t member : members) {
        switch (FactsOf(kind).members) {
          case CutMembers::kNothing:
            break;
          case CutMembers::kDomains:
            names.push_back("domain " + domains_[member]);
            break;
          case CutMembers::kGroups:
            names.push_back("group " + groups_[member]);
            break;
          case CutMembers::kRanks:
            names.push_back("rank " + Text(member));
            break;
        }
      }
      items->push_back(
          Item(line + " bytes " + Text(bytes) + " bytes_per_s " + Text(rate), std::move(names)));
    }
    if (items->size() > 1) std::sort(items->begin() + 1, items->end());
  }

  void AddTensors() {
    std::vector<std::string>* items = Section("tensors");
    for (size_t s = 0; s < plan_.supers.size(); ++s) {
      const auto& [name, dtype, loop_begin, loop_extent, shape, dims] = plan_.supers[s];
      std::string text = "tensor " + supers_[s] + " pattern " + PatternText(name) + " dtype " +
                         std::string(DTypeText(dtype)) + " loops " + List(loop_begin) + "+" +
                         List(loop_extent) + " shape " + List(shape) + " dims";
      for (const auto& [axis, weight] : dims) text += " " + Text(axis) + "*" + Text(weight);
      items->push_back(text);
    }
    Sort(items);
  }

  std::string PlaceText(const PlanPlace& place) const {
    const auto& [super, family, base_bytes, base_instance, first_dim] = place;
    std::string text = "place " + supers_[super] + " at " + Text(base_bytes) + " instance " +
                       Text(base_instance) + " dims";
    for (size_t d = 0; d < plan_.supers[super].dims.size(); ++d) {
      const auto& [begin, extent, stride, instance] = plan_.place_dims[first_dim + d];
      text += " " + Text(begin) + "+" + Text(extent) + "*" + Text(stride);
      if (instance != 0) text += "@" + Text(instance);
    }
    return text;
  }

  std::string FillText(const PlanFill& fill) const {
    const auto& [family, rule, base_bytes, first_dim, dim_count] = fill;
    std::string text = rule == PlanFillRule::kZero ? "fill zero at " : "fill keep at ";
    text += Text(base_bytes) + " dims";
    for (uint32_t d = 0; d < dim_count; ++d) {
      const auto& [extent, stride] = plan_.fill_dims[first_dim + d];
      text += " " + Text(extent) + "*" + Text(stride);
    }
    return text;
  }

  void AddParams() {
    std::vector<std::vector<std::string>> parts(plan_.families.size());
    for (const PlanPlace& place : plan_.places) parts[place.family].push_back(PlaceText(place));
    for (const PlanFill& fill : plan_.fills) parts[fill.family].push_back(FillText(fill));
    std::vector<std::string>* items = Section("params");
    for (size_t f = 0; f < plan_.families.size(); ++f) {
      const auto& [side, name, shares, loop_begin, loop_extent, shape, dtype, bytes, set,
                   external] = plan_.families[f];
      for (const NamePattern& share : shares) {
        parts[f].push_back("also called " + PatternText(share));
      }
      std::string text = side == PlanSide::kSource ? "source " : "destination ";
      text += PatternText(name) + " loops " + List(loop_begin) + "+" + List(loop_extent) +
              " shape " + List(shape) + " dtype " + std::string(DTypeText(dtype)) + " bytes " +
              Text(bytes) + " external " + Text(external) + " ranks " + ranks_[set];
      items->push_back(Item(std::move(text), std::move(parts[f])));
    }
    Sort(items);
  }

  std::string CellText(const PlanCell& cell) const {
    const auto& [super, first_dim] = cell;
    std::string text = supers_[super] + " [";
    for (size_t d = 0; d < plan_.supers[super].dims.size(); ++d) {
      const auto& [begin, extent] = plan_.intervals[plan_.cell_dims[first_dim + d]];
      text += (d == 0 ? "" : ",") + Text(begin) + "+" + Text(extent);
    }
    return text + "]";
  }

  // The hash of `body` names the item "kind HASH body".
  static void Named(const char* kind, const std::string& body, std::vector<std::string>* names,
                    std::vector<std::string>* items) {
    names->push_back(HashOf(body));
    items->push_back(std::string(kind) + " " + names->back() + " " + body);
  }

  void AddClasses() {
    std::vector<std::string>* items = Section("classes");
    for (const PlanClass& cls : plan_.classes) {
      const auto& [holders, needers, bytes, first_cell, cell_count] = cls;
      std::string body =
          "bytes " + Text(bytes) + " holders " + ranks_[holders] + " needers " + ranks_[needers];
      for (uint32_t c = 0; c < cell_count; ++c) {
        body += "\n  " + CellText(plan_.cells[first_cell + c]);
      }
      Named("class", body, &classes_, items);
    }
    Sort(items);
  }

  void AddStreams() {
    std::vector<std::string>* items = Section("streams");
    for (const PlanStream& stream : plan_.streams) {
      const auto& [first_piece, piece_count, bytes, local] = stream;
      std::string body = std::string(local ? "local" : "network") + " bytes " + Text(bytes);
      for (uint32_t p = 0; p < piece_count; ++p) {
        const auto& [cls, begin, extent] = plan_.pieces[first_piece + p];
        body += "\n  class " + classes_[cls] + " " + Text(begin) + "+" + Text(extent);
      }
      Named("stream", body, &streams_, items);
    }
    Sort(items);
  }

  void AddTrees() {
    std::vector<std::vector<std::string>> parts(plan_.trees.size());
    for (const PlanInject& inject : plan_.injects) {
      const auto& [round, tree, source, begin, extent] = inject;
      parts[tree].push_back("round " + Text(round) + " source " + Text(source) + " bytes " +
                            Text(begin) + "+" + Text(extent));
    }
    std::vector<std::string>* items = Section("trees");
    for (size_t t = 0; t < plan_.trees.size(); ++t) {
      const auto& [stream, kind, first_member, member_count] = plan_.trees[t];
      std::string body =
          std::string(TreeKindText(kind)) + " stream " + streams_[stream] + " landers";
      for (uint32_t m = 0; m < member_count; ++m) {
        body += (m == 0 ? " " : ">") + Text(plan_.tree_members[first_member + m]);
      }
      items->push_back(Item("tree " + body, std::move(parts[t])));
    }
    Sort(items);
  }

  void AddRanks() {
    std::vector<std::string>* items = Section("ranks");
    for (const PlanRank& entry : plan_.ranks) {
      const auto& [rank, first_inject, inject_count, recv_slot, pack_slot] = entry;
      items->push_back("rank " + Text(rank) + " recv_slot_bytes " + Text(recv_slot) +
                       " pack_slot_bytes " + Text(pack_slot));
    }
  }

  const Plan& plan_;
  CanonicalPlan canonical_;
  std::vector<std::string> ranks_, supers_, nics_, domains_, groups_;  // texts of rows
  std::vector<std::string> classes_, streams_;                         // hashes of rows
};

}  // namespace

std::vector<std::string> SuperNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanSuper& super : plan.supers) {
    names.push_back(super.name.Describe(super.loop_begin, super.loop_extent));
  }
  return Distinct(std::move(names));
}

CanonicalPlan Canonicalize(const Plan& plan) { return Canonicalizer(plan).Run(); }

CanonicalPlan CanonicalizeWorld(const Plan& plan) { return Canonicalizer(plan).RunWorld(); }

void PrintCanonical(const CanonicalPlan& canonical, std::ostream& out) {
  bool first = true;
  for (const CanonicalSection& section : canonical.sections) {
    out << (first ? "# " : "\n# ") << section.name << "\n";
    first = false;
    for (const std::string& item : section.items) out << item << "\n";
  }
}

}  // namespace reshard
