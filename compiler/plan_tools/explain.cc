#include "compiler/plan_tools/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/plan/program.h"
#include "runtime/plan/walk.h"

namespace reshard {
namespace {

using Box = SuperBox;

// Finds the indices of a place's dims at an instance, and at an offset unless it is negative.
class PlaceSearch {
 public:
  PlaceSearch(const Plan& plan, const PlanPlace& place)
      : place_(place),
        dims_(plan.place_dims.data() + place.first_dim),
        count_(plan.supers[place.super].dims.size()) {
    for (size_t d = 0; d < count_; ++d) order_.push_back(d);
    // Instances first, then the widest strides: what is left then bounds the next index closely.
    const auto width = [&](size_t d) {
      return std::pair(Absolute(dims_[d].instance_stride), Absolute(dims_[d].stride_bytes));
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return width(a) > width(b); });
  }

  // The box of the place's elements in `instance` (at `offset_bytes`, unless that is negative).
  std::optional<Box> Find(int64_t instance, int64_t offset_bytes) {
    box_.assign(count_, {});
    for (size_t d = 0; d < count_; ++d) box_[d] = {dims_[d].begin, dims_[d].extent};
    whole_ = offset_bytes < 0;
    if (!Search(0, instance - place_.base_instance, offset_bytes - place_.base_bytes)) {
      return std::nullopt;
    }
    return box_;
  }

 private:
  static int64_t Absolute(int64_t value) { return value < 0 ? -value : value; }

  // The dims from `step` of the order on, with what is left of both distances.
  bool Search(size_t step, int64_t instance, int64_t offset) {
    if (step == count_) return instance == 0 && (whole_ || offset == 0);
    const size_t d = order_[step];
    const PlanDimRange& range = dims_[d];
    if (range.extent == 1 || (whole_ && range.instance_stride == 0)) {
      return Search(step + 1, instance, offset);
    }
    // What later dims can reach of this dim's kind of distance.
    const bool by_instance = range.instance_stride != 0;
    const int64_t stride = by_instance ? range.instance_stride : range.stride_bytes;
    const int64_t left = by_instance ? instance : offset;
    int64_t low = 0;
    int64_t high = 0;
    for (size_t later = step + 1; later < count_; ++later) {
      const PlanDimRange& next = dims_[order_[later]];
      const int64_t reach =
          (next.extent - 1) * (by_instance ? next.instance_stride : next.stride_bytes);
      (reach < 0 ? low : high) += reach;
    }
    // Indices whose rest lies in [low, high]: candidates around left / stride.
    const int64_t spread = stride == 0 ? range.extent : (high - low) / Absolute(stride) + 1;
    const int64_t middle = stride == 0 ? 0 : (left - low) / stride;
    const int64_t first = std::max<int64_t>(0, middle - spread);
    const int64_t last = std::min(range.extent - 1, middle + spread);
    for (int64_t i = first; i <= last; ++i) {
      const int64_t rest = left - i * stride;
      if (rest < low || rest > high) continue;
      box_[d] = {range.begin + i, 1};
      if (Search(step + 1, instance - i * range.instance_stride, offset - i * range.stride_bytes)) {
        return true;
      }
    }
    return false;
  }

