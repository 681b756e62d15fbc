#include "compiler/import/export_reader.h"

#include <span>

#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"

namespace reshard {

bool ReadExportHead(std::string_view format, ObjectReader* object, Diagnostics* diags) {
  const JsonNode* said = object->Required("format", JsonNode::Kind::kString);
  const JsonNode* version = object->Required("version", JsonNode::Kind::kNumber);
  if (said != nullptr && said->text != format) {
    diags->Error(DiagnosticCode::kBadFormat, said->span,
                 "the format is '" + said->text + "', expected '" + std::string(format) + "'");
    object->MarkBad();
  }
  if (version != nullptr && version->text != "1") {
    diags->Error(DiagnosticCode::kBadFormat, version->span,
                 "the version is " + version->text + ", only 1 is known");
    object->MarkBad();
  }
  return object->ok();
}

std::optional<std::vector<int64_t>> ReadCounts(const JsonNode& node, const std::string& what,
                                               int64_t lowest, size_t max_count,
                                               Diagnostics* diags) {
  if (!ExpectKind(node, JsonNode::Kind::kArray, what, diags)) return std::nullopt;
  if (node.items.size() > max_count) {
    diags->Error(DiagnosticCode::kTooLarge, node.span,
                 what + " has " + std::to_string(node.items.size()) + " entries, at most " +
                     std::to_string(max_count) + " are read");
    return std::nullopt;
  }
  std::vector<int64_t> values;
  for (const JsonNode& item : node.items) {
    const std::optional<int64_t> value =
        ReadInteger(item, "an entry of " + what, lowest, kMaxTensorBytes, diags);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::vector<int64_t>> ReadShape(const JsonNode& node, const std::string& what,
                                              Diagnostics* diags) {
  std::optional<std::vector<int64_t>> shape = ReadCounts(node, what, 0, kMaxDims, diags);
  if (!shape) return std::nullopt;
  const std::optional<int64_t> elements = CheckedProduct(std::span<const int64_t>(*shape));
  if (elements && *elements <= kMaxTensorBytes) return shape;
  diags->Error(DiagnosticCode::kTooLarge, node.span, what + " has more elements than 2^56");
  return std::nullopt;
}

std::optional<DType> ReadTorchDtype(const JsonNode& node, const std::string& what,
                                    Diagnostics* diags) {
  if (!ExpectKind(node, JsonNode::Kind::kString, "the dtype of " + what, diags)) {
    return std::nullopt;
  }
#define RESHARD_TORCH_DTYPE(word, dtype) \
  if (node.text == word) return DType::dtype;
#include "compiler/import/torch_dtypes.def"
#undef RESHARD_TORCH_DTYPE
  if (const std::optional<DType> dtype = ParseDType(node.text)) return dtype;
  diags->Error(DiagnosticCode::kUnsupported, node.span,
               what + " has the dtype '" + node.text + "', which layouts do not have");
  return std::nullopt;
}

}  // namespace reshard
