// The rules that make a plan safe to read: what every other reader takes for granted.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/checked_math.h"
#include "runtime/plan/program.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

// What an affine map may reach: far from overflow wherever readers add two of them.
constexpr int64_t kMaxReach = int64_t{1} << 61;

std::string Item(const char* what, size_t index) { return what + (" " + std::to_string(index)); }

// a * b added to `sum`; false outside [-kMaxReach, kMaxReach].
bool AddProduct(int64_t a, int64_t b, int64_t* sum) {
  const std::optional<int64_t> product = CheckedMul(a, b);
  if (!product) return false;
  const std::optional<int64_t> total = CheckedAdd(*sum, *product);
  if (!total || *total > kMaxReach || *total < -kMaxReach) return false;
  *sum = *total;
  return true;
}

// Do `count` rows from `first` lie in a table of `table_rows`?
bool Fits(uint64_t first, uint64_t count, uint64_t table_rows) {
  return first <= table_rows && count <= table_rows - first;
}

class Checker {
 public:
  Checker(const Plan& plan, const VerifyOptions& options) : plan_(plan), options_(options) {}

  // Each step may rely on what the steps before it have found in order.
  VerifyReport Run() {
    constexpr void (Checker::*kSteps[])() = {
        &Checker::CheckHeader,    &Checker::CheckTopology, &Checker::CheckRanks,
        &Checker::CheckRankSets,  &Checker::CheckSupers,   &Checker::CheckFamilies,
        &Checker::CheckInstances, &Checker::CheckPlaces,   &Checker::CheckFills,
        &Checker::CheckClasses,   &Checker::CheckStreams,  &Checker::CheckTrees,
        &Checker::CheckInjects,   &Checker::CheckSlices,
    };
    for (const auto step : kSteps) {
      (this->*step)();
      if (!report_.violations.empty()) break;
    }
    return std::move(report_);
  }

 private:
  void Add(VerifyRule rule, std::string where, std::string text) {
    if (report_.violations.size() >= options_.max_violations && !report_.violations.empty()) return;
    report_.violations.push_back({rule, std::move(where), std::move(text)});
  }
  // Reports and returns false when the rule is broken.
  bool Require(bool holds, const char* what, size_t index, const char* text) {
    if (!holds) Add(VerifyRule::kBounds, Item(what, index), text);
    return holds;
  }
  bool RequireOrder(bool holds, const char* what, size_t index, const char* text) {
    if (!holds) Add(VerifyRule::kOrder, Item(what, index), text);
    return holds;
  }

  const PlanRank* FindRank(uint32_t rank) const {
    const auto found =
        std::lower_bound(plan_.ranks.begin(), plan_.ranks.end(), rank,
                         [](const PlanRank& entry, uint32_t r) { return entry.rank < r; });
    return found != plan_.ranks.end() && found->rank == rank ? &*found : nullptr;
  }
  uint32_t DomainOf(uint32_t rank) const {  // of a rank that has a site
    const auto found =
        std::lower_bound(plan_.sites.begin(), plan_.sites.end(), rank,
                         [](const PlanSite& site, uint32_t r) { return site.rank < r; });
    return found->domain;
  }

  void CheckHeader();
  void CheckTopology();
  void CheckRanks();
  void CheckRankSets();
  void CheckSupers();
  void CheckFamilies();
  void CheckInstances();
  void CheckPlaces();
  void CheckFills();
  void CheckClasses();
  void CheckStreams();
  void CheckTrees();
  void CheckInjects();
  void CheckSlices();

  bool NameIsSound(const NamePattern& name, const std::vector<int64_t>& loop_begin,
                   const std::vector<int64_t>& loop_extent) const;
  bool LoopsAreSound(const std::vector<int64_t>& begin, const std::vector<int64_t>& extent) const;
  bool DimsAreSound(const PlanSuper& super) const;
  template <class RangeOf>
  bool BoxIsInside(const PlanSuper& super, const RangeOf& range_of) const;

  const Plan& plan_;
  const VerifyOptions& options_;
  VerifyReport report_;
};

