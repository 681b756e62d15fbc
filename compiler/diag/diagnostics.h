// Diagnostics: what the compiler says about its inputs.
//
// A pass reports user mistakes here and keeps going to find more; the caller prints them once,
// sorted by file and position. Spans are byte ranges in files that a SourceMap owns, so that a
// message can show the line and a caret. Codes are stable words listed in diagnostic_codes.def.
// Not thread-safe: one compilation uses one instance of each class.
#ifndef RESHARD_COMPILER_DIAG_DIAGNOSTICS_H_
#define RESHARD_COMPILER_DIAG_DIAGNOSTICS_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

// A half-open byte range of one source file. With end == 0 the message carries the file name only
// (about a whole file), without a file nothing.
struct Span {
  static constexpr uint32_t kNoFile = UINT32_MAX;
  uint32_t file = kNoFile;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool has_file() const { return file != kNoFile; }
};

// Owns the text of every input file of one compilation.
class SourceMap {
 public:
  // Adds a file and returns its number; `path` is shown in messages exactly as given.
  uint32_t Add(std::string path, std::string text);
  const std::string& path(uint32_t file) const;
  std::string_view text(uint32_t file) const;
  struct Position {
    uint32_t line = 1;    // 1-based
    uint32_t column = 1;  // 1-based, in bytes
    std::string_view line_text;
  };
  Position Locate(uint32_t file, uint32_t offset_bytes) const;

 private:
  struct File {
    std::string path;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<File> files_;
};

enum class DiagnosticCode : uint16_t {
#define RESHARD_DIAGNOSTIC(name, text, meaning) name,
#include "compiler/diag/diagnostic_codes.def"
#undef RESHARD_DIAGNOSTIC
};
// The stable word of a code, e.g. "shape-mismatch".
std::string_view CodeText(DiagnosticCode code);

enum class Severity : uint8_t { kError, kWarning };

struct Note {
  Span span;
  std::string text;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  DiagnosticCode code{};
  Span span;
  std::string text;  // starts in lower case, no final period, both numbers and both names
  std::vector<Note> notes;
};

class Diagnostics {
 public:
  static constexpr size_t kMaxKept = 10'000;

  // Both return the new entry so that a caller can append notes; the reference is valid until the
  // next call. Of each kind the first kMaxKept are kept and the rest is only counted, so that a
  // hostile file of millions of mistakes cannot fill the memory.
  Diagnostic& Error(DiagnosticCode code, Span span, std::string text);
  Diagnostic& Warning(DiagnosticCode code, Span span, std::string text);

  size_t error_count() const { return error_count_; }
  size_t warning_count() const { return warning_count_; }
  bool has_errors() const { return error_count_ != 0; }
  const std::vector<Diagnostic>& entries() const { return entries_; }

  // Prints everything, sorted by (file, position), at most `max_errors` errors and as many warnings
  // (0: all), in the grammar
  //   file:line:col: error: text [code]
  //   source line
  //   ^~~~
  //   file:line:col: note: text
  // Control bytes of input text are escaped; a long source line is cut around the caret. Says how
  // many errors and warnings were left off.
  void Print(const SourceMap& sources, size_t max_errors, std::ostream& out) const;

 private:
  Diagnostic& Add(Severity severity, DiagnosticCode code, Span span, std::string text,
                  size_t* count);

  std::vector<Diagnostic> entries_;
  Diagnostic dropped_;  // what a caller may append notes to when the entry is not kept
  size_t error_count_ = 0;
  size_t warning_count_ = 0;
};

// ", did you mean 'x'?" for the closest of `known` by edit distance, or "" when none is close.
// The result depends on the set of names only, not on their order.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

// Escapes control characters and invalid UTF-8 so that a terminal shows them harmlessly.
std::string EscapeForTerminal(std::string_view text);

}  // namespace reshard

#endif  // RESHARD_COMPILER_DIAG_DIAGNOSTICS_H_
