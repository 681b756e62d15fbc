#include "compiler/frontend/number_list.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace reshard {

namespace {

// first..last, printed with leading zeros up to `width` digits.
struct NumberRange {
  uint64_t first = 0;
  uint64_t last = 0;
  size_t width = 0;
};

// One list in form of its parts. Errors point at a byte of the text: a string without escapes
// stands in the file as it is.
class ListParser {
 public:
  ListParser(std::string_view text, Span span, DiagnosticCode code, Diagnostics* diags)
      : text_(text), span_(span), code_(code), diags_(diags) {}

  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Skip(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  std::string_view TakeUntil(std::string_view stops) {
    const size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    const std::string_view part = text_.substr(at_, end - at_);
    at_ = end;
    return part;
  }

  // "7" or "00-31".
  std::optional<NumberRange> Range() {
    const size_t begin = at_;
    NumberRange range;
    const std::optional<uint64_t> first = Number(&range.width);
    if (!first) return std::nullopt;
    range.first = range.last = *first;
    if (Skip('-')) {
      size_t width = 0;
      const size_t last_begin = at_;
      const std::optional<uint64_t> last = Number(&width);
      if (!last) return std::nullopt;
      range.last = *last;
      if (range.last < range.first) return Fail(begin, at_, "the range ends before it begins");
      const bool padded = text_[last_begin] == '0' && width > 1;
      if (padded && width != range.width) {
        return Fail(begin, at_, "the ends of the range have leading zeros of different width");
      }
    }
    return range;
  }
  // "[00-31,40]", past the opening bracket.
  bool Ranges(std::vector<NumberRange>* out) {
    const size_t begin = at_ - 1;
    do {
      const std::optional<NumberRange> range = Range();
      if (!range) return false;
      out->push_back(*range);
    } while (Skip(','));
    if (Skip(']')) return true;
    if (AtEnd()) {
      Fail(begin, at_, "the bracket is not closed");
    } else {
      Fail(at_, at_ + 1, "expected ',', '-' or ']'");
    }
    return false;
  }

  std::nullopt_t Fail(size_t begin, size_t end, std::string message) {
    Span place = span_;
    if (span_.end - span_.begin == text_.size()) {
      place.end = span_.begin + static_cast<uint32_t>(end);
      place.begin += static_cast<uint32_t>(begin);
    }
    diags_->Error(code_, place, std::move(message));
    return std::nullopt;
  }
  size_t at() const { return at_; }

 private:
  std::optional<uint64_t> Number(size_t* width) {
    const size_t begin = at_;
    uint64_t value = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      value = value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
      if (at_ - begin > 15) return Fail(begin, at_, "the number has more than 15 digits");
    }
    if (at_ == begin) return Fail(at_, std::min(at_ + 1, text_.size()), "expected a number here");
    *width = at_ - begin;
    return value;
  }

