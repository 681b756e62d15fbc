// Shared parts of the functions that turn a JSON layout into a LayoutSpec. Private to
// ReadLayoutSpec.
//
// Every function reports what is wrong with its node and returns something harmless, so that the
// caller goes on and finds more: an expression with an error is empty, a name has no `text`.
#ifndef RESHARD_COMPILER_FRONTEND_LAYOUT_READER_H_
#define RESHARD_COMPILER_FRONTEND_LAYOUT_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/frontend/object_reader.h"

namespace reshard {

// "expected ..., found ...", for a node of a wrong type.
void ReportType(const JsonNode& node, std::string_view expected, Diagnostics* diags);
// The array's items; reports another type and returns an empty list.
const std::vector<JsonNode>& ItemsOf(const JsonNode& node, std::string_view expected,
                                     Diagnostics* diags);
std::string ReadText(const JsonNode& node, std::string_view expected, Diagnostics* diags);

// An integer, or a string with an expression.
Expr ReadExpr(const JsonNode& node, Diagnostics* diags);
std::vector<Expr> ReadExprs(const JsonNode& node, std::string_view expected, Diagnostics* diags);
NameExpr ReadName(const JsonNode& node, std::string_view expected, Diagnostics* diags);
RangeExpr ReadRange(const JsonNode& node, Diagnostics* diags);
// {"l": RANGE, ...}
std::vector<LoopSpec> ReadLoops(const JsonNode& node, Diagnostics* diags);
std::vector<LetSpec> ReadLets(const JsonNode& node, Diagnostics* diags);
DType ReadDType(const JsonNode& node, Diagnostics* diags);
FillRule ReadFill(ObjectReader* object);
// Where a key is missed: the object's brace, since the object may span many lines.
Span BraceOf(const JsonNode& node);

// Reports a name that no expression could use: not an identifier, or a function's.
void CheckDeclaredName(const std::string& name, Span span, std::string_view kind,
                       Diagnostics* diags);

ValueSpec ReadValue(const JsonNode& node, Diagnostics* diags);
ParamSpec ReadParam(const JsonNode& node, Diagnostics* diags);
ExplicitSpec ReadExplicit(const JsonNode& node, Diagnostics* diags);
ExpectSpec ReadExpect(const JsonNode& node, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_LAYOUT_READER_H_
