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

Diagnostic& Diagnostics::Add(Severity severity, DiagnosticCode code, Span span, std::string text,
                             size_t* count) {
  Diagnostic entry = {severity, code, span, std::move(text), {}};
  if (++*count <= kMaxKept) return entries_.emplace_back(std::move(entry));
  dropped_ = std::move(entry);
  return dropped_;
}

Diagnostic& Diagnostics::Error(DiagnosticCode code, Span span, std::string text) {
  return Add(Severity::kError, code, span, std::move(text), &error_count_);
}

Diagnostic& Diagnostics::Warning(DiagnosticCode code, Span span, std::string text) {
  return Add(Severity::kWarning, code, span, std::move(text), &warning_count_);
}

}  // namespace reshard