  std::string_view text_;
  Span span_;
  DiagnosticCode code_;
  Diagnostics* diags_;
  size_t at_ = 0;
};

// Takes count * each from what is left, without overflow.
bool Charge(uint64_t count, uint64_t each, size_t* left) {
  if (each != 0 && count > *left / each) return false;
  *left -= count * each;
  return true;
}

void ReportTooLarge(std::string_view what, Span span, Diagnostics* diags) {
  diags->Error(DiagnosticCode::kTooLarge, span,
               "the list names more " + std::string(what) + " than a file may");
}

// A host list item: literal text and brackets in turns, literals.size() == brackets.size() + 1.
struct HostItem {
  std::vector<std::string_view> literals;
  std::vector<std::vector<NumberRange>> brackets;
};

uint64_t CountOf(const std::vector<NumberRange>& ranges) {
  uint64_t count = 0;
  for (const NumberRange& range : ranges) {
    count = std::min<uint64_t>(kMaxHosts + 1, count + (range.last - range.first + 1));
  }
  return count;
}

bool ParseItem(ListParser* parser, HostItem* item) {
  const size_t begin = parser->at();
  item->literals.push_back(parser->TakeUntil(",[]"));
  while (parser->Skip('[')) {
    if (!parser->Ranges(&item->brackets.emplace_back())) return false;
    item->literals.push_back(parser->TakeUntil(",[]"));
  }
  if (parser->Peek() == ']') {
    parser->Fail(parser->at(), parser->at() + 1, "the bracket was not opened");
    return false;
  }
  if (parser->at() == begin) {
    parser->Fail(begin, begin + 1, "expected a host name here");
    return false;
  }
  for (const std::string_view literal : item->literals) {
    const size_t bad = literal.find_first_of(" \t\r\n{}");
    if (bad == std::string_view::npos) continue;
    parser->Fail(begin, parser->at(), "a host name holds white space or braces");
    return false;
  }
  return true;
}

// Every bracket from number `i` on, last one fastest, appended to `prefix`.
void ExpandItem(const HostItem& item, size_t i, const std::string& prefix,
                std::vector<std::string>* out) {
  const std::string head = prefix + std::string(item.literals[i]);
  if (i == item.brackets.size()) {
    out->push_back(head);
    return;
  }
  for (const NumberRange& range : item.brackets[i]) {
    for (uint64_t number = range.first; number <= range.last; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < range.width) digits.insert(0, range.width - digits.size(), '0');
      ExpandItem(item, i + 1, head + digits, out);
    }
  }
}

}  // namespace

bool ExpandNumberList(std::string_view text, Span span, uint32_t highest, ListBudget* budget,
                      Diagnostics* diags, std::vector<uint32_t>* out) {
  ListParser parser(text, span, DiagnosticCode::kBadRange, diags);
  do {
    const size_t begin = parser.at();
    const std::optional<NumberRange> range = parser.Range();
    if (!range) return false;
    if (range->last > highest) {
      parser.Fail(begin, parser.at(), "the number is above " + std::to_string(highest));
      return false;
    }
    if (!Charge(range->last - range->first + 1, 1, &budget->entries)) {
      ReportTooLarge("numbers", span, diags);
      return false;
    }
    for (uint64_t number = range->first; number <= range->last; ++number) {
      out->push_back(static_cast<uint32_t>(number));
    }
  } while (parser.Skip(','));
  if (parser.AtEnd()) return true;
  parser.Fail(parser.at(), parser.at() + 1, "expected ',' or '-' between numbers");
  return false;
}

bool ExpandHostList(std::string_view text, Span span, ListBudget* budget, Diagnostics* diags,
                    std::vector<std::string>* out) {
  constexpr size_t kMaxBrackets = 8;
  ListParser parser(text, span, DiagnosticCode::kBadHostList, diags);
  size_t list_left = kMaxHosts;
  do {
    const size_t begin = parser.at();
    HostItem item;
    if (!ParseItem(&parser, &item)) return false;
    if (item.brackets.size() > kMaxBrackets) {
      parser.Fail(begin, parser.at(), "a host name has more than 8 brackets");
      return false;
    }
    uint64_t count = 1;
    uint64_t name_bytes = 0;
    for (const std::string_view literal : item.literals) name_bytes += literal.size();
    for (const std::vector<NumberRange>& ranges : item.brackets) {
      count = std::min<uint64_t>(kMaxHosts + 1, count * CountOf(ranges));
      size_t widest = 0;
      for (const NumberRange& range : ranges) {
        widest = std::max({widest, range.width, std::to_string(range.last).size()});
      }
      name_bytes += widest;
    }
    if (name_bytes > kMaxHostNameBytes) {
      parser.Fail(begin, parser.at(), "a host name has more than 255 bytes");
      return false;
    }
    if (!Charge(count, 1, &list_left) || !Charge(count, 1, &budget->entries) ||
        !Charge(count, name_bytes, &budget->name_bytes)) {
      ReportTooLarge("hosts", span, diags);
      return false;
    }
    ExpandItem(item, 0, "", out);
  } while (parser.Skip(','));
  return true;
}

}  // namespace reshard
