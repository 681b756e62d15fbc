#include "compiler/import/import_mcore_sharded.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/object_reader.h"
#include "compiler/import/explicit_layout.h"
#include "compiler/import/export_reader.h"
#include "compiler/import/mcore_aliases.h"
#include "compiler/import/model_tensor.h"
#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

// Boxes of aliases that entries are compared with.
constexpr int64_t kMaxMetBoxes = 100'000'000;

struct Entry {
  int64_t rank = 0;
  std::string key, param;
  Span key_span;
  DType dtype{};
  std::vector<int64_t> local, global, offset;
  size_t leading = 0;  // dims of `global` and `offset` that `local` does not have
  // Where in the param, per dim of the param; absent: it is the whole param.
  std::optional<std::vector<CopyRun>> view;
};

// The dims of `view` that walk along dims of `local`: equal lengths in the same order, dims of one
// element apart. nullopt where they do not fit; -1 for a dim that walks along none.
std::optional<std::vector<int64_t>> MatchDims(const std::vector<CopyRun>& view,
                                              const std::vector<int64_t>& local) {
  std::vector<int64_t> dims(view.size(), -1);
  size_t next = 0;
  for (size_t v = 0; v < view.size(); ++v) {
    if (view[v].length == 1) continue;
    while (next < local.size() && local[next] == 1) ++next;
    if (next == local.size() || local[next] != view[v].length) return std::nullopt;
    dims[v] = static_cast<int64_t>(next++);
  }
  while (next < local.size() && local[next] == 1) ++next;
  if (next < local.size()) return std::nullopt;
  return dims;
}

class Importer {
 public:
  Importer(const McoreOptions& options, Diagnostics* diags)
      : options_(options), diags_(*diags), aliases_(tensors_, options.max_pieces, diags) {}

  bool Read(const JsonNode& root, const JsonNode* shapes) {
    ObjectReader object(root, "the export", &diags_);
    if (!ReadExportHead("reshard-import/mcore-sharded", &object, &diags_)) return false;
    const JsonNode* entries = object.Required("entries", JsonNode::Kind::kArray);
    const JsonNode* aliases = object.Optional("logical_aliases", JsonNode::Kind::kArray);
    const JsonNode* tensors = object.Optional("tensors", JsonNode::Kind::kObject);
    if (!object.Finish()) return false;
    if ((shapes != nullptr && !ReadShapes(*shapes)) ||
        (tensors != nullptr && !ReadTensors(*tensors)) ||
        (aliases != nullptr && !aliases_.Read(*aliases))) {
      return false;
    }
    bool good = true;
    for (const JsonNode& node : entries->items) {
      Entry entry;
      good = ReadEntry(node, &entry) && AddEntry(node, entry) && good;
      if (too_many_) return false;
    }
    if (good && params_.empty()) {
      return Fail(entries->span, DiagnosticCode::kBadValue, "the export has no entries");
    }
    return good;
  }

