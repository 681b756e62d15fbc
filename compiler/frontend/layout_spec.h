// LayoutSpec: a layout file as written, one field per JSON key, every field with its span.
//
// Made by ReadLayoutSpec, which checks form: keys, types, syntax, and every name in an expression.
// Unknown names, unknown meshes and axes, collisions and cycles of symbols, `for` and `let` are
// reported there, so an expression of a spec that was read without errors can fail only by its
// values (division by zero, overflow, a table index or a layer out of range). What values mean is
// checked when a Layout is built. Objects whose key order has no meaning (symbols, tables, meshes,
// for, let) are stored in an order that does not depend on it: each entry after those that it uses.
// The language is described in docs/layout.md and schemas/layout.schema.json.
#ifndef RESHARD_COMPILER_FRONTEND_LAYOUT_SPEC_H_
#define RESHARD_COMPILER_FRONTEND_LAYOUT_SPEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/expr.h"
#include "compiler/frontend/json_node.h"
#include "runtime/base/dtype.h"

namespace reshard {

enum class Side : uint8_t { kSource, kDestination };

struct LoopSpec {
  std::string name;
  Span name_span;
  RangeExpr range;
};
struct LetSpec {
  std::string name;
  Span name_span;
  Expr value;
};

struct SymbolSpec {
  std::string name;
  Span span;
  Expr value;  // a symbol may use other symbols (acyclic)
};
struct TableSpec {
  std::string name;
  Span span;
  std::vector<int64_t> values;
};

struct LogicalSpec {
  std::vector<LoopSpec> loops;
  NameExpr name;
  std::vector<Expr> shape;
  Span shape_span;
  std::optional<DType> dtype;  // absent: bf16
  Span dtype_span;
  struct ScaleOf {
    NameExpr tensor;
    std::vector<Expr> block;
    Span span;
  };
  std::optional<ScaleOf> scale_of;
  Span span;
};

struct MeshSpec {
  std::string name;
  Span span;
  std::vector<std::string> axes;  // outermost first
  std::vector<Span> axis_spans;
  std::vector<Expr> shape;  // empty when `ranks` is given
  Span shape_span;
  std::optional<JsonNode> ranks;  // nested array of absolute ranks, unresolved
};

struct PipelineSpec {
  std::string axis;
  Span axis_span;
  struct LayerRange {
    Expr begin, end;
    Span span;
  };
  std::vector<std::vector<LayerRange>> stages;  // per stage: its ranges in order
  Span span;
};

enum class ValueOp : uint8_t {
  kTensor,  // no operation: the name of a logical tensor
#define RESHARD_VALUE_OP(name, text) name,
#include "compiler/frontend/value_ops.def"
#undef RESHARD_VALUE_OP
};
enum class UnevenRule : uint8_t { kError, kChunk, kBalanced };
enum class FillRule : uint8_t { kZero, kKeep };

// One node of a value tree; which fields are set depends on `op`.
struct ValueSpec {
  ValueOp op = ValueOp::kTensor;
  Span span;
  NameExpr tensor;                // kTensor
  std::vector<ValueSpec> inputs;  // `in`
  std::optional<Expr> dim;        // absent: 0
  std::optional<LoopSpec> over;   // kStack
  std::optional<Expr> groups;     // kGroupCat
  std::vector<std::string> axes;  // kShard
  std::vector<Span> axis_spans;
  std::optional<Expr> unit;
  UnevenRule uneven = UnevenRule::kError;
  bool replicate_if_fewer = false;
  std::optional<Expr> multiple, to;  // kPad
  FillRule fill = FillRule::kZero;
  std::optional<Expr> start, stop, step;  // kSlice
  std::optional<Expr> at;                 // kIndex
  std::vector<Expr> dims;                 // kPermute
  std::vector<Expr> shape;                // kReshape
};

struct PlacementSpec {
  enum class Kind : uint8_t { kShard, kReplicate, kStridedShard, kPartial };
  Kind kind = Kind::kReplicate;
  int64_t dim = 0;           // as written, may be negative
  int64_t split_factor = 1;  // kStridedShard
  Span span;
};
enum class StridedReading : uint8_t { kUnstated, kOrder, kReplay };

struct ParamSpec {
  std::vector<LoopSpec> loops;
  std::vector<Expr> where;
  std::vector<LetSpec> lets;
  NameExpr name;
  std::string mesh;
  Span mesh_span;
  std::optional<ValueSpec> value;  // also made from "tensor"
  bool has_placements = false;
  std::vector<PlacementSpec> placements;
  Span placements_span;
  StridedReading strided = StridedReading::kUnstated;
  struct External {
    std::vector<Expr> shape;
    DType dtype = DType::kBf16;
    std::string why;
  };
  std::optional<External> external;
  std::vector<NameExpr> shares;
  Span span;
};

struct ExplicitSpec {
  std::vector<LoopSpec> loops;
  std::vector<Expr> ranks;               // "rank": one entry
  std::optional<std::string> rank_list;  // "ranks": "64-127,130"
  Span rank_span;
  NameExpr param;
  DType dtype = DType::kBf16;
  Span dtype_span;
  std::vector<Expr> shape;
  Span shape_span;
  std::optional<FillRule> fill;
  struct Run {
    Expr start, extent, step;  // step empty: 1
    Span span;
  };
  struct Piece {
    NameExpr tensor;
    std::vector<Run> src;  // per logical dim
    std::vector<Run> dst;  // per param dim, no step
    std::optional<std::vector<std::optional<Expr>>> dims;
    Span span;
  };
  std::vector<Piece> pieces;
  Span span;
};

struct AliasSpec {
  std::vector<LoopSpec> loops;
  NameExpr name, of;
  Span span;
};

struct ExpectSpec {
  Expr rank;
  std::optional<std::string> mesh;  // {rank, mesh, coords}
  Span mesh_span;
  std::vector<Expr> coords;
  std::optional<std::string> param;  // {rank, param, shape?, points}
  Span param_span;
  std::optional<std::vector<Expr>> shape;
  struct Point {
    std::vector<Expr> at;
    std::string tensor;
    std::vector<Expr> index;
    Span span;
  };
  std::vector<Point> points;
  Span span;
};

struct GlobSpec {
  std::string pattern;
  Span span;
};

struct LayoutSpec {
  Side side = Side::kSource;
  Span side_span;
  Span span;  // the whole document
  uint32_t file = Span::kNoFile;
  std::optional<Expr> rank_base, world;
  bool colocated = false;
  std::vector<SymbolSpec> symbols;
  std::vector<TableSpec> tables;
  bool has_logical = false;
  std::vector<LogicalSpec> logical;
  std::vector<MeshSpec> meshes;
  std::optional<PipelineSpec> pipeline;
  std::vector<ParamSpec> params;
  std::vector<ExplicitSpec> explicit_params;
  std::vector<AliasSpec> aliases;
  std::vector<GlobSpec> unused;
  std::vector<ExpectSpec> expect;
};

// Arrays of a layout file whose order has no meaning (CanonicalJson).
inline constexpr std::string_view kUnorderedInLayouts[] = {
    "aliases", "expect", "explicit", "explicit.pieces", "logical", "params", "unused"};

// Returns false after at least one error was reported.
[[nodiscard]] bool ReadLayoutSpec(const JsonNode& root, Diagnostics* diags, LayoutSpec* out);

// A list of placements, such as ["S(0)", "R"]; reports entries that are none.
std::vector<PlacementSpec> ReadPlacements(const JsonNode& node, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_LAYOUT_SPEC_H_
