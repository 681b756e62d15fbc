#include "compiler/transfer/coverage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/transfer/glob.h"
#include "compiler/transfer/partition.h"
#include "compiler/transfer/tensor_boxes.h"

namespace reshard {
namespace {

constexpr FamilyId kNoFamily = UINT32_MAX;

// "'x' is", "'x' and 5 more are".
std::string TensorsAre(const std::string& first, int64_t tensor_count) {
  if (tensor_count == 1) return "'" + first + "' is";
  return "'" + first + "' and " + std::to_string(tensor_count - 1) + " more are";
}

int64_t TotalVolume(const BoxList& boxes) {
  int64_t total = 0;
  for (uint32_t box = 0; box < boxes.count(); ++box) total += BoxVolume(boxes[box]);
  return total;
}

// The parts of `box` that none of `others` covers, as few boxes as come out.
bool SubtractBoxes(BoxView box, const BoxList& others, WorkBudget* budget, BoxList* out) {
  BoxList all(box.size());
  all.Add(box);
  std::vector<BoxDim> part;
  for (uint32_t other = 0; other < others.count(); ++other) {
    IntersectBoxes(box, others[other], &part);
    all.Add(part);
  }
  Partition partition;
  if (!PartitionBoxes(all, budget, &partition)) return false;
  BoxList rest(box.size());
  for (uint32_t atom = 0; atom < partition.atoms.count(); ++atom) {
    if (partition.Cover(atom).size() == 1) rest.Add(partition.atoms[atom]);
  }
  *out = MergeBoxes(rest);
  return true;
}

}  // namespace

CoverageCheck::CoverageCheck(const CoverageInputs& inputs, WorkBudget* budget)
    : in_(inputs), budget_(budget) {
  for (const GlobSpec& glob : in_.destination->unused) {
    patterns_.push_back(glob.pattern);
    // An exact name may be an alias: the tensor's own name stands for it.
    if (const std::optional<LogicalRef> ref = in_.table->Find(glob.pattern)) {
      patterns_.back() = in_.table->supers[ref->super].name.Instance(ref->loop_values);
    }
  }
}

const Layout& CoverageCheck::SideLayout(Side side) const {
  return side == Side::kSource ? *in_.source : *in_.destination;
}

bool CoverageCheck::AddSuper(SuperId super, const SideAtoms& source, const SideAtoms& destination,
                             const std::vector<BoxPair>& overlaps) {
  std::vector<BoxPair> reversed;
  reversed.reserve(overlaps.size());
  for (const auto& [i, j] : overlaps) reversed.emplace_back(j, i);
  std::sort(reversed.begin(), reversed.end());
  const auto first_family = [&](const SideAtoms& atoms, Side side) {
    FamilyId first = kNoFamily;
    const std::vector<ParamFamily>& families = SideLayout(side).families;
    for (size_t p = atoms.first_place.front(); p < atoms.first_place.back(); ++p) {
      const FamilyId family = (*in_.places)[p].family;
      if (first == kNoFamily || families[family].template_index < families[first].template_index) {
        first = family;
      }
    }
    return first;
  };
  first_family_.resize(super + size_t{1}, {kNoFamily, kNoFamily});
  first_family_[super] = {first_family(source, Side::kSource),
                          first_family(destination, Side::kDestination)};
  return AddLeftovers(super, Side::kSource, source, destination, overlaps) &&
         AddLeftovers(super, Side::kDestination, destination, source, reversed) &&
         AddUntouched(super, source, destination);
}

bool CoverageCheck::AddLeftovers(SuperId super, Side side, const SideAtoms& atoms,
                                 const SideAtoms& others, const std::vector<BoxPair>& overlaps) {
  Findings& findings = side == Side::kSource ? not_needed_ : not_held_;
  size_t next = 0;
  std::vector<BoxDim> common;
  for (uint32_t atom = 0; atom < atoms.atoms().count(); ++atom) {
    const size_t first = next;
    int64_t covered = 0;
    for (; next < overlaps.size() && overlaps[next].first == atom; ++next) {
      IntersectBoxes(atoms.atoms()[atom], others.atoms()[overlaps[next].second], &common);
      covered += BoxVolume(common);
    }
    if (covered == BoxVolume(atoms.atoms()[atom])) continue;

    BoxList rest(atoms.atoms().dim_count());
    if (first == next) {
      rest.Add(atoms.atoms()[atom]);
    } else {
      BoxList cutters(atoms.atoms().dim_count());
      for (size_t i = first; i < next; ++i) cutters.Add(others.atoms()[overlaps[i].second]);
      if (!SubtractBoxes(atoms.atoms()[atom], cutters, budget_, &rest)) return false;
    }
    // The first of the templates that store it stands for all of them.
    const std::vector<ParamFamily>& families = SideLayout(side).families;
    const ParamFamily* family = nullptr;
    for (const uint32_t box : atoms.partition.Cover(atom)) {
      for (size_t p = atoms.first_place[box]; p < atoms.first_place[box + 1]; ++p) {
        const ParamFamily& candidate = families[(*in_.places)[p].family];
        if (family == nullptr || candidate.template_index < family->template_index) {
          family = &candidate;
        }
      }
    }
    Finding& finding = findings[family->template_index];
    finding.span = family->span;
    Leftover& leftover =
        finding.supers.try_emplace(super, Leftover{BoxList(rest.dim_count()), {}}).first->second;
    for (uint32_t box = 0; box < rest.count(); ++box) {
      leftover.boxes.Add(rest[box]);
      leftover.ranks.push_back(atoms.AtomRanks(atom));
    }
  }
  return true;
}

bool CoverageCheck::AddUntouched(SuperId super, const SideAtoms& source,
                                 const SideAtoms& destination) {
  const SuperTensor& tensor = in_.table->supers[super];
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return true;
  const TensorBoxes names(tensor, (*in_.dims)[super]);
  BoxList touched(source.atoms().dim_count());
  for (uint32_t atom = 0; atom < source.atoms().count(); ++atom) {
    touched.Add(source.atoms()[atom]);
  }
  for (uint32_t atom = 0; atom < destination.atoms().count(); ++atom) {
    touched.Add(destination.atoms()[atom]);
  }
  BoxList tensors;
  if (!names.TensorsIn(touched, budget_, &tensors)) return false;
  int64_t all = 1;
  for (const int64_t extent : tensor.loop_extent) all *= extent;
  if (TotalVolume(tensors) == all) return true;
  if (!names.TensorsOutside(touched, budget_, &tensors)) return false;
  untouched_.emplace(super, std::move(tensors));
  return true;
}

bool CoverageCheck::IsUnused(const std::string& name) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return GlobMatches(pattern, name); });
}

