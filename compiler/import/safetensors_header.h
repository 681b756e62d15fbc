// The header of a safetensors file: which tensors it holds. Their bytes are never read.
//
// A file is a little-endian u64 with the size of the header, the header (a JSON object of tensors
// and perhaps "__metadata__"), and the bytes of the tensors, which "data_offsets" of the header
// cover without gap or overlap.
#ifndef RESHARD_COMPILER_IMPORT_SAFETENSORS_HEADER_H_
#define RESHARD_COMPILER_IMPORT_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/model_tensor.h"

namespace reshard {

inline constexpr uint64_t kSafetensorsPrefixBytes = 8;
// What the format allows.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Reads the header of the file `path` from its first bytes, `start`: all of the header, if the file
// has as much. `file_bytes` is the size of the whole file. The header's text becomes a file of
// `sources`, so that lines and columns are those inside the header. Appends to `out`; false after
// an error was reported.
[[nodiscard]] bool ReadSafetensorsHeader(const std::string& path, std::string_view start,
                                         uint64_t file_bytes, SourceMap* sources,
                                         Diagnostics* diags, std::vector<ModelTensor>* out);

// The size of the header that the first 8 bytes state, or 0 when there are fewer.
uint64_t SafetensorsHeaderBytes(std::string_view start);

// The files of a model, by the index that stands beside them: {"weight_map": {tensor: file}}.
struct SafetensorsIndex {
  struct Entry {
    std::string tensor;
    std::string file;  // a plain file name, in the folder of the index
    Span span;         // of the tensor's name
  };
  std::vector<Entry> entries;
  std::vector<std::string> files;  // each once, sorted
};
[[nodiscard]] bool ReadSafetensorsIndex(const JsonNode& index, Diagnostics* diags,
                                        SafetensorsIndex* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_SAFETENSORS_HEADER_H_
