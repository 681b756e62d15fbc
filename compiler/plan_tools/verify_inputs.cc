#include "compiler/plan_tools/verify_inputs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "compiler/plan_tools/naive_layout.h"
#include "compiler/plan_tools/plan_origins.h"
#include "compiler/plan_tools/unravel.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

constexpr size_t kMaxFillRanges = 1 << 16;

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

int64_t FillBytes(const NaiveParam& param, uint32_t fill) {
  int64_t elements = 0;
  for (const NaivePiece& piece : param.view.pieces) {
    if (piece.tensor == fill) elements += piece.element_count();
  }
  return elements * DTypeBytes(param.view.dtype);
}

// Byte ranges of a param's fills of one rule, rising and merged.
std::optional<Ranges> FillRanges(const NaiveParam& param, uint32_t fill, size_t limit) {
  const int64_t bytes = DTypeBytes(param.view.dtype);
  std::vector<int64_t> elements;
  for (const NaivePiece& piece : param.view.pieces) {
    if (piece.tensor != fill) continue;
    if (elements.size() + static_cast<size_t>(piece.element_count()) > limit) return std::nullopt;
    for (int64_t i = 0; i < piece.element_count(); ++i) {
      std::vector<int64_t> at = piece.at;
      int64_t rest = i;
      for (const NaiveDigit& digit : piece.digits) {
        at[digit.dim] += rest % digit.extent * digit.step;
        rest /= digit.extent;
      }
      int64_t element = 0;
      for (size_t d = 0; d < at.size(); ++d) element = element * param.view.shape[d] + at[d];
      elements.push_back(element);
    }
  }
  std::sort(elements.begin(), elements.end());
  Ranges ranges;
  for (const int64_t element : elements) {
    if (ranges.empty() || ranges.back().second != element * bytes) {
      ranges.emplace_back(element * bytes, element * bytes);
    }
    ranges.back().second += bytes;
  }
  return ranges;
}

// A rank number at the start of `text`, which loses it.
bool TakeRank(std::string_view* text, uint32_t* rank) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *rank);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

// "12-13,20", rising. At most as many ranks as a layout may have.
bool ParseRanks(std::string_view text, RankList* ranks) {
  constexpr size_t kMaxRanks = size_t{1} << 20;
  while (true) {
    uint32_t first = 0;
    if (!TakeRank(&text, &first)) return false;
    uint32_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!TakeRank(&text, &last)) return false;
    }
    if (last < first || (!ranks->empty() && first <= ranks->back())) return false;
    if (last - first >= kMaxRanks - ranks->size()) return false;
    for (uint32_t rank = first; rank < last; ++rank) ranks->push_back(rank);
    ranks->push_back(last);
    if (text.empty()) return true;
    if (!text.starts_with(',')) return false;
    text.remove_prefix(1);
  }
}

class Comparison {
 public:
  Comparison(const Plan& plan, const PlanInputSpecs& inputs, const InputsOptions& options)
      : plan_(plan),
        inputs_(inputs),
        options_(options),
        origins_(plan),
        work_(options.work_budget) {}

  InputsReport Run() {
    CheckDigests();
    FindLeftOut();
    std::string error;
    const bool ready = tensors_.Make(inputs_.source, inputs_.destination, &error) &&
                       origins_.Connect(tensors_, &error);
    if (!ready) {
      Report("the inputs", std::move(error));
      return std::move(report_);
    }
    CompareSide(*inputs_.source, PlanSide::kSource, &report_.source);
    CompareSide(*inputs_.destination, PlanSide::kDestination, &report_.destination);
    return std::move(report_);
  }

 private:
  void Report(std::string where, std::string text) {
    if (report_.violations.size() >= options_.max_violations) return;
    report_.violations.push_back({kInputsMismatchRule, std::move(where), std::move(text)});
  }
  bool Full() const {
    return report_.exhausted || report_.violations.size() >= options_.max_violations;
  }

  void CheckDigests() {
    const PlanHeader& header = plan_.header;
    const std::pair<const char*, bool> checks[] = {
        {"the training layout", header.train_digest == inputs_.train_digest},
        {"the inference layout", header.infer_digest == inputs_.infer_digest},
        {"the topology", header.topo_digest == inputs_.topo_digest}};
    for (const auto& [what, same] : checks) {
      if (same) continue;
      report_.violations.push_back(
          {kInputsDigestRule, what, "the plan was made from a file with other contents"});
    }
  }

  // Ranks that the plan was compiled without, as its options say: "12-13,20".
  void FindLeftOut() {
    for (const auto& [name, value] : plan_.header.options) {
      if (name != "exclude-ranks" || value == "none") continue;
      if (!ParseRanks(value, &report_.left_out)) {
        Report("option exclude-ranks", "'" + value + "' is no rising list of ranks");
      }
    }
  }

