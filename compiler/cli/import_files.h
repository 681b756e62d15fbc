// Files of `reshardc import`: JSON inputs with their positions, and documents to be written.
#ifndef RESHARD_COMPILER_CLI_IMPORT_FILES_H_
#define RESHARD_COMPILER_CLI_IMPORT_FILES_H_

#include <optional>
#include <ostream>
#include <string>

#include "compiler/cli/file_system.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/json_doc.h"

namespace reshard {

// What one import reads from and reports into.
struct ImportRun {
  FileSystem& files;
  std::ostream& out;
  std::ostream& err;
  SourceMap sources;
  Diagnostics diags;
};

// Reads a JSON file into run.sources. nullopt after an error, on run.err where the file cannot be
// read, in run.diags where it is not JSON.
std::optional<JsonNode> ReadJsonFile(const std::string& path, ImportRun* run);

// Writes the document, and says so on run.out unless it is standard output ("-") itself: the path
// and `what` it is. False after an error on run.err.
[[nodiscard]] bool WriteDocFile(const std::string& path, const JsonDoc& doc,
                                const std::string& what, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_FILES_H_
