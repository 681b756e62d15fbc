#include "runtime/exec/bindings.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/base/dtype.h"
#include "runtime/base/list_text.h"
#include "runtime/exec/same_elements.h"

namespace reshard {
namespace {

constexpr size_t kMaxListed = 20;

std::string_view SideText(PlanSide side) {
  return side == PlanSide::kSource ? "source" : "destination";
}

// Problems of one BindParams call; the first kMaxListed are spelled out.
class Problems {
 public:
  void Add(std::string text) {
    if (count_++ < kMaxListed) text_ += (text_.empty() ? "" : "; ") + std::move(text);
  }
  bool empty() const { return count_ == 0; }
  std::string Text() const {
    if (count_ <= kMaxListed) return text_;
    return text_ + "; and " + std::to_string(count_ - kMaxListed) + " more";
  }

 private:
  size_t count_ = 0;
  std::string text_;
};

// Which buffer a name of the plan got; index of the param and of the buffer.
using NameMap = std::map<std::pair<PlanSide, std::string_view>, size_t>;

// A destination is written while everything else is read, so it must not share memory, unless it is
// never written: `in_place`, by buffer.
void CheckOverlaps(std::span<const ParamBuffer> buffers, const std::vector<size_t>& used,
                   const std::vector<bool>& in_place, Problems* problems) {
  std::vector<size_t> order;
  for (size_t i : used) {
    if (buffers[i].bytes > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(reinterpret_cast<uintptr_t>(buffers[a].data), a) <
           std::pair(reinterpret_cast<uintptr_t>(buffers[b].data), b);
  });
  const auto end_of = [&](size_t i) {
    return reinterpret_cast<uintptr_t>(buffers[i].data) + static_cast<uintptr_t>(buffers[i].bytes);
  };
  const size_t none = buffers.size();
  size_t furthest = none, furthest_written = none;
  for (size_t i : order) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(buffers[i].data);
    const bool written = buffers[i].side == PlanSide::kDestination && !in_place[i];
    const size_t before = written ? furthest : furthest_written;
    if (before != none && end_of(before) > begin) {
      problems->Add("the buffers of '" + buffers[before].name + "' (" +
                    std::string(SideText(buffers[before].side)) + ") and '" + buffers[i].name +
                    "' (" + std::string(SideText(buffers[i].side)) + ") overlap");
    }
    if (furthest == none || end_of(i) > end_of(furthest)) furthest = i;
    if (written && (furthest_written == none || end_of(i) > end_of(furthest_written))) {
      furthest_written = i;
    }
  }
}

// Whether `strides` are those of a row-major tensor; of a dimension of one element any will do.
bool IsRowMajor(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];  // the shape is the plan's, whose bytes fit
  }
  return true;
}

void CheckShape(const PlanFamily& family, const ParamBuffer& buffer, Problems* problems) {
  if (buffer.dtype && *buffer.dtype != family.dtype) {
    problems->Add("'" + buffer.name + "' is " + std::string(DTypeText(*buffer.dtype)) +
                  ", expected " + std::string(DTypeText(family.dtype)));
  }
  if (buffer.has_shape && buffer.shape != family.shape) {
    problems->Add("'" + buffer.name + "' has shape " + ListText(buffer.shape) + ", expected " +
                  ListText(family.shape));
  } else if (!buffer.strides.empty() && buffer.bytes > 0 &&
             (buffer.strides.size() != family.shape.size() ||
              !IsRowMajor(family.shape, buffer.strides))) {
    std::vector<int64_t> expected(family.shape.size(), 1);
    for (size_t d = expected.size(); d-- > 1;) expected[d - 1] = expected[d] * family.shape[d];
    problems->Add("'" + buffer.name + "' has strides " + ListText(buffer.strides) +
                  ", expected row-major " + ListText(expected));
  }
}

void CheckBuffer(const PlanFamily& family, const ParamBuffer& buffer, int32_t device,
                 Problems* problems) {
  const int64_t align_bytes = DTypeBytes(family.dtype);
  if (buffer.bytes != family.bytes) {
    problems->Add("'" + buffer.name + "' has " + std::to_string(buffer.bytes) +
                  " bytes, expected " + std::to_string(family.bytes));
  } else if (buffer.data == nullptr && buffer.bytes > 0) {
    problems->Add("'" + buffer.name + "' has a null address");
  } else if (reinterpret_cast<uintptr_t>(buffer.data) % static_cast<uintptr_t>(align_bytes) != 0) {
    problems->Add("'" + buffer.name + "' is not aligned to its elements of " +
                  std::to_string(align_bytes) + " bytes");
  }
  if (buffer.device != device) {
    const auto text = [](int32_t where) {
      return where == kHostDevice ? "host memory" : "device " + std::to_string(where);
    };
    problems->Add("'" + buffer.name + "' is in " + text(buffer.device) + ", expected " +
                  text(device));
  }
  CheckShape(family, buffer, problems);
}

// Everything that one BindParams call learns before it can say whether all is well.
class Binder {
 public:
  Binder(const Plan& plan, uint32_t rank, std::span<const ParamBuffer> buffers)
      : plan_(plan),
        rank_(rank),
        buffers_(buffers),
        params_(ParamsOfRank(plan, rank)),
        buffer_of_(params_.size(), buffers.size()),
        in_place_(buffers.size(), false) {}

  void Check(int32_t device) {
    MatchNames(device);
    for (size_t p = 0; p < params_.size(); ++p) {
      if (!IsBound(p) && !params_[p].external && params_[p].bytes > 0) {
        problems_.Add(std::string(SideText(params_[p].side)) + " param '" + params_[p].name +
                      "' has no buffer");
      }
    }
    FindInPlace();
    CheckOverlaps(buffers_, used_, in_place_, &problems_);
  }

