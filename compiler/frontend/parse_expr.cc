// The parser of expressions; expr.h has the contracts.
//
//   or    := and ("or" and)*
//   and   := not ("and" not)*
//   not   := "not" not | compare
//   compare := sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   sum   := term (("+" | "-") term)*
//   term  := unary (("*" | "//" | "%") unary)*
//   unary := "-" unary | NUMBER | NAME | NAME "[" or "]" | FUNCTION "(" or ("," or)* ")" | "(" or
//   ")"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "compiler/frontend/expr.h"
#include "compiler/frontend/span_inside.h"

namespace reshard {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c); }
bool IsKeyword(std::string_view text) { return text == "and" || text == "or" || text == "not"; }

struct Function {
  std::string_view name;
  ExprOp op;
  size_t min_args;
  size_t max_args;
};
constexpr std::array<Function, 7> kFunctions = {{
    {"min", ExprOp::kMin, 2, SIZE_MAX},
    {"max", ExprOp::kMax, 2, SIZE_MAX},
    {"ceil_div", ExprOp::kCeilDiv, 2, 2},
    {"stage", ExprOp::kPipeline, 1, 1},
    {"chunk", ExprOp::kPipeline, 1, 1},
    {"layer_start", ExprOp::kPipeline, 1, 1},
    {"stage_start", ExprOp::kPipeline, 1, 1},
}};

const Function* FindFunction(std::string_view name) {
  const auto it = std::find_if(kFunctions.begin(), kFunctions.end(),
                               [name](const Function& f) { return f.name == name; });
  return it == kFunctions.end() ? nullptr : &*it;
}

struct Operator {
  std::string_view text;
  ExprOp op;
};
// Longer texts first, so that "<=" is not read as "<".
constexpr std::array<Operator, 6> kComparisons = {{{"==", ExprOp::kEqual},
                                                   {"!=", ExprOp::kNotEqual},
                                                   {"<=", ExprOp::kLessEqual},
                                                   {">=", ExprOp::kGreaterEqual},
                                                   {"<", ExprOp::kLess},
                                                   {">", ExprOp::kGreater}}};
constexpr std::array<Operator, 2> kSums = {{{"+", ExprOp::kAdd}, {"-", ExprOp::kSub}}};
constexpr std::array<Operator, 3> kTerms = {
    {{"*", ExprOp::kMul}, {"//", ExprOp::kFloorDiv}, {"%", ExprOp::kMod}}};

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// One parse; after the first error every function returns nullopt without reporting again.
class Parser {
 public:
  Parser(std::string_view text, Span span, Diagnostics* diags)
      : text_(text), span_(span), diags_(diags) {}

  std::optional<ExprNode> ParseAll() {
    std::optional<ExprNode> node = ParseOr(0);
    if (!node) return node;
    SkipSpace();
    if (at_ == text_.size()) return node;
    if (FindOperator(kComparisons) != nullptr) {
      return Fail(at_, at_ + 1, "comparisons do not chain: join them with 'and'");
    }
    if (text_[at_] == '/') return Fail(at_, at_ + 1, "division is '//': it rounds down");
    return Fail(at_, EndOfToken(), "unexpected " + Quoted(Token()) + " after an expression");
  }

