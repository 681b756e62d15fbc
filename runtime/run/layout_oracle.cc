#include "runtime/run/layout_oracle.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/dtype.h"
#include "runtime/run/content.h"
#include "runtime/run/element_walk.h"

namespace reshard {
namespace {

// How many bytes of a wrong run are kept as evidence.
constexpr int64_t kEvidenceBytes = 32;

// The params of one rank, found by (family, instance).
class ParamIndex {
 public:
  ParamIndex(const Plan& plan, std::span<const LoopbackParam> params)
      : params_(params), range_(plan.families.size()) {
    for (size_t p = 0; p < params.size(); ++p) {
      Range& range = range_[params[p].family];
      if (range.count++ == 0) range.first = p;
    }
  }
  bool Has(uint32_t family) const { return range_[family].count > 0; }
  int64_t InstanceCount(uint32_t family) const { return range_[family].count; }
  // `bytes` bytes at `offset` are about to be used.
  size_t Find(uint32_t family, int64_t instance, int64_t offset, int64_t bytes) const {
    const Range& range = range_[family];
    RESHARD_CHECK(instance >= 0 && instance < range.count, "a place leaves the instances");
    const size_t param = range.first + static_cast<size_t>(instance);
    const auto size = static_cast<int64_t>(params_[param].bytes.size());
    RESHARD_CHECK(offset >= 0 && bytes <= size && offset <= size - bytes,
                  "a place leaves its buffer");
    return param;
  }

 private:
  struct Range {
    size_t first = 0;
    int64_t count = 0;
  };
  std::span<const LoopbackParam> params_;
  std::vector<Range> range_;
};

// Calls visit(run, tensor key, address of the run's first element, param) for the places of one
// side of a rank.
template <class Visit>
void ForEachRunOfRank(const Plan& plan, std::span<const LoopbackParam> params,
                      const ParamIndex& index, PlanSide side, uint64_t generation, Visit visit) {
  for (const PlanPlace& place : plan.places) {
    if (plan.families[place.family].side != side || !index.Has(place.family)) continue;
    const PlanSuper& super = plan.supers[place.super];
    const int64_t element_bytes = DTypeBytes(super.dtype);
    uint64_t key = 0;
    ForEachElementRun(
        plan, place,
        [&](const std::vector<int64_t>& loop_values) {
          key = TensorKey(super.name.Instance(loop_values), generation);
        },
        [&](const ElementRun& run) {
          if (run.count == 0) return;
          const int64_t reach = (run.count - 1) * run.stride_bytes;
          const int64_t low = run.offset_bytes + std::min<int64_t>(reach, 0);
          const size_t param =
              index.Find(place.family, run.instance, low, std::max(reach, -reach) + element_bytes);
          visit(place, run, key, params[param].bytes.data() + run.offset_bytes, param);
        });
  }
}

template <size_t kBytes>
void WriteRun(uint8_t* at, const ElementRun& run, uint64_t key) {
  for (int64_t k = 0; k < run.count; ++k) {
    const uint64_t value = ElementValue(key, run.element + k * run.element_step);
    std::memcpy(at + k * run.stride_bytes, &value, kBytes);
  }
}

// The first element that differs, or run.count.
template <size_t kBytes>
int64_t CountWrong(const uint8_t* at, const ElementRun& run, uint64_t key, int64_t* wrong) {
  int64_t first = run.count;
  for (int64_t k = 0; k < run.count; ++k) {
    const uint64_t value = ElementValue(key, run.element + k * run.element_step);
    if (std::memcmp(at + k * run.stride_bytes, &value, kBytes) == 0) continue;
    if (first == run.count) first = k;
    ++*wrong;
  }
  return first;
}

// Collects what is wrong with one rank.
class Checker {
 public:
  Checker(const Plan& plan, std::span<const LoopbackParam> params, uint64_t generation)
      : plan_(plan),
        params_(params),
        generation_(generation),
        index_(plan, params),
        covered_bytes_(params.size(), 0) {}

  RankCheck Run() {
    ForEachRunOfRank(
        plan_, params_, index_, PlanSide::kDestination, generation_,
        [this](const PlanPlace& place, const ElementRun& run, uint64_t key, const uint8_t* at,
               size_t param) { CheckRun(place, run, key, at, param); });
    for (const PlanFill& fill : plan_.fills) {
      if (plan_.families[fill.family].side == PlanSide::kDestination) CheckFill(fill);
    }
    for (size_t p = 0; p < params_.size(); ++p) {
      const auto bytes = static_cast<int64_t>(params_[p].bytes.size());
      if (params_[p].external) {
        CheckPadding(p, 0, bytes, FindingKind::kExternal);
      } else if (params_[p].side == PlanSide::kDestination && covered_bytes_[p] != bytes) {
        Report(FindingKind::kCoverage, p, std::min(covered_bytes_[p], bytes));
        check_.wrong_bytes += std::max(bytes - covered_bytes_[p], covered_bytes_[p] - bytes);
      }
    }
    return std::move(check_);
  }

