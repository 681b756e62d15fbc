// What the files of the Python package's exporters have in common: a head, shapes, dtypes.
#ifndef RESHARD_COMPILER_IMPORT_EXPORT_READER_H_
#define RESHARD_COMPILER_IMPORT_EXPORT_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/object_reader.h"
#include "runtime/base/dtype.h"

namespace reshard {

// Reads "format" and "version": expects `format` and 1. False after an error was reported.
[[nodiscard]] bool ReadExportHead(std::string_view format, ObjectReader* object,
                                  Diagnostics* diags);

// Whole numbers from `lowest` to 2^56, at most `max_count` of them. `what` names the list.
std::optional<std::vector<int64_t>> ReadCounts(const JsonNode& node, const std::string& what,
                                               int64_t lowest, size_t max_count,
                                               Diagnostics* diags);

// A shape: at most 12 extents, at most 2^56 elements.
std::optional<std::vector<int64_t>> ReadShape(const JsonNode& node, const std::string& what,
                                              Diagnostics* diags);

// "bfloat16" or "bf16": PyTorch's words and those of layouts.
std::optional<DType> ReadTorchDtype(const JsonNode& node, const std::string& what,
                                    Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_EXPORT_READER_H_
