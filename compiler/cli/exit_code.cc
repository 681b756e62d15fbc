#include "compiler/cli/exit_code.h"

namespace reshard {
namespace {

// Codes that answer "no" to a question that was understood.
bool IsJudgement(DiagnosticCode code) {
  switch (code) {
    case DiagnosticCode::kNotHeld:
    case DiagnosticCode::kNotNeeded:
    case DiagnosticCode::kNothingToMove:
    case DiagnosticCode::kExpectFailed:
    case DiagnosticCode::kScaleMisaligned:
    case DiagnosticCode::kNoNic:
    case DiagnosticCode::kOnlyCopyExcluded:
    case DiagnosticCode::kStagingInfeasible:
    case DiagnosticCode::kSliceTooSmall:
    case DiagnosticCode::kPeersInfeasible:
    case DiagnosticCode::kMemoryExceeded:
    case DiagnosticCode::kPlanTooLarge:
      return true;
    default:
      return false;
  }
}

}  // namespace

ExitCode ExitCodeFor(const Diagnostics& diags) {
  if (!diags.has_errors()) return ExitCode::kYes;
  for (const Diagnostic& entry : diags.entries()) {
    if (entry.severity == Severity::kError && !IsJudgement(entry.code)) {
      return ExitCode::kCannotJudge;
    }
  }
  return ExitCode::kNo;
}

}  // namespace reshard