bool CoverageCheck::FindExample(const Finding& finding, bool excusable, Example* out) {
  *out = Example{};
  for (const auto& [super, leftover] : finding.supers) {
    const TensorBoxes names(in_.table->supers[super], (*in_.dims)[super]);
    BoxList tensors;
    if (!names.TensorsIn(leftover.boxes, budget_, &tensors)) return false;
    const bool all_names = excusable && !patterns_.empty();
    const int64_t before = out->tensor_count;
    bool in_budget = true;
    std::vector<int64_t> first;
    TensorBoxes::ForEach(tensors, [&](const std::vector<int64_t>& point) {
      in_budget = budget_->Spend(1);
      if (!in_budget) return false;
      if (all_names && IsUnused(names.Name(point))) return true;
      if (out->tensor_count++ == before) first = point;
      return all_names;
    });
    if (!in_budget) return false;
    if (!all_names) out->tensor_count = before + TotalVolume(tensors);
    if (before > 0 || out->tensor_count == 0) continue;
    out->super = super;
    out->tensor = names.Name(first);
    std::optional<uint32_t> example;
    for (uint32_t box = 0; box < leftover.boxes.count(); ++box) {
      if (!names.Touches(leftover.boxes[box], first)) continue;
      if (!example || BoxLess(leftover.boxes[box], leftover.boxes[*example])) example = box;
    }
    out->elements = names.Elements(leftover.boxes[*example]);
    out->rank = (*in_.rank_sets)[leftover.ranks[*example]].front();
  }
  return true;
}

