#include "compiler/import/import_recorded_copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/import/export_reader.h"
#include "compiler/import/fold_params.h"
#include "compiler/import/fold_tensors.h"
#include "compiler/import/model_tensor.h"
#include "compiler/import/written_pieces.h"
#include "compiler/layout/limits.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

constexpr int64_t kMaxRank = (int64_t{1} << 32) - 2;
// Boxes that new ones are compared with.
constexpr int64_t kMaxWriteSteps = 1'000'000'000;

// One file.
struct Recording {
  std::vector<int64_t> ranks;
  std::vector<ExplicitParam> params;  // in the order of the file
};

class Importer {
 public:
  Importer(const RecordedCopiesOptions& options, Diagnostics* diags)
      : options_(options), diags_(diags) {}

  bool ReadShapes(const JsonNode& shapes) {
    if (!ExpectKind(shapes, JsonNode::Kind::kObject, "the shapes of tensors", diags_)) return false;
    bool ok = true;
    for (const JsonMember& member : shapes.members) {
      ModelTensor tensor;
      ok &= ReadModelTensor(member, std::nullopt, {}, diags_, &tensor) && AddTensor(tensor);
    }
    return ok;
  }

  bool Read(const JsonNode& root) {
    ObjectReader object(root, "the recording", diags_);
    if (!ReadExportHead("reshard-import/recorded-copies", &object, diags_)) return false;
    Recording made;
    if (!ReadRanks(&object, &made)) return false;
    const JsonNode* tensors = object.Optional("tensors", JsonNode::Kind::kObject);
    const JsonNode* params = object.Required("params", JsonNode::Kind::kObject);
    const JsonNode* copies = object.Required("copies", JsonNode::Kind::kArray);
    if (!object.Finish()) return false;
    bool ok = true;
    if (tensors != nullptr) {
      for (const JsonMember& member : tensors->members) ok &= ReadTensor(member);
    }
    for (const JsonMember& member : params->members) ok &= ReadParam(member, &made);
    if (!ok) return false;
    std::map<std::string, size_t> param_of;
    for (size_t i = 0; i < made.params.size(); ++i) param_of[made.params[i].name] = i;
    written_.clear();
    for (const ExplicitParam& param : made.params) written_.emplace_back(param.shape);
    for (const JsonNode& copy : copies->items) {
      ok &= ReadCopy(copy, param_of, &made);
      if (too_many_) return false;
    }
    if (!ok) return false;
    for (size_t i = 0; i < made.params.size(); ++i) {
      ExplicitParam& param = made.params[i];
      param.pieces = written_[i].Pieces();
      param.covered = IsCovered(param);
      for (const ExplicitPiece& piece : param.pieces) used_.insert(piece.tensor);
    }
    recordings_.push_back(std::move(made));
    return true;
  }

  // The limit of pieces was reached: nothing more is read.
  bool too_many() const { return too_many_; }

  JsonDoc Layout() const {
    JsonDoc layout = JsonDoc::Object();
    layout.Set("format", "reshard-layout")
        .Set("version", 1)
        .Set("side", "destination")
        .Set("comment", "From the copies that the engine's weight loader made.");
    JsonDoc logical = JsonDoc::Array();
    std::vector<ModelTensor> used;
    for (const ModelTensor& tensor : tensors_) {
      if (used_.contains(tensor.name)) used.push_back(tensor);
    }
    for (const TensorTemplate& folded : FoldTensors(used)) logical.Add(LogicalDoc(folded));
    std::vector<int64_t> ranks(seen_.begin(), seen_.end());
    JsonDoc mesh = JsonDoc::Object();
    mesh.Set("axes", JsonDoc::Array().Add("rank")).Set("ranks", JsonDoc::Array(ranks));
    JsonDoc entries = JsonDoc::Array();
    for (const Recording& recording : recordings_) {
      for (JsonDoc& entry : FoldParams(recording.params, RangesText(recording.ranks))) {
        entries.Add(std::move(entry));
      }
    }
    layout.Set("logical", std::move(logical))
        .Set("meshes", JsonDoc::Object().Set("recorded", std::move(mesh)))
        .Set("explicit", std::move(entries));
    return layout;
  }

