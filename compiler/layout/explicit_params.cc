#include "compiler/layout/explicit_params.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/eval_context.h"
#include "compiler/layout/instances.h"
#include "compiler/layout/limits.h"
#include "compiler/layout/param_boxes.h"
#include "compiler/layout/template_runs.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

class ExplicitTemplate {
 public:
  ExplicitTemplate(const ExplicitSpec& spec, uint32_t index, const LogicalTable& table,
                   const SpecScope& globals, FamilyBuilder* families, PieceBudget* budget,
                   Diagnostics* diags, RankSetTable* rank_sets)
      : spec_(spec),
        index_(index),
        table_(table),
        families_(*families),
        budget_(*budget),
        diags_(*diags),
        rank_sets_(*rank_sets),
        scope_(globals) {}

  bool Build() {
    if (spec_.loops.size() > kMaxVariables) {
      diags_.Error(DiagnosticCode::kTooLarge, spec_.span,
                   "a template has more than " + std::to_string(kMaxVariables) + " variables");
      return false;
    }
    for (const LoopSpec& loop : spec_.loops) scope_.Add(loop.name);
    InstanceQuery query;
    const std::vector<Expr> no_conditions;
    query.loops = &spec_.loops;
    query.where = &no_conditions;
    query.fixed = StructureMask();
    name_.emplace_back(spec_.param, scope_);
    for (const ExplicitSpec::Piece& piece : spec_.pieces)
      tensors_.emplace_back(piece.tensor, scope_);
    Instances instances;
    if (!instances.Build(query, &scope_, &budget_, &diags_)) return false;
    if (instances.empty()) {
      diags_.Error(DiagnosticCode::kTemplateEmpty, spec_.span,
                   "'" + spec_.param.source + "' has no instance");
      return false;
    }
    context_.scope = &scope_;
    context_.runs.assign(scope_.count(), Run{});
    context_.budget = &budget_;
    context_.diags = &diags_;
    context_.where = [this] { return Where(); };
    const bool good = instances.ForEach(&scope_, [&](const InstanceBox& box) {
      return ForEachPart(box, &context_, [&] { return AddFamily(); });
    });
    families_.EndTemplate();
    return good;
  }

 private:
  VarMask StructureMask() const {
    VarMask mask = 0;
    const auto add = [&](const Expr& expr) { mask |= scope_.DependenciesOf(expr); };
    for (const Expr& expr : spec_.ranks) add(expr);
    for (const Expr& expr : spec_.shape) add(expr);
    for (const ExplicitSpec::Piece& piece : spec_.pieces) {
      for (const auto* runs : {&piece.src, &piece.dst}) {
        for (const ExplicitSpec::Run& run : *runs) {
          add(run.start);
          add(run.extent);
          add(run.step);
        }
      }
      if (!piece.dims) continue;
      for (const std::optional<Expr>& dim : *piece.dims) {
        if (dim) add(*dim);
      }
    }
    return mask;
  }

  std::string Where() const {
    std::string text;
    for (size_t i = 0; i < spec_.loops.size(); ++i) {
      text += (i == 0 ? " (" : ", ") + spec_.loops[i].name + "=" + std::to_string(scope_.value(i));
    }
    return text.empty() ? text : text + ")";
  }

  Outcome AddFamily() {
    if (!budget_.Charge()) return TooManyPieces();
    FamilyDraft draft;
    draft.template_index = index_;
    draft.span = spec_.span;
    draft.dtype = spec_.dtype;
    for (size_t v = 0; v < spec_.loops.size(); ++v) {
      if (context_.runs[v].count == 1) continue;
      draft.loop_variables.push_back(v);
      draft.loop_runs.push_back(context_.runs[v]);
    }
    if (const Outcome o = MakeNames(name_, &context_, &draft); o != Outcome::kDone) return o;
    RankList ranks;
    if (const Outcome o = Ranks(&ranks); o != Outcome::kDone) return o;
    if (const Outcome o = Shape(&draft); o != Outcome::kDone) return o;
    View view;
    view.dtype = draft.dtype;
    view.shape = draft.shape;
    if (const Outcome o = Pieces(&view); o != Outcome::kDone) return o;
    MergePieces(&view);
    if (families_.Add(std::move(draft), &view, rank_sets_.Intern(ranks))) return Outcome::kDone;
    return TooManyPieces();
  }

  Outcome TooManyPieces() {
    diags_.Error(DiagnosticCode::kTooManyPieces, spec_.span,
                 "the layout has too many pieces up to '" + spec_.param.source + "'");
    return Outcome::kFailed;
  }