 private:
  std::nullopt_t Fail(size_t begin, size_t end, std::string text) {
    diags_->Error(DiagnosticCode::kBadExpression, SpanInside(span_, text_.size(), begin, end),
                  std::move(text));
    return std::nullopt;
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  size_t EndOfToken() const {
    size_t end = at_;
    while (end < text_.size() && IsWordPart(text_[end])) ++end;
    if (end != at_) return end;
    // A whole character, should it have several bytes.
    end = std::min(at_ + 1, text_.size());
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return end;
  }
  std::string_view Token() const { return text_.substr(at_, EndOfToken() - at_); }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!IsWordStart(at_ < text_.size() ? text_[at_] : ' ') || Token() != word) return false;
    at_ += word.size();
    return true;
  }
  bool TakeChar(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <size_t N>
  const Operator* FindOperator(const std::array<Operator, N>& operators) {
    SkipSpace();
    for (const Operator& candidate : operators) {
      if (text_.substr(at_).starts_with(candidate.text)) return &candidate;
    }
    return nullptr;
  }
  template <size_t N>
  const Operator* TakeOperator(const std::array<Operator, N>& operators) {
    const Operator* found = FindOperator(operators);
    if (found != nullptr) at_ += found->text.size();
    return found;
  }

  // A node over `args` that spans from `begin` to the current position.
  std::optional<ExprNode> Make(ExprOp op, size_t begin, std::vector<ExprNode> args,
                               std::string name = "") {
    ExprNode node;
    node.op = op;
    node.name = std::move(name);
    node.args = std::move(args);
    for (const ExprNode& arg : node.args) node.depth = std::max(node.depth, arg.depth + 1);
    if (node.depth > kMaxExprDepth) return FailDepth(begin);
    node.span = SpanInside(span_, text_.size(), begin, at_);
    return node;
  }
  std::optional<ExprNode> MakePair(ExprOp op, size_t begin, ExprNode left, ExprNode right) {
    std::vector<ExprNode> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    return Make(op, begin, std::move(args));
  }
  std::nullopt_t FailDepth(size_t begin) {
    return Fail(begin, at_, "the expression nests deeper than " + std::to_string(kMaxExprDepth));
  }
  // `depth` counts what the parser's own recursion stands in; Make bounds the tree, which a long
  // chain of operators makes deep as well.
  bool Deeper(int* depth, size_t begin) {
    if (++*depth <= kMaxExprDepth) return true;
    FailDepth(begin);
    return false;
  }

  std::optional<ExprNode> ParseOr(int depth) {
    return ParseWordChain("or", ExprOp::kOr, depth, [this](int inner) {
      return ParseWordChain("and", ExprOp::kAnd, inner, [this](int d) { return ParseNot(d); });
    });
  }

  template <typename Next>
  std::optional<ExprNode> ParseWordChain(std::string_view word, ExprOp op, int depth, Next next) {
    SkipSpace();
    const size_t begin = at_;
    std::optional<ExprNode> left = next(depth);
    while (left && TakeWord(word)) {
      std::optional<ExprNode> right = next(depth);
      if (!right) return right;
      left = MakePair(op, begin, *std::move(left), *std::move(right));
    }
    return left;
  }

  template <size_t N, typename Next>
  std::optional<ExprNode> ParseChain(const std::array<Operator, N>& operators, int depth,
                                     Next next) {
    SkipSpace();
    const size_t begin = at_;
    std::optional<ExprNode> left = next(depth);
    while (left) {
      const Operator* found = TakeOperator(operators);
      if (found == nullptr) break;
      std::optional<ExprNode> right = next(depth);
      if (!right) return right;
      left = MakePair(found->op, begin, *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<ExprNode> ParseNot(int depth) {
    SkipSpace();
    const size_t begin = at_;
    if (!TakeWord("not")) return ParseComparison(depth);
    if (!Deeper(&depth, begin)) return std::nullopt;
    std::optional<ExprNode> operand = ParseNot(depth);
    if (!operand) return operand;
    std::vector<ExprNode> args;
    args.push_back(*std::move(operand));
    return Make(ExprOp::kNot, begin, std::move(args));
  }

  std::optional<ExprNode> ParseComparison(int depth) {
    SkipSpace();
    const size_t begin = at_;
    std::optional<ExprNode> left = ParseSum(depth);
    if (!left) return left;
    const Operator* found = TakeOperator(kComparisons);
    if (found == nullptr) return left;
    std::optional<ExprNode> right = ParseSum(depth);
    if (!right) return right;
    return MakePair(found->op, begin, *std::move(left), *std::move(right));
  }

  std::optional<ExprNode> ParseSum(int depth) {
    return ParseChain(kSums, depth, [this](int inner) {
      return ParseChain(kTerms, inner, [this](int d) { return ParseUnary(d); });
    });
  }

  std::optional<ExprNode> ParseUnary(int depth) {
    SkipSpace();
    const size_t begin = at_;
    if (!Deeper(&depth, begin)) return std::nullopt;
    if (TakeChar('-')) {
      std::optional<ExprNode> operand = ParseUnary(depth);
      if (!operand) return operand;
      std::vector<ExprNode> args;
      args.push_back(*std::move(operand));
      return Make(ExprOp::kNegate, begin, std::move(args));
    }
    if (TakeChar('(')) {
      std::optional<ExprNode> inner = ParseOr(depth);
      if (inner && !TakeChar(')')) return Expected("')'");
      return inner;
    }
    if (at_ < text_.size() && IsDigit(text_[at_])) return ParseNumber();
    if (at_ < text_.size() && IsWordStart(text_[at_]) && !IsKeyword(Token())) {
      return ParseName(depth);
    }
    return Expected("a number, a name or '('");
  }

  std::nullopt_t Expected(const std::string& what) {
    SkipSpace();
    if (at_ < text_.size()) {
      return Fail(at_, EndOfToken(), "expected " + what + ", found " + Quoted(Token()));
    }
    return Fail(at_ == 0 ? 0 : at_ - 1, at_, "expected " + what + " after " + Quoted(text_));
  }

  std::optional<ExprNode> ParseNumber() {
    const size_t begin = at_;
    const std::string_view token = Token();
    at_ = begin + token.size();
    int64_t value = 0;
    const auto [stop, status] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (status == std::errc::result_out_of_range) {
      return Fail(begin, at_, Quoted(token) + " does not fit 64 bits");
    }
    if (stop != token.data() + token.size()) {
      return Fail(begin, at_, Quoted(token) + " is neither a number nor a name");
    }
    std::optional<ExprNode> node = Make(ExprOp::kNumber, begin, {});
    node->number = value;
    return node;
  }

  std::optional<ExprNode> ParseName(int depth) {
    const size_t begin = at_;
    const std::string name(Token());
    at_ += name.size();
    const Function* function = FindFunction(name);
    if (TakeChar('(')) {
      if (function == nullptr) {
        std::vector<std::string> known;
        for (const Function& f : kFunctions) known.emplace_back(f.name);
        return Fail(begin, begin + name.size(),
                    Quoted(name) + " is not a function" + DidYouMean(name, known));
      }
      return ParseCall(*function, begin, depth);
    }
    if (function != nullptr) {
      return Fail(begin, begin + name.size(), Quoted(name) + " is a function: it needs arguments");
    }
    if (!TakeChar('[')) {
      at_ = begin + name.size();  // the span ends with the name, not with the space after it
      return Make(ExprOp::kVariable, begin, {}, name);
    }
    std::optional<ExprNode> index = ParseOr(depth);
    if (!index) return index;
    if (!TakeChar(']')) return Expected("']'");
    std::vector<ExprNode> args;
    args.push_back(*std::move(index));
    return Make(ExprOp::kTable, begin, std::move(args), name);
  }

  std::optional<ExprNode> ParseCall(const Function& function, size_t begin, int depth) {
    std::vector<ExprNode> args;
    do {
      std::optional<ExprNode> arg = ParseOr(depth);
      if (!arg) return arg;
      args.push_back(*std::move(arg));
    } while (TakeChar(','));
    if (!TakeChar(')')) return Expected("',' or ')'");
    if (args.size() < function.min_args || args.size() > function.max_args) {
      const bool open = function.max_args == SIZE_MAX;
      return Fail(begin, at_,
                  Quoted(function.name) + " takes " + (open ? "at least " : "") +
                      std::to_string(function.min_args) + " arguments, found " +
                      std::to_string(args.size()));
    }
    return Make(function.op, begin, std::move(args), std::string(function.name));
  }

  std::string_view text_;
  Span span_;
  Diagnostics* diags_;
  size_t at_ = 0;
};

}  // namespace

bool IsFunctionName(std::string_view text) { return FindFunction(text) != nullptr; }

bool IsIdentifier(std::string_view text) {
  return !text.empty() && IsWordStart(text[0]) &&
         std::all_of(text.begin(), text.end(), IsWordPart) && !IsKeyword(text);
}

Expr ParseExpr(std::string_view text, Span span, Diagnostics* diags) {
  if (text.size() > kMaxExprBytes) {
    diags->Error(DiagnosticCode::kTooLarge, span,
                 "the expression has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(kMaxExprBytes) + " are allowed");
    return {nullptr, span};
  }
  std::optional<ExprNode> node = Parser(text, span, diags).ParseAll();
  if (!node) return {nullptr, span};
  return {std::make_shared<const ExprNode>(*std::move(node)), span};
}

}  // namespace reshard