  const PlanPlace& place_;
  const PlanDimRange* dims_;
  size_t count_;
  std::vector<size_t> order_;
  Box box_;
  bool whole_ = false;
};

int64_t OffsetOf(const PlanFamily& family, const std::vector<int64_t>& at) {
  int64_t index = 0;
  for (size_t i = 0; i < at.size(); ++i) index = index * family.shape[i] + at[i];
  return index * DTypeBytes(family.dtype);
}

std::optional<Box> Overlap(const Plan& plan, const PlanCell& cell, const Box& box) {
  Box overlap;
  for (size_t d = 0; d < box.size(); ++d) {
    const PlanInterval& range = plan.intervals[plan.cell_dims[cell.first_dim + d]];
    const int64_t begin = std::max(range.begin, box[d].begin);
    const int64_t end = std::min(range.begin + range.extent, box[d].begin + box[d].extent);
    if (begin >= end) return std::nullopt;
    overlap.push_back({begin, end - begin});
  }
  return overlap;
}

// First byte of the cell's element at the low (or high) corner of `box`, in the cell.
int64_t ByteInCell(const Plan& plan, const PlanCell& cell, const Box& box, bool high) {
  int64_t index = 0;
  for (size_t d = 0; d < box.size(); ++d) {
    const PlanInterval& range = plan.intervals[plan.cell_dims[cell.first_dim + d]];
    const int64_t step = box[d].begin - range.begin + (high ? box[d].extent - 1 : 0);
    index = index * range.extent + step;
  }
  return index * DTypeBytes(plan.supers[cell.super].dtype);
}

std::optional<Box> Overlap(const Plan& plan, const PlanPlace& place, const Box& box) {
  Box overlap;
  for (size_t d = 0; d < box.size(); ++d) {
    const PlanDimRange& range = plan.place_dims[place.first_dim + d];
    const int64_t begin = std::max(range.begin, box[d].begin);
    const int64_t end = std::min(range.begin + range.extent, box[d].begin + box[d].extent);
    if (begin >= end) return std::nullopt;
    overlap.push_back({begin, end - begin});
  }
  return overlap;
}

class Explainer {
 public:
  Explainer(const Plan& plan, const ParamQuery& query)
      : plan_(plan),
        query_(query),
        pieces_of_class_(plan.classes.size()),
        trees_of_stream_(plan.streams.size()),
        injects_of_tree_(plan.trees.size()),
        other_places_of_super_(plan.supers.size()) {
    for (const PlanSite& site : plan.sites) domain_of_[site.rank] = site.domain;
    for (uint32_t s = 0; s < plan.streams.size(); ++s) {
      int64_t begin = 0;
      for (uint32_t p = 0; p < plan.streams[s].piece_count; ++p) {
        const PlanPiece& piece = plan.pieces[plan.streams[s].first_piece + p];
        pieces_of_class_[piece.cls].push_back({s, &piece, begin});
        begin += piece.extent;
      }
    }
    for (uint32_t t = 0; t < plan.trees.size(); ++t) {
      trees_of_stream_[plan.trees[t].stream].push_back(t);
    }
    for (const PlanInject& inject : plan.injects) injects_of_tree_[inject.tree].push_back(&inject);
    for (const PlanPlace& place : plan.places) {
      if (plan.families[place.family].side == query.side) continue;
      other_places_of_super_[place.super].push_back(&place);
    }
  }

  Explanation Run() {
    const PlanFamily& family = plan_.families[query_.param.family];
    const int64_t offset = query_.at ? OffsetOf(family, *query_.at) : -1;
    const bool source = query_.side == PlanSide::kSource;
    std::vector<std::pair<const PlanPlace*, Box>> asked;
    for (const PlanPlace& place : plan_.places) {
      if (place.family != query_.param.family) continue;
      std::optional<Box> box = PlaceSearch(plan_, place).Find(query_.param.instance, offset);
      if (box) asked.emplace_back(&place, *std::move(box));
    }
    for (uint32_t c = 0; c < plan_.classes.size(); ++c) {
      const PlanClass& cls = plan_.classes[c];
      if (!Contains(plan_.rank_sets[source ? cls.holders : cls.needers], query_.rank)) continue;
      int64_t begin = 0;
      for (uint32_t i = 0; i < cls.cell_count; ++i) {
        const PlanCell& cell = plan_.cells[cls.first_cell + i];
        for (const auto& [place, box] : asked) {
          if (place->super != cell.super) continue;
          const std::optional<Box> overlap = Overlap(plan_, cell, box);
          if (overlap) AddParts(c, cell, begin, *place, *overlap);
        }
        begin += CellBytes(plan_, cell);
      }
    }
    const auto key = [](const ParamFlow& flow) {
      return std::tie(flow.here, flow.tensor, flow.elements, flow.path, flow.tree,
                      flow.first_round);
    };
    std::sort(result_.flows.begin(), result_.flows.end(),
              [&](const ParamFlow& a, const ParamFlow& b) { return key(a) < key(b); });
    return std::move(result_);
  }

 private:
  struct StreamPiece {
    uint32_t stream = 0;
    const PlanPiece* piece = nullptr;
    int64_t begin = 0;  // in the stream
  };
  // What is known of a part but for its way: where ranks of the other side have it.
  struct Part {
    ParamPart elements;
    std::vector<ParamFlow::End> there;
  };

