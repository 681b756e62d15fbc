#include "runtime/exec/content_check.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/exec/pack.h"
#include "runtime/plan/walk.h"

namespace reshard {
namespace {

constexpr int64_t kChunkBytes = int64_t{4} << 20;  // gathered and hashed at once
constexpr size_t kUnitsPerExchange = 512;
constexpr size_t kMaxNamed = 5;

// Adjacent cells of one class and super-tensor: what is hashed as one.
struct Unit {
  uint32_t cls = 0;
  uint32_t super = 0;
  int64_t begin = 0;  // in the class
  int64_t extent = 0;
};

std::vector<Unit> UnitsOf(const Plan& plan) {
  std::vector<Unit> units;
  for (uint32_t c = 0; c < plan.classes.size(); ++c) {
    const PlanClass& cls = plan.classes[c];
    int64_t begin = 0;
    for (uint32_t i = cls.first_cell; i < cls.first_cell + cls.cell_count; ++i) {
      const int64_t bytes = CellBytes(plan, plan.cells[i]);
      if (begin == 0 || units.back().super != plan.cells[i].super) {
        units.push_back({c, plan.cells[i].super, begin, 0});
      }
      units.back().extent += bytes;
      begin += bytes;
    }
  }
  return units;
}

// What a rank has found; 0: it does not have the unit on that side.
struct Hashes {
  uint64_t source = 0;
  uint64_t destination = 0;
};

class Hasher {
 public:
  explicit Hasher(const ContentCheckSpec& spec)
      : spec_(spec),
        plan_(*spec.plan),
        sources_(plan_, spec.rank, PlanSide::kSource),
        destinations_(plan_, spec.rank, PlanSide::kDestination),
        chunk_(static_cast<size_t>(kChunkBytes)),
        state_(XXH3_createState()) {}

  StatusOr<Hashes> Of(const Unit& unit) {
    const PlanClass& cls = plan_.classes[unit.cls];
    Hashes hashes;
    for (const bool destination : {false, true}) {
      const RankList& ranks = plan_.rank_sets[destination ? cls.needers : cls.holders];
      if (!Contains(ranks, spec_.rank)) continue;
      const StatusOr<uint64_t> hash = HashSide(unit, destination);
      if (!hash.ok()) return hash.status();
      (destination ? hashes.destination : hashes.source) = std::max<uint64_t>(*hash, 1);
    }
    return hashes;
  }

 private:
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  StatusOr<uint64_t> HashSide(const Unit& unit, bool destination) {
    XXH3_64bits_reset(state_.get());
    for (int64_t done = 0; done < unit.extent;) {
      const int64_t bytes = std::min(kChunkBytes, unit.extent - done);
      RESHARD_RETURN_IF_ERROR(GatherChunk(unit, done, bytes, destination));
      XXH3_64bits_update(state_.get(), chunk_.data(), static_cast<size_t>(bytes));
      done += bytes;
    }
    return XXH3_64bits_digest(state_.get());
  }

  Status GatherChunk(const Unit& unit, int64_t begin, int64_t bytes, bool destination) {
    std::vector<RunNest> nests;
    if (!AppendClassRuns(plan_, destination ? destinations_ : sources_, unit.cls,
                         unit.begin + begin, bytes, 0, /*all_places=*/false, &nests)) {
      return Status(StatusCode::kCorruptData, "no place for class " + std::to_string(unit.cls));
    }
    Bindings host;
    if (!spec_.host_memory) {
      RESHARD_RETURN_IF_ERROR(CopyInstances(nests, &host));
    }
    CopyList list;
    const StatusOr<CopyRange> range =
        list.Append(plan_, spec_.host_memory ? spec_.program->bindings : host, nests, bytes);
    if (!range.ok()) return range.status();
    list.Gather(*range, chunk_.data());
    return Status();
  }