void Checker::CheckHeader() {
  const PlanHeader& header = plan_.header;
  Require(header.version == kPlanVersion, "version", header.version, "is not known");
  for (size_t i = 1; i < header.options.size(); ++i) {
    RequireOrder(header.options[i - 1].first < header.options[i].first, "option", i,
                 "does not follow the one before by name");
  }
  const PlanTotals& t = header.totals;
  for (const int64_t value :
       {t.source_bytes, t.destination_bytes, t.network_bytes, t.scaleup_bytes, t.local_bytes,
        t.messages, t.max_staging_bytes, t.predicted_ns, t.bound_ns}) {
    if (value < 0) Add(VerifyRule::kBounds, "totals", "a total is negative");
  }
  // A round without a new slice is needed only while slices travel down their trees.
  if (t.rounds > plan_.injects.size() + plan_.tree_members.size()) {
    Add(VerifyRule::kBounds, "totals", "more rounds than injects and tree positions");
  }
}

void Checker::CheckTopology() {
  for (size_t i = 0; i < plan_.nics.size(); ++i) {
    Require(plan_.nics[i].bytes_per_s > 0 && plan_.nics[i].rail >= -1, "nic", i,
            "has no bandwidth or no rail number");
  }
  for (size_t i = 0; i < plan_.domains.size(); ++i) {
    Require(plan_.domains[i].bytes_per_s >= 0 && plan_.domains[i].latency_ns >= 0, "domain", i,
            "has a negative bandwidth or latency");
  }
  for (size_t i = 0; i < plan_.groups.size(); ++i) {
    Require(plan_.groups[i].uplink_bytes_per_s >= 0, "group", i, "has a negative bandwidth");
  }
  const PlanFabric& fabric = plan_.fabric;
  if (fabric.bytes_per_s < 0 || fabric.latency_ns < 0 || fabric.cross_rail_latency_ns < 0 ||
      fabric.cross_group_latency_ns < 0) {
    Add(VerifyRule::kBounds, "fabric", "a bandwidth or latency is negative");
  }
  for (size_t i = 0; i < plan_.sites.size(); ++i) {
    const PlanSite& site = plan_.sites[i];
    if (i > 0) {
      RequireOrder(plan_.sites[i - 1].rank < site.rank, "site", i,
                   "does not follow the one before by rank");
    }
    Require(site.domain < plan_.domains.size(), "site", i, "is in a domain that does not exist");
    Require(site.group == kNoId || site.group < plan_.groups.size(), "site", i,
            "is in a group that does not exist");
    for (const uint32_t nic : site.nics) {
      Require(nic < plan_.nics.size(), "site", i, "has a NIC that does not exist");
    }
    Require(site.host_bytes_per_s >= 0 && site.copy_bytes_per_s >= 0 && site.memory_bytes >= 0,
            "site", i, "has a negative bandwidth or memory");
  }
  for (size_t i = 0; i < plan_.cuts.size(); ++i) {
    const PlanCut& cut = plan_.cuts[i];
    Require(cut.kind <= PlanCutKind::kInjection, "cut", i, "is of an unknown kind");
    Require(cut.bytes >= 0 && cut.bytes <= kMaxPlanBytes && cut.bytes_per_s > 0, "cut", i,
            "has no bandwidth or an impossible number of bytes");
    for (const uint32_t domain : cut.domains) {
      Require(domain < plan_.domains.size(), "cut", i, "names a domain that does not exist");
    }
  }
}

void Checker::CheckRanks() {
  uint64_t next_inject = 0;
  auto site = plan_.sites.begin();
  for (size_t i = 0; i < plan_.ranks.size(); ++i) {
    const PlanRank& rank = plan_.ranks[i];
    if (i > 0) {
      RequireOrder(plan_.ranks[i - 1].rank < rank.rank, "rank entry", i,
                   "does not follow the one before by rank");
    }
    while (site != plan_.sites.end() && site->rank < rank.rank) ++site;
    Require(site != plan_.sites.end() && site->rank == rank.rank, "rank entry", i,
            "has no place in the topology");
    Require(rank.recv_slot_bytes >= 0 && rank.recv_slot_bytes <= kMaxPlanBytes / 8 &&
                rank.recv_slot_bytes % kSlotAlignBytes == 0 && rank.pack_slot_bytes >= 0 &&
                rank.pack_slot_bytes <= kMaxPlanBytes / 8 &&
                rank.pack_slot_bytes % kSlotAlignBytes == 0,
            "rank entry", i, "has slots of an impossible or unaligned size");
    Require(rank.first_inject == next_inject, "rank entry", i,
            "does not begin where the injects of the rank before end");
    next_inject += rank.inject_count;
  }
  if (next_inject != plan_.injects.size()) {
    Add(VerifyRule::kBounds, "rank entries", "their injects are not all injects");
  }
}