 private:
  bool ReadRanks(ObjectReader* object, Recording* made) {
    const JsonNode* list = object->Optional("ranks", JsonNode::Kind::kArray);
    const std::optional<int64_t> single = object->Integer("rank", 0, kMaxRank);
    if (!object->ok()) return false;
    if (single.has_value() == (list != nullptr)) {
      diags_->Error(DiagnosticCode::kMissingKey, object->node().span,
                    "a recording says one of 'rank' and 'ranks'");
      return false;
    }
    if (single) made->ranks = {*single};
    if (list != nullptr) {
      const std::optional<std::vector<int64_t>> ranks =
          ReadCounts(*list, "the list of ranks", 0, kMaxMeshRanks, diags_);
      if (!ranks) return false;
      made->ranks = *ranks;
      std::sort(made->ranks.begin(), made->ranks.end());
    }
    for (const int64_t rank : made->ranks) {
      if (rank > kMaxRank || !seen_.insert(rank).second) {
        diags_->Error(DiagnosticCode::kDuplicateRank, object->node().span,
                      "rank " + std::to_string(rank) + " is recorded twice, or is above 2^32 - 2");
        return false;
      }
    }
    return true;
  }

  bool AddTensor(const ModelTensor& tensor) {
    const auto [place, added] = tensor_of_.try_emplace(tensor.name, tensors_.size());
    if (added) {
      tensors_.push_back(tensor);
      return true;
    }
    const ModelTensor& known = tensors_[place->second];
    if (known.shape == tensor.shape && known.dtype == tensor.dtype) return true;
    diags_
        ->Error(DiagnosticCode::kShapeMismatch, tensor.span,
                "'" + tensor.name + "' has another shape or dtype than where it was said before")
        .notes.push_back({known.span, "here"});
    return false;
  }

  // An entry {"shape", "dtype"} of "tensors" or "params".
  std::optional<ModelTensor> ReadEntry(const JsonMember& member, const std::string& what) {
    ObjectReader object(member.value, what, diags_);
    const JsonNode* shape = object.Required("shape", JsonNode::Kind::kArray);
    const JsonNode* dtype = object.Required("dtype", JsonNode::Kind::kString);
    if (!object.Finish()) return std::nullopt;
    const std::optional<std::vector<int64_t>> extents =
        ReadShape(*shape, "the shape of " + what, diags_);
    const std::optional<DType> type = ReadTorchDtype(*dtype, what, diags_);
    if (!extents || !type) return std::nullopt;
    if (member.key.empty()) {
      diags_->Error(DiagnosticCode::kBadName, member.key_span, what + " has an empty name");
      return std::nullopt;
    }
    return ModelTensor{member.key, *extents, *type, member.key_span};
  }

  bool ReadTensor(const JsonMember& member) {
    const std::optional<ModelTensor> tensor = ReadEntry(member, "the tensor '" + member.key + "'");
    return tensor && AddTensor(*tensor);
  }

  bool ReadParam(const JsonMember& member, Recording* made) {
    const std::optional<ModelTensor> param = ReadEntry(member, "the param '" + member.key + "'");
    if (!param) return false;
    made->params.push_back({param->name, param->shape, param->dtype, true, {}});
    return true;
  }

  std::optional<StridedView> ReadView(const JsonNode& node, const std::string& what) {
    ObjectReader object(node, what, diags_);
    const std::optional<int64_t> offset = object.Integer("offset", 0, kMaxTensorBytes);
    const JsonNode* shape = object.Required("shape", JsonNode::Kind::kArray);
    const JsonNode* stride = object.Required("stride", JsonNode::Kind::kArray);
    if (!object.Required("offset") || !object.Finish()) return std::nullopt;
    const std::optional<std::vector<int64_t>> extents = ReadShape(*shape, what, diags_);
    const std::optional<std::vector<int64_t>> steps =
        ReadCounts(*stride, what, 0, kMaxDims, diags_);
    if (!extents || !steps) return std::nullopt;
    if (extents->size() != steps->size()) {
      diags_->Error(DiagnosticCode::kBadValue, stride->span,
                    what + " has " + std::to_string(steps->size()) + " strides and " +
                        std::to_string(extents->size()) + " extents");
      return std::nullopt;
    }
    return StridedView{*offset, *extents, *steps};
  }

  bool ReadCopy(const JsonNode& node, const std::map<std::string, size_t>& param_of,
                Recording* made) {
    ObjectReader object(node, "a copy", diags_);
    const JsonNode* src = object.Required("src", JsonNode::Kind::kString);
    const JsonNode* src_node = object.Required("src_view", JsonNode::Kind::kObject);
    const JsonNode* dst = object.Required("dst", JsonNode::Kind::kString);
    const JsonNode* dst_node = object.Required("dst_view", JsonNode::Kind::kObject);
    if (!object.Finish()) return false;
    const std::optional<StridedView> from = ReadView(*src_node, "the view of '" + src->text + "'");
    const std::optional<StridedView> to = ReadView(*dst_node, "the view of '" + dst->text + "'");
    if (!from || !to) return false;
    const auto tensor = tensor_of_.find(src->text);
    if (tensor == tensor_of_.end()) {
      diags_->Error(DiagnosticCode::kUnknownTensor, src->span,
                    "the shape of '" + src->text +
                        "' is not known: 'tensors' has it, or a file given with --shapes");
      return false;
    }
    const auto param = param_of.find(dst->text);
    if (param == param_of.end()) {
      diags_->Error(DiagnosticCode::kUnknownName, dst->span,
                    "'" + dst->text + "' is not among 'params'");
      return false;
    }
    return AddCopy(node, tensors_[tensor->second], *from, *to, param->second, made);
  }

