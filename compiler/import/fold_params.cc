#include "compiler/import/fold_params.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "compiler/import/fold_tensors.h"
#include "compiler/import/numbered_name.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// Numbers of pieces that are compared to find params that shift evenly. Params that do not are
// looked at once for each entry.
constexpr int64_t kMaxFoldSteps = 100'000'000;

// What params of one entry have in common. Everything else about them is a number.
struct Form {
  NameForm name;
  std::vector<int64_t> shape;
  DType dtype{};
  bool covered = true;
  std::vector<NameForm> tensors;           // per piece
  std::vector<std::vector<int64_t>> dims;  // per piece
  friend auto operator<=>(const Form&, const Form&) = default;
};

struct Member {
  size_t param = 0;              // its number in the list
  std::vector<int64_t> indices;  // the numbers of its name
  std::vector<int64_t> numbers;  // of its pieces: of the tensor's name, then of the runs
};

void AddRuns(const std::vector<CopyRun>& runs, std::vector<int64_t>* numbers) {
  for (const CopyRun& run : runs) {
    numbers->insert(numbers->end(), {run.start, run.length, run.step});
  }
}

std::pair<Form, Member> Describe(const ExplicitParam& param, size_t number) {
  NumberedName name = CutName(param.name);
  std::pair<Form, Member> made = {
      {std::move(name.form), param.shape, param.dtype, param.covered, {}, {}},
      {number, std::move(name.numbers), {}}};
  for (const ExplicitPiece& piece : param.pieces) {
    NumberedName tensor = CutName(piece.tensor);
    made.first.tensors.push_back(std::move(tensor.form));
    made.first.dims.push_back(piece.box.dims);
    std::vector<int64_t>& numbers = made.second.numbers;
    numbers.insert(numbers.end(), tensor.numbers.begin(), tensor.numbers.end());
    AddRuns(piece.box.src, &numbers);
    AddRuns(piece.box.dst, &numbers);
  }
  return made;
}

// Numbers as base + the sum over k of factors[k] * (index k - base index k).
class EvenShift {
 public:
  explicit EvenShift(Member base) : base_(std::move(base)), factors_(base_.indices.size()) {}

  // Whether the member fits; may settle the factors of one index.
  bool Fits(const Member& member) {
    std::vector<int64_t> rest(member.numbers.size());
    for (size_t n = 0; n < rest.size(); ++n) {
      const std::optional<int64_t> left = CheckedSub(member.numbers[n], base_.numbers[n]);
      if (!left) return false;
      rest[n] = *left;
    }
    std::optional<size_t> unknown;
    for (size_t k = 0; k < factors_.size(); ++k) {
      if (member.indices[k] == base_.indices[k]) continue;
      if (factors_[k]) {
        if (!TakeShift(k, member, &rest)) return false;
      } else if (unknown) {
        return false;
      } else {
        unknown = k;
      }
    }
    if (unknown) return Settle(*unknown, member, std::move(rest));
    return std::all_of(rest.begin(), rest.end(), [](int64_t left) { return left == 0; });
  }

  // Number n as a layout file writes it.
  JsonDoc Text(size_t n, const std::vector<TemplateLoop>& loops) const {
    int64_t constant = base_.numbers[n];
    std::string text;
    for (size_t k = 0; k < factors_.size(); ++k) {
      const int64_t factor = factors_[k] ? (*factors_[k])[n] : 0;
      if (factor == 0) continue;
      constant -= factor * base_.indices[k];
      if (!text.empty() && factor > 0) text += '+';
      if (factor == -1) text += '-';
      if (factor != 1 && factor != -1) text += std::to_string(factor) + "*";
      text += loops[k].variable;
    }
    if (text.empty()) return constant;
    if (constant > 0) text += '+';
    if (constant != 0) text += std::to_string(constant);
    return text;
  }

 private:
  // Takes what index k shifts from `rest`.
  bool TakeShift(size_t k, const Member& member, std::vector<int64_t>* rest) const {
    const std::optional<int64_t> shift = CheckedSub(member.indices[k], base_.indices[k]);
    for (size_t n = 0; n < rest->size(); ++n) {
      const int64_t factor = (*factors_[k])[n];
      const std::optional<int64_t> product = shift ? CheckedMul(factor, *shift) : std::nullopt;
      const std::optional<int64_t> left = product ? CheckedSub((*rest)[n], *product) : std::nullopt;
      if (!left || !CanBeWritten(factor, member.indices[k])) return false;
      (*rest)[n] = *left;
    }
    return true;
  }

  // The factors of index k with which the member has no `rest`.
  bool Settle(size_t k, const Member& member, std::vector<int64_t> rest) {
    const std::optional<int64_t> shift = CheckedSub(member.indices[k], base_.indices[k]);
    if (!shift) return false;
    for (size_t n = 0; n < rest.size(); ++n) {
      if (CheckedFloorMod(rest[n], *shift) != 0) return false;
      const std::optional<int64_t> factor = CheckedFloorDiv(rest[n], *shift);
      if (!factor || !CanBeWritten(*factor, member.indices[k]) ||
          !CanBeWritten(*factor, base_.indices[k]) || !CanBeWritten(base_.numbers[n], 1)) {
        return false;
      }
      rest[n] = *factor;
    }
    factors_[k] = std::move(rest);
    return true;
  }

  // Whether the sum of such products, one for each index and a constant of as many, stays in 64
  // bits in whatever order it is taken.
  bool CanBeWritten(int64_t factor, int64_t index) const {
    const int64_t most = INT64_MAX / (2 * static_cast<int64_t>(factors_.size()) + 2);
    const std::optional<int64_t> product = CheckedMul(factor, index);
    return product && *product <= most && *product >= -most;
  }