void Checker::CheckRankSets() {
  for (size_t i = 0; i < plan_.rank_sets.size(); ++i) {
    const RankList& set = plan_.rank_sets[i];
    Require(!set.empty(), "rank set", i, "is empty");
    for (size_t k = 0; k < set.size(); ++k) {
      if (k > 0 && !RequireOrder(set[k - 1] < set[k], "rank set", i, "is not rising")) break;
      if (!Require(FindRank(set[k]) != nullptr, "rank set", i, "has a rank without an entry"))
        break;
    }
  }
}

bool Checker::LoopsAreSound(const std::vector<int64_t>& begin,
                            const std::vector<int64_t>& extent) const {
  if (begin.size() != extent.size() || begin.size() > kMaxPlanDims) return false;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (extent[i] < 1 || extent[i] > kMaxPlanBytes || std::abs(begin[i] / 2) > kMaxPlanBytes) {
      return false;
    }
  }
  return true;
}

// Loops have been found sound.
bool Checker::NameIsSound(const NamePattern& name, const std::vector<int64_t>& loop_begin,
                          const std::vector<int64_t>& loop_extent) const {
  if (name.text.size() != name.holes.size() + 1) return false;
  for (const NamePattern::Hole& hole : name.holes) {
    if (hole.coef.size() != loop_begin.size()) return false;
    int64_t low = 0;
    int64_t high = 0;
    if (!AddProduct(hole.base, 1, &low) || !AddProduct(hole.base, 1, &high)) return false;
    for (size_t i = 0; i < hole.coef.size(); ++i) {
      const int64_t first = loop_begin[i];
      const int64_t last = loop_begin[i] + loop_extent[i] - 1;
      const bool rising = hole.coef[i] >= 0;
      if (!AddProduct(hole.coef[i], rising ? first : last, &low)) return false;
      if (!AddProduct(hole.coef[i], rising ? last : first, &high)) return false;
    }
  }
  return true;
}

// Dims of an axis stand together, heaviest first, each weight a multiple of the next, the last 1.
bool Checker::DimsAreSound(const PlanSuper& super) const {
  const size_t axis_count = super.loop_extent.size() + super.shape.size();
  size_t next_axis = 0;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    const PlanSuper::Dim& dim = super.dims[d];
    const bool starts_axis = d == 0 || super.dims[d - 1].axis != dim.axis;
    const bool ends_axis = d + 1 == super.dims.size() || super.dims[d + 1].axis != dim.axis;
    if (starts_axis && dim.axis != next_axis++) return false;
    if (dim.weight < 1 || dim.weight > kMaxPlanBytes) return false;
    if (ends_axis && dim.weight != 1) return false;
    if (!starts_axis) {
      const int64_t heavier = super.dims[d - 1].weight;
      if (heavier <= dim.weight || heavier % dim.weight != 0) return false;
    }
  }
  return next_axis == axis_count;
}

void Checker::CheckSupers() {
  for (size_t i = 0; i < plan_.supers.size(); ++i) {
    const PlanSuper& super = plan_.supers[i];
    if (!Require(LoopsAreSound(super.loop_begin, super.loop_extent) &&
                     super.shape.size() <= kMaxPlanDims && super.dims.size() <= kMaxPlanDims,
                 "tensor", i, "has impossible loops or too many dims")) {
      continue;
    }
    Require(NameIsSound(super.name, super.loop_begin, super.loop_extent), "tensor", i,
            "has a name that does not fit its loops");
    Require(static_cast<uint8_t>(super.dtype) < kDTypeCount, "tensor", i, "has an unknown dtype");
    std::optional<int64_t> elements = CheckedProduct<int64_t>(super.loop_extent);
    for (const int64_t extent : super.shape) {
      if (extent < 0) elements = std::nullopt;
      if (elements) elements = CheckedMul(*elements, extent);
    }
    Require(elements && *elements <= kMaxPlanBytes / 8, "tensor", i, "has an impossible shape");
    Require(DimsAreSound(super), "tensor", i, "has dims that do not number its axes");
  }
}

