#include <tuple>
#include <utility>

#include "compiler/frontend/check_names.h"
#include "compiler/frontend/layout_reader.h"
#include "compiler/frontend/layout_spec.h"

namespace reshard {
namespace {

// Reports a file that is not this format and version; the rest of it means nothing then.
bool IsLayoutFile(ObjectReader* root, Diagnostics* diags) {
  const JsonNode* const format = root->Required("format");
  const JsonNode* const version = root->Required("version");
  if (format == nullptr || version == nullptr) return false;
  if (format->kind != JsonNode::Kind::kString || format->text != "reshard-layout") {
    diags->Error(DiagnosticCode::kBadFormat, format->span,
                 "the format is " + DescribeJson(*format) + ", expected 'reshard-layout'");
    return false;
  }
  if (version->kind != JsonNode::Kind::kNumber || version->text != "1") {
    diags->Error(DiagnosticCode::kBadFormat, version->span,
                 "expected version 1 of 'reshard-layout', found " + version->text);
    return false;
  }
  return true;
}

void ReadSide(ObjectReader* root, LayoutSpec* out) {
  const JsonNode* const node = root->Required("side");
  if (node == nullptr) return;
  out->side_span = node->span;
  const bool destination = root->Word("side", {"source", "destination"}) == "destination";
  out->side = destination ? Side::kDestination : Side::kSource;
}

std::vector<SymbolSpec> ReadSymbols(const JsonNode& node, Diagnostics* diags) {
  std::vector<SymbolSpec> symbols;
  if (node.kind != JsonNode::Kind::kObject) ReportType(node, "an object of numbers", diags);
  for (const JsonMember& member : node.members) {
    if (member.key == "comment") continue;
    CheckDeclaredName(member.key, member.key_span, "symbol", diags);
    symbols.push_back({member.key, member.key_span, ReadExpr(member.value, diags)});
  }
  return symbols;
}

std::vector<TableSpec> ReadTables(const JsonNode& node, Diagnostics* diags) {
  std::vector<TableSpec> tables;
  if (node.kind != JsonNode::Kind::kObject) ReportType(node, "an object of tables", diags);
  for (const JsonMember& member : node.members) {
    if (member.key == "comment") continue;
    CheckDeclaredName(member.key, member.key_span, "table", diags);
    TableSpec table;
    table.name = member.key;
    table.span = member.key_span;
    for (const JsonNode& item : ItemsOf(member.value, "a list of integers", diags)) {
      table.values.push_back(
          ReadInteger(item, "a table's value", INT64_MIN, INT64_MAX, diags).value_or(0));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

LogicalSpec::ScaleOf ReadScaleOf(const JsonNode& node, Diagnostics* diags) {
  LogicalSpec::ScaleOf scale;
  scale.span = node.span;
  ObjectReader object(node, "'scale_of'", diags);
  if (const JsonNode* tensor = object.Required("tensor")) {
    scale.tensor = ReadName(*tensor, "the name of a logical tensor", diags);
  }
  if (const JsonNode* block = object.Required("block")) {
    scale.block = ReadExprs(*block, "the block's extents", diags);
  }
  std::ignore = object.Finish();
  return scale;
}

LogicalSpec ReadLogical(const JsonNode& node, Diagnostics* diags) {
  LogicalSpec logical;
  logical.span = node.span;
  ObjectReader object(node, "a logical tensor", diags);
  if (const JsonNode* loops = object.Optional("for")) logical.loops = ReadLoops(*loops, diags);
  if (const JsonNode* name = object.Required("name")) {
    logical.name = ReadName(*name, "the name of a logical tensor", diags);
  }
  if (const JsonNode* shape = object.Required("shape")) {
    logical.shape = ReadExprs(*shape, "a shape", diags);
    logical.shape_span = shape->span;
  }
  if (const JsonNode* dtype = object.Optional("dtype")) {
    logical.dtype = ReadDType(*dtype, diags);
    logical.dtype_span = dtype->span;
  }
  if (const JsonNode* scale = object.Optional("scale_of")) {
    logical.scale_of = ReadScaleOf(*scale, diags);
  }
  std::ignore = object.Finish();
  return logical;
}

MeshSpec ReadMesh(const JsonMember& member, Diagnostics* diags) {
  MeshSpec mesh;
  mesh.name = member.key;
  mesh.span = member.key_span;
  ObjectReader object(member.value, "a mesh", diags);
  if (const JsonNode* axes = object.Required("axes")) {
    for (const JsonNode& item : ItemsOf(*axes, "a list of axis names", diags)) {
      mesh.axes.push_back(ReadText(item, "an axis name", diags));
      mesh.axis_spans.push_back(item.span);
      if (!mesh.axes.back().empty()) CheckDeclaredName(mesh.axes.back(), item.span, "axis", diags);
    }
  }
  const JsonNode* const shape = object.Optional("shape");
  const JsonNode* const ranks = object.Optional("ranks");
  if (shape != nullptr) {
    mesh.shape = ReadExprs(*shape, "a shape", diags);
    mesh.shape_span = shape->span;
  }
  if (ranks != nullptr) {
    ItemsOf(*ranks, "a nested list of ranks", diags);
    mesh.ranks = *ranks;
  }
  if (shape == nullptr && ranks == nullptr) {
    diags->Error(DiagnosticCode::kMissingKey, BraceOf(member.value),
                 "a mesh needs 'shape' or 'ranks'");
  } else if (shape != nullptr && ranks != nullptr) {
    diags->Error(DiagnosticCode::kBadValue, ranks->span, "a mesh has one of 'shape' and 'ranks'");
  }
  std::ignore = object.Finish();
  return mesh;
}

bool IsArray(const JsonNode& node) { return node.kind == JsonNode::Kind::kArray; }

PipelineSpec::LayerRange ReadLayerRange(const JsonNode& node, Diagnostics* diags) {
  PipelineSpec::LayerRange range;
  range.span = node.span;
  const std::vector<Expr> bounds = ReadExprs(node, "a layer range [begin, end]", diags);
  if (bounds.size() == 2) {
    range.begin = bounds[0];
    range.end = bounds[1];
  } else if (IsArray(node)) {
    diags->Error(
        DiagnosticCode::kBadRange, node.span,
        "expected a layer range [begin, end], found " + std::to_string(bounds.size()) + " numbers");
  }
  return range;
}

PipelineSpec ReadPipeline(const JsonNode& node, Diagnostics* diags) {
  PipelineSpec pipeline;
  pipeline.span = node.span;
  ObjectReader object(node, "'pipeline'", diags);
  if (const JsonNode* axis = object.Required("axis")) {
    pipeline.axis = ReadText(*axis, "an axis", diags);
    pipeline.axis_span = axis->span;
  }
  if (const JsonNode* stages = object.Required("stages")) {
    for (const JsonNode& stage : ItemsOf(*stages, "a list of stages", diags)) {
      std::vector<PipelineSpec::LayerRange>& ranges = pipeline.stages.emplace_back();
      // A stage is one range, or a list of ranges (none of them for a stage without layers).
      const bool several = IsArray(stage) && (stage.items.empty() || IsArray(stage.items[0]));
      if (!several) {
        ranges.push_back(ReadLayerRange(stage, diags));
        continue;
      }
      for (const JsonNode& item : stage.items) ranges.push_back(ReadLayerRange(item, diags));
    }
  }
  std::ignore = object.Finish();
  return pipeline;
}

AliasSpec ReadAlias(const JsonNode& node, Diagnostics* diags) {
  AliasSpec alias;
  alias.span = node.span;
  ObjectReader object(node, "an alias", diags);
  if (const JsonNode* loops = object.Optional("for")) alias.loops = ReadLoops(*loops, diags);
  if (const JsonNode* name = object.Required("name")) {
    alias.name = ReadName(*name, "the name of a logical tensor", diags);
  }
  if (const JsonNode* of = object.Required("of")) {
    alias.of = ReadName(*of, "the name of a logical tensor", diags);
  }
  std::ignore = object.Finish();
  return alias;
}

// Appends read(item) for every item of the array at `key`, when there is one.
template <typename Spec, typename Read>
void ReadList(ObjectReader* root, std::string_view key, std::string_view expected, Read read,
              Diagnostics* diags, std::vector<Spec>* out) {
  const JsonNode* const node = root->Optional(key);
  if (node == nullptr) return;
  for (const JsonNode& item : ItemsOf(*node, expected, diags)) out->push_back(read(item, diags));
}

void ReadHead(ObjectReader* root, Diagnostics* diags, LayoutSpec* out) {
  ReadSide(root, out);
  if (const JsonNode* node = root->Optional("rank_base")) out->rank_base = ReadExpr(*node, diags);
  if (const JsonNode* node = root->Optional("world")) out->world = ReadExpr(*node, diags);
  out->colocated = root->Bool("colocated").value_or(false);
  if (const JsonNode* node = root->Optional("symbols")) out->symbols = ReadSymbols(*node, diags);
  if (const JsonNode* node = root->Optional("tables")) out->tables = ReadTables(*node, diags);
}

void ReadBody(ObjectReader* root, Diagnostics* diags, LayoutSpec* out) {
  out->has_logical = root->Optional("logical") != nullptr;
  ReadList(root, "logical", "a list of logical tensors", ReadLogical, diags, &out->logical);
  if (const JsonNode* node = root->Optional("meshes")) {
    if (node->kind != JsonNode::Kind::kObject) ReportType(*node, "an object of meshes", diags);
    for (const JsonMember& member : node->members) {
      if (member.key != "comment") out->meshes.push_back(ReadMesh(member, diags));
    }
  }
  if (const JsonNode* node = root->Optional("pipeline")) {
    out->pipeline = ReadPipeline(*node, diags);
  }
  ReadList(root, "params", "a list of params", ReadParam, diags, &out->params);
  ReadList(root, "explicit", "a list of explicit params", ReadExplicit, diags,
           &out->explicit_params);
  ReadList(root, "aliases", "a list of aliases", ReadAlias, diags, &out->aliases);
  const auto read_glob = [](const JsonNode& item, Diagnostics* sink) {
    return GlobSpec{ReadText(item, "a pattern of tensor names", sink), item.span};
  };
  ReadList(root, "unused", "a list of patterns", read_glob, diags, &out->unused);
  ReadList(root, "expect", "a list of expected facts", ReadExpect, diags, &out->expect);
}

}  // namespace

bool ReadLayoutSpec(const JsonNode& root, Diagnostics* diags, LayoutSpec* out) {
  const size_t errors_before = diags->error_count();
  *out = LayoutSpec();
  out->span = root.span;
  out->file = root.span.file;
  ObjectReader object(root, "a layout", diags);
  if (!IsLayoutFile(&object, diags)) return false;
  ReadHead(&object, diags, out);
  ReadBody(&object, diags, out);
  std::ignore = object.Finish();
  CheckNames(out, diags);
  return diags->error_count() == errors_before;
}

}  // namespace reshard