  Member base_;
  std::vector<std::optional<std::vector<int64_t>>> factors_;
};

JsonDoc RunsDoc(size_t count, bool with_step, const EvenShift& shift,
                const std::vector<TemplateLoop>& loops, size_t* n) {
  JsonDoc runs = JsonDoc::Array();
  for (size_t d = 0; d < count; ++d, *n += 3) {
    JsonDoc run = JsonDoc::Array();
    run.Add(shift.Text(*n, loops)).Add(shift.Text(*n + 1, loops));
    const JsonDoc step = shift.Text(*n + 2, loops);
    if (with_step && step.Line() != "1") run.Add(step);
    runs.Add(std::move(run));
  }
  return runs;
}

// Text of a number inside a name.
std::string NameText(const JsonDoc& number) {
  std::string text = number.Line();
  if (text.starts_with('"')) text = "{" + text.substr(1, text.size() - 2) + "}";
  return text;
}

JsonDoc EntryDoc(const ExplicitParam& first, const std::string& ranks, const Form& form,
                 const EvenShift& shift, const TensorTemplate& folded) {
  JsonDoc entry = JsonDoc::Object();
  if (!folded.loops.empty()) {
    JsonDoc loops = JsonDoc::Object();
    for (const TemplateLoop& loop : folded.loops) loops.Set(loop.variable, RangeDoc(loop.values));
    entry.Set("for", std::move(loops));
  }
  entry.Set("ranks", ranks)
      .Set("param", folded.name)
      .Set("dtype", DTypeText(form.dtype))
      .Set("shape", JsonDoc::Array(form.shape));
  JsonDoc pieces = JsonDoc::Array();
  size_t n = 0;
  for (size_t p = 0; p < form.tensors.size(); ++p) {
    const CopyPiece& box = first.pieces[p].box;
    std::vector<std::string> texts;
    for (const NameForm::Part& part : form.tensors[p].parts) {
      if (part.is_number) texts.push_back(NameText(shift.Text(n++, folded.loops)));
    }
    JsonDoc piece = JsonDoc::Object();
    piece.Set("t", WriteName(form.tensors[p], texts));
    piece.Set("src", RunsDoc(box.src.size(), true, shift, folded.loops, &n));
    piece.Set("dst", RunsDoc(box.dst.size(), false, shift, folded.loops, &n));
    bool straight = box.src.size() == box.dst.size();
    JsonDoc dims = JsonDoc::Array();
    for (size_t d = 0; d < box.dims.size(); ++d) {
      // Without "dims", dim d walks along dim d: so it may where both have one element.
      straight &= box.dims[d] == static_cast<int64_t>(d) ||
                  (box.dims[d] < 0 && d < box.src.size() && box.src[d].length == 1);
      dims.Add(box.dims[d] < 0 ? JsonDoc::Literal("null") : JsonDoc(box.dims[d]));
    }
    if (!straight) piece.Set("dims", std::move(dims));
    pieces.Add(std::move(piece));
  }
  entry.Set("pieces", std::move(pieces));
  if (!form.covered) entry.Set("fill", "keep");
  return entry;
}

// The entries of the members that shift evenly from the first; the others are left in `members`.
void FoldOnce(const std::vector<ExplicitParam>& params, const std::string& ranks, const Form& form,
              std::vector<Member>* members, std::vector<std::pair<size_t, JsonDoc>>* out) {
  EvenShift shift(members->front());
  std::vector<ModelTensor> taken;
  std::map<std::string, size_t> param_of;
  std::vector<Member> left;
  for (const Member& member : *members) {
    if (!shift.Fits(member)) {
      left.push_back(member);
      continue;
    }
    const ExplicitParam& param = params[member.param];
    taken.push_back({param.name, param.shape, param.dtype, {}});
    param_of[param.name] = member.param;
  }
  for (const TensorTemplate& folded : FoldTensors(taken)) {
    const size_t first = param_of.at(folded.first_name);
    out->emplace_back(first, EntryDoc(params[first], ranks, form, shift, folded));
  }
  *members = std::move(left);
}

}  // namespace

bool IsCovered(const ExplicitParam& param) {
  std::optional<int64_t> left = CheckedProduct(std::span<const int64_t>(param.shape));
  for (const ExplicitPiece& piece : param.pieces) {
    std::optional<int64_t> count = 1;
    for (const CopyRun& run : piece.box.dst) {
      if (count) count = CheckedMul(*count, run.length);
    }
    // Pieces of more than all elements overlap, which is found when the layout is read.
    if (!left || !count || *count >= *left) return left.has_value();
    *left -= *count;
  }
  return left == 0;
}

std::vector<JsonDoc> FoldParams(const std::vector<ExplicitParam>& params,
                                const std::string& ranks) {
  std::map<Form, std::vector<Member>> groups;
  for (size_t i = 0; i < params.size(); ++i) {
    auto [form, member] = Describe(params[i], i);
    groups[std::move(form)].push_back(std::move(member));
  }
  std::vector<std::pair<size_t, JsonDoc>> made;  // by first param
  int64_t steps = kMaxFoldSteps;
  for (auto& [form, members] : groups) {
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.indices < b.indices; });
    while (!members.empty() && steps > 0) {
      steps -= static_cast<int64_t>(members.size() * (1 + members.front().numbers.size()));
      FoldOnce(params, ranks, form, &members, &made);
    }
    for (Member& member : members) {
      std::vector<Member> alone = {std::move(member)};
      FoldOnce(params, ranks, form, &alone, &made);
    }
  }
  std::sort(made.begin(), made.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<JsonDoc> out;
  for (auto& [first, entry] : made) out.push_back(std::move(entry));
  return out;
}

}  // namespace reshard