void Checker::CheckFamilies() {
  int64_t stored_bytes = 0;
  for (size_t i = 0; i < plan_.families.size(); ++i) {
    const PlanFamily& family = plan_.families[i];
    Require(family.side <= PlanSide::kDestination, "param", i, "is on an unknown side");
    if (!Require(family.rank_set < plan_.rank_sets.size(), "param", i,
                 "is on a rank set that does not exist") ||
        !Require(static_cast<uint8_t>(family.dtype) < kDTypeCount, "param", i,
                 "has an unknown dtype") ||
        !Require(LoopsAreSound(family.loop_begin, family.loop_extent) &&
                     family.shape.size() <= kMaxPlanDims,
                 "param", i, "has impossible loops or too many dims")) {
      continue;
    }
    bool named = NameIsSound(family.name, family.loop_begin, family.loop_extent);
    for (const NamePattern& name : family.shares) {
      named = named && NameIsSound(name, family.loop_begin, family.loop_extent);
    }
    Require(named, "param", i, "has a name that does not fit its loops");
    std::optional<int64_t> bytes = DTypeBytes(family.dtype);
    for (const int64_t extent : family.shape) {
      if (extent < 0) bytes = std::nullopt;
      if (bytes) bytes = CheckedMul(*bytes, extent);
    }
    Require(bytes == family.bytes, "param", i, "has another size than its shape says");
    std::optional<int64_t> total = CheckedProduct<int64_t>(family.loop_extent);
    if (total) total = CheckedMul(*total, std::max<int64_t>(family.bytes, 1));
    const auto ranks = static_cast<int64_t>(plan_.rank_sets[family.rank_set].size());
    Require(total && AddProduct(*total, ranks, &stored_bytes) && stored_bytes <= kMaxPlanBytes,
            "param", i, "stores an impossible number of bytes");
  }
}

// Whoever binds the params of a rank lists them, so that their number may not just be claimed.
void Checker::CheckInstances() {
  std::vector<int64_t> of_set(plan_.rank_sets.size(), 0);
  for (size_t i = 0; i < plan_.families.size(); ++i) {
    const PlanFamily& family = plan_.families[i];
    int64_t& instances = of_set[family.rank_set];
    instances += *CheckedProduct<int64_t>(family.loop_extent);
    if (!Require(instances <= kMaxRankParams, "param", i, "has more instances than a rank may"))
      return;
  }
  std::vector<int64_t> of_rank(plan_.ranks.size(), 0);
  for (size_t set = 0; set < plan_.rank_sets.size(); ++set) {
    if (of_set[set] == 0) continue;
    size_t at = 0;  // sets and plan.ranks both rise
    for (const Rank rank : plan_.rank_sets[set]) {
      while (plan_.ranks[at].rank < rank) ++at;
      of_rank[at] += of_set[set];
      if (!Require(of_rank[at] <= kMaxRankParams, "rank entry", at, "stores too many params")) {
        return;
      }
    }
  }
}

// `range_of(d)` is a pair (begin, extent). Every digit lies in its own range, and the indices along
// each axis in the tensor.
template <class RangeOf>
bool Checker::BoxIsInside(const PlanSuper& super, const RangeOf& range_of) const {
  const size_t loop_count = super.loop_extent.size();
  int64_t first = 0;
  int64_t last = 0;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    const PlanSuper::Dim& dim = super.dims[d];
    const auto [begin, extent] = range_of(d);
    if (extent < 1 || extent > kMaxPlanBytes || std::abs(begin / 2) > kMaxPlanBytes) return false;
    if (d > 0 && super.dims[d - 1].axis == dim.axis) {
      if (begin < 0 || begin + extent > super.dims[d - 1].weight / dim.weight) return false;
    } else {
      first = 0;
      last = 0;
    }
    if (!AddProduct(begin, dim.weight, &first)) return false;
    if (!AddProduct(begin + extent - 1, dim.weight, &last)) return false;
    if (d + 1 < super.dims.size() && super.dims[d + 1].axis == dim.axis) continue;
    const bool loop = dim.axis < loop_count;
    const int64_t low = loop ? super.loop_begin[dim.axis] : 0;
    const int64_t extent_of_axis =
        loop ? super.loop_extent[dim.axis] : super.shape[dim.axis - loop_count];
    if (first < low || last >= low + extent_of_axis) return false;
  }
  return true;
}

