// ImportRecordedCopies: the copies that an engine's weight loader made, as a layout.
//
// Each file is what one loader did and the ranks that did just that. Params become entries of
// "explicit"; those whose names differ only in numbers, and whose pieces shift evenly with these,
// become one entry with loops. Nothing is assumed: an entry stands for exactly the copies recorded.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_RECORDED_COPIES_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_RECORDED_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct RecordedCopiesOptions {
  int64_t max_pieces = 1'000'000;  // over all files, before folding
};

// Reads file number i of the recordings; false after an error was reported.
using ReadRecording = std::function<bool(size_t i, JsonNode* root)>;

// Each of the `file_count` files is read, taken over and freed before the next: together they may
// be many times what memory holds. `shapes`, where not null, is {NAME: {"shape", "dtype"}}: the
// checkpoint, for files without "tensors". Returns false after at least one error was reported.
[[nodiscard]] bool ImportRecordedCopies(size_t file_count, const ReadRecording& read,
                                        const JsonNode* shapes,
                                        const RecordedCopiesOptions& options, Diagnostics* diags,
                                        JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_RECORDED_COPIES_H_
