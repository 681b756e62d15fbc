#include "runtime/plan/read_sections.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "schemas/plan_generated.h"

namespace reshard {
namespace {

using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Vector;

// Copies out of a section. What is copied is charged to a budget: many offsets of a hostile file
// can lead to the same long text, and would otherwise be copied as often.
class Copier {
 public:
  Copier(uint64_t budget_bytes, uint64_t max_rank_set_members)
      : budget_bytes_(budget_bytes), rank_set_members_(max_rank_set_members) {}

  const Status& status() const { return status_; }

  std::string Text(const String* text) {
    if (text == nullptr || !Charge(text->size() + 32)) return {};
    return text->str();
  }

  template <class T>
  std::vector<T> Numbers(const Vector<T>* numbers) {
    if (numbers == nullptr || !IsAligned(*numbers)) return {};
    if (!Charge(numbers->size() * sizeof(T) + 32)) return {};
    return {numbers->begin(), numbers->end()};
  }

  Digest ReadDigest(const Vector<uint8_t>* bytes) {
    Digest digest{};
    if (bytes == nullptr || bytes->size() != digest.size()) {
      Refuse("a digest of an input does not have 32 bytes");
      return digest;
    }
    std::copy(bytes->begin(), bytes->end(), digest.begin());
    return digest;
  }

  // One `To` per element; `convert(*element)` makes it. Elements are structs or tables.
  template <class To, class Element, class Convert>
  void Rows(const Vector<Element>* rows, const Convert& convert, std::vector<To>* out) {
    out->clear();
    if (rows == nullptr || !IsAligned(*rows)) return;
    if (!Charge(uint64_t{rows->size()} * sizeof(To))) return;
    out->reserve(rows->size());
    for (const auto* row : *rows) {
      if (!status_.ok()) return;
      out->push_back(convert(*row));
    }
  }

  NamePattern Name(const fb::NamePattern* name) {
    NamePattern pattern;
    pattern.text.clear();
    if (name == nullptr) {
      Refuse("a name is missing");
      return pattern;
    }
    if (name->text() != nullptr) {
      for (const String* text : *name->text()) pattern.text.push_back(Text(text));
    }
    Rows(
        name->holes(),
        [this](const fb::NameHole& hole) {
          return NamePattern::Hole{hole.base(), Numbers(hole.coef())};
        },
        &pattern.holes);
    return pattern;
  }

  RankList Ranks(const fb::RankSet& set, const Vector<const fb::RankRun*>* runs) {
    const uint64_t run_total = runs == nullptr || !IsAligned(*runs) ? 0 : runs->size();
    if (set.first_run() > run_total || set.run_count() > run_total - set.first_run()) {
      Refuse("a rank set has runs outside their table");
      return {};
    }
    std::vector<RankRun> own;
    for (uint32_t i = 0; i < set.run_count(); ++i) {
      const fb::RankRun& run = *runs->Get(set.first_run() + i);
      const uint64_t members = uint64_t{run.count()} * run.outer_count();
      if (members == 0 || members > rank_set_members_) {
        Refuse(members == 0 ? "a run of ranks is empty"
                            : "its rank sets have more members than the limit allows");
        return {};
      }
      rank_set_members_ -= members;
      // Products of two 32-bit numbers, so that the sum fits 64 bits only when each is small.
      const uint64_t inner = uint64_t{run.count() - 1} * run.stride();
      const uint64_t outer = uint64_t{run.outer_count() - 1} * run.outer_stride();
      constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
      if (inner > kMax || outer > kMax || run.start() + inner + outer > kMax) {
        Refuse("a run of ranks goes beyond 32 bits");
        return {};
      }
      own.push_back(
          {run.start(), run.count(), run.stride(), run.outer_count(), run.outer_stride()});
    }
    return ExpandRuns(own);
  }

  // An enumerator from a wider number; one that does not fit becomes the type's largest, which no
  // enumeration uses, and is refused by the bounds rules.
  template <class E>
  static E Enumerator(uint32_t number) {
    return static_cast<E>(std::min<uint32_t>(number, std::numeric_limits<uint8_t>::max()));
  }

  void Refuse(const char* reason) {
    if (status_.ok()) status_ = Status(StatusCode::kCorruptData, reason);
  }

 private:
  // FlatBuffers' verifier looks at the alignment of a vector's length, not of its elements.
  template <class Element>
  bool IsAligned(const Vector<Element>& rows) {
    constexpr size_t kAlign = alignof(std::remove_pointer_t<Element>);
    if (rows.size() > 0 && reinterpret_cast<uintptr_t>(rows.Data()) % kAlign != 0) {
      Refuse("a table in it is not aligned");
    }
    return status_.ok();
  }

  bool Charge(uint64_t bytes) {
    if (bytes > budget_bytes_) Refuse("its parts refer to each other again and again");
    if (!status_.ok()) return false;
    budget_bytes_ -= bytes;
    return true;
  }

