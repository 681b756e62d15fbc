#include "compiler/frontend/layout_reader.h"

namespace reshard {

void ReportType(const JsonNode& node, std::string_view expected, Diagnostics* diags) {
  diags->Error(DiagnosticCode::kWrongType, node.span,
               "expected " + std::string(expected) + ", found " + DescribeJson(node));
}

const std::vector<JsonNode>& ItemsOf(const JsonNode& node, std::string_view expected,
                                     Diagnostics* diags) {
  // An array's items; any other kind of node has none.
  if (node.kind != JsonNode::Kind::kArray) ReportType(node, expected, diags);
  return node.items;
}

std::string ReadText(const JsonNode& node, std::string_view expected, Diagnostics* diags) {
  if (node.kind != JsonNode::Kind::kString) {
    ReportType(node, expected, diags);
    return "";
  }
  if (node.text.empty()) {
    diags->Error(DiagnosticCode::kBadValue, node.span,
                 "expected " + std::string(expected) + ", found an empty string");
  }
  return node.text;
}

Expr ReadExpr(const JsonNode& node, Diagnostics* diags) {
  if (node.kind == JsonNode::Kind::kString) return ParseExpr(node.text, InsideQuotes(node), diags);
  if (node.kind == JsonNode::Kind::kNumber) {
    const std::optional<int64_t> value =
        ReadInteger(node, "the value", INT64_MIN, INT64_MAX, diags);
    return value ? ConstantExpr(*value, node.span) : Expr{nullptr, node.span};
  }
  ReportType(node, "an integer or an expression", diags);
  return {nullptr, node.span};
}

std::vector<Expr> ReadExprs(const JsonNode& node, std::string_view expected, Diagnostics* diags) {
  std::vector<Expr> exprs;
  for (const JsonNode& item : ItemsOf(node, expected, diags)) {
    exprs.push_back(ReadExpr(item, diags));
  }
  return exprs;
}

NameExpr ReadName(const JsonNode& node, std::string_view expected, Diagnostics* diags) {
  if (node.kind != JsonNode::Kind::kString) {
    ReportType(node, expected, diags);
    NameExpr name;
    name.span = node.span;
    return name;
  }
  return ParseName(node.text, InsideQuotes(node), diags);
}

RangeExpr ReadRange(const JsonNode& node, Diagnostics* diags) {
  RangeExpr range;
  range.span = node.span;
  if (node.kind == JsonNode::Kind::kString) {
    if (!AppendRangePart(node.text, InsideQuotes(node), false, diags, &range)) range.parts.clear();
    return range;
  }
  for (const JsonNode& item :
       ItemsOf(node, "a range 'begin..end' or a list of integers and ranges", diags)) {
    if (item.kind == JsonNode::Kind::kString) {
      if (!AppendRangePart(item.text, InsideQuotes(item), true, diags, &range)) continue;
    } else if (const Expr value = ReadExpr(item, diags)) {
      range.parts.push_back({value, {}, {}});
    }
  }
  return range;
}

std::vector<LoopSpec> ReadLoops(const JsonNode& node, Diagnostics* diags) {
  std::vector<LoopSpec> loops;
  if (node.kind != JsonNode::Kind::kObject) ReportType(node, "an object of ranges", diags);
  for (const JsonMember& member : node.members) {
    if (member.key == "comment") continue;
    CheckDeclaredName(member.key, member.key_span, "variable", diags);
    loops.push_back({member.key, member.key_span, ReadRange(member.value, diags)});
  }
  return loops;
}

std::vector<LetSpec> ReadLets(const JsonNode& node, Diagnostics* diags) {
  std::vector<LetSpec> lets;
  if (node.kind != JsonNode::Kind::kObject) ReportType(node, "an object of expressions", diags);
  for (const JsonMember& member : node.members) {
    if (member.key == "comment") continue;
    CheckDeclaredName(member.key, member.key_span, "name", diags);
    lets.push_back({member.key, member.key_span, ReadExpr(member.value, diags)});
  }
  return lets;
}

DType ReadDType(const JsonNode& node, Diagnostics* diags) {
  if (node.kind != JsonNode::Kind::kString) {
    ReportType(node, "a dtype", diags);
    return DType::kBf16;
  }
  if (const std::optional<DType> dtype = ParseDType(node.text)) return *dtype;
  std::vector<std::string> known;
  for (uint8_t i = 0; i < kDTypeCount; ++i) known.emplace_back(DTypeText(static_cast<DType>(i)));
  std::string hint = DidYouMean(node.text, known);
  if (hint.empty()) {
    hint = ", expected one of";
    for (const std::string& name : known) hint += " " + name;
  }
  diags->Error(DiagnosticCode::kBadValue, node.span, "'" + node.text + "' is not a dtype" + hint);
  return DType::kBf16;
}

FillRule ReadFill(ObjectReader* object) {
  return object->Word("fill", {"zero", "keep"}) == "keep" ? FillRule::kKeep : FillRule::kZero;
}

Span BraceOf(const JsonNode& node) {
  return {node.span.file, node.span.begin, node.span.begin + 1};
}

void CheckDeclaredName(const std::string& name, Span span, std::string_view kind,
                       Diagnostics* diags) {
  if (IsFunctionName(name)) {
    diags->Error(DiagnosticCode::kNameCollision, span,
                 "'" + name + "' is a function and cannot name a " + std::string(kind));
  } else if (!IsIdentifier(name)) {
    diags->Error(DiagnosticCode::kBadName, span,
                 "'" + name + "' cannot name a " + std::string(kind) +
                     ": expected letters, digits and '_', no digit first, not 'and', 'or', 'not'");
  }
}

}  // namespace reshard
