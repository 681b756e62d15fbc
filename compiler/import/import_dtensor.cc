#include "compiler/import/import_dtensor.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/frontend/expr.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/import/export_reader.h"
#include "compiler/import/fold_tensors.h"
#include "compiler/layout/limits.h"

namespace reshard {
namespace {

struct Mesh {
  std::vector<std::string> axes;
  JsonDoc ranks = JsonDoc::Array();  // nested, absolute
};

// How tensors of one template are spread.
struct Spread {
  std::string mesh;
  std::vector<std::string> placements;
  std::string strided;
  std::vector<std::string> shares;  // further names of the same buffers; then it is one tensor
  friend auto operator<=>(const Spread&, const Spread&) = default;
};

struct Export {
  int64_t world = 0;
  std::vector<std::pair<std::string, Mesh>> meshes;
  // In the order of the file; tensors of one spread are folded together.
  std::vector<std::pair<Spread, std::vector<ModelTensor>>> groups;
  const JsonNode* local_shapes = nullptr;
};

// Ranks nested as deep as there are axes. Their number is bounded by the file's bytes.
bool ReadRanks(const JsonNode& node, size_t depth, const std::string& what, int64_t world,
               int64_t rank_base, Diagnostics* diags, JsonDoc* out) {
  if (depth == 0) {
    const std::optional<int64_t> rank = ReadInteger(node, "a rank of " + what, 0, world - 1, diags);
    if (rank) *out = JsonDoc(*rank + rank_base);
    return rank.has_value();
  }
  if (!ExpectKind(node, JsonNode::Kind::kArray, what, diags)) return false;
  *out = JsonDoc::Array();
  for (const JsonNode& item : node.items) {
    JsonDoc part = JsonDoc::Array();
    if (!ReadRanks(item, depth - 1, what, world, rank_base, diags, &part)) return false;
    out->Add(std::move(part));
  }
  return true;
}

bool ReadMesh(const JsonMember& member, const ExportedSide& side, Diagnostics* diags, Export* out) {
  const std::string what = "the mesh '" + member.key + "'";
  ObjectReader object(member.value, what, diags);
  const JsonNode* names = object.Required("dim_names", JsonNode::Kind::kArray);
  const JsonNode* ranks = object.Required("mesh", JsonNode::Kind::kArray);
  if (!object.Finish()) return false;
  Mesh mesh;
  if (names->items.size() > kMaxAxes) {
    diags->Error(DiagnosticCode::kTooLarge, names->span,
                 what + " has " + std::to_string(names->items.size()) + " dims, at most " +
                     std::to_string(kMaxAxes) + " are read");
    return false;
  }
  for (const JsonNode& name : names->items) {
    if (!ExpectKind(name, JsonNode::Kind::kString, "a dim of " + what, diags)) return false;
    if (!IsIdentifier(name.text) || IsFunctionName(name.text)) {
      diags->Error(DiagnosticCode::kBadName, name.span,
                   "'" + name.text + "' is no name of an axis: expected letters, digits and _");
      return false;
    }
    mesh.axes.push_back(name.text);
  }
  if (!ReadRanks(*ranks, mesh.axes.size(), what, out->world, side.rank_base, diags, &mesh.ranks)) {
    return false;
  }
  out->meshes.emplace_back(member.key, std::move(mesh));
  return true;
}

bool ReadTensor(const JsonNode& node, const std::map<std::string, size_t>& axes_of,
                Diagnostics* diags, ModelTensor* tensor, Spread* spread) {
  ObjectReader object(node, "a tensor", diags);
  const JsonNode* name = object.Required("fqn", JsonNode::Kind::kString);
  const JsonNode* shape = object.Required("global_shape", JsonNode::Kind::kArray);
  const JsonNode* dtype = object.Required("dtype", JsonNode::Kind::kString);
  const JsonNode* mesh = object.Required("mesh", JsonNode::Kind::kString);
  const JsonNode* placements = object.Required("placements", JsonNode::Kind::kArray);
  spread->strided = object.Word("strided", {"order", "replay"}).value_or("");
  const JsonNode* shares = object.Optional("shares", JsonNode::Kind::kArray);
  static_cast<void>(object.String("producer"));
  if (!object.Finish()) return false;
  const std::string what = "the tensor '" + name->text + "'";
  if (name->text.empty()) {
    diags->Error(DiagnosticCode::kBadName, name->span, "a tensor has an empty name");
    return false;
  }
  const std::optional<std::vector<int64_t>> extents =
      ReadShape(*shape, "the shape of " + what, diags);
  const std::optional<DType> type = ReadTorchDtype(*dtype, what, diags);
  const auto axes = axes_of.find(mesh->text);
  if (axes == axes_of.end()) {
    std::vector<std::string> known;
    for (const auto& [mesh_name, count] : axes_of) known.push_back(mesh_name);
    diags->Error(DiagnosticCode::kUnknownMesh, mesh->span,
                 what + " is on the mesh '" + mesh->text + "', which the file does not have" +
                     DidYouMean(mesh->text, known));
    return false;
  }
  if (placements->items.size() != axes->second) {
    diags->Error(DiagnosticCode::kBadPlacement, placements->span,
                 what + " has " + std::to_string(placements->items.size()) +
                     " placements, expected one for each of the " + std::to_string(axes->second) +
                     " dims of '" + mesh->text + "'");
    return false;
  }
  const size_t errors = diags->error_count();
  static_cast<void>(ReadPlacements(*placements, diags));
  if (diags->error_count() > errors) return false;
  for (const JsonNode& placement : placements->items) spread->placements.push_back(placement.text);
  if (shares != nullptr) {
    for (const JsonNode& other : shares->items) {
      if (!ExpectKind(other, JsonNode::Kind::kString, "a further name of " + what, diags)) {
        return false;
      }
      if (other.text.empty()) {
        diags->Error(DiagnosticCode::kBadName, other.span, "a further name is empty");
        return false;
      }
      spread->shares.push_back(other.text);
    }
  }
  spread->mesh = mesh->text;
  if (!extents || !type) return false;
  *tensor = {name->text, *extents, *type, name->span};
  return true;
}

bool ReadTensors(const JsonNode& tensors, Diagnostics* diags, Export* out) {
  std::map<std::string, size_t> axes_of;
  for (const auto& [name, mesh] : out->meshes) axes_of[name] = mesh.axes.size();
  std::map<Spread, size_t> group_of;
  std::map<std::string, Span> names;
  const auto is_new = [&](const std::string& name, Span span) {
    const auto [earlier, added] = names.try_emplace(name, span);
    if (added) return true;
    diags->Error(DiagnosticCode::kDuplicateTensor, span, "'" + name + "' is listed twice")
        .notes.push_back({earlier->second, "here first"});
    return false;
  };
  bool ok = true;
  for (const JsonNode& node : tensors.items) {
    ModelTensor tensor;
    Spread spread;
    if (!ReadTensor(node, axes_of, diags, &tensor, &spread)) {
      ok = false;
      continue;
    }
    bool fresh = is_new(tensor.name, tensor.span);
    for (const std::string& other : spread.shares) fresh = is_new(other, tensor.span) && fresh;
    if (!fresh) {
      ok = false;
      continue;
    }
    const auto [place, added] = group_of.try_emplace(spread, out->groups.size());
    if (added) out->groups.push_back({spread, {}});
    out->groups[place->second].second.push_back(std::move(tensor));
  }
  return ok;
}

bool ReadExport(const JsonNode& root, const ExportedSide& side, Diagnostics* diags, Export* out) {
  ObjectReader object(root, "the export", diags);
  if (!ReadExportHead("reshard-import/dtensor", &object, diags)) return false;
  static_cast<void>(object.String("torch"));
  const std::optional<int64_t> world = object.Integer("world", 1, kMaxMeshRanks);
  const JsonNode* meshes = object.Required("meshes", JsonNode::Kind::kObject);
  const JsonNode* tensors = object.Required("tensors", JsonNode::Kind::kArray);
  const JsonNode* check = object.Optional("check", JsonNode::Kind::kObject);
  if (!object.Required("world") || !object.Finish()) return false;
  out->world = *world;
  bool ok = true;
  for (const JsonMember& member : meshes->members) ok &= ReadMesh(member, side, diags, out);
  if (!ok) return false;
  if (check != nullptr) {
    ObjectReader facts(*check, "the check", diags);
    out->local_shapes = facts.Optional("per_rank_local_shapes", JsonNode::Kind::kObject);
    if (!facts.Finish()) return false;
  }
  if (tensors->items.empty()) {
    diags->Error(DiagnosticCode::kBadValue, tensors->span, "the export has no tensors");
    return false;
  }
  return ReadTensors(*tensors, diags, out);
}

// The facts about local shapes. What holds for one tensor holds for all that are spread alike and
// have its shape: of these the first tensor of each template is written as an `expect` fact, and
// others only on ranks where no such tensor is.
class LocalShapes {
 public:
  LocalShapes(const Export& from, const std::set<std::string>& firsts, const ExportedSide& side,
              Diagnostics* diags)
      : from_(from), firsts_(firsts), side_(side), diags_(*diags) {
    for (size_t group = 0; group < from.groups.size(); ++group) {
      const auto& [spread, tensors] = from.groups[group];
      for (const ModelTensor& tensor : tensors) {
        tensor_of_[tensor.name] = {group, &tensor};
        for (const std::string& name : spread.shares) tensor_of_[name] = {group, &tensor};
      }
    }
  }