  bool AddCopy(const JsonNode& node, const ModelTensor& tensor, const StridedView& from,
               const StridedView& to, size_t number, Recording* made) {
    const ExplicitParam& param = made->params[number];
    if (tensor.dtype != param.dtype) {
      diags_->Error(DiagnosticCode::kDtypeMismatch, node.span,
                    "'" + tensor.name + "' is " + std::string(DTypeText(tensor.dtype)) + ", '" +
                        param.name + "' is " + std::string(DTypeText(param.dtype)) +
                        ": a plan does not convert");
      return false;
    }
    if (from.shape != to.shape) {
      diags_->Error(
          DiagnosticCode::kShapeMismatch, node.span,
          "the views of '" + tensor.name + "' and '" + param.name + "' have different shapes");
      return false;
    }
    const CutResult cut =
        CutCopy(from, tensor.shape, to, param.shape, options_.max_pieces - piece_count_);
    if (cut.error == CutError::kTooMany) return FailTooMany(node);
    if (cut.error != CutError::kNone) {
      diags_->Error(DiagnosticCode::kBadPiece, node.span,
                    "the copy of '" + tensor.name + "' to '" + param.name +
                        "' leaves one of them, or is no union of boxes");
      return false;
    }
    piece_count_ += static_cast<int64_t>(cut.pieces.size());
    ++copy_number_;
    for (const CopyPiece& piece : cut.pieces) {
      if (!Write(node, tensor, param, piece, &written_[number])) return false;
    }
    return true;
  }

  // Writes over what earlier copies have written.
  bool Write(const JsonNode& node, const ModelTensor& tensor, const ExplicitParam& param,
             const CopyPiece& piece, WrittenPieces* written) {
    const int64_t before = written->piece_count();
    switch (written->Write(tensor.name, piece, copy_number_, &steps_)) {
      case WriteError::kNone:
        break;
      case WriteError::kTwice:
        diags_->Error(
            DiagnosticCode::kBadPiece, node.span,
            "the copy of '" + tensor.name + "' writes elements of '" + param.name + "' twice");
        return false;
      case WriteError::kTooLong:
        too_many_ = true;
        diags_->Error(DiagnosticCode::kTooManyPieces, node.span,
                      "finding what the copies up to here write over takes more than " +
                          std::to_string(kMaxWriteSteps) + " steps");
        return false;
    }
    // Pieces that it has cut others into; its own are counted already.
    piece_count_ += std::max<int64_t>(written->piece_count() - before - 1, 0);
    if (piece_count_ <= options_.max_pieces) return true;
    return FailTooMany(node);
  }

  bool FailTooMany(const JsonNode& node) {
    too_many_ = true;
    diags_->Error(DiagnosticCode::kTooManyPieces, node.span,
                  "the copies up to here are more than " + std::to_string(options_.max_pieces) +
                      " boxes (--max-pieces)");
    return false;
  }

  const RecordedCopiesOptions& options_;
  Diagnostics* diags_;
  std::vector<ModelTensor> tensors_;
  std::map<std::string, size_t> tensor_of_;
  std::set<std::string> used_;
  std::set<int64_t> seen_;  // ranks
  std::vector<Recording> recordings_;
  std::vector<WrittenPieces> written_;  // of the file that is read, per param
  int64_t copy_number_ = 0;
  int64_t steps_ = kMaxWriteSteps;
  int64_t piece_count_ = 0;
  bool too_many_ = false;
};

}  // namespace

bool ImportRecordedCopies(size_t file_count, const ReadRecording& read, const JsonNode* shapes,
                          const RecordedCopiesOptions& options, Diagnostics* diags, JsonDoc* out) {
  Importer importer(options, diags);
  if (shapes != nullptr && !importer.ReadShapes(*shapes)) return false;
  bool ok = true;
  for (size_t i = 0; i < file_count && !importer.too_many(); ++i) {
    JsonNode root;
    ok = read(i, &root) && importer.Read(root) && ok;
  }
  if (!ok) return false;
  *out = importer.Layout();
  return true;
}

}  // namespace reshard
