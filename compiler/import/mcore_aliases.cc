#include "compiler/import/mcore_aliases.h"

#include <algorithm>
#include <charconv>

#include "compiler/frontend/object_reader.h"
#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// "0..94" as two numbers.
std::optional<std::pair<int64_t, int64_t>> ReadLiteralRange(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc{} || rest != end || value < 0) return std::nullopt;
    return value;
  };
  const std::optional<int64_t> begin = number(text.substr(0, dots));
  const std::optional<int64_t> end = number(text.substr(dots + 2));
  if (!begin || !end) return std::nullopt;
  return std::pair(*begin, *end);
}

// The part of `box` in [begin, end) of one dim of the key, moved there by `shift`.
std::optional<KeyBox> Cut(const KeyBox& box, size_t dim, int64_t begin, int64_t end,
                          int64_t shift) {
  const int64_t low = std::max(begin, box.key_begin[dim]);
  const int64_t high = std::min(end, box.key_begin[dim] + box.extent[dim]);
  if (low >= high) return std::nullopt;
  KeyBox made = box;
  made.tensor_begin[dim] += low - box.key_begin[dim];
  made.key_begin[dim] = low + shift;
  made.extent[dim] = high - low;
  return made;
}

}  // namespace

// The variables of an alias at one index.
class McoreAliases::Values : public ExprEnv {
 public:
  Values(const Alias& alias, const std::vector<int64_t>& index) {
    for (size_t i = 0; i < index.size(); ++i) values_[alias.index[i]] = index[i];
  }
  std::optional<int64_t> Variable(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::vector<int64_t>* Table(std::string_view) const override { return nullptr; }
  std::optional<int64_t> Pipeline(std::string_view, int64_t, std::string* error) const override {
    *error = "an alias has no pipeline";
    return std::nullopt;
  }

 private:
  std::map<std::string, int64_t, std::less<>> values_;
};

bool McoreAliases::Fail(Span span, DiagnosticCode code, std::string text) {
  diags_.Error(code, span, std::move(text));
  return false;
}

bool McoreAliases::Read(const JsonNode& list) {
  bool good = true;
  for (const JsonNode& node : list.items) good = ReadAlias(node) && good;
  return good;
}

bool McoreAliases::ReadAlias(const JsonNode& node) {
  ObjectReader object(node, "an alias", &diags_);
  const JsonNode* key = object.Required("key", JsonNode::Kind::kString);
  const JsonNode* loops = object.Optional("for", JsonNode::Kind::kObject);
  const JsonNode* index = object.Optional("index", JsonNode::Kind::kArray);
  const JsonNode* value = object.Required("is");
  if (!object.Finish()) return false;
  Alias alias;
  alias.span = node.span;
  alias.value = value;
  if (loops != nullptr && !ReadLoops(*loops, &alias)) return false;
  if (index != nullptr && !ReadIndex(*index, &alias)) return false;
  if (alias.index.size() != alias.loops.size()) {
    return Fail(node.span, DiagnosticCode::kBadValue,
                "the alias has " + std::to_string(alias.loops.size()) + " variables and " +
                    std::to_string(alias.index.size()) + " of them in 'index'");
  }
  const auto [first, added] = aliases_.try_emplace(key->text, std::move(alias));
  if (added) return true;
  diags_
      .Error(DiagnosticCode::kNameCollision, key->span,
             "the key '" + key->text + "' has two aliases")
      .notes.push_back({first->second.span, "the other one"});
  return false;
}

bool McoreAliases::ReadLoops(const JsonNode& node, Alias* out) {
  for (const JsonMember& member : node.members) {
    const auto range = member.value.kind == JsonNode::Kind::kString
                           ? ReadLiteralRange(member.value.text)
                           : std::nullopt;
    if (!IsIdentifier(member.key) || !range) {
      return Fail(member.value.span, DiagnosticCode::kBadRange,
                  "expected a variable and its range in numbers, such as \"l\": \"0..94\"");
    }
    out->loops[member.key] = *range;
  }
  return true;
}

bool McoreAliases::ReadIndex(const JsonNode& node, Alias* out) {
  for (const JsonNode& item : node.items) {
    std::string variable;
    if (item.kind == JsonNode::Kind::kString && item.text.size() > 2 && item.text[0] == '{' &&
        item.text.back() == '}') {
      variable = item.text.substr(1, item.text.size() - 2);
    }
    const bool fresh =
        std::find(out->index.begin(), out->index.end(), variable) == out->index.end();
    if (!out->loops.contains(variable) || !fresh) {
      return Fail(item.span, DiagnosticCode::kUnsupported,
                  "expected each variable of 'for' once in 'index', such as \"{l}\"");
    }
    out->index.push_back(std::move(variable));
  }
  return true;
}

const KeyBoxes* McoreAliases::Resolve(const std::string& key, const std::vector<int64_t>& index,
                                      Span span) {
  const auto [place, fresh] = resolved_.try_emplace({key, index});
  std::optional<KeyBoxes>& boxes = place->second;
  if (!fresh) return boxes ? &*boxes : nullptr;
  const Alias& alias = aliases_.at(key);
  if (index.size() != alias.index.size()) {
    diags_
        .Error(DiagnosticCode::kShapeMismatch, span,
               "'" + key + "' has " + std::to_string(index.size()) +
                   " leading dims (prepend_axis_num), its alias an index of " +
                   std::to_string(alias.index.size()))
        .notes.push_back({alias.span, "the alias"});
    return nullptr;
  }
  for (size_t i = 0; i < index.size(); ++i) {
    const auto [begin, end] = alias.loops.at(alias.index[i]);
    if (index[i] >= begin && index[i] < end) continue;
    diags_
        .Error(DiagnosticCode::kBadValue, span,
               "'" + key + "' is at " + std::to_string(index[i]) + " of a leading dim, '" +
                   alias.index[i] + "' of its alias is from " + std::to_string(begin) + " up to " +
                   std::to_string(end))
        .notes.push_back({alias.span, "the alias"});
    return nullptr;
  }
  KeyBoxes made;
  if (!Expand(*alias.value, Values(alias, index), &made)) return nullptr;
  boxes = std::move(made);
  return &*boxes;
}

// A number, or an expression of the alias's variables.
std::optional<int64_t> McoreAliases::Integer(const JsonNode& node, const std::string& what,
                                             const Values& values) {
  if (node.kind != JsonNode::Kind::kString) {
    return ReadInteger(node, what, -kMaxTensorBytes, kMaxTensorBytes, &diags_);
  }
  const Span inside = InsideQuotes(node);
  const Expr expr = ParseExpr(node.text, inside, &diags_);
  if (!expr) return std::nullopt;
  std::string error;
  Span where;
  const std::optional<int64_t> value = Eval(expr, values, &error, &where);
  if (value && *value >= -kMaxTensorBytes && *value <= kMaxTensorBytes) return value;
  Fail(value ? inside : where, DiagnosticCode::kEvaluation,
       value ? what + " is " + std::to_string(*value) + ", which is too large" : error);
  return std::nullopt;
}

bool McoreAliases::Expand(const JsonNode& value, const Values& values, KeyBoxes* out) {
  if (value.kind == JsonNode::Kind::kString) return ExpandTensor(value, values, out);
  if (!ExpectKind(value, JsonNode::Kind::kObject, "what a key is", &diags_)) return false;
  const JsonNode* op = nullptr;
  for (const JsonMember& member : value.members) {
    if (member.key == "op") op = &member.value;
  }
  if (op == nullptr || op->kind != JsonNode::Kind::kString) {
    return Fail(value.span, DiagnosticCode::kMissingKey, "an operation needs 'op', a word");
  }
  if (op->text == "cat") return ExpandJoined(value, false, values, out);
  if (op->text == "group_cat") return ExpandJoined(value, true, values, out);
  if (op->text == "pad") return ExpandPad(value, values, out);
  if (op->text == "slice") return ExpandSlice(value, values, out);
  return Fail(op->span, DiagnosticCode::kUnsupported,
              "the operation '" + op->text +
                  "' is not known in an alias, expected cat, group_cat, pad or slice");
}

bool McoreAliases::ExpandTensor(const JsonNode& name, const Values& values, KeyBoxes* out) {
  const NameExpr parsed = ParseName(name.text, InsideQuotes(name), &diags_);
  if (parsed.text.empty()) return false;
  std::string full = parsed.text[0];
  for (size_t i = 0; i < parsed.holes.size(); ++i) {
    std::string error;
    Span where;
    const std::optional<int64_t> number = Eval(parsed.holes[i], values, &error, &where);
    if (!number) return Fail(where, DiagnosticCode::kEvaluation, error);
    full += std::to_string(*number) + parsed.text[i + 1];
  }
  const auto tensor = tensors_.find(full);
  if (tensor == tensors_.end()) {
    return Fail(name.span, DiagnosticCode::kUnknownTensor,
                "the shape of '" + full +
                    "' is not known: 'tensors' has it, or a file given with --shapes");
  }
  const std::vector<int64_t>& shape = tensor->second.shape;
  out->shape = shape;
  const std::vector<int64_t> zeros(shape.size());
  if (std::find(shape.begin(), shape.end(), 0) == shape.end()) {
    out->boxes.push_back({&tensor->second, zeros, zeros, shape});
  }
  return true;
}

bool McoreAliases::ExpandJoined(const JsonNode& value, bool grouped, const Values& values,
                                KeyBoxes* out) {
  ObjectReader object(value, "the operation", &diags_);
  static_cast<void>(object.String("op"));
  const std::optional<int64_t> dim_given = object.Integer("dim", 0, kMaxDims);
  const JsonNode* count = grouped ? object.Required("groups") : nullptr;
  const JsonNode* in = object.Required("in", JsonNode::Kind::kArray);
  if (!object.Finish()) return false;
  const auto dim = static_cast<size_t>(dim_given.value_or(0));
  const std::optional<int64_t> groups =
      grouped ? Integer(*count, "the number of groups", values) : std::optional<int64_t>(1);
  if (!groups) return false;
  if (*groups < 1 || *groups > kMaxLoopValues || in->items.empty()) {
    return Fail(value.span, DiagnosticCode::kBadValue,
                "expected inputs, and from 1 to " + std::to_string(kMaxLoopValues) + " groups");
  }
  std::vector<KeyBoxes> inputs(in->items.size());
  int64_t joined = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!Expand(in->items[i], values, &inputs[i])) return false;
    const std::vector<int64_t>& shape = inputs[i].shape;
    std::vector<int64_t> first = inputs[0].shape;
    if (dim >= shape.size() || shape[dim] % *groups != 0) {
      return Fail(in->items[i].span, DiagnosticCode::kShapeMismatch,
                  "the input has no dim " + std::to_string(dim) + " of whole groups");
    }
    if (first.size() == shape.size()) first[dim] = shape[dim];
    const std::optional<int64_t> sum = CheckedAdd(joined, shape[dim]);
    if (first != shape || !sum || *sum > kMaxTensorBytes) {
      return Fail(in->items[i].span, DiagnosticCode::kShapeMismatch,
                  "the input has other extents than the first one");
    }
    joined = *sum;
  }
  out->shape = inputs[0].shape;
  out->shape[dim] = joined;
  int64_t begin = 0;
  for (int64_t group = 0; group < *groups; ++group) {
    for (const KeyBoxes& input : inputs) {
      const int64_t part = input.shape[dim] / *groups;
      boxes_left_ -= 1 + static_cast<int64_t>(input.boxes.size());
      if (boxes_left_ < 0) {
        return Fail(value.span, DiagnosticCode::kTooManyPieces,
                    "the aliases up to here are too many boxes (--max-pieces)");
      }
      for (const KeyBox& box : input.boxes) {
        const auto cut = Cut(box, dim, group * part, (group + 1) * part, begin - group * part);
        if (cut) out->boxes.push_back(*cut);
      }
      begin += part;
    }
  }
  return true;
}