void Checker::CheckPlaces() {
  for (size_t i = 0; i < plan_.places.size(); ++i) {
    const PlanPlace& place = plan_.places[i];
    if (!Require(place.super < plan_.supers.size(), "place", i, "has no tensor") ||
        !Require(place.family < plan_.families.size(), "place", i, "has no param")) {
      continue;
    }
    const PlanSuper& super = plan_.supers[place.super];
    if (!Require(Fits(place.first_dim, super.dims.size(), plan_.place_dims.size()), "place", i,
                 "has dims outside their table")) {
      continue;
    }
    const PlanDimRange* dims = plan_.place_dims.data() + place.first_dim;
    Require(
        BoxIsInside(super, [dims](size_t d) { return std::pair(dims[d].begin, dims[d].extent); }),
        "place", i, "is a box outside its tensor");
    // The reach of each map in both directions.
    int64_t bytes_low = place.base_bytes;
    int64_t bytes_high = place.base_bytes;
    int64_t instance_low = place.base_instance;
    int64_t instance_high = place.base_instance;
    bool sound = place.base_bytes >= 0 && place.base_bytes <= kMaxReach &&
                 place.base_instance >= 0 && place.base_instance <= kMaxReach;
    for (size_t d = 0; sound && d < super.dims.size(); ++d) {
      const int64_t steps = dims[d].extent - 1;
      sound = AddProduct(steps, dims[d].stride_bytes,
                         dims[d].stride_bytes < 0 ? &bytes_low : &bytes_high) &&
              AddProduct(steps, dims[d].instance_stride,
                         dims[d].instance_stride < 0 ? &instance_low : &instance_high);
    }
    Require(sound, "place", i, "has offsets beyond any memory");
  }
}

void Checker::CheckFills() {
  for (size_t i = 0; i < plan_.fills.size(); ++i) {
    const PlanFill& fill = plan_.fills[i];
    Require(fill.family < plan_.families.size(), "fill", i, "has no param");
    Require(fill.rule <= PlanFillRule::kKeep, "fill", i, "has an unknown rule");
    if (!Require(fill.dim_count <= kMaxPlanDims &&
                     Fits(fill.first_dim, fill.dim_count, plan_.fill_dims.size()),
                 "fill", i, "has dims outside their table")) {
      continue;
    }
    int64_t low = fill.base_bytes;
    int64_t high = fill.base_bytes;
    int64_t count = 1;
    bool sound = fill.base_bytes >= 0 && fill.base_bytes <= kMaxReach;
    for (size_t d = 0; sound && d < fill.dim_count; ++d) {
      const PlanFillDim& dim = plan_.fill_dims[fill.first_dim + d];
      const std::optional<int64_t> product = CheckedMul(count, dim.extent);
      sound = dim.extent >= 1 && product && *product <= kMaxPlanBytes &&
              AddProduct(dim.extent - 1, dim.stride_bytes, dim.stride_bytes < 0 ? &low : &high);
      count = product.value_or(0);
    }
    Require(sound, "fill", i, "has offsets beyond any memory");
  }
}