  bool AddTo(JsonDoc* layout) {
    if (from_.local_shapes == nullptr) return true;
    bool good = true;
    for (const bool of_firsts : {true, false}) {
      for (const JsonMember& member : from_.local_shapes->members) {
        const auto known = tensor_of_.find(member.key);
        if (known != tensor_of_.end()) {
          const bool is_first = firsts_.contains(known->second.tensor->name);
          if (is_first == of_firsts) good = AddTensor(member, known->second, is_first) && good;
        } else if (of_firsts) {
          good = false;
          diags_.Error(DiagnosticCode::kUnknownTensor, member.key_span,
                       "the local shapes have '" + member.key + "', which is not among 'tensors'");
        }
      }
    }
    if (!facts_.items().empty()) layout->Set("expect", std::move(facts_));
    return good;
  }

 private:
  struct Known {
    size_t group = 0;
    const ModelTensor* tensor = nullptr;
  };
  struct Seen {
    std::string name;
    std::vector<int64_t> shape;
    Span span;
  };

  bool AddTensor(const JsonMember& member, const Known& known, bool is_first) {
    const std::string what = "the local shapes of '" + member.key + "'";
    if (!ExpectKind(member.value, JsonNode::Kind::kObject, what, &diags_)) return false;
    for (const JsonMember& rank : member.value.members) {
      const std::optional<int64_t> number = RankOf(rank, what);
      if (!number) return false;
      const std::optional<std::vector<int64_t>> shape = ReadShape(rank.value, what, &diags_);
      if (!shape) return false;
      const auto [place, added] = seen_.try_emplace({known.group, known.tensor->shape, *number},
                                                    Seen{member.key, *shape, rank.value.span});
      if (place->second.shape != *shape) {
        diags_
            .Error(DiagnosticCode::kShapeMismatch, rank.value.span,
                   "'" + member.key + "' on rank " + rank.key + " has another local shape than '" +
                       place->second.name + "', which is spread alike and has its global shape")
            .notes.push_back({place->second.span, "the other one"});
        return false;
      }
      if (added || is_first) AddFact(*number, known.tensor->name, *shape);
    }
    return true;
  }