  uint64_t budget_bytes_;
  uint64_t rank_set_members_;
  Status status_;
};

void Read(const fb::HeaderSection& section, Copier* copy, Plan* plan) {
  PlanHeader& header = plan->header;
  header.train_digest = copy->ReadDigest(section.train_digest());
  header.infer_digest = copy->ReadDigest(section.infer_digest());
  header.topo_digest = copy->ReadDigest(section.topo_digest());
  copy->Rows(
      section.options(),
      [copy](const fb::Option& option) {
        return std::pair(copy->Text(option.name()), copy->Text(option.value()));
      },
      &header.options);
  const fb::Totals* from = section.totals();
  if (from == nullptr) {
    copy->Refuse("it has no totals");
    return;
  }
  PlanTotals& to = header.totals;
  to.source_bytes = from->source_bytes();
  to.destination_bytes = from->destination_bytes();
  to.network_bytes = from->network_bytes();
  to.scaleup_bytes = from->scaleup_bytes();
  to.local_bytes = from->local_bytes();
  to.messages = from->messages();
  to.max_staging_bytes = from->max_staging_bytes();
  to.rounds = from->rounds();
  to.predicted_ns = from->predicted_ns();
  to.bound_ns = from->bound_ns();
}

PlanSuper ReadSuper(const fb::SuperTensor& from, Copier* copy) {
  PlanSuper to;
  to.name = copy->Name(from.name());
  to.dtype = Copier::Enumerator<DType>(from.dtype());
  to.loop_begin = copy->Numbers(from.loop_begin());
  to.loop_extent = copy->Numbers(from.loop_extent());
  to.shape = copy->Numbers(from.shape());
  copy->Rows(
      from.dims(),
      [](const fb::SuperDim& dim) {
        return PlanSuper::Dim{dim.axis(), dim.weight()};
      },
      &to.dims);
  return to;
}

PlanFamily ReadFamily(const fb::Family& from, Copier* copy) {
  PlanFamily to;
  to.side = Copier::Enumerator<PlanSide>(from.side());
  to.name = copy->Name(from.name());
  copy->Rows(
      from.shares(), [copy](const fb::NamePattern& name) { return copy->Name(&name); }, &to.shares);
  to.loop_begin = copy->Numbers(from.loop_begin());
  to.loop_extent = copy->Numbers(from.loop_extent());
  to.shape = copy->Numbers(from.shape());
  to.dtype = Copier::Enumerator<DType>(from.dtype());
  to.bytes = from.bytes();
  to.rank_set = from.rank_set();
  to.external = from.external();
  return to;
}

void Read(const fb::NamesSection& section, Copier* copy, Plan* plan) {
  copy->Rows(
      section.supers(), [copy](const fb::SuperTensor& from) { return ReadSuper(from, copy); },
      &plan->supers);
  copy->Rows(
      section.families(), [copy](const fb::Family& from) { return ReadFamily(from, copy); },
      &plan->families);
  copy->Rows(
      section.rank_sets(),
      [&](const fb::RankSet& set) { return copy->Ranks(set, section.rank_runs()); },
      &plan->rank_sets);
}

PlanSite ReadSite(const fb::Site& from, const std::vector<std::string>& node_names, Copier* copy) {
  PlanSite to;
  to.rank = from.rank();
  to.gpu = from.gpu();
  to.domain = from.domain();
  to.group = from.group();
  to.nics = copy->Numbers(from.nics());
  to.host_bytes_per_s = from.host_bytes_per_s();
  to.copy_bytes_per_s = from.copy_bytes_per_s();
  to.memory_bytes = from.memory_bytes();
  if (from.node() < node_names.size()) {
    to.node = node_names[from.node()];
  } else {
    copy->Refuse("a site is on a node that does not exist");
  }
  return to;
}

void Read(const fb::TopologySection& section, Copier* copy, Plan* plan) {
  copy->Rows(
      section.nics(),
      [copy](const fb::Nic& nic) {
        return PlanNic{copy->Text(nic.name()), nic.bytes_per_s(), nic.rail()};
      },
      &plan->nics);
  copy->Rows(
      section.domains(),
      [copy](const fb::Domain& domain) {
        return PlanDomain{copy->Text(domain.name()), domain.bytes_per_s(), domain.latency_ns()};
      },
      &plan->domains);
  copy->Rows(
      section.groups(),
      [copy](const fb::Group& group) {
        return PlanGroup{copy->Text(group.name()), group.uplink_bytes_per_s()};
      },
      &plan->groups);
  std::vector<std::string> node_names;
  copy->Rows(
      section.node_names(), [copy](const String& name) { return copy->Text(&name); }, &node_names);
  copy->Rows(
      section.sites(), [&](const fb::Site& site) { return ReadSite(site, node_names, copy); },
      &plan->sites);
  plan->fabric.rails = section.rails();
  plan->fabric.bytes_per_s = section.fabric_bytes_per_s();
  plan->fabric.latency_ns = section.latency_ns();
  plan->fabric.cross_rail_latency_ns = section.cross_rail_latency_ns();
  plan->fabric.cross_group_latency_ns = section.cross_group_latency_ns();
  copy->Rows(
      section.cuts(),
      [copy](const fb::Cut& cut) {
        return PlanCut{Copier::Enumerator<PlanCutKind>(cut.kind()), copy->Numbers(cut.members()),
                       cut.bytes(), cut.bytes_per_s()};
      },
      &plan->cuts);
}

void Read(const fb::PlacesSection& section, Copier* copy, Plan* plan) {
  copy->Rows(
      section.places(),
      [](const fb::Place& place) {
        return PlanPlace{place.super(), place.family(), place.base_bytes(), place.base_instance(),
                         place.first_dim()};
      },
      &plan->places);
  copy->Rows(
      section.place_dims(),
      [](const fb::PlaceDim& dim) {
        return PlanDimRange{dim.begin(), dim.extent(), dim.stride_bytes(), dim.instance_stride()};
      },
      &plan->place_dims);
  copy->Rows(
      section.fills(),
      [](const fb::Fill& fill) {
        return PlanFill{fill.family(), Copier::Enumerator<PlanFillRule>(fill.rule()),
                        fill.base_bytes(), fill.first_dim(), fill.dim_count()};
      },
      &plan->fills);
  copy->Rows(
      section.fill_dims(),
      [](const fb::FillDim& dim) {
        return PlanFillDim{dim.extent(), dim.stride_bytes()};
      },
      &plan->fill_dims);
}

void Read(const fb::TransfersSection& section, Copier* copy, Plan* plan) {
  copy->Rows(
      section.intervals(),
      [](const fb::Interval& interval) {
        return PlanInterval{interval.begin(), interval.extent()};
      },
      &plan->intervals);
  copy->Rows(
      section.cells(),
      [](const fb::Cell& cell) {
        return PlanCell{cell.super(), cell.first_dim()};
      },
      &plan->cells);
  plan->cell_dims = copy->Numbers(section.cell_dims());
  copy->Rows(
      section.classes(),
      [](const fb::Class& cls) {
        return PlanClass{cls.holders(), cls.needers(), cls.bytes(), cls.first_cell(),
                         cls.cell_count()};
      },
      &plan->classes);
}

void Read(const fb::RoutesSection& section, Copier* copy, Plan* plan) {
  copy->Rows(
      section.streams(),
      [copy](const fb::Stream& stream) {
        if (stream.local() > 1) copy->Refuse("a stream is neither local nor not");
        return PlanStream{stream.first_piece(), stream.piece_count(), stream.bytes(),
                          stream.local() != 0};
      },
      &plan->streams);
  copy->Rows(
      section.pieces(),
      [](const fb::Piece& piece) {
        return PlanPiece{piece.cls(), piece.begin(), piece.extent()};
      },
      &plan->pieces);
  copy->Rows(
      section.trees(),
      [](const fb::Tree& tree) {
        return PlanTree{tree.stream(), Copier::Enumerator<PlanTreeKind>(tree.kind()),
                        tree.first_member(), tree.member_count()};
      },
      &plan->trees);
  plan->tree_members = copy->Numbers(section.tree_members());
  copy->Rows(
      section.injects(),
      [](const fb::Inject& inject) {
        return PlanInject{inject.round(), inject.tree(), inject.source(), inject.begin(),
                          inject.extent()};
      },
      &plan->injects);
  copy->Rows(
      section.ranks(),
      [](const fb::RankEntry& rank) {
        return PlanRank{rank.rank(), rank.first_inject(), rank.inject_count(),
                        rank.recv_slot_bytes(), rank.pack_slot_bytes()};
      },
      &plan->ranks);
}

template <class Section>
Status ReadAs(std::span<const uint8_t> data, uint64_t max_rank_set_members, Plan* plan) {
  // Each table takes at least four bytes, unless a hostile file visits one again and again.
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  flatbuffers::Verifier verifier(data.data(), data.size(), kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(data.size() / 4 + 1));
  if (!verifier.VerifyBuffer<Section>(nullptr)) {
    return Status(StatusCode::kCorruptData, "it is not a sound FlatBuffer");
  }
  Copier copy(16 * static_cast<uint64_t>(data.size()) + 4096, max_rank_set_members);
  Read(*flatbuffers::GetRoot<Section>(data.data()), &copy, plan);
  return copy.status();
}

}  // namespace

Status ReadSection(uint8_t kind, std::span<const uint8_t> data, uint64_t max_rank_set_members,
                   Plan* plan) {
  switch (static_cast<fb::SectionKind>(kind)) {
    case fb::SectionKind::Header:
      return ReadAs<fb::HeaderSection>(data, max_rank_set_members, plan);
    case fb::SectionKind::Names:
      return ReadAs<fb::NamesSection>(data, max_rank_set_members, plan);
    case fb::SectionKind::Topology:
      return ReadAs<fb::TopologySection>(data, max_rank_set_members, plan);
    case fb::SectionKind::Places:
      return ReadAs<fb::PlacesSection>(data, max_rank_set_members, plan);
    case fb::SectionKind::Transfers:
      return ReadAs<fb::TransfersSection>(data, max_rank_set_members, plan);
    case fb::SectionKind::Routes:
      return ReadAs<fb::RoutesSection>(data, max_rank_set_members, plan);
  }
  return Status(StatusCode::kCorruptData, "its kind is not known");
}

}  // namespace reshard