  void CompareSide(const LayoutSpec& spec, PlanSide side, InputsReport::SideCount* count) {
    const std::string side_text = side == PlanSide::kSource ? "source" : "destination";
    NaiveLayout layout;
    std::string error;
    if (!layout.Make(spec, tensors_, &error)) return Report(side_text + " layout", error);
    const RankList ranks = Difference(layout.ranks(), report_.left_out);
    count->ranks = ranks.size();
    // Ranks that store the same by the inputs, and for which the plan has the same families, need
    // to be compared once.
    std::map<std::vector<int64_t>, Compared> compared;
    for (const uint32_t rank : ranks) compared[layout.Signature(rank)];
    const std::vector<uint32_t> chosen =
        compared.size() <= options_.full_ranks
            ? ranks
            : SampleRanks(ranks, options_.full_ranks, options_.sample_ranks);
    for (const uint32_t rank : chosen) {
      if (Full()) return;
      Compared& same = compared[layout.Signature(rank)];
      std::vector<uint32_t> families = origins_.FamiliesOf(rank, side);
      if (!same.done || same.families != families) {
        std::vector<NaiveParam> params;
        if (!layout.Params(rank, &params, &error)) {
          return Report(side_text + " rank " + std::to_string(rank), error);
        }
        CompareRank(rank, families, params);
        same.done = true;
        same.families = std::move(families);
        same.params = params.size();
        same.pieces = 0;
        for (const NaiveParam& param : params) same.pieces += param.view.pieces.size();
      }
      ++count->checked_ranks;
      count->params += same.params;
      count->pieces += same.pieces;
    }
    CompareRankSets(ranks, side, side_text);
  }

  // A rank that was compared, for those with the same signature.
  struct Compared {
    bool done = false;
    std::vector<uint32_t> families;
    size_t params = 0;
    size_t pieces = 0;
  };

  // Ranks that no layout mentions store nothing.
  void CompareRankSets(const std::vector<uint32_t>& ranks, PlanSide side,
                       const std::string& side_text) {
    for (const PlanFamily& family : plan_.families) {
      if (family.side != side || IsSubset(plan_.rank_sets[family.rank_set], ranks)) continue;
      Report(side_text + " ranks", "the plan has params on ranks that the layout does not have");
      return;
    }
  }