  const Problems& problems() const { return problems_; }
  std::vector<std::vector<uint8_t*>> Instances() const {
    std::vector<std::vector<uint8_t*>> instances(plan_.families.size());
    for (size_t p = 0; p < params_.size(); ++p) {
      instances[params_[p].family].push_back(IsBound(p) ? buffers_[buffer_of_[p]].data : nullptr);
    }
    return instances;
  }
  std::vector<std::vector<bool>> InPlace() const {
    std::vector<std::vector<bool>> flags(plan_.families.size());
    for (size_t p = 0; p < params_.size(); ++p) {
      flags[params_[p].family].push_back(IsBound(p) && in_place_[buffer_of_[p]]);
    }
    return flags;
  }

 private:
  bool IsBound(size_t param) const { return buffer_of_[param] != buffers_.size(); }

  void MatchNames(int32_t device) {
    NameMap by_name;
    for (size_t p = 0; p < params_.size(); ++p) {
      by_name.emplace(std::pair(params_[p].side, std::string_view(params_[p].name)), p);
      for (const std::string& other : params_[p].shares) {
        by_name.emplace(std::pair(params_[p].side, std::string_view(other)), p);
      }
    }
    for (size_t b = 0; b < buffers_.size(); ++b) {
      const ParamBuffer& buffer = buffers_[b];
      const auto found = by_name.find({buffer.side, buffer.name});
      if (found == by_name.end()) {
        problems_.Add("rank " + std::to_string(rank_) + " has no " +
                      std::string(SideText(buffer.side)) + " param '" + buffer.name + "'");
        continue;
      }
      if (IsBound(found->second)) {
        CheckSecond(buffers_[buffer_of_[found->second]], buffer);
        continue;
      }
      buffer_of_[found->second] = b;
      used_.push_back(b);
      CheckBuffer(plan_.families[params_[found->second].family], buffer, device, &problems_);
    }
  }

  // Two names of one buffer may both be given, as long as they agree.
  void CheckSecond(const ParamBuffer& first, const ParamBuffer& second) {
    if (first.name == second.name) {
      problems_.Add("'" + second.name + "' is given twice");
    } else if (first.data != second.data || first.bytes != second.bytes) {
      problems_.Add("'" + first.name + "' and '" + second.name +
                    "' name one param, but their buffers differ");
    }
  }

  // Destinations in the very memory of a source param with the same map.
  void FindInPlace() {
    std::map<std::pair<const uint8_t*, int64_t>, std::vector<size_t>> sources;
    for (size_t p = 0; p < params_.size(); ++p) {
      if (!IsBound(p) || params_[p].side != PlanSide::kSource || params_[p].bytes == 0) continue;
      const ParamBuffer& buffer = buffers_[buffer_of_[p]];
      sources[{buffer.data, buffer.bytes}].push_back(p);
    }
    SameElements maps(plan_);
    for (size_t p = 0; p < params_.size(); ++p) {
      if (!IsBound(p) || params_[p].side != PlanSide::kDestination) continue;
      const ParamBuffer& buffer = buffers_[buffer_of_[p]];
      const auto same = sources.find({buffer.data, buffer.bytes});
      if (same == sources.end()) continue;
      const auto holds = [&](size_t source) {
        return maps.Holds({params_[source].family, params_[source].instance},
                          {params_[p].family, params_[p].instance});
      };
      if (std::any_of(same->second.begin(), same->second.end(), holds)) {
        in_place_[buffer_of_[p]] = true;
      } else {
        problems_.Add("'" + buffer.name + "' lies in the memory of source param '" +
                      params_[same->second.front()].name + "' but has other elements there");
        in_place_[buffer_of_[p]] = true;  // said once is enough
      }
    }
  }

  const Plan& plan_;
  const uint32_t rank_;
  const std::span<const ParamBuffer> buffers_;
  const std::vector<ExpectedParam> params_;
  std::vector<size_t> buffer_of_;  // per param; buffers_.size(): none
  std::vector<size_t> used_;       // buffers that a param wants
  std::vector<bool> in_place_;     // per buffer
  Problems problems_;
};

}  // namespace

std::vector<ExpectedParam> ParamsOfRank(const Plan& plan, uint32_t rank) {
  std::vector<ExpectedParam> params;
  for (uint32_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    if (!Contains(plan.rank_sets[family.rank_set], rank)) continue;
    const std::optional<int64_t> instances = CheckedProduct<int64_t>(family.loop_extent);
    if (!instances) continue;  // such a plan has not passed VerifyPlan
    std::vector<int64_t> values = family.loop_begin;
    for (int64_t i = 0; i < *instances; ++i) {
      ExpectedParam param;
      param.family = f;
      param.instance = i;
      param.side = family.side;
      param.name = family.name.Instance(values);
      for (const NamePattern& other : family.shares) param.shares.push_back(other.Instance(values));
      param.bytes = family.bytes;
      param.external = family.external;
      params.push_back(std::move(param));
      for (size_t d = values.size(); d-- > 0;) {
        if (++values[d] < family.loop_begin[d] + family.loop_extent[d]) break;
        values[d] = family.loop_begin[d];
      }
    }
  }
  return params;
}

StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank, std::span<const ParamBuffer> buffers,
                              int32_t device) {
  Binder binder(plan, rank, buffers);
  binder.Check(device);
  if (!binder.problems().empty()) {
    return Status(StatusCode::kInvalidArgument, binder.problems().Text());
  }
  Bindings bindings;
  bindings.instances_ = binder.Instances();
  bindings.in_place_ = binder.InPlace();
  return bindings;
}

}  // namespace reshard
