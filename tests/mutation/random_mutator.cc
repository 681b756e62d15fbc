#include "tests/mutation/random_mutator.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reshard::testing {
namespace {

std::string At(const std::string& column, size_t row) {
  return column + "[" + std::to_string(row) + "]";
}

// Lists the fields of one table after the other.
class FieldLister {
 public:
  explicit FieldLister(std::vector<PlanField>* out) : out_(*out) {}

  template <class T>
  void Add(const std::string& column, size_t row, T* field) {
    out_.push_back({column, row, [field] { return static_cast<int64_t>(*field); },
                    [field](int64_t value) { *field = static_cast<T>(value); }});
  }
  template <class Row, class... Columns>
  void AddTable(const std::string& table, std::vector<Row>& rows, Columns... columns) {
    for (size_t r = 0; r < rows.size(); ++r) {
      (Add(table + "." + columns.first, r, &(rows[r].*columns.second)), ...);
    }
  }
  template <class T>
  void AddNumbers(const std::string& table, std::vector<T>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) Add(table, i, &numbers[i]);
  }
  void AddName(const std::string& table, NamePattern& name) {
    for (size_t h = 0; h < name.holes.size(); ++h) {
      Add(table + ".hole", h, &name.holes[h].base);
      AddNumbers(table + ".coef", name.holes[h].coef);
    }
  }

 private:
  std::vector<PlanField>& out_;
};

template <class Row, class T>
std::pair<std::string, T Row::*> Column(const char* name, T Row::*member) {
  return {name, member};
}

void ListHeader(Plan& plan, FieldLister* lister) {
  lister->Add("version", 0, &plan.header.version);
  PlanTotals& t = plan.header.totals;
  lister->Add("totals.source", 0, &t.source_bytes);
  lister->Add("totals.destination", 0, &t.destination_bytes);
  lister->Add("totals.network", 0, &t.network_bytes);
  lister->Add("totals.scaleup", 0, &t.scaleup_bytes);
  lister->Add("totals.local", 0, &t.local_bytes);
  lister->Add("totals.messages", 0, &t.messages);
  lister->Add("totals.staging", 0, &t.max_staging_bytes);
  lister->Add("totals.rounds", 0, &t.rounds);
  lister->Add("totals.predicted", 0, &t.predicted_ns);
  lister->Add("totals.bound", 0, &t.bound_ns);
}

void ListTopology(Plan& plan, FieldLister* lister) {
  for (RankList& set : plan.rank_sets) lister->AddNumbers("rank_sets", set);
  lister->AddTable("nics", plan.nics, Column("rate", &PlanNic::bytes_per_s),
                   Column("rail", &PlanNic::rail));
  lister->AddTable("domains", plan.domains, Column("rate", &PlanDomain::bytes_per_s),
                   Column("latency", &PlanDomain::latency_ns));
  lister->AddTable("groups", plan.groups, Column("rate", &PlanGroup::uplink_bytes_per_s));
  lister->AddTable("sites", plan.sites, Column("rank", &PlanSite::rank),
                   Column("gpu", &PlanSite::gpu), Column("domain", &PlanSite::domain),
                   Column("group", &PlanSite::group), Column("host", &PlanSite::host_bytes_per_s),
                   Column("copy", &PlanSite::copy_bytes_per_s),
                   Column("memory", &PlanSite::memory_bytes));
  for (PlanSite& site : plan.sites) lister->AddNumbers("sites.nics", site.nics);
  for (PlanCut& cut : plan.cuts) {
    lister->Add("cuts.kind", 0, &cut.kind);
    lister->AddNumbers("cuts.members", cut.members);
    lister->Add("cuts.bytes", 0, &cut.bytes);
    lister->Add("cuts.rate", 0, &cut.bytes_per_s);
  }
}