void Checker::CheckClasses() {
  for (size_t i = 0; i < plan_.intervals.size(); ++i) {
    const PlanInterval& interval = plan_.intervals[i];
    Require(interval.extent >= 1 && interval.extent <= kMaxPlanBytes &&
                std::abs(interval.begin / 2) <= kMaxPlanBytes,
            "interval", i, "is empty or impossible");
  }
  for (const uint32_t dim : plan_.cell_dims) {
    if (!Require(dim < plan_.intervals.size(), "interval", dim, "does not exist")) return;
  }
  for (size_t i = 0; i < plan_.cells.size(); ++i) {
    const PlanCell& cell = plan_.cells[i];
    if (!Require(cell.super < plan_.supers.size(), "cell", i, "has no tensor")) continue;
    const PlanSuper& super = plan_.supers[cell.super];
    if (!Require(Fits(cell.first_dim, super.dims.size(), plan_.cell_dims.size()), "cell", i,
                 "has dims outside their table")) {
      continue;
    }
    Require(BoxIsInside(super,
                        [this, &cell](size_t d) {
                          const PlanInterval& interval =
                              plan_.intervals[plan_.cell_dims[cell.first_dim + d]];
                          return std::pair(interval.begin, interval.extent);
                        }),
            "cell", i, "is a box outside its tensor");
  }
  uint64_t next_cell = 0;
  for (size_t i = 0; i < plan_.classes.size(); ++i) {
    const PlanClass& cls = plan_.classes[i];
    Require(cls.holders < plan_.rank_sets.size() && cls.needers < plan_.rank_sets.size(), "class",
            i, "has a rank set that does not exist");
    Require(cls.bytes >= 1 && cls.bytes <= kMaxPlanBytes, "class", i,
            "has an impossible number of bytes");
    Require(cls.first_cell == next_cell && cls.cell_count >= 1, "class", i,
            "does not begin where the cells of the class before end");
    next_cell += cls.cell_count;
  }
  if (next_cell != plan_.cells.size()) {
    Add(VerifyRule::kBounds, "classes", "their cells are not all cells");
  }
}

void Checker::CheckStreams() {
  for (size_t i = 0; i < plan_.pieces.size(); ++i) {
    const PlanPiece& piece = plan_.pieces[i];
    if (!Require(piece.cls < plan_.classes.size(), "piece", i, "is of no class")) continue;
    const int64_t class_bytes = plan_.classes[piece.cls].bytes;
    Require(piece.begin >= 0 && piece.extent >= 1 && piece.extent <= class_bytes &&
                piece.begin <= class_bytes - piece.extent,
            "piece", i, "is empty or outside its class");
  }
  uint64_t next_piece = 0;
  int64_t total = 0;  // kept below the limit, so that adding one more extent cannot overflow
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const PlanStream& stream = plan_.streams[i];
    Require(stream.bytes >= 1 && stream.bytes <= kMaxPlanBytes, "stream", i,
            "has an impossible number of bytes");
    if (!Require(stream.first_piece == next_piece && stream.piece_count >= 1 &&
                     Fits(next_piece, stream.piece_count, plan_.pieces.size()),
                 "stream", i, "does not begin where the pieces of the stream before end")) {
      return;
    }
    for (uint64_t p = next_piece; p < next_piece + stream.piece_count; ++p) {
      if (total <= kMaxPlanBytes) total += std::min(plan_.pieces[p].extent, kMaxPlanBytes);
    }
    if (!Require(total <= kMaxPlanBytes, "stream", i, "moves an impossible number of bytes"))
      return;
    next_piece += stream.piece_count;
  }
  if (next_piece != plan_.pieces.size()) {
    Add(VerifyRule::kBounds, "streams", "their pieces are not all pieces");
  }
}

void Checker::CheckTrees() {
  uint64_t next_member = 0;
  int64_t total = 0;
  // Per domain, 1 + the last tree with a member there.
  std::vector<size_t> last_tree(plan_.domains.size(), 0);
  for (size_t i = 0; i < plan_.trees.size(); ++i) {
    const PlanTree& tree = plan_.trees[i];
    if (!Require(tree.stream < plan_.streams.size(), "tree", i, "has no stream")) continue;
    if (i > 0) {
      RequireOrder(plan_.trees[i - 1].stream <= tree.stream, "tree", i,
                   "does not follow the one before by stream");
    }
    Require(tree.kind == PlanTreeKind::kChain, "tree", i, "is of an unknown kind");
    if (!Require(tree.first_member == next_member && tree.member_count >= 1 &&
                     Fits(next_member, tree.member_count, plan_.tree_members.size()),
                 "tree", i, "does not begin where the members of the tree before end")) {
      return;
    }
    next_member += tree.member_count;
    if (!Require(AddProduct(plan_.streams[tree.stream].bytes, 1, &total) && total <= kMaxPlanBytes,
                 "tree", i, "moves an impossible number of bytes")) {
      return;
    }
    for (uint64_t m = tree.first_member; m < next_member; ++m) {
      const uint32_t rank = plan_.tree_members[m];
      if (!Require(FindRank(rank) != nullptr, "tree", i, "has a member without an entry")) break;
      // Two landers in one domain would make expanding a rank cost landers times slices.
      size_t& seen = last_tree[DomainOf(rank)];
      if (seen == i + 1) {
        Add(VerifyRule::kTreeShape, Item("tree", i), "has two landers in one domain");
        break;
      }
      seen = i + 1;
    }
  }
  if (next_member != plan_.tree_members.size()) {
    Add(VerifyRule::kBounds, "trees", "their members are not all members");
  }
}

