// params, explicit and expect of a layout.

#include <algorithm>
#include <tuple>
#include <utility>

#include "compiler/frontend/layout_reader.h"

namespace reshard {
namespace {

void ReadShares(const JsonNode& node, Diagnostics* diags, std::vector<NameExpr>* out) {
  for (const JsonNode& item : ItemsOf(node, "a list of names", diags)) {
    out->push_back(ReadName(item, "the name of a param", diags));
  }
  // Their order has no meaning.
  std::sort(out->begin(), out->end(),
            [](const NameExpr& a, const NameExpr& b) { return a.source < b.source; });
}

ParamSpec::External ReadExternal(const JsonNode& node, Diagnostics* diags) {
  ParamSpec::External external;
  ObjectReader object(node, "'external'", diags);
  if (const JsonNode* shape = object.Required("shape")) {
    external.shape = ReadExprs(*shape, "a shape", diags);
  }
  if (const JsonNode* dtype = object.Required("dtype")) external.dtype = ReadDType(*dtype, diags);
  if (const JsonNode* why = object.Required("why"))
    external.why = ReadText(*why, "a reason", diags);
  std::ignore = object.Finish();
  return external;
}

// "value", "tensor" or "external": exactly one says what the param is.
void ReadContent(ObjectReader* object, Diagnostics* diags, ParamSpec* param) {
  const JsonNode* const value = object->Optional("value");
  const JsonNode* const tensor = object->Optional("tensor");
  const JsonNode* const external = object->Optional("external");
  if (value != nullptr) param->value = ReadValue(*value, diags);
  if (tensor != nullptr) {
    ValueSpec whole;
    whole.span = tensor->span;
    whole.tensor = ReadName(*tensor, "the name of a logical tensor", diags);
    if (!param->value) param->value = std::move(whole);
  }
  if (external != nullptr) param->external = ReadExternal(*external, diags);
  const int count = (value != nullptr) + (tensor != nullptr) + (external != nullptr);
  if (count == 0) {
    diags->Error(DiagnosticCode::kMissingKey, BraceOf(object->node()),
                 "a param needs 'value', 'tensor' with 'placements', or 'external'");
  } else if (count > 1) {
    const JsonNode* const second = external != nullptr ? external : tensor;
    diags->Error(DiagnosticCode::kBadValue, second->span,
                 "a param has one of 'value', 'tensor' and 'external'");
  }
}

bool HasKeyLike(const JsonNode& node, const std::string& key) {
  return std::any_of(node.members.begin(), node.members.end(), [&](const JsonMember& member) {
    return !DidYouMean(member.key, {key}).empty();
  });
}

void ReadPlacementKeys(ObjectReader* object, Diagnostics* diags, ParamSpec* param) {
  if (const JsonNode* node = object->Optional("placements")) {
    param->has_placements = true;
    param->placements_span = node->span;
    param->placements = ReadPlacements(*node, diags);
    if (param->external) {
      diags->Error(DiagnosticCode::kBadValue, node->span,
                   "an external param has no 'placements': its shape is that of one rank");
    }
  }
  const std::optional<std::string> strided = object->Word("strided", {"order", "replay"});
  if (strided == "order") param->strided = StridedReading::kOrder;
  if (strided == "replay") param->strided = StridedReading::kReplay;
  if (param->has_placements) return;
  // A forgotten list would silently mean "replicated": that is what 'value' is for. A misspelled
  // one is reported as an unknown key.
  const bool tensor = object->Has("tensor") && !object->Has("value") && !param->external &&
                      !HasKeyLike(object->node(), "placements");
  if (tensor || object->Has("strided")) {
    diags->Error(DiagnosticCode::kMissingKey, BraceOf(object->node()),
                 tensor
                     ? "'tensor' needs 'placements', one per axis of the mesh; a whole tensor is "
                       "written as 'value'"
                     : "'strided' needs 'placements'");
  }
}

// [start, extent] or, for sources, [start, extent, step].
std::vector<ExplicitSpec::Run> ReadRuns(const JsonNode& node, bool steps, Diagnostics* diags) {
  const std::string_view expected =
      steps ? "[start, length] or [start, length, step]" : "[start, length]";
  std::vector<ExplicitSpec::Run> runs;
  for (const JsonNode& item : ItemsOf(node, "a list of runs", diags)) {
    ExplicitSpec::Run run;
    run.span = item.span;
    const std::vector<Expr> numbers = ReadExprs(item, expected, diags);
    const bool good = numbers.size() == 2 || (steps && numbers.size() == 3);
    if (good) {
      run.start = numbers[0];
      run.extent = numbers[1];
      if (numbers.size() == 3) run.step = numbers[2];
    } else if (item.kind == JsonNode::Kind::kArray) {
      diags->Error(DiagnosticCode::kBadPiece, item.span,
                   "expected " + std::string(expected) + ", found " +
                       std::to_string(numbers.size()) + " numbers");
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::optional<Expr>> ReadDims(const JsonNode& node, Diagnostics* diags) {
  std::vector<std::optional<Expr>> dims;
  for (const JsonNode& item : ItemsOf(node, "a list of dims and nulls", diags)) {
    if (item.kind == JsonNode::Kind::kNull) {
      dims.emplace_back();
    } else {
      dims.emplace_back(ReadExpr(item, diags));
    }
  }
  return dims;
}

ExplicitSpec::Piece ReadPiece(const JsonNode& node, Diagnostics* diags) {
  ExplicitSpec::Piece piece;
  piece.span = node.span;
  ObjectReader object(node, "a piece", diags);
  if (const JsonNode* tensor = object.Required("t")) {
    piece.tensor = ReadName(*tensor, "the name of a logical tensor", diags);
  }
  if (const JsonNode* src = object.Required("src")) piece.src = ReadRuns(*src, true, diags);
  if (const JsonNode* dst = object.Required("dst")) piece.dst = ReadRuns(*dst, false, diags);
  if (const JsonNode* dims = object.Optional("dims")) piece.dims = ReadDims(*dims, diags);
  std::ignore = object.Finish();
  return piece;
}

void ReadExplicitRanks(ObjectReader* object, Diagnostics* diags, ExplicitSpec* spec) {
  const JsonNode* const rank = object->Optional("rank");
  const JsonNode* const ranks = object->Optional("ranks");
  if (rank != nullptr) {
    spec->rank_span = rank->span;
    spec->ranks.push_back(ReadExpr(*rank, diags));
  }
  if (ranks != nullptr) {
    spec->rank_span = ranks->span;
    spec->rank_list = ReadText(*ranks, "a rank list like '0-7,16'", diags);
  }
  if (rank == nullptr && ranks == nullptr) {
    diags->Error(DiagnosticCode::kMissingKey, BraceOf(object->node()),
                 "an explicit param needs 'rank' or 'ranks'");
  } else if (rank != nullptr && ranks != nullptr) {
    diags->Error(DiagnosticCode::kBadValue, ranks->span,
                 "an explicit param has one of 'rank' and 'ranks'");
  }
}

ExpectSpec::Point ReadPoint(const JsonNode& node, Diagnostics* diags) {
  ExpectSpec::Point point;
  point.span = node.span;
  ObjectReader object(node, "a point", diags);
  if (const JsonNode* at = object.Required("at")) {
    point.at = ReadExprs(*at, "the indices of an element", diags);
  }
  if (const JsonNode* tensor = object.Required("tensor")) {
    point.tensor = ReadText(*tensor, "the name of a logical tensor", diags);
  }
  if (const JsonNode* index = object.Required("index")) {
    point.index = ReadExprs(*index, "the indices of an element", diags);
  }
  std::ignore = object.Finish();
  return point;
}

}  // namespace

ParamSpec ReadParam(const JsonNode& node, Diagnostics* diags) {
  ParamSpec param;
  param.span = node.span;
  ObjectReader object(node, "a param", diags);
  if (const JsonNode* loops = object.Optional("for")) param.loops = ReadLoops(*loops, diags);
  if (const JsonNode* where = object.Optional("where")) {
    param.where = ReadExprs(*where, "a list of conditions", diags);
  }
  if (const JsonNode* lets = object.Optional("let")) param.lets = ReadLets(*lets, diags);
  if (const JsonNode* name = object.Required("name")) {
    param.name = ReadName(*name, "the name of a param", diags);
  }
  if (const JsonNode* mesh = object.Required("mesh")) {
    param.mesh = ReadText(*mesh, "the name of a mesh", diags);
    param.mesh_span = mesh->span;
  }
  ReadContent(&object, diags, &param);
  ReadPlacementKeys(&object, diags, &param);
  if (const JsonNode* shares = object.Optional("shares")) {
    ReadShares(*shares, diags, &param.shares);
  }
  std::ignore = object.Finish();
  return param;
}

ExplicitSpec ReadExplicit(const JsonNode& node, Diagnostics* diags) {
  ExplicitSpec spec;
  spec.span = node.span;
  ObjectReader object(node, "an explicit param", diags);
  if (const JsonNode* loops = object.Optional("for")) spec.loops = ReadLoops(*loops, diags);
  ReadExplicitRanks(&object, diags, &spec);
  if (const JsonNode* param = object.Required("param")) {
    spec.param = ReadName(*param, "the name of a param", diags);
  }
  if (const JsonNode* dtype = object.Required("dtype")) {
    spec.dtype = ReadDType(*dtype, diags);
    spec.dtype_span = dtype->span;
  }
  if (const JsonNode* shape = object.Required("shape")) {
    spec.shape = ReadExprs(*shape, "a shape", diags);
    spec.shape_span = shape->span;
  }
  if (object.Has("fill")) spec.fill = ReadFill(&object);
  if (const JsonNode* pieces = object.Required("pieces")) {
    for (const JsonNode& item : ItemsOf(*pieces, "a list of pieces", diags)) {
      spec.pieces.push_back(ReadPiece(item, diags));
    }
  }
  std::ignore = object.Finish();
  return spec;
}

ExpectSpec ReadExpect(const JsonNode& node, Diagnostics* diags) {
  ExpectSpec spec;
  spec.span = node.span;
  ObjectReader object(node, "an expected fact", diags);
  if (const JsonNode* rank = object.Required("rank")) spec.rank = ReadExpr(*rank, diags);
  // The key that is there tells which of the two forms this is.
  if (const JsonNode* mesh = object.Optional("mesh")) {
    spec.mesh = ReadText(*mesh, "the name of a mesh", diags);
    spec.mesh_span = mesh->span;
    if (const JsonNode* coords = object.Required("coords")) {
      spec.coords = ReadExprs(*coords, "the coordinates of a rank", diags);
    }
  } else if (const JsonNode* param = object.Required("param")) {
    spec.param = ReadText(*param, "the name of a param", diags);
    spec.param_span = param->span;
    if (const JsonNode* shape = object.Optional("shape")) {
      spec.shape = ReadExprs(*shape, "a shape", diags);
    }
    if (const JsonNode* points = object.Required("points")) {
      for (const JsonNode& item : ItemsOf(*points, "a list of points", diags)) {
        spec.points.push_back(ReadPoint(item, diags));
      }
    }
  }
  std::ignore = object.Finish();
  return spec;
}

}  // namespace reshard