  Outcome Ranks(RankList* ranks) {
    if (spec_.rank_list && !ParseRankList(*spec_.rank_list, ranks)) {
      return context_.Fail(
          DiagnosticCode::kBadValue, spec_.rank_span,
          "'" + *spec_.rank_list + "' is no list of ranks such as \"0-7,12\", each of them once");
    }
    for (const Expr& expr : spec_.ranks) {
      int64_t rank = 0;
      if (const Outcome o = context_.Eval(expr, &rank); o != Outcome::kDone) return o;
      if (rank < 0 || rank > std::numeric_limits<int32_t>::max()) {
        return context_.Fail(DiagnosticCode::kBadValue, expr.span,
                             std::to_string(rank) + " is no rank");
      }
      ranks->push_back(static_cast<Rank>(rank));
    }
    std::sort(ranks->begin(), ranks->end());
    ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
    return Outcome::kDone;
  }

  Outcome Shape(FamilyDraft* draft) {
    std::optional<int64_t> bytes = DTypeBytes(draft->dtype);
    for (const Expr& expr : spec_.shape) {
      int64_t extent = 0;
      if (const Outcome o = context_.Eval(expr, &extent); o != Outcome::kDone) return o;
      if (extent < 0) {
        return context_.Fail(DiagnosticCode::kBadValue, expr.span,
                             "extent " + std::to_string(extent) + ", expected at least 0");
      }
      draft->shape.push_back(extent);
      bytes = bytes ? CheckedMul(*bytes, std::max<int64_t>(extent, 1)) : bytes;
    }
    for (const Run& run : draft->loop_runs) bytes = bytes ? CheckedMul(*bytes, run.count) : bytes;
    if (bytes && *bytes <= kMaxTensorBytes && draft->shape.size() <= kMaxDims)
      return Outcome::kDone;
    return context_.Fail(DiagnosticCode::kTooLarge, spec_.shape_span,
                         "the shape of '" + spec_.param.source + "' is too large");
  }

