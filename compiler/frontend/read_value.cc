// Values (how a param is made of logical tensors) and DTensor placements.

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "compiler/frontend/layout_reader.h"

namespace reshard {
namespace {

struct OpName {
  std::string_view text;
  ValueOp op;
};
constexpr OpName kOps[] = {
#define RESHARD_VALUE_OP(name, text) {text, ValueOp::name},
#include "compiler/frontend/value_ops.def"
#undef RESHARD_VALUE_OP
};

std::optional<ValueOp> ReadOp(ObjectReader* object) {
  if (object->Required("op") == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const OpName& name : kOps) words.emplace_back(name.text);
  const std::optional<std::string> word = object->Word("op", words);
  if (!word) return std::nullopt;
  return std::find_if(std::begin(kOps), std::end(kOps),
                      [&word](const OpName& name) { return name.text == *word; })
      ->op;
}

void ReadOptional(ObjectReader* object, std::string_view key, Diagnostics* diags,
                  std::optional<Expr>* out) {
  if (const JsonNode* node = object->Optional(key)) *out = ReadExpr(*node, diags);
}

void ReadRequired(ObjectReader* object, std::string_view key, Diagnostics* diags,
                  std::optional<Expr>* out) {
  if (const JsonNode* node = object->Required(key)) *out = ReadExpr(*node, diags);
}

void ReadOver(ObjectReader* object, Diagnostics* diags, ValueSpec* value) {
  const JsonNode* node = object->Required("over");
  if (node == nullptr) return;
  std::vector<LoopSpec> loops = ReadLoops(*node, diags);
  if (loops.size() == 1) {
    value->over = std::move(loops[0]);
  } else if (node->kind == JsonNode::Kind::kObject) {
    diags->Error(DiagnosticCode::kBadValue, node->span,
                 "'over' takes one variable, found " + std::to_string(loops.size()));
  }
}

void ReadShard(ObjectReader* object, Diagnostics* diags, ValueSpec* value) {
  if (const JsonNode* node = object->Required("axes")) {
    for (const JsonNode& item : ItemsOf(*node, "a list of axes", diags)) {
      value->axes.push_back(ReadText(item, "an axis", diags));
      value->axis_spans.push_back(item.span);
    }
  }
  ReadOptional(object, "unit", diags, &value->unit);
  const std::optional<std::string> uneven = object->Word("uneven", {"error", "chunk", "balanced"});
  if (uneven == "chunk") value->uneven = UnevenRule::kChunk;
  if (uneven == "balanced") value->uneven = UnevenRule::kBalanced;
  value->replicate_if_fewer = object->Bool("replicate_if_fewer").value_or(false);
}

void ReadPad(ObjectReader* object, Diagnostics* diags, ValueSpec* value) {
  ReadOptional(object, "multiple", diags, &value->multiple);
  ReadOptional(object, "to", diags, &value->to);
  if (value->multiple.has_value() == value->to.has_value()) {
    diags->Error(value->to ? DiagnosticCode::kBadValue : DiagnosticCode::kMissingKey,
                 BraceOf(object->node()), "'pad' takes one of 'multiple' and 'to'");
  }
  value->fill = ReadFill(object);
}

// `in`: one value, or a list of them for the operations that join.
void ReadInputs(ObjectReader* object, bool list, Diagnostics* diags, ValueSpec* value) {
  const JsonNode* node = object->Required("in");
  if (node == nullptr) return;
  if (!list) {
    value->inputs.push_back(ReadValue(*node, diags));
    return;
  }
  for (const JsonNode& item : ItemsOf(*node, "a list of values", diags)) {
    value->inputs.push_back(ReadValue(item, diags));
  }
  if (node->kind == JsonNode::Kind::kArray && node->items.empty()) {
    diags->Error(DiagnosticCode::kBadValue, node->span, "'in' lists no value");
  }
}

// "S(d)", "R", "_S(d,f)", "P" (also "P(sum)", as DTensor prints it).
class PlacementParser {
 public:
  explicit PlacementParser(std::string_view text) : rest_(text) {}

