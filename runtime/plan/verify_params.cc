#include "runtime/plan/verify_params.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/exact_cover.h"
#include "runtime/plan/verify_facts.h"

namespace reshard {
namespace {

// What a map of a place or fill reaches; bounds have excluded overflow.
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
  void Add(int64_t extent, int64_t stride) { (stride < 0 ? low : high) += (extent - 1) * stride; }
  bool Inside(int64_t width, int64_t end) const { return low >= 0 && high <= end - width; }
};

int64_t InstanceCount(const PlanFamily& family) {
  int64_t count = 1;
  for (const int64_t extent : family.loop_extent) count *= extent;
  return count;
}

class ParamChecker {
 public:
  ParamChecker(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log)
      : plan_(plan),
        log_(*log),
        wanted_(plan.families.size(), true),
        regions_(plan.families.size()),
        sound_(plan.families.size(), true) {
    if (!rank) return;
    for (size_t f = 0; f < wanted_.size(); ++f) {
      wanted_[f] = Contains(plan.rank_sets[plan.families[f].rank_set], *rank);
    }
  }

  void Run() {
    for (uint32_t p = 0; p < plan_.places.size() && log_.CanGoOn(); ++p) {
      if (wanted_[plan_.places[p].family]) AddPlace(p);
    }
    for (uint32_t f = 0; f < plan_.fills.size() && log_.CanGoOn(); ++f) {
      if (wanted_[plan_.fills[f].family]) AddFill(f);
    }
    for (uint32_t f = 0; f < plan_.families.size() && log_.CanGoOn(); ++f) {
      if (wanted_[f] && sound_[f]) CheckCoverage(f);
    }
  }

 private:
  void Report(VerifyRule rule, std::string where, uint32_t family, const std::string& text) {
    sound_[family] = false;
    log_.Add(rule, std::move(where), text + " " + DescribeFamily(plan_.families[family], plan_));
  }

  void AddPlace(uint32_t p) {
    const PlanPlace& place = plan_.places[p];
    const PlanFamily& family = plan_.families[place.family];
    const PlanSuper& super = plan_.supers[place.super];
    const int64_t element_bytes = DTypeBytes(super.dtype);
    const std::string where = "place " + std::to_string(p);
    if (super.dtype != family.dtype) {
      Report(VerifyRule::kPlaceDType, where, place.family,
             "puts " + std::string(DTypeText(super.dtype)) + " elements into the " +
                 std::string(DTypeText(family.dtype)));
      return;
    }
    if (!log_.Charge(super.dims.size() + 1)) return;
    Reach bytes{place.base_bytes, place.base_bytes};
    Reach instances{place.base_instance, place.base_instance};
    bool aligned = place.base_bytes % element_bytes == 0;
    for (size_t d = 0; d < super.dims.size(); ++d) {
      const PlanDimRange& dim = plan_.place_dims[place.first_dim + d];
      if (dim.extent == 1) continue;
      bytes.Add(dim.extent, dim.stride_bytes);
      instances.Add(dim.extent, dim.instance_stride);
      aligned = aligned && dim.stride_bytes % element_bytes == 0;
    }
    if (!bytes.Inside(element_bytes, family.bytes) || !instances.Inside(1, InstanceCount(family))) {
      Report(VerifyRule::kPlaceSize, where, place.family, "leaves the buffers of");
      return;
    }
    if (!aligned) {
      Report(VerifyRule::kPlaceSize, where, place.family, "lies between the elements of");
      return;
    }
    // Inside the buffers, so that no product of a stride and the size of one overflows.
    StridedRegion region{
        place.base_instance * family.bytes + place.base_bytes, element_bytes, {}, p};
    for (size_t d = 0; d < super.dims.size(); ++d) {
      const PlanDimRange& dim = plan_.place_dims[place.first_dim + d];
      if (dim.extent == 1) continue;
      region.dims.push_back({dim.extent, dim.instance_stride * family.bytes + dim.stride_bytes});
    }
    regions_[place.family].push_back(std::move(region));
  }

  void AddFill(uint32_t f) {
    const PlanFill& fill = plan_.fills[f];
    const PlanFamily& family = plan_.families[fill.family];
    if (!log_.Charge(fill.dim_count + uint64_t{1})) return;
    StridedRegion region{fill.base_bytes, 1, {}, FillId(f)};
    region.dims.push_back({InstanceCount(family), family.bytes});
    Reach bytes{fill.base_bytes, fill.base_bytes};
    for (uint32_t d = 0; d < fill.dim_count; ++d) {
      const PlanFillDim& dim = plan_.fill_dims[fill.first_dim + d];
      bytes.Add(dim.extent, dim.stride_bytes);
      region.dims.push_back({dim.extent, dim.stride_bytes});
    }
    if (!bytes.Inside(1, family.bytes)) {
      Report(VerifyRule::kPlaceSize, "fill " + std::to_string(f), fill.family,
             "leaves the buffers of");
      return;
    }
    regions_[fill.family].push_back(std::move(region));
  }

  // A destination is written whole, once. Of a source only what is needed lies in places, and a
  // byte that were two elements could not be right as both.
  void CheckCoverage(uint32_t f) {
    const PlanFamily& family = plan_.families[f];
    if (family.external) {
      if (!regions_[f].empty()) {
        log_.Add(VerifyRule::kParamCoverage, DescribeFamily(family, plan_),
                 Region(regions_[f].front().id) + " touches it, but it is external");
      }
      return;
    }
    const int64_t line_bytes = InstanceCount(family) * family.bytes;
    const CoverResult result =
        CheckExactCover(std::move(regions_[f]), line_bytes, family.side == PlanSide::kSource,
                        [this](uint64_t steps) { return log_.Charge(steps); });
    if (result.exhausted) {
      log_.Exhaust();
    } else if (result.fault) {
      const CoverFault& fault = *result.fault;
      std::string text = "byte " + std::to_string(fault.byte % family.bytes) + " of '" +
                         InstanceName(family, fault.byte / family.bytes) + "' is ";
      if (fault.gap) {
        text += "in no place and no fill";
      } else if (fault.first == fault.second) {
        text += "twice in " + Region(fault.first);
      } else {
        text += "in " + Region(fault.first) + " and in " + Region(fault.second);
      }
      log_.Add(VerifyRule::kParamCoverage, DescribeFamily(family, plan_), std::move(text));
    }
  }

  // Places keep their numbers as ids of regions, fills count on behind them.
  uint32_t FillId(uint32_t fill) const { return static_cast<uint32_t>(plan_.places.size()) + fill; }
  std::string Region(uint32_t id) const {
    const auto places = static_cast<uint32_t>(plan_.places.size());
    return id < places ? "place " + std::to_string(id) : "fill " + std::to_string(id - places);
  }

  const Plan& plan_;
  VerifyLog& log_;
  std::vector<bool> wanted_;  // per family
  std::vector<std::vector<StridedRegion>> regions_;
  std::vector<bool> sound_;  // nothing reported yet
};

}  // namespace

void VerifyParams(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log) {
  ParamChecker(plan, rank, log).Run();
}

}  // namespace reshard
