#include "compiler/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <streambuf>
#include <utility>

namespace reshard {
namespace {

constexpr size_t kMostColumns = 10'000;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// COLUMNS when it is a sensible number, else nothing.
std::optional<size_t> ColumnsFrom(std::string_view text) {
  size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (columns == 0 || columns > kMostColumns) return std::nullopt;
  return columns;
}

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kMagenta = "\x1b[1;35m";
constexpr std::string_view kCyan = "\x1b[36m";
constexpr std::string_view kPlain = "\x1b[0m";

struct Paint {
  std::string_view word, color;
};
constexpr std::array<Paint, 3> kSeverities = {
    {{"error: ", kRed}, {"warning: ", kMagenta}, {"note: ", kCyan}}};
constexpr std::array<Paint, 5> kVerdicts = {{{"different", kRed},
                                             {"FAILED", kRed},
                                             {"equal", kGreen},
                                             {"sound", kGreen},
                                             {"passed", kGreen}}};

std::string Colored(std::string_view line, size_t begin, size_t size, std::string_view color) {
  std::string out(line.substr(0, begin));
  out += color;
  out += line.substr(begin, size);
  out += kPlain;
  return out += line.substr(begin + size);
}

bool IsCarets(std::string_view line) {
  const size_t caret = line.find_first_not_of(' ');
  return caret != std::string_view::npos && line[caret] == '^' &&
         line.find_first_not_of('~', caret + 1) == std::string_view::npos;
}

class PaintBuffer : public std::streambuf {
 public:
  PaintBuffer(std::ostream& target, bool with_titles) : target_(target), titles_(with_titles) {}
  PaintBuffer(const PaintBuffer&) = delete;
  PaintBuffer& operator=(const PaintBuffer&) = delete;
  ~PaintBuffer() override {
    if (waiting_) target_ << Painted(*waiting_, false) << "\n";
    target_ << line_ << std::flush;
  }

 protected:
  int_type overflow(int_type c) override {
    if (c == traits_type::eof()) return c;
    if (c != '\n') {
      line_ += static_cast<char>(c);
      return c;
    }
    if (waiting_) {
      const bool title = !waiting_->empty() && waiting_->front() != ' ' && line_.starts_with("  ");
      target_ << Painted(*waiting_, title) << "\n";
      waiting_.reset();
    }
    if (titles_) {
      waiting_ = std::move(line_);
    } else {
      target_ << Painted(line_, false) << "\n";
    }
    line_.clear();
    return c;
  }
  int sync() override {
    target_.flush();
    return target_ ? 0 : -1;
  }

 private:
  std::ostream& target_;
  bool titles_;
  std::optional<std::string> waiting_;  // whole, but what follows decides how it is painted
  std::string line_;                    // not whole yet
};

class PaintStream : public std::ostream {
 public:
  PaintStream(std::ostream& target, bool with_titles)
      : std::ostream(nullptr), buffer_(target, with_titles) {
    rdbuf(&buffer_);
  }

 private:
  PaintBuffer buffer_;
};

}  // namespace

void DeclareTerminal(CLI::App* app, TerminalArgs* args) {
  app->add_option("--color", args->color,
                  "auto (on terminals, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app->add_flag("-q,--quiet", args->quiet, "print no result, only errors, and exit with it");
}

TerminalFacts AskTerminal() {
  TerminalFacts facts;
  facts.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  facts.err_is_terminal = isatty(STDERR_FILENO) == 1;
  facts.no_color = Environment("NO_COLOR");
  facts.term = Environment("TERM");
  facts.columns = Environment("COLUMNS");
  winsize window{};
  if (facts.out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) {
    facts.window_columns = window.ws_col;
  }
  return facts;
}

Terminal DecideTerminal(const TerminalArgs& args, const TerminalFacts& facts) {
  Terminal terminal;
  const bool wanted = args.color != "never";
  const bool automatic = facts.no_color.empty() && facts.term != "dumb";
  const bool always = args.color == "always";
  terminal.color_out = wanted && (always || (automatic && facts.out_is_terminal));
  terminal.color_err = wanted && (always || (automatic && facts.err_is_terminal));
  if (facts.out_is_terminal) {
    terminal.width = ColumnsFrom(facts.columns).value_or(facts.window_columns);
  }
  return terminal;
}

std::string Painted(std::string_view line, bool is_title) {
  if (is_title) return Colored(line, 0, line.size(), kBold);
  if (IsCarets(line)) return Colored(line, 0, line.size(), kGreen);
  for (const auto& [word, color] : kVerdicts) {
    const bool whole =
        line.starts_with(word) &&
        (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == ':');
    if (whole) return Colored(line, 0, word.size(), color);
  }
  // The severity is the first of these words: what follows is text with names in it.
  size_t first = line.size();
  Paint found{};
  for (const Paint& severity : kSeverities) {
    const size_t place = line.find(severity.word);
    if (place < first && (place == 0 || line[place - 1] == ' ')) {
      first = place;
      found = severity;
    }
  }
  if (found.word.empty()) return std::string(line);
  return Colored(line, first, found.word.size() - 1, found.color);
}

std::unique_ptr<std::ostream> PaintLines(std::ostream& target, bool with_titles) {
  return std::make_unique<PaintStream>(target, with_titles);
}

}  // namespace reshard