  // Whole params, which are read in any order then. Kept as long as chunks need the same families.
  Status CopyInstances(const std::vector<RunNest>& nests, Bindings* host) {
    std::vector<std::vector<uint8_t*>> pointers(plan_.families.size());
    for (const RunNest& nest : nests) {
      std::vector<uint8_t*>& instances = pointers[nest.family];
      if (!instances.empty()) continue;
      const std::span<uint8_t* const> from = spec_.program->bindings.instances(nest.family);
      const auto bytes = static_cast<size_t>(plan_.families[nest.family].bytes);
      std::vector<std::vector<uint8_t>>& copies = copies_[nest.family];
      const bool fresh = copies.empty();
      copies.resize(from.size());
      for (size_t i = 0; i < from.size(); ++i) {
        if (fresh && from[i] != nullptr) {
          copies[i].resize(bytes);
          RESHARD_RETURN_IF_ERROR(spec_.engine->CopyToHost(from[i], copies[i]));
        }
        instances.push_back(from[i] == nullptr ? nullptr : copies[i].data());
      }
    }
    std::erase_if(copies_, [&](const auto& entry) { return pointers[entry.first].empty(); });
    *host = Bindings::OfInstances(std::move(pointers));
    return Status();
  }

  const ContentCheckSpec& spec_;
  const Plan& plan_;
  const RankPlaces sources_, destinations_;
  std::vector<uint8_t> chunk_;
  std::unique_ptr<XXH3_state_t, FreeState> state_;
  std::map<uint32_t, std::vector<std::vector<uint8_t>>> copies_;  // by family
};

// Compares what all ranks found of units; all ranks come to the same text.
class Verdict {
 public:
  explicit Verdict(const ContentCheckSpec& spec) : spec_(spec) {}

  void Compare(const Unit& unit, const std::vector<Hashes>& of_members) {
    const size_t none = of_members.size();
    size_t first = none;
    for (size_t m = 0; m < of_members.size(); ++m) {
      const uint64_t source = of_members[m].source;
      if (source == 0) continue;
      if (first == none) first = m;
      if (source != of_members[first].source) {
        Add(unit,
            "sources " + RankText(first) + " and " + RankText(m) + " hold different bytes of ");
      }
    }
    for (size_t m = 0; m < of_members.size() && first != none; ++m) {
      const uint64_t destination = of_members[m].destination;
      if (destination != 0 && destination != of_members[first].source) {
        Add(unit, RankText(m) + " holds other bytes than its source " + RankText(first) + " of ");
      }
    }
  }

  Status status() const {
    if (count_ == 0) return Status();
    return Status(
        StatusCode::kCorruptData,
        "the content check failed: " + text_ +
            (count_ > kMaxNamed ? "; and " + std::to_string(count_ - kMaxNamed) + " more" : ""));
  }

 private:
  std::string RankText(size_t member) const {
    return "rank " + std::to_string(spec_.ranks_of_members[member]);
  }
  void Add(const Unit& unit, const std::string& what) {
    if (count_++ >= kMaxNamed) return;
    const PlanSuper& super = spec_.plan->supers[unit.super];
    text_ += (text_.empty() ? "" : "; ") + what + "'" +
             super.name.Describe(super.loop_begin, super.loop_extent) + "'";
  }

  const ContentCheckSpec& spec_;
  size_t count_ = 0;
  std::string text_;
};

}  // namespace

Status CheckContent(const ContentCheckSpec& spec, Deadline deadline) {
  const std::vector<Unit> units = UnitsOf(*spec.plan);
  const size_t members = spec.ranks_of_members.size();
  std::vector<uint32_t> everybody(members);
  std::iota(everybody.begin(), everybody.end(), 0U);
  Hasher hasher(spec);
  Verdict verdict(spec);
  for (size_t first = 0; first < units.size(); first += kUnitsPerExchange) {
    const size_t count = std::min(kUnitsPerExchange, units.size() - first);
    std::vector<Hashes> mine(count);
    for (size_t u = 0; u < count; ++u) {
      const StatusOr<Hashes> hashes = hasher.Of(units[first + u]);
      if (!hashes.ok()) return hashes.status();
      mine[u] = *hashes;
    }
    std::vector<uint8_t> said(count * sizeof(Hashes));
    std::memcpy(said.data(), mine.data(), said.size());
    std::vector<uint8_t> all(members * said.size());
    RESHARD_RETURN_IF_ERROR(spec.control->AllGather(everybody, said, all, deadline));
    std::vector<Hashes> of_members(members);
    for (size_t u = 0; u < count; ++u) {
      for (size_t m = 0; m < members; ++m) {
        std::memcpy(&of_members[m], all.data() + m * said.size() + u * sizeof(Hashes),
                    sizeof(Hashes));
      }
      verdict.Compare(units[first + u], of_members);
    }
  }
  return verdict.status();
}

}  // namespace reshard
