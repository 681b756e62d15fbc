#include "compiler/import/import_dcp.h"

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
#include "compiler/layout/limits.h"

namespace reshard {
namespace {

struct Chunk {
  std::vector<int64_t> offsets, sizes;
  std::vector<int64_t> ranks;  // rising
};

class Importer {
 public:
  Importer(const ExportedSide& side, Diagnostics* diags) : side_(side), diags_(*diags) {}

  bool ReadTensor(const JsonMember& member) {
    const std::string what = "the tensor '" + member.key + "'";
    ObjectReader object(member.value, what, &diags_);
    const JsonNode* size = object.Required("size", JsonNode::Kind::kArray);
    const JsonNode* dtype = object.Required("dtype", JsonNode::Kind::kString);
    const JsonNode* chunks = object.Required("chunks", JsonNode::Kind::kArray);
    if (!object.Finish()) return false;
    if (member.key.empty()) {
      return Fail(member.key_span, DiagnosticCode::kBadName, "a tensor has an empty name");
    }
    const auto shape = ReadShape(*size, "the size of " + what, &diags_);
    const auto type = ReadTorchDtype(*dtype, what, &diags_);
    if (!shape || !type) return false;
    tensors_.push_back({member.key, *shape, *type, member.key_span});
    std::set<int64_t> owners;
    bool good = true;
    for (const JsonNode& node : chunks->items) {
      Chunk chunk;
      if (ReadChunk(node, what, *shape, &chunk) && AddOwners(node, what, chunk.ranks, &owners)) {
        AddParam(tensors_.back(), chunk);
      } else {
        good = false;
      }
    }
    return good;
  }

  JsonDoc Layout() const {
    return ExplicitLayoutDoc(
        {side_.source, "From the metadata of a distributed checkpoint: what each rank saved.",
         "saved", tensors_, params_});
  }

  bool has_ranks() const { return !params_.empty(); }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  bool ReadChunk(const JsonNode& node, const std::string& tensor, const std::vector<int64_t>& shape,
                 Chunk* out) {
    const std::string what = "a chunk of " + tensor;
    ObjectReader object(node, what, &diags_);
    const JsonNode* offsets = object.Required("offsets", JsonNode::Kind::kArray);
    const JsonNode* sizes = object.Required("sizes", JsonNode::Kind::kArray);
    const std::optional<int64_t> rank = object.Integer("rank", 0, kMaxMeshRanks - 1);
    const JsonNode* ranks = object.Optional("ranks", JsonNode::Kind::kArray);
    if (!object.Finish()) return false;
    const auto begin = ReadCounts(*offsets, "the offsets of " + what, 0, kMaxDims, &diags_);
    const auto extent = ReadShape(*sizes, "the sizes of " + what, &diags_);
    if (!begin || !extent) return false;
    bool inside = begin->size() == shape.size() && extent->size() == shape.size();
    for (size_t d = 0; inside && d < shape.size(); ++d) {
      inside = (*begin)[d] <= shape[d] && (*extent)[d] <= shape[d] - (*begin)[d];
    }
    if (!inside) return Fail(node.span, DiagnosticCode::kBadPiece, what + " leaves the tensor");
    if (rank.has_value() == (ranks != nullptr)) {
      return Fail(node.span, DiagnosticCode::kMissingKey,
                  what + " says who saved it: one of 'rank' and 'ranks'");
    }
    if (rank) out->ranks = {*rank};
    if (ranks != nullptr) {
      auto list = ReadCounts(*ranks, "the ranks of " + what, 0, kMaxMeshRanks, &diags_);
      if (!list) return false;
      out->ranks = *std::move(list);
      std::sort(out->ranks.begin(), out->ranks.end());
    }
    if (out->ranks.empty() || out->ranks.back() >= kMaxMeshRanks) {
      return Fail(node.span, DiagnosticCode::kBadValue,
                  what + " names no rank, or one above " + std::to_string(kMaxMeshRanks - 1));
    }
    out->offsets = *begin;
    out->sizes = *extent;
    return true;
  }

  // A rank has one chunk of a tensor.
  bool AddOwners(const JsonNode& node, const std::string& tensor, const std::vector<int64_t>& ranks,
                 std::set<int64_t>* owners) {
    for (const int64_t rank : ranks) {
      if (owners->insert(rank).second) continue;
      return Fail(node.span, DiagnosticCode::kUnsupported,
                  "rank " + std::to_string(rank) + " saved several chunks of " + tensor +
                      ": where each lies in its memory is not known");
    }
    return true;
  }

  void AddParam(const ModelTensor& tensor, const Chunk& chunk) {
    ExplicitParam param = {tensor.name, chunk.sizes, tensor.dtype, true, {}};
    const bool empty = std::find(chunk.sizes.begin(), chunk.sizes.end(), 0) != chunk.sizes.end();
    if (!empty) {
      ExplicitPiece piece;
      piece.tensor = tensor.name;
      for (size_t d = 0; d < chunk.sizes.size(); ++d) {
        piece.box.src.push_back({chunk.offsets[d], chunk.sizes[d], 1});
        piece.box.dst.push_back({0, chunk.sizes[d], 1});
        piece.box.dims.push_back(static_cast<int64_t>(d));
      }
      param.pieces.push_back(std::move(piece));
    }
    std::vector<int64_t> ranks = chunk.ranks;
    for (int64_t& rank : ranks) rank += side_.rank_base;
    params_[std::move(ranks)].push_back(std::move(param));
  }

  const ExportedSide& side_;
  Diagnostics& diags_;
  std::vector<ModelTensor> tensors_;
  std::map<std::vector<int64_t>, std::vector<ExplicitParam>> params_;  // by the ranks that have it
};

}  // namespace

bool ImportDcp(const JsonNode& root, const ExportedSide& side, Diagnostics* diags, JsonDoc* out) {
  ObjectReader object(root, "the checkpoint", diags);
  if (!ReadExportHead("reshard-import/dcp", &object, diags)) return false;
  const JsonNode* tensors = object.Required("tensors", JsonNode::Kind::kObject);
  if (!object.Finish()) return false;
  Importer importer(side, diags);
  bool good = true;
  for (const JsonMember& member : tensors->members) good &= importer.ReadTensor(member);
  if (good && !importer.has_ranks()) {
    diags->Error(DiagnosticCode::kBadValue, tensors->span, "the checkpoint has no chunks");
    return false;
  }
  if (good) *out = importer.Layout();
  return good;
}

}  // namespace reshard
