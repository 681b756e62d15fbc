#include "compiler/dump_stage.h"

#include <string>
#include <vector>

namespace reshard {
namespace {

template <class Values>
std::string Join(const Values& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

void DumpLayoutSpec(const char* name, const LayoutSpec& spec, std::ostream& out) {
  out << name << ": " << spec.logical.size() << " logical, " << spec.meshes.size() << " meshes, "
      << spec.params.size() << " params, " << spec.explicit_params.size() << " explicit, "
      << spec.aliases.size() << " aliases, " << spec.expect.size() << " expect\n";
  for (const ParamSpec& param : spec.params) {
    out << "  param " << param.name.source << " on " << param.mesh << "\n";
  }
  for (const ExplicitSpec& param : spec.explicit_params) {
    out << "  explicit " << param.param.source << ", " << param.pieces.size() << " pieces\n";
  }
}

void DumpSpecs(const Compilation& compilation, std::ostream& out) {
  DumpLayoutSpec("train", compilation.train_spec, out);
  DumpLayoutSpec("infer", compilation.infer_spec, out);
  const TopoSpec& topo = compilation.topo_spec;
  out << "topo: " << topo.node_types.size() << " node types, " << topo.nodes.size()
      << " node entries, " << topo.scaleup.size() << " scale-up entries, " << topo.ranks.size()
      << " rank entries\n";
}

void DumpLayout(const char* name, const LogicalTable& table, const Layout& layout,
                std::ostream& out) {
  out << name << ": ranks " << DescribeRanks(layout.ranks) << "\n";
  for (size_t f = 0; f < layout.families.size(); ++f) {
    const ParamFamily& family = layout.families[f];
    out << "  family " << f << " " << family.name.Describe(family.loop_begin, family.loop_extent)
        << " " << DTypeText(family.dtype) << " " << Join(family.shape) << " on "
        << DescribeRanks(layout.rank_sets[family.ranks]) << (family.external ? " external" : "")
        << "\n";
  }
  for (const Place& place : layout.places) {
    const SuperTensor& super = table.supers[place.super];
    out << "  place " << super.name.Describe(super.loop_begin, super.loop_extent) << " in family "
        << place.family << " at byte " << place.base_bytes << " of instance " << place.base_instance
        << ":";
    for (const PlaceAxis& axis : place.axes) {
      out << " " << axis.begin;
      for (const PlaceDigit& digit : axis.digits) {
        out << "+" << digit.extent << "x" << digit.step << "(" << digit.stride_bytes << "B,"
            << digit.instance_stride << "i)";
      }
    }
    out << "\n";
  }
  for (const Fill& fill : layout.fills) {
    out << "  fill family " << fill.family << " from byte " << fill.base_bytes
        << (fill.rule == FillRule::kZero ? " zero" : " keep") << "\n";
  }
}

void DumpTopology(const Topology& topology, std::ostream& out) {
  out << "topology: " << topology.nodes.size() << " nodes\n";
  for (const Nic& nic : topology.nics) {
    out << "  nic " << nic.name << " " << nic.bytes_per_s << " B/s\n";
  }
  for (const Domain& domain : topology.domains) {
    out << "  domain " << domain.name << " ranks " << DescribeRanks(domain.ranks) << " nics "
        << Join(domain.nics) << "\n";
  }
}

void DumpTransfers(const Compilation& compilation, std::ostream& out) {
  const TransferSet& transfers = compilation.transfers;
  for (size_t c = 0; c < transfers.classes.size(); ++c) {
    const TransferClass& cls = transfers.classes[c];
    out << "class " << c << " " << cls.bytes << " bytes "
        << DescribeRanks(transfers.rank_sets[cls.holders]) << " -> "
        << DescribeRanks(transfers.rank_sets[cls.needers]) << "\n";
    for (uint32_t i = 0; i < cls.cell_count; ++i) {
      const Cell& cell = transfers.cells[cls.first_cell + i];
      const SuperTensor& super = compilation.layouts.table.supers[cell.super];
      out << "  cell " << super.name.Describe(super.loop_begin, super.loop_extent);
      for (const BoxDim& dim : cell.box) {
        out << " [" << dim.begin << ", " << dim.begin + dim.extent << ")";
      }
      out << " " << cell.bytes << " bytes\n";
    }
  }
}

void DumpRouting(const Compilation& compilation, std::ostream& out) {
  const Routing& routing = compilation.routing;
  for (size_t s = 0; s < routing.streams.size(); ++s) {
    const RoutedStream& stream = routing.streams[s];
    out << "stream " << s << (stream.local ? " local" : "") << " to domains "
        << Join(stream.domains) << "\n";
    for (const ClassRange& range : stream.bytes) {
      out << "  class " << range.cls << " [" << range.begin << ", " << range.begin + range.extent
          << ")\n";
    }
    for (const RoutedTree& tree : stream.trees) {
      out << "  tree " << Join(tree.landers) << "\n";
      for (const SourceRange& source : tree.sources) {
        out << "    rank " << source.source << " sends class " << source.range.cls << " ["
            << source.range.begin << ", " << source.range.begin + source.range.extent << ")\n";
      }
    }
  }
  for (const PortLoad& load : routing.loads) {
    out << "nic " << compilation.topology.nics[load.nic].name << " sends " << load.send_bytes
        << " receives " << load.receive_bytes << "\n";
  }
}

void DumpSchedule(const Schedule& schedule, std::ostream& out) {
  out << schedule.round_count << " rounds\n";
  for (size_t s = 0; s < schedule.streams.size(); ++s) {
    const PlanStream& stream = schedule.streams[s];
    out << "stream " << s << " " << stream.bytes << " bytes\n";
    for (uint32_t i = 0; i < stream.piece_count; ++i) {
      const PlanPiece& piece = schedule.pieces[stream.first_piece + i];
      out << "  class " << piece.cls << " [" << piece.begin << ", " << piece.begin + piece.extent
          << ")\n";
    }
  }
  for (size_t t = 0; t < schedule.trees.size(); ++t) {
    const PlanTree& tree = schedule.trees[t];
    const auto first = schedule.tree_members.begin() + tree.first_member;
    out << "tree " << t << " stream " << tree.stream << " "
        << Join(std::vector<Rank>(first, first + tree.member_count)) << "\n";
  }
  for (const PlanInject& inject : schedule.injects) {
    out << "round " << inject.round << " tree " << inject.tree << " rank " << inject.source
        << " sends [" << inject.begin << ", " << inject.begin + inject.extent << ")\n";
  }
  for (const RankSlots& slots : schedule.slots) {
    out << "slots of rank " << slots.rank << ": receive " << slots.recv_slot_bytes << " pack "
        << slots.pack_slot_bytes << "\n";
  }
}

}  // namespace

void DumpStage(const Compilation& compilation, Stage stage, std::ostream& out) {
  switch (stage) {
    case Stage::kSpec:
      DumpSpecs(compilation, out);
      return;
    case Stage::kLayout:
      DumpLayout("source", compilation.layouts.table, compilation.layouts.source, out);
      DumpLayout("destination", compilation.layouts.table, compilation.layouts.destination, out);
      DumpTopology(compilation.topology, out);
      return;
    case Stage::kTransfers:
      DumpTransfers(compilation, out);
      return;
    case Stage::kRouting:
      DumpRouting(compilation, out);
      return;
    case Stage::kSchedule:
      DumpSchedule(compilation.schedule, out);
      return;
    case Stage::kPlan:
      return;  // the plan file itself: `show` prints it
  }
}

}  // namespace reshard