void ListLayouts(Plan& plan, FieldLister* lister) {
  for (PlanSuper& super : plan.supers) {
    lister->AddName("supers.name", super.name);
    lister->Add("supers.dtype", 0, &super.dtype);
    lister->AddNumbers("supers.loop_begin", super.loop_begin);
    lister->AddNumbers("supers.loop_extent", super.loop_extent);
    lister->AddNumbers("supers.shape", super.shape);
    lister->AddTable("supers.dims", super.dims, Column("axis", &PlanSuper::Dim::axis),
                     Column("weight", &PlanSuper::Dim::weight));
  }
  for (PlanFamily& family : plan.families) {
    lister->AddName("families.name", family.name);
    for (NamePattern& name : family.shares) lister->AddName("families.shares", name);
    lister->AddNumbers("families.loop_begin", family.loop_begin);
    lister->AddNumbers("families.loop_extent", family.loop_extent);
    lister->AddNumbers("families.shape", family.shape);
  }
  lister->AddTable("families", plan.families, Column("side", &PlanFamily::side),
                   Column("dtype", &PlanFamily::dtype), Column("bytes", &PlanFamily::bytes),
                   Column("rank_set", &PlanFamily::rank_set),
                   Column("external", &PlanFamily::external));
  lister->AddTable("places", plan.places, Column("super", &PlanPlace::super),
                   Column("family", &PlanPlace::family), Column("base", &PlanPlace::base_bytes),
                   Column("base_instance", &PlanPlace::base_instance),
                   Column("first_dim", &PlanPlace::first_dim));
  lister->AddTable("place_dims", plan.place_dims, Column("begin", &PlanDimRange::begin),
                   Column("extent", &PlanDimRange::extent),
                   Column("stride", &PlanDimRange::stride_bytes),
                   Column("instance_stride", &PlanDimRange::instance_stride));
  lister->AddTable("fills", plan.fills, Column("family", &PlanFill::family),
                   Column("rule", &PlanFill::rule), Column("base", &PlanFill::base_bytes),
                   Column("first_dim", &PlanFill::first_dim),
                   Column("dim_count", &PlanFill::dim_count));
  lister->AddTable("fill_dims", plan.fill_dims, Column("extent", &PlanFillDim::extent),
                   Column("stride", &PlanFillDim::stride_bytes));
}

void ListTransfers(Plan& plan, FieldLister* lister) {
  lister->AddTable("intervals", plan.intervals, Column("begin", &PlanInterval::begin),
                   Column("extent", &PlanInterval::extent));
  lister->AddTable("cells", plan.cells, Column("super", &PlanCell::super),
                   Column("first_dim", &PlanCell::first_dim));
  lister->AddNumbers("cell_dims", plan.cell_dims);
  lister->AddTable("classes", plan.classes, Column("holders", &PlanClass::holders),
                   Column("needers", &PlanClass::needers), Column("bytes", &PlanClass::bytes),
                   Column("first_cell", &PlanClass::first_cell),
                   Column("cell_count", &PlanClass::cell_count));
  lister->AddTable("streams", plan.streams, Column("first_piece", &PlanStream::first_piece),
                   Column("piece_count", &PlanStream::piece_count),
                   Column("bytes", &PlanStream::bytes), Column("local", &PlanStream::local));
  lister->AddTable("pieces", plan.pieces, Column("cls", &PlanPiece::cls),
                   Column("begin", &PlanPiece::begin), Column("extent", &PlanPiece::extent));
  lister->AddTable("trees", plan.trees, Column("stream", &PlanTree::stream),
                   Column("kind", &PlanTree::kind), Column("first_member", &PlanTree::first_member),
                   Column("member_count", &PlanTree::member_count));
  lister->AddNumbers("tree_members", plan.tree_members);
  lister->AddTable("injects", plan.injects, Column("round", &PlanInject::round),
                   Column("tree", &PlanInject::tree), Column("source", &PlanInject::source),
                   Column("begin", &PlanInject::begin), Column("extent", &PlanInject::extent));
  lister->AddTable("ranks", plan.ranks, Column("rank", &PlanRank::rank),
                   Column("first_inject", &PlanRank::first_inject),
                   Column("inject_count", &PlanRank::inject_count),
                   Column("recv_slot", &PlanRank::recv_slot_bytes),
                   Column("pack_slot", &PlanRank::pack_slot_bytes));
}

// Puts injects back in their order and gives each rank its own; sources without an entry go.
void GroupInjects(Plan* plan) {
  std::stable_sort(
      plan->injects.begin(), plan->injects.end(), [](const PlanInject& a, const PlanInject& b) {
        return std::tie(a.source, a.round, a.tree) < std::tie(b.source, b.round, b.tree);
      });
  uint32_t first = 0;
  for (PlanRank& rank : plan->ranks) {
    rank.first_inject = first;
    while (first < plan->injects.size() && plan->injects[first].source <= rank.rank) ++first;
    rank.inject_count = first - rank.first_inject;
  }
}

// Room for whatever a mutation made the ranks do, so that a slot or total does not give it away.
void MakeRoom(Plan* plan) {
  for (PlanRank& rank : plan->ranks) {
    rank.recv_slot_bytes = std::max<int64_t>(rank.recv_slot_bytes, int64_t{1} << 16);
    rank.pack_slot_bytes = std::max<int64_t>(rank.pack_slot_bytes, int64_t{1} << 16);
  }
  plan->header.totals.rounds =
      static_cast<uint32_t>(plan->injects.size() + plan->tree_members.size());
}

}  // namespace

