#include "runtime/run/explain_difference.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "runtime/base/checked_math.h"
#include "runtime/base/dtype.h"
#include "runtime/base/list_text.h"
#include "runtime/run/content.h"

namespace reshard {
namespace {

// Elements that the search for an origin looks at: well under a second.
constexpr int64_t kSearchBudget = int64_t{1} << 26;
// Fewer bytes than this would fit some element by accident.
constexpr size_t kLeastEvidenceBytes = 6;

std::vector<int64_t> Unravel(int64_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> at(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] < 1) continue;
    at[d] = index % shape[d];
    index /= shape[d];
  }
  return at;
}

std::string ElementText(const PlanSuper& super, const std::vector<int64_t>& loop_values,
                        int64_t element) {
  return super.name.Instance(loop_values) + ListText(Unravel(element, super.shape));
}

// Looks for a run of elements with the found bytes.
class OriginSearch {
 public:
  OriginSearch(const Plan& plan, const Finding& finding, uint64_t generation)
      : plan_(plan),
        finding_(finding),
        element_bytes_(static_cast<size_t>(DTypeBytes(plan.supers[finding.super].dtype))),
        generation_(generation) {}

  std::optional<std::string> Run() {
    // Nothing is as likely as another part of the same tensors.
    if (std::optional<std::string> origin = SearchSuper(finding_.super)) return origin;
    for (uint32_t s = 0; s < plan_.supers.size(); ++s) {
      if (s == finding_.super) continue;
      if (static_cast<size_t>(DTypeBytes(plan_.supers[s].dtype)) != element_bytes_) continue;
      if (std::optional<std::string> origin = SearchSuper(s)) return origin;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> SearchSuper(uint32_t s) {
    const PlanSuper& super = plan_.supers[s];
    const std::optional<int64_t> elements = CheckedProduct<int64_t>(super.shape);
    const std::optional<int64_t> tensors = CheckedProduct<int64_t>(super.loop_extent);
    if (!elements || !tensors) return std::nullopt;
    // The run may have been taken along any axis, or along one of the transposed tensor.
    std::set<int64_t> steps = {finding_.element_step};
    int64_t step = 1;
    for (size_t d = super.shape.size(); d-- > 0;) {
      steps.insert(step);
      steps.insert(super.shape[d]);
      step *= super.shape[d];
    }
    for (int64_t t = 0; t < *tensors && budget_ > 0; ++t) {
      std::vector<int64_t> loop_values = Unravel(t, super.loop_extent);
      for (size_t d = 0; d < loop_values.size(); ++d) loop_values[d] += super.loop_begin[d];
      const std::string name = super.name.Instance(loop_values);
      const uint64_t key = TensorKey(name, generation_);
      for (int64_t e = 0; e < *elements && budget_ > 0; ++e, --budget_) {
        if (!Matches(key, e, 0)) continue;
        for (const int64_t along : steps) {
          if (MatchesRun(key, e, along)) return ElementText(super, loop_values, e);
        }
      }
    }
    return std::nullopt;
  }

  bool Matches(uint64_t key, int64_t element, size_t position) const {
    const uint64_t value = ElementValue(key, element);
    return std::memcmp(&value, finding_.found.data() + position * element_bytes_, element_bytes_) ==
           0;
  }
  bool MatchesRun(uint64_t key, int64_t element, int64_t step) const {
    const size_t count = finding_.found.size() / element_bytes_;
    for (size_t k = 1; k < count; ++k) {
      if (!Matches(key, element + static_cast<int64_t>(k) * step, k)) return false;
    }
    return true;
  }

  const Plan& plan_;
  const Finding& finding_;
  const size_t element_bytes_;
  const uint64_t generation_;
  int64_t budget_ = kSearchBudget;
};

// What lies where tensor elements should be.
std::string FoundInsteadOfElement(const Plan& plan, const LoopbackParam& param,
                                  const Finding& finding, uint64_t generation) {
  const std::vector<uint8_t>& found = finding.found;
  if (std::all_of(found.begin(), found.end(), [](uint8_t b) { return b == 0; })) return "zeros";
  const GarbageKey garbage = MakeGarbageKey(param.rank, param.family, param.instance, generation);
  const auto element_bytes = static_cast<size_t>(DTypeBytes(plan.supers[finding.super].dtype));
  bool untouched = true;
  for (size_t b = 0; b < std::min(element_bytes, found.size()); ++b) {
    untouched &= found[b] == GarbageByte(garbage, finding.offset_bytes + static_cast<int64_t>(b));
  }
  if (untouched) return "what was there before: it was not written";
  if (found.size() >= kLeastEvidenceBytes) {
    if (const auto origin = OriginSearch(plan, finding, generation).Run()) return *origin;
    if (generation > 0) {
      if (const auto origin = OriginSearch(plan, finding, generation - 1).Run()) {
        return *origin + " of the execution before";
      }
    }
  }
  return "an unknown value";
}

}  // namespace

std::string ContentDifference::Text() const {
  return "rank " + std::to_string(rank) + ", '" + param + "' " + ListText(index) + " (byte " +
         std::to_string(offset_bytes) + "): expected " + expected + ", found " + found;
}

ContentDifference ExplainDifference(const Plan& plan, std::span<const LoopbackParam> params,
                                    const Finding& finding, uint64_t generation) {
  const LoopbackParam& param = params[finding.param];
  const PlanFamily& family = plan.families[param.family];
  ContentDifference difference;
  difference.rank = param.rank;
  difference.param = param.name;
  difference.offset_bytes = finding.offset_bytes;
  difference.index = Unravel(finding.offset_bytes / DTypeBytes(family.dtype), family.shape);
  switch (finding.kind) {
    case FindingKind::kElement:
      difference.expected =
          ElementText(plan.supers[finding.super], finding.loop_values, finding.element);
      difference.found = FoundInsteadOfElement(plan, param, finding, generation);
      break;
    case FindingKind::kFill:
      difference.expected = "zero as padding";
      difference.found = "another value";
      break;
    case FindingKind::kKept:
      difference.expected = "padding that is kept";
      difference.found = "that it was written";
      break;
    case FindingKind::kExternal:
      difference.expected = "an external param to be left alone";
      difference.found = "that it was written";
      break;
    case FindingKind::kSource:
      difference.expected = "a source param to be left alone";
      difference.found = "that it was written";
      break;
    case FindingKind::kCoverage:
      difference.expected = "layouts that state each byte once";
      difference.found = "bytes stated never or twice";
      break;
  }
  return difference;
}

}  // namespace reshard