void Checker::CheckInjects() {
  for (const PlanRank& rank : plan_.ranks) {
    for (uint32_t k = 0; k < rank.inject_count; ++k) {
      const size_t i = rank.first_inject + k;
      const PlanInject& inject = plan_.injects[i];
      Require(inject.source == rank.rank, "inject", i, "is listed at another rank than its source");
      if (!Require(inject.tree < plan_.trees.size(), "inject", i, "has no tree")) continue;
      const int64_t stream_bytes = plan_.streams[plan_.trees[inject.tree].stream].bytes;
      Require(inject.begin >= 0 && inject.extent >= 0 && inject.extent <= stream_bytes &&
                  inject.begin <= stream_bytes - inject.extent,
              "inject", i, "is outside its stream");
      Require(inject.round < plan_.header.totals.rounds, "inject", i, "comes after the last round");
      if (k > 0) {
        const PlanInject& before = plan_.injects[i - 1];
        RequireOrder(std::tie(before.round, before.tree) < std::tie(inject.round, inject.tree),
                     "inject", i, "does not follow the one before by round and tree");
      }
    }
  }
}

// The injects of a slice are one run, and the slices of a tree cover its stream once. Here and not
// among the global rules, because the cost of expanding a rank rests on it.
void Checker::CheckSlices() {
  const ProgramIndex index = BuildProgramIndex(plan_);
  for (size_t s = 0; s < index.slices.size(); ++s) {
    int64_t next = index.slices[s].begin;
    for (uint32_t i = index.first_inject[s]; i < index.first_inject[s + 1]; ++i) {
      const PlanInject& inject = plan_.injects[index.slice_injects[i]];
      if (inject.begin != next) {
        Add(VerifyRule::kSliceCoverage,
            Item("tree", inject.tree) + (", " + Item("round", inject.round)),
            "the injects are not one run: byte " + std::to_string(std::min(next, inject.begin)) +
                (inject.begin > next ? " is in none" : " is in two"));
        return;
      }
      next += inject.extent;
    }
  }
  const auto by_begin = [](const Slice& a, const Slice& b) {
    return std::tie(a.begin, a.extent) < std::tie(b.begin, b.extent);
  };
  for (size_t t = 0; t < plan_.trees.size(); ++t) {
    std::vector<Slice> slices(index.slices.begin() + index.first_slice[t],
                              index.slices.begin() + index.first_slice[t + 1]);
    if (!std::is_sorted(slices.begin(), slices.end(), by_begin)) {
      std::sort(slices.begin(), slices.end(), by_begin);
    }
    int64_t covered = 0;
    const int64_t bytes = plan_.streams[plan_.trees[t].stream].bytes;
    slices.push_back({0, 0, bytes, 0});  // the end, which has to be reached
    for (const Slice& slice : slices) {
      if (slice.begin != covered) {
        Add(VerifyRule::kSliceCoverage, Item("tree", t),
            "byte " + std::to_string(std::min(slice.begin, covered)) + " of its stream is sent " +
                (slice.begin > covered ? "by no inject" : "by two injects"));
        break;
      }
      covered += slice.extent;
    }
  }
}

}  // namespace

VerifyReport VerifyBounds(const Plan& plan, const VerifyOptions& options) {
  return Checker(plan, options).Run();
}

}  // namespace reshard