std::vector<PlanField> FieldsOf(Plan* plan) {
  std::vector<PlanField> fields;
  FieldLister lister(&fields);
  ListHeader(*plan, &lister);
  ListTopology(*plan, &lister);
  ListLayouts(*plan, &lister);
  ListTransfers(*plan, &lister);
  return fields;
}

std::string RandomMutator::ChangeField(Plan* plan) {
  std::vector<PlanField> fields = FieldsOf(plan);
  PlanField& field = fields[Below(fields.size())];
  const std::string where = At(field.column, field.row);
  std::vector<PlanField*> column;
  for (PlanField& other : fields) {
    if (other.column == field.column) column.push_back(&other);
  }
  PlanField& other = *column[Below(column.size())];
  const int64_t before = field.get();
  const int64_t deltas[] = {1, -1, 2, -2, 4, -4, 16, -16, 64, 256};
  switch (Below(6)) {
    case 0:
    case 1:
      field.set(before + deltas[Below(10)]);
      break;
    case 2:
      field.set(other.get());
      break;
    case 3: {
      field.set(other.get());
      other.set(before);
      return "swap " + where + " and row " + std::to_string(other.row);
    }
    case 4:
      field.set(static_cast<int64_t>(Below(4)));
      break;
    default:
      field.set(static_cast<int64_t>(random_() >> Below(64)));
      break;
  }
  return where + " from " + std::to_string(before) + " to " + std::to_string(field.get());
}

std::string RandomMutator::ChangeSchedule(Plan* plan) {
  if (plan->injects.empty()) return "";
  PlanInject& inject = plan->injects[Below(plan->injects.size())];
  PlanInject& other = plan->injects[Below(plan->injects.size())];
  std::string text;
  switch (Below(7)) {
    case 0:
      text = "move an inject to another round";
      inject.round = other.round;
      break;
    case 1:
      text = "move a slice to another round";
      for (PlanInject& each : plan->injects) {
        if (&each != &inject && each.tree == inject.tree && each.round == inject.round) {
          each.round = other.round + 1;
        }
      }
      inject.round = other.round + 1;
      break;
    case 2:
      text = "another source";
      inject.source = other.source;
      break;
    case 3: {
      text = "shift the boundary of two injects";
      const int64_t by = int64_t{16} << Below(3);
      for (PlanInject& each : plan->injects) {
        if (each.tree == inject.tree && each.begin == inject.begin + inject.extent) {
          each.begin += by;
          each.extent -= by;
        }
      }
      inject.extent += by;
      break;
    }
    case 4:
      text = "swap the bytes of two injects";
      std::swap(inject.begin, other.begin);
      std::swap(inject.extent, other.extent);
      break;
    case 5:
      text = "swap two landers";
      std::swap(plan->tree_members[Below(plan->tree_members.size())],
                plan->tree_members[Below(plan->tree_members.size())]);
      break;
    default:
      text = "another lander";
      plan->tree_members[Below(plan->tree_members.size())] =
          plan->ranks[Below(plan->ranks.size())].rank;
      break;
  }
  GroupInjects(plan);
  MakeRoom(plan);
  return text;
}

std::string RandomMutator::ChangeStreams(Plan* plan) {
  if (plan->pieces.empty()) return "";
  PlanPiece& piece = plan->pieces[Below(plan->pieces.size())];
  PlanPiece& other = plan->pieces[Below(plan->pieces.size())];
  MakeRoom(plan);
  switch (Below(6)) {
    case 0:
      std::swap(piece, other);
      return "swap two pieces";
    case 1:
      std::swap(piece.cls, other.cls);
      return "swap the classes of two pieces";
    case 2:
      std::swap(piece.begin, other.begin);
      return "swap where two pieces begin";
    case 3: {
      PlanClass& cls = plan->classes[Below(plan->classes.size())];
      cls.needers = static_cast<uint32_t>(Below(plan->rank_sets.size()));
      return "other needers";
    }
    case 4: {
      PlanClass& cls = plan->classes[Below(plan->classes.size())];
      cls.holders = static_cast<uint32_t>(Below(plan->rank_sets.size()));
      return "other holders";
    }
    default:
      std::swap(plan->trees[Below(plan->trees.size())].stream,
                plan->trees[Below(plan->trees.size())].stream);
      return "swap the streams of two trees";
  }
}