  // The flows of `box`, a part of a cell whose bytes begin at `cell_begin` of the class. Params of
  // the other side that have the same parts of it are named together.
  void AddParts(uint32_t cls, const PlanCell& cell, int64_t cell_begin, const PlanPlace& here,
                const Box& box) {
    if (result_.flows.size() >= kMaxFlows) return;
    const bool source = query_.side == PlanSide::kSource;
    const PlanClass& of = plan_.classes[cls];
    const RankList& others = plan_.rank_sets[source ? of.needers : of.holders];
    std::map<std::pair<ParamBox, std::vector<IndexRun>>, Part> parts;
    for (const PlanPlace* place : other_places_of_super_[cell.super]) {
      const std::optional<Box> overlap = Overlap(plan_, *place, box);
      if (!overlap) continue;
      const RankList& stored_by = plan_.rank_sets[plan_.families[place->family].rank_set];
      const RankList ranks = Intersection(stored_by, others);
      if (ranks.empty()) continue;
      std::vector<ParamPart> found;
      if (!AppendParamParts(plan_, *overlap, here, *place, kMaxFlows, &found)) {
        result_.complete = false;
        continue;
      }
      for (ParamPart& one : found) {
        Part& part = parts[{one.here, one.elements}];
        part.there.push_back({ranks, std::move(one.there)});
        part.elements = std::move(one);
      }
    }
    for (const auto& [key, part] : parts) {
      if (result_.flows.size() < kMaxFlows) AddStreams(cls, cell, cell_begin, part);
    }
  }

  void AddStreams(uint32_t cls, const PlanCell& cell, int64_t cell_begin, const Part& part) {
    ParamFlow flow;
    flow.cls = cls;
    flow.tensor = part.elements.tensor;
    flow.elements = part.elements.elements;
    flow.bytes = part.elements.bytes;
    flow.here = part.elements.here;
    const Box& box = part.elements.box;
    const int64_t begin = cell_begin + ByteInCell(plan_, cell, box, false);
    const int64_t end = cell_begin + ByteInCell(plan_, cell, box, true) +
                        DTypeBytes(plan_.supers[cell.super].dtype);
    for (const auto& [stream, piece, piece_begin] : pieces_of_class_[cls]) {
      const int64_t low = std::max(begin, piece->begin);
      const int64_t high = std::min(end, piece->begin + piece->extent);
      if (low >= high) continue;
      flow.stream = stream;
      flow.local = plan_.streams[stream].local;
      AddTrees(flow, part, piece_begin + low - piece->begin, piece_begin + high - piece->begin);
    }
  }

  // Bytes [begin, end) of the stream.
  void AddTrees(ParamFlow flow, const Part& part, int64_t begin, int64_t end) {
    const bool source = query_.side == PlanSide::kSource;
    const RankList asked = {query_.rank};
    const RankList& wanted = source ? plan_.rank_sets[plan_.classes[flow.cls].needers] : asked;
    for (const uint32_t t : trees_of_stream_[flow.stream]) {
      const PlanTree& tree = plan_.trees[t];
      for (uint32_t position = 0; position < tree.member_count; ++position) {
        const Rank lander = plan_.tree_members[tree.first_member + position];
        const uint32_t domain = domain_of_[lander];
        flow.destinations.clear();
        for (const Rank rank : wanted) {
          if (domain_of_[rank] == domain) flow.destinations.push_back(rank);
        }
        if (flow.destinations.empty()) continue;
        flow.tree = t;
        flow.path = PathTo(tree, position);
        AddInjects(flow, part, begin, end, TreeDepth(tree.kind, position));
      }
    }
  }