  void CompareRank(uint32_t rank, const std::vector<uint32_t>& families,
                   const std::vector<NaiveParam>& params) {
    std::unordered_map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < params.size(); ++i) by_name.emplace(params[i].name, i);
    std::vector<char> seen(params.size(), 0);
    for (const uint32_t index : families) {
      const PlanFamily& family = plan_.families[index];
      std::vector<int64_t> values = family.loop_begin;
      int64_t tensor_bytes = 0;
      int64_t instance = 0;
      bool equal = true;
      // Names differ, so that there are at most as many instances as params, or one is unknown.
      for (bool more = true; more && !Full(); ++instance) {
        const std::string name = family.name.Instance(values);
        const auto it = by_name.find(name);
        if (it == by_name.end() || seen[it->second]) {
          Report(Where(rank, name), it == by_name.end()
                                        ? "the plan has this param, the inputs do not"
                                        : "the plan has this param twice");
          equal = false;
          break;
        }
        seen[it->second] = 1;
        const NaiveParam& param = params[it->second];
        equal = CompareParam(rank, index, instance, values, param) && equal;
        for (const NaivePiece& piece : param.view.pieces) {
          if (!IsNaiveFill(piece.tensor)) {
            tensor_bytes += piece.element_count() * DTypeBytes(param.view.dtype);
          }
        }
        more = Advance(family, &values);
      }
      // Every element of the inputs was found in the plan; equal sums leave no room for others.
      if (equal && !Full() && tensor_bytes != origins_.TensorBytes(index)) {
        Report(Where(rank, family.name.Instance(family.loop_begin)),
               "the plan puts " + std::to_string(origins_.TensorBytes(index)) +
                   " bytes of tensors into this param and those like it, the inputs " +
                   std::to_string(tensor_bytes));
      }
    }
    if (Full()) return;
    for (size_t i = 0; i < params.size(); ++i) {
      if (!seen[i]) Report(Where(rank, params[i].name), "the plan does not have this param");
    }
  }

  static bool Advance(const PlanFamily& family, std::vector<int64_t>* values) {
    for (size_t i = values->size(); i-- > 0;) {
      if (++(*values)[i] < family.loop_begin[i] + family.loop_extent[i]) return true;
      (*values)[i] = family.loop_begin[i];
    }
    return false;
  }

  static std::string Where(uint32_t rank, const std::string& param) {
    return "rank " + std::to_string(rank) + ", param '" + param + "'";
  }

  bool CompareParam(uint32_t rank, uint32_t index, int64_t instance,
                    const std::vector<int64_t>& values, const NaiveParam& param) {
    const PlanFamily& family = plan_.families[index];
    const auto differ = [&](std::string text) {
      Report(Where(rank, param.name), std::move(text));
      return false;
    };
    if (family.shape != param.view.shape) {
      return differ("the plan gives it shape " + ListText(family.shape) + ", the inputs " +
                    ListText(param.view.shape));
    }
    if (family.dtype != param.view.dtype) {
      return differ("the plan gives it dtype " + std::string(DTypeText(family.dtype)) +
                    ", the inputs " + std::string(DTypeText(param.view.dtype)));
    }
    if (family.bytes != param.bytes()) {
      return differ("the plan gives it " + std::to_string(family.bytes) + " bytes, the inputs " +
                    std::to_string(param.bytes()));
    }
    if (family.external != param.external) {
      return differ(param.external ? "the plan writes it, though it is external"
                                   : "the plan does not write it, though it is not external");
    }
    std::vector<std::string> shares;
    for (const NamePattern& name : family.shares) shares.push_back(name.Instance(values));
    std::vector<std::string> expected = param.shares;
    std::sort(shares.begin(), shares.end());
    std::sort(expected.begin(), expected.end());
    if (shares != expected) return differ("the plan gives its buffer other names");
    return CompareElements(rank, index, instance, param) && CompareFills(rank, index, param);
  }

  bool CompareElements(uint32_t rank, uint32_t index, int64_t instance, const NaiveParam& param) {
    std::optional<OriginDifference> least;
    const NaivePiece* least_piece = nullptr;
    for (const NaivePiece& piece : param.view.pieces) {
      if (IsNaiveFill(piece.tensor)) continue;
      std::optional<OriginDifference> found =
          origins_.Compare(index, instance, param, piece, &work_);
      if (work_ <= 0) {
        report_.exhausted = true;
        return true;
      }
      if (found && (!least || found->byte < least->byte)) {
        least = std::move(found);
        least_piece = &piece;
      }
    }
    if (!least) return true;
    const int64_t element = least->byte / DTypeBytes(param.view.dtype);
    Report(Where(rank, param.name), "element " + ListText(Unravel(element, param.view.shape)) +
                                        " is " + origins_.Describe(index, instance, least->byte) +
                                        " in the plan, '" +
                                        tensors_.tensors()[least_piece->tensor].name + "' " +
                                        ListText(least->index) + " in the inputs");
    return false;
  }

  // Where fills are follows from where tensors are; which rule holds where, only when there is one.
  bool CompareFills(uint32_t rank, uint32_t index, const NaiveParam& param) {
    const int64_t zero = FillBytes(param, kNaiveZeroFill);
    const int64_t keep = FillBytes(param, kNaiveKeepFill);
    const int64_t plan_zero = origins_.FillBytes(index, PlanFillRule::kZero);
    const int64_t plan_keep = origins_.FillBytes(index, PlanFillRule::kKeep);
    const bool source = plan_.families[index].side == PlanSide::kSource;
    // A source's padding is never written.
    const bool same =
        source ? zero + keep == plan_zero + plan_keep : zero == plan_zero && keep == plan_keep;
    if (!same) {
      Report(Where(rank, param.name), "the plan zeroes " + std::to_string(plan_zero) +
                                          " bytes of it and keeps " + std::to_string(plan_keep) +
                                          ", the inputs " + std::to_string(zero) + " and " +
                                          std::to_string(keep));
      return false;
    }
    if (source || zero == 0 || keep == 0) return true;
    const std::optional<Ranges> expected = FillRanges(param, kNaiveZeroFill, kMaxFillRanges);
    const std::optional<Ranges> found =
        origins_.FillRanges(index, PlanFillRule::kZero, kMaxFillRanges);
    if (!expected || !found) {
      report_.exhausted = true;
      return true;
    }
    if (*expected == *found) return true;
    Report(Where(rank, param.name), "the plan zeroes bytes of it that the inputs keep");
    return false;
  }

  const Plan& plan_;
  const PlanInputSpecs& inputs_;
  const InputsOptions& options_;
  NaiveTensors tensors_;
  PlanOrigins origins_;
  int64_t work_;
  InputsReport report_;
};

std::string CountText(const InputsReport::SideCount& count, const std::string& side) {
  if (count.checked_ranks == count.ranks) {
    return "all " + std::to_string(count.ranks) + " " + side + " ranks";
  }
  return std::to_string(count.checked_ranks) + " of " + std::to_string(count.ranks) + " " + side +
         " ranks";
}

}  // namespace

std::string InputsReport::Coverage() const {
  const std::string text =
      CountText(source, "source") + " and " + CountText(destination, "destination");
  if (left_out.empty()) return text;
  return text + " without " + (left_out.size() == 1 ? "rank " : "ranks ") + DescribeRanks(left_out);
}

std::vector<uint32_t> SampleRanks(const std::vector<uint32_t>& ranks, size_t full, size_t sample) {
  if (ranks.size() <= full) return ranks;
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < sample; ++i) {
    const size_t begin = i * ranks.size() / sample;
    const size_t width = (i + 1) * ranks.size() / sample - begin;
    // A multiplier without common factors with usual mesh sizes walks through their coordinates.
    chosen.push_back(ranks[begin + i * 40503 % width]);
  }
  return chosen;
}

InputsReport VerifyInputs(const Plan& plan, const PlanInputSpecs& inputs,
                          const InputsOptions& options) {
  return Comparison(plan, inputs, options).Run();
}

}  // namespace reshard
