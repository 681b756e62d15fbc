#include "compiler/plan_tools/tensor_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace reshard {
namespace {

// Values of one loop, rising ranges of first and last.
using Values = std::vector<std::pair<int64_t, int64_t>>;
// A set of tensors that is a product: values of each loop.
using Block = std::vector<Values>;

void Append(int64_t value, Values* values) {
  if (!values->empty() && values->back().second + 1 == value) {
    values->back().second = value;
  } else {
    values->emplace_back(value, value);
  }
}

class Blocks {
 public:
  explicit Blocks(const PlanSuper& super) : super_(super) {
    per_value_.assign(super.loop_extent.size(), 1);
    for (size_t i = per_value_.size(); i-- > 1;) {
      per_value_[i - 1] = per_value_[i] * super.loop_extent[i];
    }
  }

  // The fewest products that a greedy pass finds: values of a loop that have the same tensors below
  // them stay together.
  std::vector<Block> Of(size_t loop, std::span<const int64_t> tensors) const {
    if (loop == per_value_.size()) return {{}};
    std::map<std::vector<Block>, size_t> order;  // of what is below, by its first value
    std::vector<std::pair<std::vector<Block>, Values>> groups;
    for (size_t begin = 0; begin < tensors.size();) {
      const int64_t value = tensors[begin] / per_value_[loop] % super_.loop_extent[loop];
      size_t end = begin;
      while (end < tensors.size() &&
             tensors[end] / per_value_[loop] == tensors[begin] / per_value_[loop]) {
        ++end;
      }
      std::vector<Block> below = Of(loop + 1, tensors.subspan(begin, end - begin));
      const auto [found, is_new] = order.try_emplace(below, groups.size());
      if (is_new) groups.emplace_back(std::move(below), Values());
      Append(super_.loop_begin[loop] + value, &groups[found->second].second);
      begin = end;
    }
    std::vector<Block> blocks;
    for (const auto& [below, values] : groups) {
      for (const Block& rest : below) {
        Block block = {values};
        block.insert(block.end(), rest.begin(), rest.end());
        blocks.push_back(std::move(block));
      }
    }
    return blocks;
  }

 private:
  const PlanSuper& super_;
  std::vector<int64_t> per_value_;  // tensors below one value of each loop
};

// The loop that a hole depends on; nothing: it depends on several.
std::optional<size_t> LoopOf(const NamePattern::Hole& hole) {
  size_t loop = hole.coef.size();
  for (size_t i = 0; i < hole.coef.size(); ++i) {
    if (hole.coef[i] == 0) continue;
    if (loop < hole.coef.size()) return std::nullopt;
    loop = i;
  }
  return loop;
}

std::string HoleText(const NamePattern::Hole& hole, const Values& values) {
  const int64_t coef = hole.coef[*LoopOf(hole)];
  std::string text;
  const auto add = [&](int64_t first, int64_t last) {
    text += (text.empty() ? "" : ",") + std::to_string(hole.base + coef * first);
    if (last > first) text += ".." + std::to_string(hole.base + coef * last);
  };
  for (const auto& [first, last] : values) {
    if (coef == 1) {
      add(first, last);
    } else {
      for (int64_t value = first; value <= last; ++value) add(value, value);
    }
  }
  return text.find_first_of(",.") == std::string::npos ? text : "{" + text + "}";
}

std::string NameOf(const NamePattern& name, const Block& block) {
  std::string text = name.text[0];
  for (size_t h = 0; h < name.holes.size(); ++h) {
    const size_t loop = *LoopOf(name.holes[h]);
    text += loop == block.size() ? std::to_string(name.holes[h].base)
                                 : HoleText(name.holes[h], block[loop]);
    text += name.text[h + 1];
  }
  return text;
}

}  // namespace

std::vector<std::string> TensorNames(const PlanSuper& super, const std::vector<int64_t>& tensors) {
  std::vector<std::string> names;
  const bool separate =
      std::all_of(super.name.holes.begin(), super.name.holes.end(),
                  [](const NamePattern::Hole& hole) { return LoopOf(hole).has_value(); });
  if (separate) {
    for (const Block& block : Blocks(super).Of(0, tensors)) {
      names.push_back(NameOf(super.name, block));
    }
    return names;
  }
  for (const int64_t tensor : tensors) {
    std::vector<int64_t> values = super.loop_begin;
    int64_t rest = tensor;
    for (size_t i = values.size(); i-- > 0;) {
      values[i] += rest % super.loop_extent[i];
      rest /= super.loop_extent[i];
    }
    names.push_back(super.name.Instance(values));
  }
  return names;
}

}  // namespace reshard