  // All pieces, and fills for what they leave.
  Outcome Pieces(View* view) {
    std::vector<PieceBox> boxes;
    std::vector<size_t> box_piece;  // index of spec_.pieces
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      PieceBox box;
      bool empty = false;
      const Outcome o = AddPiece(i, view, &box, &empty);
      if (o != Outcome::kDone) return o;
      if (empty) continue;
      boxes.push_back(std::move(box));
      box_piece.push_back(i);
    }
    if (const auto overlap = FindOverlap(boxes, &budget_)) {
      return Overlap(boxes[overlap->first], boxes[overlap->second],
                     spec_.pieces[box_piece[overlap->first]],
                     spec_.pieces[box_piece[overlap->second]]);
    }
    const std::vector<PieceBox> left = Uncovered(view->shape, boxes, &budget_);
    if (budget_.exhausted()) return TooManyPieces();
    if (!left.empty() && !spec_.fill) {
      return context_.Fail(DiagnosticCode::kParamGap, spec_.span,
                           "no piece covers element " + ListText(left[0].begin) + " of '" +
                               spec_.param.source + "'; add a piece or 'fill'");
    }
    for (const PieceBox& box : left) {
      ViewPiece piece;
      piece.super = *spec_.fill == FillRule::kZero ? ViewPiece::kZeroFill : ViewPiece::kKeepFill;
      piece.at = box.begin;
      for (uint32_t d = 0; d < box.extent.size(); ++d) {
        if (box.extent[d] > 1) piece.digits.push_back({box.extent[d], d, 1, -1, 0});
      }
      view->pieces.push_back(std::move(piece));
    }
    return Outcome::kDone;
  }

  Outcome Overlap(const PieceBox& a, const PieceBox& b, const ExplicitSpec::Piece& first,
                  const ExplicitSpec::Piece& second) {
    std::vector<int64_t> at;
    for (size_t d = 0; d < a.begin.size(); ++d) at.push_back(std::max(a.begin[d], b.begin[d]));
    const Outcome o = context_.Fail(DiagnosticCode::kParamOverlap, second.span,
                                    "element " + ListText(at) + " of '" + spec_.param.source +
                                        "' has two origins: '" + first.tensor.source + "' and '" +
                                        second.tensor.source + "'");
    return o;
  }

  Outcome BadPiece(const ExplicitSpec::Piece& piece, const std::string& text) {
    return context_.Fail(DiagnosticCode::kBadPiece, piece.span,
                         text + " in a piece of '" + piece.tensor.source + "'");
  }

  Outcome EvalRun(const ExplicitSpec::Run& run, Run* out) {
    out->step = 1;
    if (const Outcome o = context_.Eval(run.start, &out->begin); o != Outcome::kDone) return o;
    if (const Outcome o = context_.Eval(run.extent, &out->count); o != Outcome::kDone) return o;
    return run.step ? context_.Eval(run.step, &out->step) : Outcome::kDone;
  }

  // Evaluates runs and checks that they lie inside `shape`.
  Outcome EvalRuns(const ExplicitSpec::Piece& piece, const std::vector<ExplicitSpec::Run>& runs,
                   const std::vector<int64_t>& shape, const char* what, std::vector<Run>* out) {
    if (runs.size() != shape.size()) {
      return BadPiece(piece, "'" + std::string(what) + "' has " + std::to_string(runs.size()) +
                                 " runs, expected " + std::to_string(shape.size()));
    }
    for (size_t d = 0; d < runs.size(); ++d) {
      Run run;
      if (const Outcome o = EvalRun(runs[d], &run); o != Outcome::kDone) return o;
      std::optional<int64_t> last = run.count >= 0 && run.step >= 1 && run.begin >= 0
                                        ? CheckedMul(std::max<int64_t>(run.count - 1, 0), run.step)
                                        : std::nullopt;
      if (last) last = CheckedAdd(*last, run.begin);
      if (!last || *last >= shape[d] + (run.count == 0 ? 1 : 0)) {
        return BadPiece(piece, "'" + std::string(what) + "' run " + std::to_string(d) + " of " +
                                   std::to_string(run.count) + " elements from " +
                                   std::to_string(run.begin) + " with step " +
                                   std::to_string(run.step) + " leaves the extent of " +
                                   std::to_string(shape[d]));
      }
      out->push_back(run);
    }
    return Outcome::kDone;
  }

  Outcome AddPiece(size_t index, View* view, PieceBox* box, bool* empty) {
    const ExplicitSpec::Piece& piece = spec_.pieces[index];
    ResolvedTensor tensor;
    Outcome o = ResolveTensor(tensors_[index], table_, &context_, &tensor);
    if (o != Outcome::kDone) return o;
    const SuperTensor& super = table_.supers[tensor.super];
    if (super.dtype != view->dtype) {
      diags_
          .Error(DiagnosticCode::kDtypeMismatch, spec_.dtype_span,
                 "'" + spec_.param.source + "' has dtype " + std::string(DTypeText(view->dtype)) +
                     ", expected " + std::string(DTypeText(super.dtype)) + " as '" +
                     piece.tensor.source + "'" + Where())
          .notes.push_back({super.declared, "the tensor is declared here"});
      return Outcome::kFailed;
    }
    std::vector<Run> src, dst;
    o = EvalRuns(piece, piece.src, super.shape, "src", &src);
    if (o != Outcome::kDone) return o;
    o = EvalRuns(piece, piece.dst, view->shape, "dst", &dst);
    if (o != Outcome::kDone) return o;
    std::vector<int> walks;  // per param dim: the logical dim, or -1
    o = Dims(piece, src.size(), dst.size(), &walks);
    if (o != Outcome::kDone) return o;
    return MakePiece(piece, tensor, src, dst, walks, view, box, empty);
  }

  Outcome Dims(const ExplicitSpec::Piece& piece, size_t src_rank, size_t dst_rank,
               std::vector<int>* walks) {
    if (!piece.dims) {
      if (src_rank != dst_rank) {
        return BadPiece(piece, "the param has " + std::to_string(dst_rank) +
                                   " dimensions and the tensor " + std::to_string(src_rank) +
                                   ": 'dims' must say which belong together");
      }
      for (size_t d = 0; d < dst_rank; ++d) walks->push_back(static_cast<int>(d));
      return Outcome::kDone;
    }
    std::vector<bool> walked(src_rank, false);
    for (const std::optional<Expr>& expr : *piece.dims) {
      if (!expr) {
        walks->push_back(-1);
        continue;
      }
      int64_t dim = 0;
      if (const Outcome o = context_.Eval(*expr, &dim); o != Outcome::kDone) return o;
      if (dim < 0 || dim >= static_cast<int64_t>(src_rank) || walked[static_cast<size_t>(dim)]) {
        return BadPiece(piece, "'dims' names dim " + std::to_string(dim) +
                                   ", expected each of the tensor's " + std::to_string(src_rank) +
                                   " dims at most once");
      }
      walked[static_cast<size_t>(dim)] = true;
      walks->push_back(static_cast<int>(dim));
    }
    if (walks->size() == dst_rank) return Outcome::kDone;
    return BadPiece(piece, "'dims' has " + std::to_string(walks->size()) + " entries, expected " +
                               std::to_string(dst_rank));
  }

  Outcome MakePiece(const ExplicitSpec::Piece& spec, const ResolvedTensor& tensor,
                    const std::vector<Run>& src, const std::vector<Run>& dst,
                    const std::vector<int>& walks, View* view, PieceBox* box, bool* empty) {
    ViewPiece piece;
    piece.super = tensor.super;
    for (size_t axis = 0; axis < tensor.axes.size(); ++axis) {
      piece.begin.push_back(tensor.axes[axis].base);
      for (const auto& [v, coef] : tensor.axes[axis].coefs) {
        piece.digits.push_back({context_.runs[v].count, kOuterDim + static_cast<uint32_t>(v), 1,
                                static_cast<int32_t>(axis), coef});
      }
    }
    for (const Run& run : src) piece.begin.push_back(run.begin);
    std::vector<bool> walked(src.size(), false);
    for (uint32_t d = 0; d < dst.size(); ++d) {
      const int64_t count = dst[d].count;
      const int64_t expected = walks[d] < 0 ? 1 : src[static_cast<size_t>(walks[d])].count;
      if (dst[d].step != 1 || count != expected) {
        return BadPiece(spec, "'dst' run " + std::to_string(d) + " has " + std::to_string(count) +
                                  " elements, expected " + std::to_string(expected));
      }
      if (walks[d] >= 0) walked[static_cast<size_t>(walks[d])] = true;
      *empty |= count == 0;
      piece.at.push_back(dst[d].begin);
      box->begin.push_back(dst[d].begin);
      box->extent.push_back(count);
      if (count < 2) continue;
      const auto axis = static_cast<int32_t>(tensor.axes.size()) + walks[d];
      piece.digits.push_back({count, d, 1, axis, src[static_cast<size_t>(walks[d])].step});
    }
    for (size_t d = 0; d < src.size(); ++d) {
      if (walked[d] || src[d].count == 1) continue;
      return BadPiece(spec, "'src' run " + std::to_string(d) + " has " +
                                std::to_string(src[d].count) +
                                " elements, expected 1 as no dim of the param walks it");
    }
    if (*empty) return Outcome::kDone;
    if (!budget_.Charge()) return TooManyPieces();
    view->pieces.push_back(std::move(piece));
    return Outcome::kDone;
  }

  const ExplicitSpec& spec_;
  const uint32_t index_;
  const LogicalTable& table_;
  FamilyBuilder& families_;
  PieceBudget& budget_;
  Diagnostics& diags_;
  RankSetTable& rank_sets_;
  VarScope scope_;
  EvalContext context_;
  std::vector<TemplateName> name_;     // just one
  std::vector<TemplateName> tensors_;  // per piece
};

}  // namespace