Note CoverageCheck::OtherSideNote(Side other, SuperId super) const {
  const bool source = other == Side::kSource;
  const FamilyId family = source ? first_family_[super].first : first_family_[super].second;
  if (family == kNoFamily) {
    return {in_.table->supers[super].declared, std::string("declared here; no ") +
                                                   (source ? "source" : "destination") +
                                                   " param has any element of it"};
  }
  const ParamFamily& param = SideLayout(other).families[family];
  return {param.span, "'" + param.name.Describe(param.loop_begin, param.loop_extent) +
                          "' has other elements of it"};
}

bool CoverageCheck::ReportFindings(Side side, Diagnostics* diags) {
  const bool source = side == Side::kSource;
  for (const auto& [template_index, finding] : source ? not_needed_ : not_held_) {
    Example example;
    if (!FindExample(finding, source, &example)) return false;
    if (example.tensor_count == 0) continue;
    const std::string what = TensorsAre(example.tensor, example.tensor_count);
    const std::string which =
        example.elements + ", on rank " + std::to_string(example.rank) + " for one";
    Diagnostic& diagnostic =
        source ? diags->Error(DiagnosticCode::kNotNeeded, finding.span,
                              what + " held here but needed by no destination param: elements " +
                                  which + " (list it under 'unused' if that is meant)")
               : diags->Error(DiagnosticCode::kNotHeld, finding.span,
                              what + " needed here but held by no source param: elements " + which);
    diagnostic.notes.push_back(
        OtherSideNote(source ? Side::kDestination : Side::kSource, example.super));
  }
  return true;
}

bool CoverageCheck::ReportUntouched(Diagnostics* diags) {
  for (const auto& [super, tensors] : untouched_) {
    const TensorBoxes names(in_.table->supers[super], (*in_.dims)[super]);
    int64_t count = 0;
    std::string first;
    bool in_budget = true;
    TensorBoxes::ForEach(tensors, [&](const std::vector<int64_t>& point) {
      in_budget = budget_->Spend(1);
      if (!in_budget) return false;
      const std::string name = names.Name(point);
      if (!IsUnused(name) && count++ == 0) first = name;
      return true;
    });
    if (!in_budget) return false;
    if (count == 0) continue;
    diags->Warning(
        DiagnosticCode::kUnusedTensor, in_.table->supers[super].declared,
        TensorsAre(first, count) + " declared, but neither side has a param with elements of it");
  }
  return true;
}

bool CoverageCheck::PatternMatchesAny(const std::string& pattern, bool* matches) {
  *matches = false;
  const std::string_view prefix = GlobPrefix(pattern);
  for (SuperId super = 0; super < in_.table->supers.size() && !*matches; ++super) {
    const SuperTensor& tensor = in_.table->supers[super];
    const std::string& head = tensor.name.text.front();
    const size_t common = std::min(head.size(), prefix.size());
    if (head.compare(0, common, prefix, 0, common) != 0) continue;
    const TensorBoxes names(tensor, (*in_.dims)[super]);
    BoxList tensors;
    if (!names.TensorsOutside(BoxList((*in_.dims)[super].size()), budget_, &tensors)) return false;
    bool in_budget = true;
    TensorBoxes::ForEach(tensors, [&](const std::vector<int64_t>& point) {
      in_budget = budget_->Spend(1);
      *matches = in_budget && GlobMatches(pattern, names.Name(point));
      return in_budget && !*matches;
    });
    if (!in_budget) return false;
  }
  return true;
}

bool CoverageCheck::ReportPatterns(Diagnostics* diags) {
  for (size_t i = 0; i < patterns_.size(); ++i) {
    bool matches = false;
    if (!PatternMatchesAny(patterns_[i], &matches)) return false;
    if (matches) continue;
    const GlobSpec& glob = in_.destination->unused[i];
    const bool exact = GlobPrefix(glob.pattern).size() == glob.pattern.size();
    diags->Error(DiagnosticCode::kUnusedPattern, glob.span,
                 "no logical tensor matches '" + glob.pattern + "'" +
                     (exact ? DidYouMean(glob.pattern, in_.table->SampleNames()) : ""));
  }
  return true;
}

bool CoverageCheck::Report(Diagnostics* diags) {
  return ReportFindings(Side::kDestination, diags) && ReportFindings(Side::kSource, diags) &&
         ReportPatterns(diags) && ReportUntouched(diags);
}

}  // namespace reshard