  std::vector<Rank> PathTo(const PlanTree& tree, uint32_t position) const {
    std::vector<Rank> path = {plan_.tree_members[tree.first_member + position]};
    while (position > 0) {
      position = TreeParent(tree.kind, position);
      path.push_back(plan_.tree_members[tree.first_member + position]);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  void AddInjects(ParamFlow flow, const Part& part, int64_t begin, int64_t end, uint32_t depth) {
    std::set<Rank> sources;
    bool found = false;
    for (const PlanInject* inject : injects_of_tree_[flow.tree]) {
      if (inject->begin >= end || inject->begin + inject->extent <= begin) continue;
      sources.insert(inject->source);
      const uint32_t round = inject->round + depth;
      flow.first_round = found ? std::min(flow.first_round, round) : round;
      flow.last_round = found ? std::max(flow.last_round, round) : round;
      found = true;
    }
    flow.sources.assign(sources.begin(), sources.end());
    const bool source = query_.side == PlanSide::kSource;
    flow.there = EndsOf(part, source ? flow.destinations : flow.sources);
    result_.flows.push_back(std::move(flow));
    result_.complete = result_.complete && result_.flows.size() < kMaxFlows;
  }

  // The params of these ranks only, each once.
  static std::vector<ParamFlow::End> EndsOf(const Part& part, const RankList& ranks) {
    std::map<ParamBox, RankList> ranks_of;
    for (const ParamFlow::End& end : part.there) {
      const RankList common = Intersection(end.ranks, ranks);
      if (!common.empty()) ranks_of[end.box] = Union(ranks_of[end.box], common);
    }
    std::vector<ParamFlow::End> ends;
    for (auto& [box, of] : ranks_of) ends.push_back({std::move(of), box});
    return ends;
  }

  const Plan& plan_;
  const ParamQuery& query_;
  std::map<Rank, uint32_t> domain_of_;
  std::vector<std::vector<StreamPiece>> pieces_of_class_;
  std::vector<std::vector<uint32_t>> trees_of_stream_;
  std::vector<std::vector<const PlanInject*>> injects_of_tree_;
  std::vector<std::vector<const PlanPlace*>> other_places_of_super_;  // of the other side
  Explanation result_;
};

// The network messages that `wanted` accepts, by round.
template <class Wanted>
std::vector<Passage> PassagesWhere(const Plan& plan, const Wanted& wanted) {
  std::vector<Passage> found;
  ForEachPassage(plan, [&](const Passage& passage) {
    if (wanted(passage)) found.push_back(passage);
  });
  std::sort(found.begin(), found.end(), [](const Passage& a, const Passage& b) {
    return std::tie(a.round, a.tree, a.from, a.to, a.begin) <
           std::tie(b.round, b.tree, b.from, b.to, b.begin);
  });
  return found;
}

}  // namespace

void ForEachPassage(const Plan& plan, const std::function<void(const Passage&)>& visit) {
  std::map<Rank, uint32_t> domain_of;
  for (const PlanSite& site : plan.sites) domain_of[site.rank] = site.domain;
  // The slices of (tree, round): injects of several sources are one slice from the head on.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, int64_t>> slices;
  const auto add = [&](const Passage& passage) {
    if (domain_of[passage.from] != domain_of[passage.to]) visit(passage);
  };
  for (const PlanInject& inject : plan.injects) {
    const PlanTree& tree = plan.trees[inject.tree];
    add({inject.round, inject.source, plan.tree_members[tree.first_member], inject.tree,
         inject.begin, inject.extent});
    const auto [slice, added] =
        slices.try_emplace({inject.tree, inject.round}, inject.begin, inject.begin + inject.extent);
    slice->second.first = std::min(slice->second.first, inject.begin);
    slice->second.second = std::max(slice->second.second, inject.begin + inject.extent);
  }
  for (const auto& [slice, range] : slices) {
    const PlanTree& tree = plan.trees[slice.first];
    for (uint32_t position = 1; position < tree.member_count; ++position) {
      const uint32_t parent = TreeParent(tree.kind, position);
      add({slice.second + TreeDepth(tree.kind, position),
           plan.tree_members[tree.first_member + parent],
           plan.tree_members[tree.first_member + position], slice.first, range.first,
           range.second - range.first});
    }
  }
}

Explanation ExplainParam(const Plan& plan, const ParamQuery& query) {
  return Explainer(plan, query).Run();
}

std::string_view PassageWayText(PassageWay way) {
  switch (way) {
#define RESHARD_PASSAGE_WAY(name, text) \
  case PassageWay::name:                \
    return text;
#include "compiler/plan_tools/passage_ways.def"
#undef RESHARD_PASSAGE_WAY
  }
  return "";
}

std::vector<Passage> PassagesBetween(const Plan& plan, Rank from, Rank to) {
  const ProgramIndex index = BuildProgramIndex(plan);
  const auto domain_of = [&](Rank rank) { return plan.sites[index.SiteIndex(plan, rank)].domain; };
  std::vector<Passage> found;
  for (const Op& op : ExpandProgram(plan, index, to).ops) {
    if (op.peer != from || (op.kind != OpKind::kRecv && op.kind != OpKind::kCopy)) continue;
    PassageWay way = PassageWay::kNetwork;
    if (domain_of(from) == domain_of(to)) way = PassageWay::kDomain;
    if (from == to) way = PassageWay::kRank;
    found.push_back({op.round, from, to, op.tree, op.begin, op.extent, way});
  }
  return found;
}

std::optional<std::vector<Passage>> PassagesOfNic(const Plan& plan, const std::string& nic) {
  uint32_t index = kNoId;
  for (uint32_t n = 0; n < plan.nics.size(); ++n) {
    if (plan.nics[n].name == nic) index = n;
  }
  if (index == kNoId) return std::nullopt;
  std::set<Rank> ranks;
  for (const PlanSite& site : plan.sites) {
    if (std::find(site.nics.begin(), site.nics.end(), index) != site.nics.end()) {
      ranks.insert(site.rank);
    }
  }
  return PassagesWhere(plan, [&](const Passage& passage) {
    return ranks.contains(passage.from) || ranks.contains(passage.to);
  });
}

}  // namespace reshard