bool McoreAliases::ExpandPad(const JsonNode& value, const Values& values, KeyBoxes* out) {
  ObjectReader object(value, "the operation", &diags_);
  static_cast<void>(object.String("op"));
  const std::optional<int64_t> dim_given = object.Integer("dim", 0, kMaxDims);
  const JsonNode* to = object.Optional("to");
  const JsonNode* multiple = object.Optional("multiple");
  const JsonNode* in = object.Required("in");
  if (!object.Finish() || !Expand(*in, values, out)) return false;
  const auto dim = static_cast<size_t>(dim_given.value_or(0));
  if ((to == nullptr) == (multiple == nullptr) || dim >= out->shape.size()) {
    return Fail(value.span, DiagnosticCode::kBadValue,
                "expected a dim of the input, and one of 'to' and 'multiple'");
  }
  const auto given = Integer(to != nullptr ? *to : *multiple, "the padding", values);
  if (!given) return false;
  int64_t& extent = out->shape[dim];
  const int64_t padded =
      to != nullptr || *given < 1 ? *given : (extent / *given + (extent % *given != 0)) * *given;
  if (padded < extent || padded > kMaxTensorBytes) {
    return Fail(value.span, DiagnosticCode::kBadValue,
                "the padding leaves " + std::to_string(padded) + " of " + std::to_string(extent));
  }
  extent = padded;
  return true;
}

