#include "compiler/import/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "compiler/frontend/object_reader.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// The bytes of one tensor in a file, after the header.
struct DataRange {
  int64_t begin = 0;
  int64_t end = 0;
  Span span;
  std::string_view name;
};

// "data_offsets": [begin, end], which hold just the tensor's elements.
bool ReadRange(const ModelTensor& tensor, const JsonNode& offsets, int64_t data_bytes,
               Diagnostics* diags, std::vector<DataRange>* ranges) {
  const std::string what = "data_offsets of '" + tensor.name + "'";
  if (!ExpectKind(offsets, JsonNode::Kind::kArray, what, diags)) return false;
  if (offsets.items.size() != 2) {
    diags->Error(DiagnosticCode::kBadValue, offsets.span, what + ": expected [begin, end]");
    return false;
  }
  const std::optional<int64_t> begin = ReadInteger(offsets.items[0], what, 0, data_bytes, diags);
  const std::optional<int64_t> end = ReadInteger(offsets.items[1], what, 0, data_bytes, diags);
  if (!begin || !end) return false;
  const std::optional<int64_t> elements = CheckedProduct(std::span<const int64_t>(tensor.shape));
  const std::optional<int64_t> bytes =
      elements ? CheckedMul(*elements, DTypeBytes(tensor.dtype)) : std::nullopt;
  if (*end < *begin || !bytes || *end - *begin != *bytes) {
    diags->Error(DiagnosticCode::kBadValue, offsets.span,
                 what + " are " + std::to_string(*begin) + " and " + std::to_string(*end) +
                     ", expected a distance of " +
                     (bytes ? std::to_string(*bytes) : "more than 2^63") + " bytes");
    return false;
  }
  ranges->push_back({*begin, *end, offsets.span, tensor.name});
  return true;
}

// The tensors follow each other without gap up to the end of the file.
bool CheckRanges(std::vector<DataRange> ranges, int64_t data_bytes, Span whole,
                 Diagnostics* diags) {
  std::sort(ranges.begin(), ranges.end(), [](const DataRange& a, const DataRange& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t at = 0;
  for (const DataRange& range : ranges) {
    if (range.begin != at) {
      diags->Error(DiagnosticCode::kBadValue, range.span,
                   "the bytes of '" + std::string(range.name) + "' begin at " +
                       std::to_string(range.begin) + ", expected " + std::to_string(at) +
                       ", where the tensor before ends");
      return false;
    }
    at = range.end;
  }
  if (at == data_bytes) return true;
  diags->Error(DiagnosticCode::kBadValue, whole,
               "the tensors end at byte " + std::to_string(at) + " of " +
                   std::to_string(data_bytes) +
                   " after the header: the file is truncated or longer");
  return false;
}

}  // namespace

uint64_t SafetensorsHeaderBytes(std::string_view start) {
  if (start.size() < kSafetensorsPrefixBytes) return 0;
  uint64_t bytes = 0;
  for (size_t i = kSafetensorsPrefixBytes; i-- > 0;) {
    bytes = bytes << 8 | static_cast<unsigned char>(start[i]);
  }
  return bytes;
}

bool ReadSafetensorsHeader(const std::string& path, std::string_view start, uint64_t file_bytes,
                           SourceMap* sources, Diagnostics* diags, std::vector<ModelTensor>* out) {
  const uint64_t header_bytes = SafetensorsHeaderBytes(start);
  const bool complete = start.size() >= kSafetensorsPrefixBytes &&
                        header_bytes <= start.size() - kSafetensorsPrefixBytes;
  const uint32_t file = sources->Add(
      path, complete ? std::string(start.substr(kSafetensorsPrefixBytes, header_bytes)) : "");
  const Span whole = {file, 0, 0};
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    diags->Error(DiagnosticCode::kTooLarge, whole,
                 "the header has " + std::to_string(header_bytes) + " bytes, at most " +
                     std::to_string(kMaxSafetensorsHeaderBytes) + " are read");
    return false;
  }
  if (!complete) {
    diags->Error(DiagnosticCode::kBadFormat, whole,
                 "the file has " + std::to_string(file_bytes) +
                     " bytes, too few for the header of " + std::to_string(header_bytes) +
                     " that a safetensors file begins with");
    return false;
  }
  JsonNode root;
  if (!ReadJson(*sources, file, diags, &root, kMaxSafetensorsHeaderBytes)) return false;
  if (!ExpectKind(root, JsonNode::Kind::kObject, "the header", diags)) return false;
  const uint64_t rest = file_bytes - kSafetensorsPrefixBytes - header_bytes;
  const auto data_bytes =
      static_cast<int64_t>(std::min<uint64_t>(rest, std::numeric_limits<int64_t>::max()));
  bool ok = true;
  std::vector<DataRange> ranges;
  std::vector<ModelTensor> tensors;
  tensors.reserve(root.members.size());  // ranges refer to their names
  for (const JsonMember& member : root.members) {
    if (member.key == "__metadata__") continue;
    ModelTensor& tensor = tensors.emplace_back();
    if (!ReadModelTensor(member, std::nullopt, {"data_offsets"}, diags, &tensor)) {
      ok = false;
      continue;
    }
    const JsonNode* offsets = member.value.Find("data_offsets");
    if (offsets == nullptr) {
      diags->Error(DiagnosticCode::kMissingKey, member.value.span,
                   "the tensor '" + member.key + "' has no 'data_offsets'");
      ok = false;
      continue;
    }
    ok = ReadRange(tensor, *offsets, data_bytes, diags, &ranges) && ok;
  }
  ok = ok && CheckRanges(std::move(ranges), data_bytes, whole, diags);
  out->insert(out->end(), std::make_move_iterator(tensors.begin()),
              std::make_move_iterator(tensors.end()));
  return ok;
}

bool ReadSafetensorsIndex(const JsonNode& index, Diagnostics* diags, SafetensorsIndex* out) {
  ObjectReader object(index, "the index", diags);
  const JsonNode* map = object.Required("weight_map", JsonNode::Kind::kObject);
  static_cast<void>(object.Optional("metadata"));
  if (!object.Finish()) return false;
  bool ok = true;
  std::set<std::string> files;
  for (const JsonMember& member : map->members) {
    const JsonNode& file = member.value;
    if (!ExpectKind(file, JsonNode::Kind::kString, "a file of the index", diags)) {
      ok = false;
    } else if (file.text.empty() || file.text.find('/') != std::string::npos ||
               file.text.starts_with('.')) {
      // The index may come from elsewhere: it must not name files outside its folder.
      ok = false;
      diags->Error(DiagnosticCode::kBadValue, file.span,
                   "'" + file.text + "' is not the name of a file in the folder of the index");
    } else {
      out->entries.push_back({member.key, file.text, member.key_span});
      files.insert(file.text);
    }
  }
  out->files.assign(files.begin(), files.end());
  return ok;
}

}  // namespace reshard
