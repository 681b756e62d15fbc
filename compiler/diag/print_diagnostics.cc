// Diagnostics::Print: the one place that turns diagnostics into text.
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/utf8.h"

namespace reshard {

namespace {

// Bytes of a long source line that are shown before and after the caret. A layout written by a
// program can be one line of megabytes.
constexpr size_t kBytesBeforeCaret = 48;
constexpr size_t kBytesAfterCaret = 64;
constexpr std::string_view kCut = "...";
constexpr size_t kTabWidth = 4;

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// `text` as a terminal shows it: tabs become spaces, everything harmful is escaped.
std::string Displayed(std::string_view text) {
  std::string out;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t tab = std::min(text.find('\t', begin), text.size());
    out += EscapeForTerminal(text.substr(begin, tab - begin));
    if (tab == text.size()) break;
    out.append(kTabWidth, ' ');
    begin = tab + 1;
  }
  return out;
}

// Characters of an escaped text: each takes one column.
size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (const char c : text) columns += IsContinuation(c) ? 0 : 1;
  return columns;
}

void PrintSourceLine(const SourceMap::Position& position, size_t span_bytes, std::ostream& out) {
  const std::string_view line = position.line_text;
  const size_t caret = std::min<size_t>(position.column - 1, line.size());
  if (line.empty()) return;
  size_t begin = 0;
  size_t end = line.size();
  if (line.size() > kBytesBeforeCaret + kBytesAfterCaret) {
    if (caret > kBytesBeforeCaret) begin = caret - kBytesBeforeCaret;
    end = std::min(line.size(), caret + kBytesAfterCaret);
    // Cut between characters; a run of stray continuation bytes moves a cut by at most three.
    for (int i = 0; i < 3 && begin > 0 && begin < caret && IsContinuation(line[begin]); ++i) {
      ++begin;
    }
    for (int i = 0; i < 3 && end < line.size() && end > caret && IsContinuation(line[end]); ++i) {
      --end;
    }
  }
  const size_t span_end = std::min(end, caret + span_bytes);
  const std::string before =
      std::string(begin > 0 ? kCut : "") + Displayed(line.substr(begin, caret - begin));
  const std::string marked = Displayed(line.substr(caret, span_end - caret));
  const std::string after = Displayed(line.substr(span_end, end - span_end));
  out << before << marked << after << (end < line.size() ? kCut : "") << '\n';
  const size_t marked_columns = std::max<size_t>(1, Columns(marked));
  out << std::string(Columns(before), ' ') << '^' << std::string(marked_columns - 1, '~') << '\n';
}

// "file:line:col: ", "file: " or "".
void PrintPlace(const SourceMap& sources, Span span, std::ostream& out) {
  if (!span.has_file()) return;
  out << EscapeForTerminal(sources.path(span.file));
  if (span.end != 0) {
    const SourceMap::Position position = sources.Locate(span.file, span.begin);
    out << ':' << position.line << ':' << position.column;
  }
  out << ": ";
}

void PrintEntry(const SourceMap& sources, const Diagnostic& entry, std::ostream& out) {
  PrintPlace(sources, entry.span, out);
  out << (entry.severity == Severity::kError ? "error: " : "warning: ")
      << EscapeForTerminal(entry.text) << " [" << CodeText(entry.code) << "]\n";
  if (entry.span.has_file() && entry.span.end != 0) {
    const size_t span_bytes =
        entry.span.end > entry.span.begin ? entry.span.end - entry.span.begin : 0;
    PrintSourceLine(sources.Locate(entry.span.file, entry.span.begin), span_bytes, out);
  }
  for (const Note& note : entry.notes) {
    PrintPlace(sources, note.span, out);
    out << "note: " << EscapeForTerminal(note.text) << '\n';
  }
}

void PrintLeftOff(size_t count, std::string_view word, std::ostream& out) {
  if (count == 0) return;
  out << count << " more " << word << (count == 1 ? "" : "s") << " not shown\n";
}

}  // namespace

void Diagnostics::Print(const SourceMap& sources, size_t max_errors, std::ostream& out) const {
  std::vector<const Diagnostic*> sorted;
  sorted.reserve(entries_.size());
  for (const Diagnostic& entry : entries_) sorted.push_back(&entry);
  // Files in the order in which they were read, messages without a file last; entries of one
  // position stay in the order in which they were found.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->span.file, a->span.begin) < std::tie(b->span.file, b->span.begin);
  });
  size_t shown[2] = {0, 0};
  for (const Diagnostic* entry : sorted) {
    const size_t kind = entry->severity == Severity::kError ? 0 : 1;
    if (max_errors != 0 && shown[kind] == max_errors) continue;
    ++shown[kind];
    PrintEntry(sources, *entry, out);
  }
  PrintLeftOff(error_count_ - shown[0], "error", out);
  PrintLeftOff(warning_count_ - shown[1], "warning", out);
}

}  // namespace reshard
