// Ranges and names with holes; expr.h has the contracts.

#include <utility>

#include "compiler/frontend/expr.h"
#include "compiler/frontend/span_inside.h"

namespace reshard {

bool AppendRangePart(std::string_view text, Span span, bool allow_single, Diagnostics* diags,
                     RangeExpr* range) {
  std::vector<std::pair<size_t, size_t>> fields;  // begin, end
  size_t begin = 0;
  for (size_t dots = text.find(".."); dots != std::string_view::npos;
       dots = text.find("..", begin)) {
    fields.emplace_back(begin, dots);
    begin = dots + 2;
  }
  fields.emplace_back(begin, text.size());
  if (fields.size() > 3 || (fields.size() == 1 && !allow_single)) {
    diags->Error(
        DiagnosticCode::kBadRange, span,
        "expected a range 'begin..end' or 'begin..end..step', found '" + std::string(text) + "'");
    return false;
  }
  RangeExpr::Part part;
  Expr* const targets[] = {&part.begin, &part.end, &part.step};
  bool good = true;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto [first, last] = fields[i];
    *targets[i] = ParseExpr(text.substr(first, last - first),
                            SpanInside(span, text.size(), first, last), diags);
    good = good && *targets[i];
  }
  if (good) range->parts.push_back(std::move(part));
  return good;
}

NameExpr ParseName(std::string_view text, Span span, Diagnostics* diags) {
  const auto fail = [&](DiagnosticCode code, size_t begin, size_t end, std::string message) {
    diags->Error(code, SpanInside(span, text.size(), begin, end), std::move(message));
    NameExpr bad;
    bad.span = span;
    bad.source = std::string(text);
    return bad;
  };
  if (text.empty()) return fail(DiagnosticCode::kBadName, 0, 0, "a name is empty");
  if (text.size() > kMaxNameBytes) {
    return fail(DiagnosticCode::kTooLarge, 0, text.size(),
                "the name has " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(kMaxNameBytes) + " are allowed");
  }
  NameExpr name;
  name.span = span;
  name.source = std::string(text);
  name.text.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      name.text.back().push_back(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      name.text.back().push_back(c);
      ++i;
    } else if (c == '}') {
      return fail(DiagnosticCode::kBadName, i, i + 1, "'}' without '{': a brace is written '}}'");
    } else {
      const size_t close = text.find_first_of("{}", i + 1);
      if (close == std::string_view::npos || text[close] == '{') {
        return fail(DiagnosticCode::kBadName, i, i + 1, "'{' without '}': a brace is written '{{'");
      }
      Expr hole = ParseExpr(text.substr(i + 1, close - i - 1),
                            SpanInside(span, text.size(), i + 1, close), diags);
      if (!hole) return NameExpr{{}, {}, span, std::string(text)};
      name.holes.push_back(std::move(hole));
      name.text.emplace_back();
      i = close;
    }
  }
  return name;
}

}  // namespace reshard