  bool Parse(PlacementSpec* out) {
    if (rest_.starts_with("P(") && rest_.ends_with(")")) rest_ = "P";
    if (rest_ == "R" || rest_ == "P") {
      out->kind = rest_ == "R" ? PlacementSpec::Kind::kReplicate : PlacementSpec::Kind::kPartial;
      return true;
    }
    if (Take("_S(")) {
      out->kind = PlacementSpec::Kind::kStridedShard;
      return TakeInteger(&out->dim) && Take(",") && TakeInteger(&out->split_factor) && rest_ == ")";
    }
    out->kind = PlacementSpec::Kind::kShard;
    return Take("S(") && TakeInteger(&out->dim) && rest_ == ")";
  }

 private:
  void SkipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool Take(std::string_view text) {
    SkipSpace();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool TakeInteger(int64_t* out) {
    SkipSpace();
    const auto [stop, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *out);
    if (status != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
    SkipSpace();
    return true;
  }

  std::string_view rest_;
};

}  // namespace

ValueSpec ReadValue(const JsonNode& node, Diagnostics* diags) {
  ValueSpec value;
  value.span = node.span;
  if (node.kind == JsonNode::Kind::kString) {
    value.tensor = ReadName(node, "the name of a logical tensor", diags);
    return value;
  }
  if (node.kind != JsonNode::Kind::kObject) {
    ReportType(node, "the name of a logical tensor or an operation", diags);
    return value;
  }
  ObjectReader object(node, "an operation", diags);
  const std::optional<ValueOp> op = ReadOp(&object);
  // Without an operation nothing tells which keys belong here.
  if (!op) return value;
  value.op = *op;
  const bool has_dim = *op != ValueOp::kPermute && *op != ValueOp::kReshape;
  if (has_dim) ReadOptional(&object, "dim", diags, &value.dim);
  switch (*op) {
    case ValueOp::kStack:
      ReadOver(&object, diags, &value);
      break;
    case ValueOp::kGroupCat:
      ReadRequired(&object, "groups", diags, &value.groups);
      break;
    case ValueOp::kShard:
      ReadShard(&object, diags, &value);
      break;
    case ValueOp::kPad:
      ReadPad(&object, diags, &value);
      break;
    case ValueOp::kSlice:
      ReadRequired(&object, "start", diags, &value.start);
      ReadRequired(&object, "stop", diags, &value.stop);
      ReadOptional(&object, "step", diags, &value.step);
      break;
    case ValueOp::kIndex:
      ReadRequired(&object, "at", diags, &value.at);
      break;
    case ValueOp::kPermute:
      if (const JsonNode* dims = object.Required("dims")) {
        value.dims = ReadExprs(*dims, "a list of dims", diags);
      }
      break;
    case ValueOp::kReshape:
      if (const JsonNode* shape = object.Required("shape")) {
        value.shape = ReadExprs(*shape, "a shape", diags);
      }
      break;
    case ValueOp::kTensor:
    case ValueOp::kCat:
      break;
  }
  ReadInputs(&object, *op == ValueOp::kCat || *op == ValueOp::kGroupCat, diags, &value);
  std::ignore = object.Finish();
  return value;
}

std::vector<PlacementSpec> ReadPlacements(const JsonNode& node, Diagnostics* diags) {
  std::vector<PlacementSpec> placements;
  for (const JsonNode& item : ItemsOf(node, "a list of placements", diags)) {
    PlacementSpec placement;
    placement.span = item.span;
    if (item.kind != JsonNode::Kind::kString) {
      ReportType(item, "a placement", diags);
    } else if (!PlacementParser(item.text).Parse(&placement)) {
      diags->Error(DiagnosticCode::kBadPlacement, item.span,
                   "expected 'S(dim)', 'R', '_S(dim,factor)' or 'P', found '" + item.text + "'");
    } else if (placement.split_factor < 1) {
      diags->Error(DiagnosticCode::kBadPlacement, item.span,
                   "the split factor of a strided shard is at least 1, found " +
                       std::to_string(placement.split_factor));
    }
    placements.push_back(placement);
  }
  return placements;
}

}  // namespace reshard
