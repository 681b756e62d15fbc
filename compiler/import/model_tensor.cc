#include "compiler/import/model_tensor.h"

#include "compiler/frontend/object_reader.h"
#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

bool ReadShape(const JsonNode& node, const std::string& what, Diagnostics* diags,
               std::vector<int64_t>* shape) {
  if (node.items.size() > kMaxDims) {
    diags->Error(DiagnosticCode::kTooLarge, node.span,
                 what + " has " + std::to_string(node.items.size()) + " dims, at most " +
                     std::to_string(kMaxDims) + " are read");
    return false;
  }
  for (const JsonNode& item : node.items) {
    const std::optional<int64_t> extent =
        ReadInteger(item, "an extent of " + what, 0, kMaxTensorBytes, diags);
    if (!extent) return false;
    shape->push_back(*extent);
  }
  const std::optional<int64_t> elements = CheckedProduct(std::span<const int64_t>(*shape));
  if (elements && *elements <= kMaxTensorBytes) return true;
  diags->Error(DiagnosticCode::kTooLarge, node.span, what + " has more elements than 2^56");
  return false;
}

}  // namespace

std::optional<DType> ParseSafetensorsDtype(std::string_view word) {
#define RESHARD_SAFETENSORS_DTYPE(text, dtype) \
  if (word == text) return DType::dtype;
#include "compiler/import/safetensors_dtypes.def"
#undef RESHARD_SAFETENSORS_DTYPE
  return std::nullopt;
}

bool ReadModelTensor(const JsonMember& member, std::optional<DType> default_dtype,
                     const std::vector<std::string>& others, Diagnostics* diags, ModelTensor* out) {
  const std::string what = "the tensor '" + member.key + "'";
  out->name = member.key;
  out->span = member.key_span;
  if (member.key.empty()) {
    diags->Error(DiagnosticCode::kBadName, member.key_span, "a tensor has an empty name");
    return false;
  }
  ObjectReader object(member.value, what, diags);
  const JsonNode* shape = object.Required("shape", JsonNode::Kind::kArray);
  const JsonNode* dtype = default_dtype ? object.Optional("dtype", JsonNode::Kind::kString)
                                        : object.Required("dtype", JsonNode::Kind::kString);
  for (const std::string& key : others) static_cast<void>(object.Optional(key));
  if (!object.Finish()) return false;
  if (!ReadShape(*shape, what, diags, &out->shape)) return false;
  if (dtype == nullptr) {
    out->dtype = *default_dtype;
    return true;
  }
  const std::optional<DType> parsed = ParseSafetensorsDtype(dtype->text);
  if (!parsed) {
    diags->Error(DiagnosticCode::kUnsupported, dtype->span,
                 what + " has the dtype '" + dtype->text + "', which layouts do not have");
    return false;
  }
  out->dtype = *parsed;
  return true;
}

}  // namespace reshard