  std::optional<int64_t> RankOf(const JsonMember& rank, const std::string& what) {
    const bool is_rank =
        !rank.key.empty() && rank.key.size() <= 9 && (rank.key[0] != '0' || rank.key == "0") &&
        std::all_of(rank.key.begin(), rank.key.end(), [](char c) { return c >= '0' && c <= '9'; });
    const int64_t number = is_rank ? std::stoll(rank.key) : from_.world;
    if (number < from_.world) return number;
    diags_.Error(DiagnosticCode::kBadValue, rank.key_span,
                 what + " name the rank '" + rank.key + "', expected 0 to " +
                     std::to_string(from_.world - 1));
    return std::nullopt;
  }

  void AddFact(int64_t rank, const std::string& name, const std::vector<int64_t>& shape) {
    JsonDoc fact = JsonDoc::Object();
    fact.Set("rank", rank + side_.rank_base)
        .Set("param", name)
        .Set("shape", JsonDoc::Array(shape))
        .Set("points", JsonDoc::Array());
    facts_.Add(std::move(fact));
  }

  const Export& from_;
  const std::set<std::string>& firsts_;  // of the templates
  const ExportedSide& side_;
  Diagnostics& diags_;
  std::map<std::string, Known> tensor_of_;  // by each of its names
  // The first fact about tensors of a spread and a global shape, by rank.
  std::map<std::tuple<size_t, std::vector<int64_t>, int64_t>, Seen> seen_;
  JsonDoc facts_ = JsonDoc::Array();
};

JsonDoc ParamDoc(const TensorTemplate& folded, const Spread& spread) {
  JsonDoc param = JsonDoc::Object();
  if (!folded.loops.empty()) {
    JsonDoc loops = JsonDoc::Object();
    for (const TemplateLoop& loop : folded.loops) loops.Set(loop.variable, RangeDoc(loop.values));
    param.Set("for", std::move(loops));
  }
  param.Set("name", folded.name)
      .Set("mesh", spread.mesh)
      .Set("tensor", folded.name)
      .Set("placements", JsonDoc::Array(spread.placements));
  if (!spread.strided.empty()) param.Set("strided", spread.strided);
  if (!spread.shares.empty()) {
    JsonDoc names = JsonDoc::Array();
    for (const std::string& name : spread.shares) names.Add(LiteralName(name));
    param.Set("shares", std::move(names));
  }
  return param;
}

}  // namespace

bool ImportDtensor(const JsonNode& root, const ExportedSide& side, Diagnostics* diags,
                   JsonDoc* out) {
  Export from;
  if (!ReadExport(root, side, diags, &from)) return false;
  JsonDoc meshes = JsonDoc::Object();
  for (const auto& [name, mesh] : from.meshes) {
    JsonDoc doc = JsonDoc::Object();
    doc.Set("axes", JsonDoc::Array(mesh.axes)).Set("ranks", mesh.ranks);
    meshes.Set(name, std::move(doc));
  }
  JsonDoc logical = JsonDoc::Array();
  JsonDoc params = JsonDoc::Array();
  JsonDoc aliases = JsonDoc::Array();
  std::set<std::string> firsts;
  for (const auto& [spread, tensors] : from.groups) {
    for (const TensorTemplate& folded : FoldTensors(tensors)) {
      for (const std::string& name : spread.shares) {
        aliases.Add(JsonDoc::Object().Set("name", LiteralName(name)).Set("of", folded.name));
      }
      firsts.insert(folded.first_name);
      logical.Add(LogicalDoc(folded));
      params.Add(ParamDoc(folded, spread));
    }
  }
  *out = JsonDoc::Object();
  out->Set("format", "reshard-layout")
      .Set("version", 1)
      .Set("side", side.source ? "source" : "destination")
      .Set("comment", "From DTensors: meshes, placements and names as the job has them.");
  if (side.rank_base != 0) out->Set("rank_base", side.rank_base);
  out->Set("logical", std::move(logical));
  if (!aliases.items().empty()) out->Set("aliases", std::move(aliases));
  out->Set("meshes", std::move(meshes)).Set("params", std::move(params));
  return LocalShapes(from, firsts, side, diags).AddTo(out);
}

}  // namespace reshard
