#include "runtime/exec/bindings.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/base/dtype.h"

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

// A destination is written while everything else is read, so it must not share memory.
void CheckOverlaps(std::span<const ParamBuffer> buffers, const std::vector<size_t>& used,
                   Problems* problems) {
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
    const bool written = buffers[i].side == PlanSide::kDestination;
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

void CheckBuffer(const ExpectedParam& param, const ParamBuffer& buffer, int64_t align_bytes,
                 Problems* problems) {
  if (buffer.bytes != param.bytes) {
    problems->Add("'" + buffer.name + "' has " + std::to_string(buffer.bytes) +
                  " bytes, expected " + std::to_string(param.bytes));
  } else if (buffer.data == nullptr && buffer.bytes > 0) {
    problems->Add("'" + buffer.name + "' has a null address");
  } else if (reinterpret_cast<uintptr_t>(buffer.data) % static_cast<uintptr_t>(align_bytes) != 0) {
    problems->Add("'" + buffer.name + "' is not aligned to its elements of " +
                  std::to_string(align_bytes) + " bytes");
  }
}

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

StatusOr<Bindings> BindParams(const Plan& plan, uint32_t rank,
                              std::span<const ParamBuffer> buffers) {
  const std::vector<ExpectedParam> params = ParamsOfRank(plan, rank);
  NameMap by_name;
  for (size_t p = 0; p < params.size(); ++p) {
    by_name.emplace(std::pair(params[p].side, std::string_view(params[p].name)), p);
    for (const std::string& other : params[p].shares) {
      by_name.emplace(std::pair(params[p].side, std::string_view(other)), p);
    }
  }
  Problems problems;
  std::vector<size_t> buffer_of(params.size(), buffers.size());
  std::vector<size_t> used;
  for (size_t b = 0; b < buffers.size(); ++b) {
    const auto found = by_name.find({buffers[b].side, buffers[b].name});
    if (found == by_name.end()) {
      problems.Add("rank " + std::to_string(rank) + " has no " +
                   std::string(SideText(buffers[b].side)) + " param '" + buffers[b].name + "'");
      continue;
    }
    const ExpectedParam& param = params[found->second];
    size_t& bound = buffer_of[found->second];
    if (bound != buffers.size()) {
      // Two names of one buffer may both be given, as long as they agree.
      if (buffers[bound].name == buffers[b].name) {
        problems.Add("'" + buffers[b].name + "' is given twice");
      } else if (buffers[bound].data != buffers[b].data ||
                 buffers[bound].bytes != buffers[b].bytes) {
        problems.Add("'" + buffers[bound].name + "' and '" + buffers[b].name +
                     "' name one param, but their buffers differ");
      }
      continue;
    }
    bound = b;
    used.push_back(b);
    CheckBuffer(param, buffers[b], DTypeBytes(plan.families[param.family].dtype), &problems);
  }
  Bindings bindings;
  bindings.instances_.resize(plan.families.size());
  for (size_t p = 0; p < params.size(); ++p) {
    const bool bound = buffer_of[p] != buffers.size();
    if (!bound && !params[p].external && params[p].bytes > 0) {
      problems.Add(std::string(SideText(params[p].side)) + " param '" + params[p].name +
                   "' has no buffer");
    }
    bindings.instances_[params[p].family].push_back(bound ? buffers[buffer_of[p]].data : nullptr);
  }
  CheckOverlaps(buffers, used, &problems);
  if (problems.empty()) return bindings;
  return Status(StatusCode::kInvalidArgument, problems.Text());
}

}  // namespace reshard
