#include "compiler/layout/families.h"

#include <algorithm>
#include <utility>

#include "runtime/base/dtype.h"

namespace reshard {
namespace {

template <typename Number>
void AppendNumber(Number value, std::string* key) {
  const auto wide = static_cast<int64_t>(value);
  key->append(reinterpret_cast<const char*>(&wide), sizeof(wide));
}

void AppendPattern(const NamePattern& pattern, std::string* key) {
  AppendNumber(pattern.holes.size(), key);
  for (const std::string& text : pattern.text) {
    AppendNumber(text.size(), key);
    *key += text;
  }
  for (const NamePattern::Hole& hole : pattern.holes) {
    AppendNumber(hole.base, key);
    for (const int64_t coef : hole.coef) AppendNumber(coef, key);
  }
}

// A piece in terms of bytes and instances: every digit says how far it moves in all of them.
struct FlatDigit {
  int64_t extent = 1;
  int32_t axis = -1;
  int64_t axis_step = 0;
  int64_t stride_bytes = 0;
  int64_t instance_stride = 0;
};
struct FlatPiece {
  int64_t base_bytes = 0;
  int64_t base_instance = 0;
  std::vector<int64_t> begin;
  std::vector<FlatDigit> digits;
};

bool HeavierFirst(const FlatDigit& a, const FlatDigit& b) { return a.axis_step > b.axis_step; }

// The first digit that a Place cannot hold: one that repeats elements (no axis), runs backwards, or
// comes to an index that lighter digits of its axis reach too. -1: none.
int FindUnfit(const FlatPiece& piece) {
  for (size_t i = 0; i < piece.digits.size(); ++i) {
    const FlatDigit& digit = piece.digits[i];
    if (digit.axis < 0 || digit.axis_step <= 0) return static_cast<int>(i);
    int64_t reach = 0;
    for (size_t j = i + 1; j < piece.digits.size(); ++j) {
      if (piece.digits[j].axis != digit.axis) continue;
      reach += (piece.digits[j].extent - 1) * std::max<int64_t>(piece.digits[j].axis_step, 0);
    }
    if (digit.axis_step <= reach) return static_cast<int>(i);
  }
  return -1;
}

// Writes out digits until every piece fits a Place.
bool Expand(FlatPiece piece, PieceBudget* budget, std::vector<FlatPiece>* out) {
  std::stable_sort(piece.digits.begin(), piece.digits.end(), HeavierFirst);
  const int unfit = FindUnfit(piece);
  if (unfit < 0) {
    out->push_back(std::move(piece));
    return true;
  }
  const FlatDigit digit = piece.digits[static_cast<size_t>(unfit)];
  piece.digits.erase(piece.digits.begin() + unfit);
  for (int64_t k = 0; k < digit.extent; ++k) {
    if (!budget->Charge()) return false;
    FlatPiece part = piece;
    part.base_bytes += k * digit.stride_bytes;
    part.base_instance += k * digit.instance_stride;
    if (digit.axis >= 0) part.begin[static_cast<size_t>(digit.axis)] += k * digit.axis_step;
    if (!Expand(std::move(part), budget, out)) return false;
  }
  return true;
}

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape, int64_t unit) {
  std::vector<int64_t> strides(shape.size(), unit);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

// Turns the pieces of one family into its places and fills.
class ContentWriter {
 public:
  ContentWriter(const FamilyDraft& draft, FamilyId family, PieceBudget* budget, Layout* layout)
      : draft_(draft),
        family_(family),
        budget_(*budget),
        layout_(*layout),
        item_bytes_(DTypeBytes(draft.dtype)),
        strides_(RowMajorStrides(draft.shape, item_bytes_)) {
    for (const Run& run : draft.loop_runs) extents_.push_back(run.count);
    instance_strides_ = RowMajorStrides(extents_, 1);
  }

  void Write(const ViewPiece& piece) {
    FlatPiece flat = Flatten(piece);
    if (piece.is_fill()) {
      const bool zero = piece.super == ViewPiece::kZeroFill;
      return WriteFill(flat, zero ? FillRule::kZero : FillRule::kKeep);
    }
    std::vector<FlatPiece> parts;
    if (!Expand(std::move(flat), &budget_, &parts)) return;
    for (const FlatPiece& part : parts) WritePlace(piece.super, part);
  }

 private:
  FlatPiece Flatten(const ViewPiece& piece) const {
    FlatPiece flat;
    for (size_t d = 0; d < strides_.size(); ++d) flat.base_bytes += piece.at[d] * strides_[d];
    flat.begin = piece.begin;
    VarMask walked = 0;  // loops
    for (const ViewDigit& digit : piece.digits) {
      FlatDigit moved{digit.extent, digit.axis, digit.axis_step, 0, 0};
      if (digit.dim < kOuterDim) {
        moved.stride_bytes = digit.dim_step * strides_[digit.dim];
      } else {
        const auto loop =
            static_cast<size_t>(std::find(draft_.loop_variables.begin(),
                                          draft_.loop_variables.end(), digit.dim - kOuterDim) -
                                draft_.loop_variables.begin());
        moved.instance_stride = instance_strides_[loop];
        walked |= VarMask{1} << loop;
      }
      flat.digits.push_back(moved);
    }
    // Instances that the piece does not tell apart hold the same elements. A fill holds for all.
    for (size_t loop = 0; !piece.is_fill() && loop < extents_.size(); ++loop) {
      if ((walked >> loop & 1) != 0) continue;
      flat.digits.push_back({extents_[loop], -1, 0, 0, instance_strides_[loop]});
    }
    return flat;
  }

  void WriteFill(const FlatPiece& piece, FillRule rule) {
    Fill fill;
    fill.family = family_;
    fill.rule = rule;
    fill.base_bytes = piece.base_bytes;
    for (const FlatDigit& digit : piece.digits) {
      fill.dims.push_back({digit.extent, digit.stride_bytes});
    }
    std::stable_sort(
        fill.dims.begin(), fill.dims.end(),
        [](const Fill::Dim& a, const Fill::Dim& b) { return a.stride_bytes > b.stride_bytes; });
    // The bytes of one element, and whatever continues them, are the last dim.
    fill.dims.push_back({item_bytes_, 1});
    for (size_t i = fill.dims.size() - 1; i-- > 0;) {
      Fill::Dim& inner = fill.dims[i + 1];
      if (fill.dims[i].stride_bytes != inner.stride_bytes * inner.extent) continue;
      inner.extent *= fill.dims[i].extent;
      fill.dims.erase(fill.dims.begin() + static_cast<std::ptrdiff_t>(i));
    }
    layout_.fills.push_back(std::move(fill));
  }

  void WritePlace(SuperId super, const FlatPiece& piece) {
    Place place;
    place.super = super;
    place.family = family_;
    place.base_bytes = piece.base_bytes;
    place.base_instance = piece.base_instance;
    place.axes.resize(piece.begin.size());
    for (size_t axis = 0; axis < piece.begin.size(); ++axis) {
      place.axes[axis].begin = piece.begin[axis];
    }
    for (const FlatDigit& digit : piece.digits) {
      place.axes[static_cast<size_t>(digit.axis)].digits.push_back(
          {digit.extent, digit.axis_step, digit.stride_bytes, digit.instance_stride});
    }
    layout_.places.push_back(std::move(place));
  }

  const FamilyDraft& draft_;
  const FamilyId family_;
  PieceBudget& budget_;
  Layout& layout_;
  const int64_t item_bytes_;
  const std::vector<int64_t> strides_;
  std::vector<int64_t> extents_;  // of the loops
  std::vector<int64_t> instance_strides_;
};

}  // namespace

bool FamilyBuilder::Add(FamilyDraft draft, const View* content, RankSetId ranks) {
  key_.clear();
  AppendKey(draft, content);
  if (const auto it = by_key_.find(key_); it != by_key_.end()) {
    made_[it->second].more_ranks.push_back(ranks);
    return true;
  }
  by_key_.emplace(KeepKey(), made_.size());
  const auto id = static_cast<FamilyId>(layout_.families.size());
  made_.push_back({id, ranks, {}});
  if (content != nullptr) {
    ContentWriter writer(draft, id, &budget_, &layout_);
    for (const ViewPiece& piece : content->pieces) writer.Write(piece);
  }
  ParamFamily family;
  family.name = std::move(draft.name);
  family.shares = std::move(draft.shares);
  for (const Run& run : draft.loop_runs) {
    family.loop_begin.push_back(LoopBegin(run));
    family.loop_extent.push_back(run.count);
  }
  family.shape = std::move(draft.shape);
  family.dtype = draft.dtype;
  family.bytes = DTypeBytes(draft.dtype);
  for (const int64_t extent : family.shape) family.bytes *= extent;
  family.external = draft.external;
  family.template_index = draft.template_index;
  family.span = draft.span;
  layout_.families.push_back(std::move(family));
  return !budget_.exhausted();
}

std::string_view FamilyBuilder::KeepKey() {
  constexpr size_t kBlockBytes = size_t{1} << 16;
  if (key_.size() > kBlockBytes / 4) {
    // A block of its own, put before the one in use.
    key_blocks_.insert(key_blocks_.begin(), std::make_unique<char[]>(key_.size()));
    std::copy(key_.begin(), key_.end(), key_blocks_.front().get());
    if (key_blocks_.size() == 1) key_block_used_ = kBlockBytes;
    return {key_blocks_.front().get(), key_.size()};
  }
  if (key_blocks_.empty() || key_block_used_ + key_.size() > kBlockBytes) {
    key_blocks_.push_back(std::make_unique<char[]>(kBlockBytes));
    key_block_used_ = 0;
  }
  char* at = key_blocks_.back().get() + key_block_used_;
  std::copy(key_.begin(), key_.end(), at);
  key_block_used_ += key_.size();
  return {at, key_.size()};
}

void FamilyBuilder::EndTemplate() {
  for (const Made& made : made_) {
    RankSetId ranks = made.first_ranks;
    if (!made.more_ranks.empty()) {
      RankList all = layout_.rank_sets[made.first_ranks];
      for (const RankSetId set : made.more_ranks) {
        const RankList& list = layout_.rank_sets[set];
        all.insert(all.end(), list.begin(), list.end());
      }
      budget_.Charge(static_cast<int64_t>(all.size() / 64));
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      ranks = layout_.rank_sets.Intern(all);
    }
    layout_.families[made.family].ranks = ranks;
  }
  made_.clear();
  by_key_.clear();
  key_blocks_.clear();
  key_block_used_ = 0;
}

void FamilyBuilder::AppendKey(const FamilyDraft& draft, const View* content) {
  AppendPattern(draft.name, &key_);
  AppendNumber(draft.shares.size(), &key_);
  for (const NamePattern& share : draft.shares) AppendPattern(share, &key_);
  for (size_t i = 0; i < draft.loop_runs.size(); ++i) {
    AppendNumber(draft.loop_variables[i], &key_);
    AppendNumber(LoopBegin(draft.loop_runs[i]), &key_);
    AppendNumber(draft.loop_runs[i].count, &key_);
  }
  AppendNumber(draft.shape.size(), &key_);
  for (const int64_t extent : draft.shape) AppendNumber(extent, &key_);
  AppendNumber(draft.dtype, &key_);
  AppendNumber(draft.external, &key_);
  if (content == nullptr) return;
  for (const ViewPiece& piece : content->pieces) {
    AppendNumber(piece.super, &key_);
    AppendNumber(piece.digits.size(), &key_);
    for (const int64_t at : piece.at) AppendNumber(at, &key_);
    for (const int64_t begin : piece.begin) AppendNumber(begin, &key_);
    for (const ViewDigit& digit : piece.digits) {
      AppendNumber(digit.extent, &key_);
      AppendNumber(digit.dim, &key_);
      AppendNumber(digit.dim_step, &key_);
      AppendNumber(digit.axis, &key_);
      AppendNumber(digit.axis_step, &key_);
    }
  }
}

}  // namespace reshard