  JsonDoc Layout() const {
    ExplicitLayout layout;
    layout.source = options_.side.source;
    layout.comment = "From Megatron-Core's sharded state: keys, or what aliases say that they are.";
    layout.mesh = "exported";
    layout.tensors = used_;
    // One entry for the ranks that have the same param.
    std::map<ExplicitParam, std::vector<int64_t>> ranks_of;
    for (const auto& [place, param] : params_) {
      ExplicitParam made = param;
      made.covered = IsCovered(made);
      ranks_of[std::move(made)].push_back(place.first + options_.side.rank_base);
    }
    for (auto& [param, ranks] : ranks_of) layout.params[ranks].push_back(param);
    return ExplicitLayoutDoc(layout);
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  // Tensors of the checkpoint, with the dtypes of safetensors.
  bool ReadShapes(const JsonNode& shapes) {
    if (!ExpectKind(shapes, JsonNode::Kind::kObject, "the shapes of tensors", &diags_)) {
      return false;
    }
    bool good = true;
    for (const JsonMember& member : shapes.members) {
      ModelTensor tensor;
      good &= ReadModelTensor(member, std::nullopt, {}, &diags_, &tensor) && AddTensor(tensor);
    }
    return good;
  }

  // The same with PyTorch's dtypes.
  bool ReadTensors(const JsonNode& tensors) {
    bool good = true;
    for (const JsonMember& member : tensors.members) {
      const std::string what = "the tensor '" + member.key + "'";
      ObjectReader object(member.value, what, &diags_);
      const JsonNode* shape = object.Required("shape", JsonNode::Kind::kArray);
      const JsonNode* dtype = object.Required("dtype", JsonNode::Kind::kString);
      if (!object.Finish()) {
        good = false;
        continue;
      }
      const auto extents = ReadShape(*shape, "the shape of " + what, &diags_);
      const auto type = ReadTorchDtype(*dtype, what, &diags_);
      good &= extents && type && AddTensor({member.key, *extents, *type, member.key_span});
    }
    return good;
  }

  bool AddTensor(const ModelTensor& tensor) {
    const auto [place, added] = tensors_.try_emplace(tensor.name, tensor);
    const ModelTensor& known = place->second;
    if (added || (known.shape == tensor.shape && known.dtype == tensor.dtype)) return true;
    diags_
        .Error(DiagnosticCode::kShapeMismatch, tensor.span,
               "'" + tensor.name + "' has another shape or dtype than where it was said before")
        .notes.push_back({known.span, "here"});
    return false;
  }

  bool ReadEntry(const JsonNode& node, Entry* out) {
    ObjectReader object(node, "an entry", &diags_);
    const std::optional<int64_t> rank = object.Integer("rank", 0, kMaxMeshRanks - 1);
    const JsonNode* key = object.Required("key", JsonNode::Kind::kString);
    const JsonNode* param = object.Required("local_param", JsonNode::Kind::kString);
    const JsonNode* dtype = object.Required("dtype", JsonNode::Kind::kString);
    const JsonNode* local = object.Required("local_shape", JsonNode::Kind::kArray);
    const JsonNode* global = object.Required("global_shape", JsonNode::Kind::kArray);
    const JsonNode* offset = object.Required("global_offset", JsonNode::Kind::kArray);
    const JsonNode* fragments = object.Required("axis_fragmentations", JsonNode::Kind::kArray);
    const JsonNode* replica = object.Required("replica_id", JsonNode::Kind::kArray);
    const std::optional<int64_t> leading = object.Integer("prepend_axis_num", 0, kMaxDims);
    const JsonNode* view = object.Optional("local_view", JsonNode::Kind::kArray);
    if (object.Has("flattened_range")) {
      return Fail(object.Optional("flattened_range")->span, DiagnosticCode::kUnsupported,
                  "a flattened range (distributed optimizer) is not known: export the model's "
                  "sharded_state_dict");
    }
    if (!object.Required("rank") || !object.Required("prepend_axis_num") || !object.Finish()) {
      return false;
    }
    const std::string what = "'" + key->text + "'";
    const auto type = ReadTorchDtype(*dtype, what, &diags_);
    const auto shape = ReadShape(*local, "the local shape of " + what, &diags_);
    const auto whole = ReadShape(*global, "the global shape of " + what, &diags_);
    const auto begin = ReadCounts(*offset, "the offset of " + what, 0, kMaxDims, &diags_);
    const auto parts =
        ReadCounts(*fragments, "the fragmentations of " + what, 1, kMaxDims, &diags_);
    // Which copy is the main one does not matter: all hold the elements.
    const auto copies = ReadCounts(*replica, "the replica id of " + what, 0, kMaxDims, &diags_);
    if (!type || !shape || !whole || !begin || !parts || !copies) return false;
    if (key->text.empty() || param->text.empty()) {
      return Fail(node.span, DiagnosticCode::kBadName, "an entry has an empty name");
    }
    *out = {*rank,       key->text, param->text,
            key->span,   *type,     *shape,
            *whole,      *begin,    static_cast<size_t>(*leading),
            std::nullopt};
    return CheckBox(node, *out, parts->size()) && (view == nullptr || ReadView(*view, out));
  }

  bool CheckBox(const JsonNode& node, const Entry& entry, size_t fragmentations) {
    const size_t dims = entry.global.size();
    if (entry.offset.size() != dims || fragmentations != dims ||
        entry.local.size() + entry.leading != dims) {
      return Fail(node.span, DiagnosticCode::kShapeMismatch,
                  "'" + entry.key + "' has " + std::to_string(dims) +
                      " global dims, expected as many offsets and fragmentations, and local dims "
                      "without the leading " +
                      std::to_string(entry.leading));
    }
    for (size_t d = 0; d < dims; ++d) {
      const int64_t extent = d < entry.leading ? 1 : entry.local[d - entry.leading];
      if (entry.offset[d] > entry.global[d] || extent > entry.global[d] - entry.offset[d]) {
        return Fail(node.span, DiagnosticCode::kBadPiece,
                    "the part of '" + entry.key + "' leaves it in dim " + std::to_string(d));
      }
    }
    return true;
  }

  bool ReadView(const JsonNode& view, Entry* out) {
    std::vector<CopyRun> runs;
    for (const JsonNode& item : view.items) {
      const auto run = ReadCounts(item, "a dim of 'local_view'", 0, 2, &diags_);
      if (!run) return false;
      if (run->size() != 2) {
        return Fail(item.span, DiagnosticCode::kBadValue, "expected [start, length]");
      }
      runs.push_back({(*run)[0], (*run)[1], 1});
    }
    if (runs.size() > kMaxDims || !MatchDims(runs, out->local)) {
      return Fail(view.span, DiagnosticCode::kShapeMismatch,
                  "the lengths of 'local_view' are not those of 'local_shape'");
    }
    out->view = std::move(runs);
    return true;
  }

  // The tensor that a key without an alias is.
  const ModelTensor* KeyTensor(const Entry& entry) {
    const auto [place, added] = keys_.try_emplace(
        entry.key, ModelTensor{entry.key, entry.global, entry.dtype, entry.key_span});
    const ModelTensor& tensor = place->second;
    if (tensor.shape != entry.global || tensor.dtype != entry.dtype) {
      diags_
          .Error(DiagnosticCode::kShapeMismatch, entry.key_span,
                 "'" + entry.key + "' has another global shape or dtype than in another entry")
          .notes.push_back({tensor.span, "the other entry"});
      return nullptr;
    }
    // A tensor of the checkpoint under this name would be the same logical tensor.
    const auto known = tensors_.find(entry.key);
    if (known != tensors_.end() &&
        (known->second.shape != tensor.shape || known->second.dtype != tensor.dtype)) {
      if (added) {
        diags_
            .Error(DiagnosticCode::kShapeMismatch, entry.key_span,
                   "the key '" + entry.key +
                       "' has no alias, and another shape or dtype than the tensor of its name")
            .notes.push_back({known->second.span, "the tensor"});
      }
      return nullptr;
    }
    return &tensor;
  }

  bool AddEntry(const JsonNode& node, const Entry& entry) {
    ExplicitParam* param = ParamOf(node, entry);
    if (param == nullptr) return false;
    if (std::find(entry.local.begin(), entry.local.end(), 0) != entry.local.end()) return true;
    if (!aliases_.Has(entry.key)) {
      const ModelTensor* tensor = KeyTensor(entry);
      if (tensor == nullptr) return false;
      // The whole key is one box, with the leading dims.
      const std::vector<int64_t> zeros(entry.global.size());
      return AddPiece(node, entry, {tensor, zeros, zeros, entry.global}, entry.leading, param);
    }
    const auto leading = static_cast<std::ptrdiff_t>(entry.leading);
    const KeyBoxes* boxes = aliases_.Resolve(
        entry.key, {entry.offset.begin(), entry.offset.begin() + leading}, entry.key_span);
    if (boxes == nullptr) return false;
    const std::vector<int64_t> shape(entry.global.begin() + leading, entry.global.end());
    if (boxes->shape != shape) {
      return Fail(
          entry.key_span, DiagnosticCode::kShapeMismatch,
          "'" + entry.key + "' is " + ListText(shape) + ", its alias " + ListText(boxes->shape));
    }
    met_boxes_ += static_cast<int64_t>(boxes->boxes.size());
    if (met_boxes_ > kMaxMetBoxes) {
      too_many_ = true;
      return Fail(node.span, DiagnosticCode::kTooManyPieces,
                  "the entries up to here meet more than " + std::to_string(kMaxMetBoxes) +
                      " boxes of aliases");
    }
    for (const KeyBox& box : boxes->boxes) {
      if (box.tensor->dtype != entry.dtype) {
        return Fail(entry.key_span, DiagnosticCode::kDtypeMismatch,
                    "'" + entry.key + "' is " + std::string(DTypeText(entry.dtype)) + ", '" +
                        box.tensor->name + "' is " + std::string(DTypeText(box.tensor->dtype)) +
                        ": a plan does not convert");
      }
      if (!AddPiece(node, entry, box, 0, param)) return false;
    }
    return true;
  }

  ExplicitParam* ParamOf(const JsonNode& node, const Entry& entry) {
    const auto [place, added] = params_.try_emplace({entry.rank, entry.param});
    ExplicitParam& param = place->second;
    if (!added && (!entry.view || whole_.contains(place->first))) {
      Fail(node.span, DiagnosticCode::kDuplicateParam,
           "'" + entry.param + "' on rank " + std::to_string(entry.rank) +
               " is the whole of one entry and has another one");
      return nullptr;
    }
    if (added) {
      param.name = entry.param;
      param.dtype = entry.dtype;
      param.shape.assign(entry.view ? entry.view->size() : entry.local.size(), 0);
      if (!entry.view) whole_.insert(place->first);
    }
    if (!entry.view) {
      param.shape = entry.local;
      return &param;
    }
    if (param.shape.size() != entry.view->size() || param.dtype != entry.dtype) {
      Fail(node.span, DiagnosticCode::kShapeMismatch,
           "the parts of '" + entry.param + "' have different dims or dtypes");
      return nullptr;
    }
    for (size_t d = 0; d < param.shape.size(); ++d) {
      const auto end = CheckedAdd((*entry.view)[d].start, (*entry.view)[d].length);
      if (!end || *end > kMaxTensorBytes) {
        Fail(node.span, DiagnosticCode::kTooLarge, "'" + entry.param + "' is too large");
        return nullptr;
      }
      param.shape[d] = std::max(param.shape[d], *end);
    }
    return &param;
  }

  // What `box` has of the entry. The box has `leading` dims before those of the entry's local
  // shape.
  bool AddPiece(const JsonNode& node, const Entry& entry, const KeyBox& box, size_t leading,
                ExplicitParam* param) {
    const size_t dims = box.extent.size();
    const size_t skipped = entry.leading - leading;
    ExplicitPiece piece;
    piece.tensor = box.tensor->name;
    std::vector<int64_t> into(dims - leading);  // from the entry's begin, per local dim
    for (size_t d = 0; d < dims; ++d) {
      const int64_t begin = entry.offset[d + skipped];
      const int64_t extent = d < leading ? 1 : entry.local[d - leading];
      const int64_t low = std::max(begin, box.key_begin[d]);
      const int64_t high = std::min(begin + extent, box.key_begin[d] + box.extent[d]);
      if (low >= high) return true;
      piece.box.src.push_back({box.tensor_begin[d] + low - box.key_begin[d], high - low, 1});
      if (d >= leading) into[d - leading] = low - begin;
    }
    std::vector<CopyRun> view;
    for (const int64_t extent : entry.local) view.push_back({0, extent, 1});
    if (entry.view) view = *entry.view;
    const std::vector<int64_t> matched = *MatchDims(view, entry.local);
    for (size_t v = 0; v < view.size(); ++v) {
      CopyRun run = {view[v].start, 1, 1};
      int64_t walked = -1;
      if (matched[v] >= 0) {
        walked = matched[v] + static_cast<int64_t>(leading);
        run.start += into[static_cast<size_t>(matched[v])];
        run.length = piece.box.src[static_cast<size_t>(walked)].length;
      }
      piece.box.dst.push_back(run);
      piece.box.dims.push_back(run.length == 1 ? -1 : walked);
    }
    if (++piece_count_ > options_.max_pieces) {
      too_many_ = true;
      return Fail(node.span, DiagnosticCode::kTooManyPieces,
                  "the entries up to here are more than " + std::to_string(options_.max_pieces) +
                      " boxes (--max-pieces)");
    }
    if (used_names_.insert(box.tensor->name).second) used_.push_back(*box.tensor);
    param->pieces.push_back(std::move(piece));
    return true;
  }

  const McoreOptions& options_;
  Diagnostics& diags_;
  std::map<std::string, ModelTensor> tensors_;  // of the checkpoint
  std::map<std::string, ModelTensor> keys_;     // without an alias
  McoreAliases aliases_;
  std::vector<ModelTensor> used_;  // in the order of their first use
  std::set<std::string> used_names_;
  std::map<std::pair<int64_t, std::string>, ExplicitParam> params_;  // by rank and name
  std::set<std::pair<int64_t, std::string>> whole_;                  // of one entry
  int64_t piece_count_ = 0;
  int64_t met_boxes_ = 0;
  bool too_many_ = false;
};

}  // namespace

bool ImportMcoreSharded(const JsonNode& root, const JsonNode* shapes, const McoreOptions& options,
                        Diagnostics* diags, JsonDoc* out) {
  Importer importer(options, diags);
  if (!importer.Read(root, shapes)) return false;
  *out = importer.Layout();
  return true;
}

}  // namespace reshard