 private:
  void CheckRun(const PlanPlace& place, const ElementRun& run, uint64_t key, const uint8_t* at,
                size_t param) {
    const int64_t element_bytes = DTypeBytes(plan_.supers[place.super].dtype);
    int64_t wrong = 0;
    int64_t first = 0;
    switch (element_bytes) {
      case 1:
        first = CountWrong<1>(at, run, key, &wrong);
        break;
      case 2:
        first = CountWrong<2>(at, run, key, &wrong);
        break;
      case 4:
        first = CountWrong<4>(at, run, key, &wrong);
        break;
      default:
        first = CountWrong<8>(at, run, key, &wrong);
        break;
    }
    covered_bytes_[param] += run.count * element_bytes;
    check_.compared_bytes += run.count * element_bytes;
    check_.wrong_bytes += wrong * element_bytes;
    if (wrong == 0) return;
    if (!Report(FindingKind::kElement, param, run.offset_bytes + first * run.stride_bytes)) return;
    Finding& finding = *check_.first;
    finding.super = place.super;
    finding.loop_values = *run.loop_values;
    finding.element = run.element + first * run.element_step;
    finding.element_step = run.element_step;
    const int64_t end = std::min(run.count, first + kEvidenceBytes / element_bytes);
    for (int64_t k = first; k < end; ++k) {
      const uint8_t* const element = at + k * run.stride_bytes;
      finding.found.insert(finding.found.end(), element, element + element_bytes);
    }
  }

  void CheckFill(const PlanFill& fill) {
    const std::span dims = std::span(plan_.fill_dims).subspan(fill.first_dim, fill.dim_count);
    const FindingKind kind =
        fill.rule == PlanFillRule::kZero ? FindingKind::kFill : FindingKind::kKept;
    for (int64_t i = 0; i < index_.InstanceCount(fill.family); ++i) {
      CheckFillDims(fill.family, i, fill.base_bytes, dims, kind);
    }
  }

  void CheckFillDims(uint32_t family, int64_t instance, int64_t offset,
                     std::span<const PlanFillDim> dims, FindingKind kind) {
    if (dims.empty() || (dims.size() == 1 && dims[0].stride_bytes == 1)) {
      const int64_t bytes = dims.empty() ? 1 : dims[0].extent;
      CheckPadding(index_.Find(family, instance, offset, bytes), offset, bytes, kind);
      return;
    }
    for (int64_t i = 0; i < dims[0].extent; ++i) {
      CheckFillDims(family, instance, offset + i * dims[0].stride_bytes, dims.subspan(1), kind);
    }
  }

  void CheckPadding(size_t param, int64_t offset, int64_t bytes, FindingKind kind) {
    const LoopbackParam& p = params_[param];
    const GarbageKey key = MakeGarbageKey(p.rank, p.family, p.instance, generation_);
    covered_bytes_[param] += bytes;
    check_.compared_bytes += bytes;
    for (int64_t b = offset; b < offset + bytes; ++b) {
      const uint8_t expected = kind == FindingKind::kFill ? uint8_t{0} : GarbageByte(key, b);
      if (p.bytes[static_cast<size_t>(b)] == expected) continue;
      ++check_.wrong_bytes;
      Report(kind, param, b);
    }
  }

  // Whether this one comes before all others so far.
  bool Report(FindingKind kind, size_t param, int64_t offset) {
    if (check_.first &&
        std::pair(check_.first->param, check_.first->offset_bytes) <= std::pair(param, offset)) {
      return false;
    }
    check_.first = Finding{};
    check_.first->kind = kind;
    check_.first->param = param;
    check_.first->offset_bytes = offset;
    return true;
  }

  const Plan& plan_;
  const std::span<const LoopbackParam> params_;
  const uint64_t generation_;
  const ParamIndex index_;
  std::vector<int64_t> covered_bytes_;
  RankCheck check_;
};

}  // namespace

void LayoutOracle::Fill(std::span<const LoopbackParam> params, uint64_t generation) const {
  for (const LoopbackParam& param : params) {
    FillGarbage(MakeGarbageKey(param.rank, param.family, param.instance, generation), param.bytes);
  }
  const ParamIndex index(plan_, params);
  ForEachRunOfRank(
      plan_, params, index, PlanSide::kSource, generation,
      [&](const PlanPlace& place, const ElementRun& run, uint64_t key, uint8_t* at, size_t) {
        switch (DTypeBytes(plan_.supers[place.super].dtype)) {
          case 1:
            return WriteRun<1>(at, run, key);
          case 2:
            return WriteRun<2>(at, run, key);
          case 4:
            return WriteRun<4>(at, run, key);
          default:
            return WriteRun<8>(at, run, key);
        }
      });
}

RankCheck LayoutOracle::CheckDestination(std::span<const LoopbackParam> params,
                                         uint64_t generation) const {
  return Checker(plan_, params, generation).Run();
}

std::vector<uint64_t> LayoutOracle::HashSources(std::span<const LoopbackParam> params) {
  std::vector<uint64_t> hashes;
  for (const LoopbackParam& param : params) {
    if (param.side == PlanSide::kSource) hashes.push_back(HashBytes(param.bytes));
  }
  return hashes;
}

RankCheck LayoutOracle::CheckSource(std::span<const LoopbackParam> params,
                                    std::span<const uint64_t> hashes) {
  RankCheck check;
  size_t next = 0;
  for (size_t p = 0; p < params.size(); ++p) {
    if (params[p].side != PlanSide::kSource) continue;
    const auto bytes = static_cast<int64_t>(params[p].bytes.size());
    check.compared_bytes += bytes;
    if (HashBytes(params[p].bytes) == hashes[next++]) continue;
    check.wrong_bytes += bytes;
    if (!check.first) {
      check.first = Finding{};
      check.first->kind = FindingKind::kSource;
      check.first->param = p;
    }
  }
  return check;
}

}  // namespace reshard