std::string RandomMutator::ChangeLayout(Plan* plan) {
  PlanPlace& place = plan->places[Below(plan->places.size())];
  PlanPlace& other = plan->places[Below(plan->places.size())];
  const size_t dims = plan->supers[place.super].dims.size();
  switch (Below(7)) {
    case 0:
      std::swap(place.base_bytes, other.base_bytes);
      return "swap the bases of two places";
    case 1:
      std::swap(place.family, other.family);
      return "swap the params of two places";
    case 2:
      std::swap(place.first_dim, other.first_dim);
      return "swap the dims of two places";
    case 3:
      std::swap(place.base_instance, other.base_instance);
      return "swap two instances";
    case 4: {
      PlanDimRange& a = plan->place_dims[place.first_dim + Below(dims)];
      PlanDimRange& b = plan->place_dims[place.first_dim + Below(dims)];
      std::swap(a.stride_bytes, b.stride_bytes);
      return "swap two strides of a place";
    }
    case 5: {
      PlanCell& a = plan->cells[Below(plan->cells.size())];
      PlanCell& b = plan->cells[Below(plan->cells.size())];
      if (a.super == b.super) std::swap(a.first_dim, b.first_dim);
      return "swap two cells";
    }
    default: {
      PlanFamily& a = plan->families[Below(plan->families.size())];
      PlanFamily& b = plan->families[Below(plan->families.size())];
      std::swap(a.rank_set, b.rank_set);
      return "swap the ranks of two params";
    }
  }
}

std::string RandomMutator::RemoveOrRepeat(Plan* plan) {
  const auto change = [this](auto& table, const char* name) -> std::string {
    if (table.empty()) return "";
    const auto at = table.begin() + static_cast<std::ptrdiff_t>(Below(table.size()));
    if (Below(2) == 0) {
      table.erase(at);
      return std::string("remove one of ") + name;
    }
    const auto copy = *at;
    table.insert(at, copy);
    return std::string("repeat one of ") + name;
  };
  switch (Below(6)) {
    case 0: {
      std::string text = change(plan->injects, "injects");
      GroupInjects(plan);
      return text;
    }
    case 1:
      return change(plan->places, "places");
    case 2:
      return change(plan->fills, "fills");
    case 3: {
      PlanStream& stream = plan->streams[Below(plan->streams.size())];
      if (stream.piece_count < 2) return "";
      const int64_t extent = plan->pieces[stream.first_piece].extent;
      plan->pieces.erase(plan->pieces.begin() + stream.first_piece);
      --stream.piece_count;
      stream.bytes -= extent;
      for (PlanStream& other : plan->streams) {
        if (other.first_piece > stream.first_piece) --other.first_piece;
      }
      return "remove a piece";
    }
    case 4: {
      PlanTree& tree = plan->trees[Below(plan->trees.size())];
      if (tree.member_count < 2) return "";
      plan->tree_members.erase(plan->tree_members.begin() + tree.first_member +
                               static_cast<std::ptrdiff_t>(Below(tree.member_count)));
      --tree.member_count;
      for (PlanTree& other : plan->trees) {
        if (other.first_member > tree.first_member) --other.first_member;
      }
      MakeRoom(plan);
      return "remove a lander";
    }
    default:
      return change(plan->cuts, "cuts");
  }
}

std::string RandomMutator::Mutate(Plan* plan) {
  std::string text;
  for (uint64_t changes = 1 + Below(3); changes > 0; --changes) {
    if (!text.empty()) text += "; ";
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        text += ChangeField(plan);
        break;
      case 3:
      case 4:
        text += ChangeSchedule(plan);
        break;
      case 5:
        text += ChangeStreams(plan);
        break;
      case 6:
        text += ChangeLayout(plan);
        break;
      default:
        text += RemoveOrRepeat(plan);
        break;
    }
    // Later changes index what earlier ones left; a plan that cannot be indexed is done.
    if (plan->places.empty() || plan->families.empty() || plan->trees.empty()) break;
    const bool indexable =
        std::all_of(plan->places.begin(), plan->places.end(), [plan](const PlanPlace& place) {
          return place.super < plan->supers.size() && !plan->supers[place.super].dims.empty() &&
                 place.first_dim <= plan->place_dims.size() &&
                 plan->supers[place.super].dims.size() <= plan->place_dims.size() - place.first_dim;
        });
    const bool walkable =
        std::all_of(plan->trees.begin(), plan->trees.end(),
                    [plan](const PlanTree& tree) {
                      return uint64_t{tree.first_member} + tree.member_count <=
                             plan->tree_members.size();
                    }) &&
        std::all_of(plan->streams.begin(), plan->streams.end(), [plan](const PlanStream& stream) {
          return uint64_t{stream.first_piece} + stream.piece_count <= plan->pieces.size();
        });
    if (!indexable || !walkable) break;
  }
  return text;
}

}  // namespace reshard::testing