bool McoreAliases::ExpandSlice(const JsonNode& value, const Values& values, KeyBoxes* out) {
  ObjectReader object(value, "the operation", &diags_);
  static_cast<void>(object.String("op"));
  const std::optional<int64_t> dim_given = object.Integer("dim", 0, kMaxDims);
  const JsonNode* start = object.Required("start");
  const JsonNode* stop = object.Required("stop");
  const JsonNode* in = object.Required("in");
  KeyBoxes whole;
  if (!object.Finish() || !Expand(*in, values, &whole)) return false;
  const auto dim = static_cast<size_t>(dim_given.value_or(0));
  const std::optional<int64_t> begin = Integer(*start, "'start'", values);
  const std::optional<int64_t> end = Integer(*stop, "'stop'", values);
  if (!begin || !end) return false;
  if (dim >= whole.shape.size() || *begin < 0 || *begin > *end || *end > whole.shape[dim]) {
    return Fail(value.span, DiagnosticCode::kBadSlice, "the slice leaves its input");
  }
  for (const KeyBox& box : whole.boxes) {
    if (const auto cut = Cut(box, dim, *begin, *end, -*begin)) out->boxes.push_back(*cut);
  }
  out->shape = whole.shape;
  out->shape[dim] = *end - *begin;
  return true;
}

}  // namespace reshard
