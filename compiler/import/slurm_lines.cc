#include "compiler/import/slurm_lines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reshard {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

bool IsKeyChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

std::string SmallLetters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

// Characters of a line that may go over several of the file, and where each stands.
struct JoinedLine {
  std::string text;
  std::vector<uint32_t> offsets;

  void Add(char c, size_t offset) {
    text.push_back(c);
    offsets.push_back(static_cast<uint32_t>(offset));
  }
};

// The lines of a file without comments, joined and without escapes.
class LineJoiner {
 public:
  explicit LineJoiner(std::string_view text) : text_(text) {}

  // False at the end.
  bool Next(JoinedLine* line) {
    *line = {};
    if (at_ >= text_.size()) return false;
    while (AddPart(line) && at_ < text_.size()) {
    }
    return true;
  }

 private:
  // Appends one line of the file; whether it ends, without its comment, with "\".
  bool AddPart(JoinedLine* line) {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const size_t next = end + 1;
    bool joined = false;
    for (size_t i = at_; i < end && text_[i] != '#'; ++i) {
      if (text_[i] != '\\') {
        line->Add(text_[i], i);
        continue;
      }
      joined = EndsAfter(i + 1, end);
      if (joined) break;
      ++i;
      line->Add(text_[i], i);
    }
    at_ = next;
    return joined;
  }

  // Whether nothing but blanks, or blanks and a comment, is left of the line.
  bool EndsAfter(size_t begin, size_t end) const {
    size_t i = begin;
    while (i < end && IsBlank(text_[i])) ++i;
    return i == end || (i > begin && text_[i] == '#');
  }

  std::string_view text_;
  size_t at_ = 0;
};

class LineReader {
 public:
  LineReader(const JoinedLine& line, uint32_t file, Diagnostics* diags)
      : line_(line), file_(file), diags_(*diags) {}

  bool Read(SlurmLine* out) {
    for (SkipBlanks(); at_ < line_.text.size(); SkipBlanks()) {
      SlurmSetting setting;
      if (!ReadSetting(&setting)) return false;
      out->push_back(std::move(setting));
    }
    return true;
  }

 private:
  void SkipBlanks() {
    while (at_ < line_.text.size() && IsBlank(line_.text[at_])) ++at_;
  }

  SlurmText Part(size_t begin, size_t end) const {
    const uint32_t last = line_.offsets[end - 1] + 1;
    return {line_.text.substr(begin, end - begin), {file_, line_.offsets[begin], last}};
  }

  bool Fail(const SlurmText& where, DiagnosticCode code, std::string text) {
    diags_.Error(code, where.span, std::move(text));
    return false;
  }

  bool ReadSetting(SlurmSetting* out) {
    const std::string& text = line_.text;
    const size_t begin = at_;
    while (at_ < text.size() && IsKeyChar(text[at_])) ++at_;
    const size_t key_end = at_;
    SkipBlanks();
    const char sign = at_ < text.size() ? text[at_] : '\0';
    if (key_end > begin && at_ + 1 < text.size() && text[at_ + 1] == '=' &&
        std::string_view("+-*/").find(sign) != std::string_view::npos) {
      return Fail(Part(at_, at_ + 2), DiagnosticCode::kUnsupported,
                  "'" + text.substr(at_, 2) + "' is not known here, expected =");
    }
    if (key_end == begin || sign != '=') return FailAtWord(begin, at_);
    out->key = Part(begin, key_end);
    out->name = SmallLetters(out->key.text);
    ++at_;
    SkipBlanks();
    return ReadValue(begin, &out->value);
  }

  bool ReadValue(size_t setting, SlurmText* out) {
    const std::string& text = line_.text;
    if (at_ == text.size()) return FailAtWord(setting, at_);
    if (text[at_] == '"') {
      const size_t close = text.find('"', at_ + 1);
      if (close == std::string::npos || close == at_ + 1) return FailAtWord(setting, at_);
      *out = Part(at_ + 1, close);
      at_ = close + 1;
      return true;
    }
    const size_t begin = at_;
    while (at_ < text.size() && !IsBlank(text[at_])) ++at_;
    *out = Part(begin, at_);
    return true;
  }

  // The word at `begin` is no setting, as seen at `seen`.
  bool FailAtWord(size_t begin, size_t seen) {
    size_t end = begin;
    while (end < line_.text.size() && !IsBlank(line_.text[end])) ++end;
    const SlurmText word = Part(begin, end);
    if (SmallLetters(word.text) == "include" && seen < line_.text.size()) {
      return Fail(word, DiagnosticCode::kUnsupported,
                  "Include is not followed: put the lines of that file in its place");
    }
    return Fail(word, DiagnosticCode::kBadFormat, "found '" + word.text + "', expected KEY=VALUE");
  }

  const JoinedLine& line_;
  uint32_t file_;
  Diagnostics& diags_;
  size_t at_ = 0;
};

}  // namespace

bool ReadSlurmLines(std::string_view text, uint32_t file, Diagnostics* diags,
                    std::vector<SlurmLine>* out) {
  LineJoiner joiner(text);
  JoinedLine joined;
  bool good = true;
  while (joiner.Next(&joined)) {
    SlurmLine line;
    if (!LineReader(joined, file, diags).Read(&line)) {
      good = false;
    } else if (!line.empty()) {
      out->push_back(std::move(line));
    }
  }
  return good;
}

}  // namespace reshard
