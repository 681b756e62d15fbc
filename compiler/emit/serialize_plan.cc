#include "compiler/emit/serialize_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/sha256.h"
#include "runtime/plan/plan_digests.h"
#include "schemas/plan_generated.h"

namespace reshard {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

// A vector of structs, each made by `convert` from an element of `from`.
template <class To, class From, class Convert>
Offset<Vector<const To*>> Structs(FlatBufferBuilder* fbb, const std::vector<From>& from,
                                  const Convert& convert) {
  To* to = nullptr;
  const Offset<Vector<const To*>> vector =
      fbb->CreateUninitializedVectorOfStructs<To>(from.size(), &to);
  for (const From& row : from) *to++ = convert(row);
  return vector;
}

Offset<Vector<uint8_t>> DigestBytes(FlatBufferBuilder* fbb, const Digest& digest) {
  return fbb->CreateVector(digest.data(), digest.size());
}

Offset<fb::NamePattern> Name(FlatBufferBuilder* fbb, const NamePattern& name) {
  std::vector<Offset<fb::NameHole>> holes;
  for (const NamePattern::Hole& hole : name.holes) {
    holes.push_back(fb::CreateNameHole(*fbb, hole.base, fbb->CreateVector(hole.coef)));
  }
  const auto text = fbb->CreateVectorOfStrings(name.text);
  return fb::CreateNamePattern(*fbb, text, fbb->CreateVector(holes));
}

void BuildHeader(const Plan& plan, FlatBufferBuilder* fbb) {
  const PlanHeader& header = plan.header;
  const PlanTotals& t = header.totals;
  const auto train = DigestBytes(fbb, header.train_digest);
  const auto infer = DigestBytes(fbb, header.infer_digest);
  const auto topo = DigestBytes(fbb, header.topo_digest);
  std::vector<Offset<fb::Option>> options;
  for (const auto& [name, value] : header.options) {
    const auto name_text = fbb->CreateString(name);
    options.push_back(fb::CreateOption(*fbb, name_text, fbb->CreateString(value)));
  }
  const auto option_rows = fbb->CreateVector(options);
  const auto totals = fb::CreateTotals(*fbb, t.source_bytes, t.destination_bytes, t.network_bytes,
                                       t.scaleup_bytes, t.local_bytes, t.messages,
                                       t.max_staging_bytes, t.rounds, t.predicted_ns, t.bound_ns);
  fbb->Finish(fb::CreateHeaderSection(*fbb, train, infer, topo, option_rows, totals));
}

Offset<fb::SuperTensor> Super(const PlanSuper& super, FlatBufferBuilder* fbb) {
  const auto name = Name(fbb, super.name);
  const auto loop_begin = fbb->CreateVector(super.loop_begin);
  const auto loop_extent = fbb->CreateVector(super.loop_extent);
  const auto shape = fbb->CreateVector(super.shape);
  const auto dims = Structs<fb::SuperDim>(fbb, super.dims, [](const PlanSuper::Dim& dim) {
    return fb::SuperDim(dim.axis, 0, dim.weight);
  });
  return fb::CreateSuperTensor(*fbb, name, static_cast<uint8_t>(super.dtype), loop_begin,
                               loop_extent, shape, dims);
}

Offset<fb::Family> Family(const PlanFamily& family, FlatBufferBuilder* fbb) {
  const auto name = Name(fbb, family.name);
  std::vector<Offset<fb::NamePattern>> shares;
  for (const NamePattern& share : family.shares) shares.push_back(Name(fbb, share));
  const auto share_rows = fbb->CreateVector(shares);
  const auto loop_begin = fbb->CreateVector(family.loop_begin);
  const auto loop_extent = fbb->CreateVector(family.loop_extent);
  const auto shape = fbb->CreateVector(family.shape);
  return fb::CreateFamily(*fbb, static_cast<uint8_t>(family.side), name, share_rows, loop_begin,
                          loop_extent, shape, static_cast<uint8_t>(family.dtype), family.bytes,
                          family.rank_set, family.external);
}

void BuildNames(const Plan& plan, FlatBufferBuilder* fbb) {
  std::vector<Offset<fb::SuperTensor>> supers;
  for (const PlanSuper& super : plan.supers) supers.push_back(Super(super, fbb));
  std::vector<Offset<fb::Family>> families;
  for (const PlanFamily& family : plan.families) families.push_back(Family(family, fbb));
  std::vector<fb::RankRun> runs;
  std::vector<fb::RankSet> sets;
  for (const RankList& ranks : plan.rank_sets) {
    const std::vector<RankRun> own = CompressRanks(ranks);
    sets.emplace_back(static_cast<uint32_t>(runs.size()), static_cast<uint32_t>(own.size()));
    for (const RankRun& run : own) {
      runs.emplace_back(run.start, run.count, run.stride, run.outer_count, run.outer_stride);
    }
  }
  const auto super_rows = fbb->CreateVector(supers);
  const auto family_rows = fbb->CreateVector(families);
  const auto run_rows = fbb->CreateVectorOfStructs(runs);
  fbb->Finish(fb::CreateNamesSection(*fbb, super_rows, family_rows, run_rows,
                                     fbb->CreateVectorOfStructs(sets)));
}

// Sites refer to their node's name by number, in the order of first use.
Offset<Vector<Offset<fb::Site>>> Sites(const Plan& plan, std::vector<std::string>* node_names,
                                       FlatBufferBuilder* fbb) {
  std::map<std::string, uint32_t> node_ids;
  std::vector<Offset<fb::Site>> sites;
  for (const PlanSite& site : plan.sites) {
    const auto [node, added] =
        node_ids.emplace(site.node, static_cast<uint32_t>(node_names->size()));
    if (added) node_names->push_back(site.node);
    sites.push_back(fb::CreateSite(*fbb, site.rank, node->second, site.gpu, site.domain, site.group,
                                   fbb->CreateVector(site.nics), site.host_bytes_per_s,
                                   site.copy_bytes_per_s, site.memory_bytes));
  }
  return fbb->CreateVector(sites);
}

void BuildTopology(const Plan& plan, FlatBufferBuilder* fbb) {
  std::vector<Offset<fb::Nic>> nics;
  for (const PlanNic& nic : plan.nics) {
    nics.push_back(fb::CreateNic(*fbb, fbb->CreateString(nic.name), nic.bytes_per_s, nic.rail));
  }
  std::vector<Offset<fb::Domain>> domains;
  for (const PlanDomain& domain : plan.domains) {
    domains.push_back(fb::CreateDomain(*fbb, fbb->CreateString(domain.name), domain.bytes_per_s,
                                       domain.latency_ns));
  }
  std::vector<Offset<fb::Group>> groups;
  for (const PlanGroup& group : plan.groups) {
    groups.push_back(
        fb::CreateGroup(*fbb, fbb->CreateString(group.name), group.uplink_bytes_per_s));
  }
  std::vector<Offset<fb::Cut>> cuts;
  for (const PlanCut& cut : plan.cuts) {
    cuts.push_back(fb::CreateCut(*fbb, static_cast<uint8_t>(cut.kind),
                                 fbb->CreateVector(cut.members), cut.bytes, cut.bytes_per_s));
  }
  std::vector<std::string> node_names;
  const auto sites = Sites(plan, &node_names, fbb);
  const auto nic_rows = fbb->CreateVector(nics);
  const auto domain_rows = fbb->CreateVector(domains);
  const auto group_rows = fbb->CreateVector(groups);
  const auto name_rows = fbb->CreateVectorOfStrings(node_names);
  const auto cut_rows = fbb->CreateVector(cuts);
  const PlanFabric& fabric = plan.fabric;
  fbb->Finish(fb::CreateTopologySection(
      *fbb, nic_rows, domain_rows, group_rows, name_rows, sites, fabric.rails, fabric.bytes_per_s,
      fabric.latency_ns, fabric.cross_rail_latency_ns, fabric.cross_group_latency_ns, cut_rows));
}

void BuildPlaces(const Plan& plan, FlatBufferBuilder* fbb) {
  const auto places = Structs<fb::Place>(fbb, plan.places, [](const PlanPlace& p) {
    return fb::Place(p.base_bytes, p.base_instance, p.super, p.family, p.first_dim, 0);
  });
  const auto place_dims = Structs<fb::PlaceDim>(fbb, plan.place_dims, [](const PlanDimRange& d) {
    return fb::PlaceDim(d.begin, d.extent, d.stride_bytes, d.instance_stride);
  });
  const auto fills = Structs<fb::Fill>(fbb, plan.fills, [](const PlanFill& f) {
    return fb::Fill(f.base_bytes, f.family, f.first_dim, f.dim_count,
                    static_cast<uint32_t>(f.rule));
  });
  const auto fill_dims = Structs<fb::FillDim>(fbb, plan.fill_dims, [](const PlanFillDim& d) {
    return fb::FillDim(d.extent, d.stride_bytes);
  });
  fbb->Finish(fb::CreatePlacesSection(*fbb, places, place_dims, fills, fill_dims));
}

void BuildTransfers(const Plan& plan, FlatBufferBuilder* fbb) {
  const auto intervals = Structs<fb::Interval>(
      fbb, plan.intervals, [](const PlanInterval& i) { return fb::Interval(i.begin, i.extent); });
  const auto cells = Structs<fb::Cell>(
      fbb, plan.cells, [](const PlanCell& c) { return fb::Cell(c.super, c.first_dim); });
  const auto cell_dims = fbb->CreateVector(plan.cell_dims);
  const auto classes = Structs<fb::Class>(fbb, plan.classes, [](const PlanClass& c) {
    return fb::Class(c.bytes, c.holders, c.needers, c.first_cell, c.cell_count);
  });
  fbb->Finish(fb::CreateTransfersSection(*fbb, intervals, cells, cell_dims, classes));
}

void BuildRoutes(const Plan& plan, FlatBufferBuilder* fbb) {
  const auto streams = Structs<fb::Stream>(fbb, plan.streams, [](const PlanStream& s) {
    return fb::Stream(s.bytes, s.first_piece, s.piece_count, s.local ? 1 : 0, 0);
  });
  const auto pieces = Structs<fb::Piece>(
      fbb, plan.pieces, [](const PlanPiece& p) { return fb::Piece(p.begin, p.extent, p.cls, 0); });
  const auto trees = Structs<fb::Tree>(fbb, plan.trees, [](const PlanTree& t) {
    return fb::Tree(t.stream, static_cast<uint32_t>(t.kind), t.first_member, t.member_count);
  });
  const auto members = fbb->CreateVector(plan.tree_members);
  const auto injects = Structs<fb::Inject>(fbb, plan.injects, [](const PlanInject& i) {
    return fb::Inject(i.begin, static_cast<uint32_t>(i.extent), i.round, i.tree, i.source);
  });
  const auto ranks = Structs<fb::RankEntry>(fbb, plan.ranks, [](const PlanRank& r) {
    return fb::RankEntry(r.recv_slot_bytes, r.pack_slot_bytes, r.rank, r.first_inject,
                         r.inject_count, 0);
  });
  fbb->Finish(fb::CreateRoutesSection(*fbb, streams, pieces, trees, members, injects, ranks));
}

// No more than what the file takes; FlatBuffers itself would wrap around silently. Texts and tables
// are counted roughly.
uint64_t AtLeastBytes(const Plan& plan) {
  const auto rows = [](const auto& table, size_t bytes) { return uint64_t{table.size()} * bytes; };
  return rows(plan.places, sizeof(fb::Place)) + rows(plan.place_dims, sizeof(fb::PlaceDim)) +
         rows(plan.fills, sizeof(fb::Fill)) + rows(plan.fill_dims, sizeof(fb::FillDim)) +
         rows(plan.intervals, sizeof(fb::Interval)) + rows(plan.cells, sizeof(fb::Cell)) +
         rows(plan.cell_dims, sizeof(uint32_t)) + rows(plan.classes, sizeof(fb::Class)) +
         rows(plan.streams, sizeof(fb::Stream)) + rows(plan.pieces, sizeof(fb::Piece)) +
         rows(plan.trees, sizeof(fb::Tree)) + rows(plan.tree_members, sizeof(uint32_t)) +
         rows(plan.injects, sizeof(fb::Inject)) + rows(plan.ranks, sizeof(fb::RankEntry)) +
         rows(plan.rank_sets, sizeof(fb::RankRun) + sizeof(fb::RankSet)) + rows(plan.supers, 256) +
         rows(plan.families, 256) + rows(plan.sites, 64);
}

// The envelope around the finished sections, its digest still zero. Gives the place of each part.
std::vector<uint8_t> BuildEnvelope(uint32_t version, const std::vector<SectionDigest>& digests,
                                   const std::vector<FlatBufferBuilder>& sections) {
  uint64_t bytes = 4096;
  for (const FlatBufferBuilder& section : sections) bytes += section.GetSize() + 64;
  FlatBufferBuilder fbb(bytes);
  std::vector<Offset<fb::Section>> rows;
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t size = sections[i].GetSize();
    fbb.ForceVectorAlignment(size, 1, kSectionAlignBytes);
    const auto data = fbb.CreateVector(sections[i].GetBufferPointer(), size);
    const auto digest = DigestBytes(&fbb, digests[i].digest);
    rows.push_back(
        fb::CreateSection(fbb, static_cast<fb::SectionKind>(digests[i].kind), digest, data));
  }
  const auto section_rows = fbb.CreateVector(rows);
  const auto root = DigestBytes(&fbb, RootDigest(version, digests));
  const auto envelope = DigestBytes(&fbb, Digest{});
  fb::FinishPlanFileBuffer(fbb, fb::CreatePlanFile(fbb, version, root, section_rows, envelope));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

void WriteEnvelopeDigest(std::vector<uint8_t>* file) {
  const fb::PlanFile* plan_file = fb::GetPlanFile(file->data());
  const auto range_of = [file](const Vector<uint8_t>& part) {
    return FileRange{static_cast<size_t>(part.data() - file->data()), part.size()};
  };
  std::vector<FileRange> ranges;
  for (const fb::Section* section : *plan_file->sections()) {
    ranges.push_back(range_of(*section->data()));
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  const FileRange own = range_of(*plan_file->envelope_digest());
  const Digest digest = EnvelopeDigest(*file, ranges, own);
  std::copy(digest.begin(), digest.end(), file->begin() + static_cast<std::ptrdiff_t>(own.begin));
}

Status TooLarge(uint64_t max_bytes) {
  return Status(StatusCode::kLimitExceeded, "the plan needs more than the " +
                                                std::to_string(max_bytes) +
                                                " bytes that a plan file can have");
}

}  // namespace

StatusOr<std::vector<uint8_t>> SerializePlan(const Plan& plan, uint64_t max_bytes) {
  if (AtLeastBytes(plan) > max_bytes) return TooLarge(max_bytes);
  for (const PlanInject& inject : plan.injects) {
    if (inject.extent < 0 || inject.extent > std::numeric_limits<uint32_t>::max()) {
      return Status(StatusCode::kLimitExceeded, "a message of " + std::to_string(inject.extent) +
                                                    " bytes does not fit the plan's 32 bits");
    }
  }
  constexpr std::pair<fb::SectionKind, void (*)(const Plan&, FlatBufferBuilder*)> kSections[] = {
      {fb::SectionKind::Header, BuildHeader},       {fb::SectionKind::Names, BuildNames},
      {fb::SectionKind::Topology, BuildTopology},   {fb::SectionKind::Places, BuildPlaces},
      {fb::SectionKind::Transfers, BuildTransfers}, {fb::SectionKind::Routes, BuildRoutes},
  };
  std::vector<FlatBufferBuilder> sections;
  std::vector<SectionDigest> digests;
  uint64_t total_bytes = 0;
  for (const auto& [kind, build] : kSections) {
    FlatBufferBuilder& section = sections.emplace_back();
    // Zeros are written: a field that is absent because it has its default reads the same, but
    // then bytes would depend on defaults.
    section.ForceDefaults(true);
    build(plan, &section);
    const std::span<const uint8_t> data(section.GetBufferPointer(), section.GetSize());
    digests.push_back({static_cast<uint8_t>(kind), Sha256Of(std::as_bytes(data))});
    total_bytes += data.size();
  }
  if (total_bytes > max_bytes) return TooLarge(max_bytes);
  std::vector<uint8_t> file = BuildEnvelope(plan.header.version, digests, sections);
  WriteEnvelopeDigest(&file);
  return file;
}

}  // namespace reshard
