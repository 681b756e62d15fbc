#include "compiler/diag/diagnostics.h"

#include <utility>

namespace reshard {

std::string_view CodeText(DiagnosticCode code) {
  switch (code) {
#define RESHARD_DIAGNOSTIC(name, text, meaning) \
  case DiagnosticCode::name:                    \
    return text;
#include "compiler/diag/diagnostic_codes.def"
#undef RESHARD_DIAGNOSTIC
  }
  return "";
}

Diagnostic& Diagnostics::Error(DiagnosticCode code, Span span, std::string text) {
  ++error_count_;
  entries_.push_back({Severity::kError, code, span, std::move(text), {}});
  return entries_.back();
}

Diagnostic& Diagnostics::Warning(DiagnosticCode code, Span span, std::string text) {
  entries_.push_back({Severity::kWarning, code, span, std::move(text), {}});
  return entries_.back();
}

}  // namespace reshard