bool ParseRankList(std::string_view text, RankList* out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](uint32_t* value) {
    const auto [next, error] = std::from_chars(at, end, *value);
    at = next;
    return error == std::errc{} && *value <= std::numeric_limits<int32_t>::max();
  };
  while (true) {
    uint32_t first = 0;
    if (!number(&first)) return false;
    uint32_t last = first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(&last) || last < first) return false;
    }
    if (static_cast<int64_t>(out->size()) + last - first >= kMaxMeshRanks) return false;
    for (uint32_t rank = first; rank <= last; ++rank) out->push_back(rank);
    if (at == end) break;
    if (*at != ',') return false;
    ++at;
    while (at != end && *at == ' ') ++at;
  }
  std::sort(out->begin(), out->end());
  return std::adjacent_find(out->begin(), out->end()) == out->end();
}

bool BuildExplicitParams(const LayoutSpec& spec, const LogicalTable& table,
                         const SpecScope& globals, FamilyBuilder* families, PieceBudget* budget,
                         Diagnostics* diags, Layout* out) {
  bool good = true;
  for (size_t i = 0; i < spec.explicit_params.size() && !budget->exhausted(); ++i) {
    const auto index = static_cast<uint32_t>(spec.params.size() + i);
    ExplicitTemplate builder(spec.explicit_params[i], index, table, globals, families, budget,
                             diags, &out->rank_sets);
    good &= builder.Build();
  }
  return good;
}

}  // namespace reshard
